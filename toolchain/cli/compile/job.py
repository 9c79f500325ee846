"""What `jxc compile` is given: a function with its arguments, or a module from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ...files import input_name


@dataclass
class Job:
    """What was asked for, as far as it is known before anything is compiled.

    Attributes:
        name: for messages.
        plain: the program as JAX lowered it, or as the file has it: a `Lowered`.
        args, kwargs: what to call it with, or the types of that.
        x64: whether it needs JAX's 64-bit types.
        pipeline: what to run on it.
        assume: promises.
    """

    name: str
    plain: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    x64: bool
    pipeline: Any
    assume: tuple[str, ...]


def prepare(
    source: str, data: bytes | None, spec: str, flags: dict[str, Any], platform: str | None
) -> Job:
    """Read or lower what `source` names.

    Args:
        source: a file, "-", or the name of a function.
        data: what is in the file; None for a function.
        spec: the pipeline.
        flags: the command line's.
        platform: what it is looked at for, which need not be here; None to be run here.

    Raises:
        UsageError, JxcError: it cannot be found, read, traced or lowered.
    """
    from ...pipeline import Library, make_pipeline

    pipeline = make_pipeline(spec, Library.of_files(flags["load_pass"]))
    if data is None:
        return _from_target(source, flags, pipeline, platform)
    return _from_file(source, data, flags, pipeline, platform)


def _from_file(
    source: str, data: bytes, flags: dict[str, Any], pipeline: Any, platform: str | None
) -> Job:
    if flags["specs"]:
        raise UsageError(
            f"{source} is a module, whose arguments are settled; found {flags['specs'][0]!r}"
        )
    if given := [name for name in _OF_FUNCTIONS if flags[name]]:
        more = "; the pass annotate-sharding shards a module" if given[0] in _SHARDING else ""
        raise UsageError(
            f"--{given[0].removesuffix('_from').replace('_', '-')} is about lowering a function, "
            f"and {source} is a module, which is lowered already{more}"
        )
    from ...backend.from_module import lowered_from_module, uncallable_from_module
    from ...frontend.mesh import split_host
    from ...ir import make_context, read_module
    from ...ir.locations import name_file
    from ...ir.shardings import module_device_count
    from .artifacts import resumed

    name = input_name(source)
    edited = resumed(flags["compile_from"], data, name)
    if edited is not None:
        return Job(name, edited, edited.arguments, {}, True, pipeline, flags["assume"])
    module = read_module(data, make_context(), name=name)
    name_file(module, name)  # so that kernels are told by its lines
    if platform:
        return Job(name, uncallable_from_module(module), (), {}, True, pipeline, flags["assume"])
    split_host(module_device_count(module), flags["host_devices"])
    plain = lowered_from_module(module)
    return Job(name, plain, plain.arguments, {}, True, pipeline, flags["assume"])


_SHARDING = ("mesh", "in_sharding", "out_sharding", "sharding")
_OF_FUNCTIONS = (*_SHARDING, "args_from", "static", "transform", "device", "x64")


def _from_target(source: str, flags: dict[str, Any], pipeline: Any, platform: str | None) -> Job:
    if not source.endswith(".py") and ":" not in source:
        raise UsageError(
            f"{source}: no such file, and not a TARGET such as file.py:function or module:function"
        )
    from ...backend.lowered import lowered_from_request
    from ...frontend.request import LowerRequest

    ours: dict[str, Any] = {"target": source, "platform": platform, "concrete": platform is None}
    names = (LowerRequest.__dataclass_fields__.keys() - ours.keys()) & flags.keys()
    request = LowerRequest(**ours, **{name: flags[name] for name in names})
    plain, args, kwargs = lowered_from_request(request)
    return Job(source, plain, args, kwargs, flags["x64"], pipeline, flags["assume"])
