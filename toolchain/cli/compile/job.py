"""What `jxc compile` is given: a function with its arguments, or a module from a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...errors import UsageError
from ..opt import input_name


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
        seconds: by stage, as far as they are spent: "trace", "lower".
    """

    name: str
    plain: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    x64: bool
    pipeline: Any
    assume: tuple[str, ...]
    seconds: dict[str, float]


def prepare(source: str, data: bytes | None, spec: str, flags: dict[str, Any]) -> Job:
    """Read or lower what `source` names.

    Raises:
        UsageError, JxcError: it cannot be found, read, traced or lowered.
    """
    from ...pipeline import Library, make_pipeline

    pipeline = make_pipeline(spec, Library.of_files(flags["load_pass"]))
    if data is None:
        return _from_target(source, flags, pipeline)
    return _from_file(source, data, flags, pipeline)


def _from_file(source: str, data: bytes, flags: dict[str, Any], pipeline: Any) -> Job:
    if flags["specs"]:
        raise UsageError(
            f"{source} is a module, whose arguments are settled; found {flags['specs'][0]!r}"
        )
    from ...backend.from_module import lowered_from_module
    from ...ir import make_context, read_module

    module = read_module(data, make_context(), name=input_name(source))
    plain = lowered_from_module(module)
    name = input_name(source)
    return Job(name, plain, plain.arguments, {}, True, pipeline, flags["assume"], {})


def _from_target(source: str, flags: dict[str, Any], pipeline: Any) -> Job:
    if not source.endswith(".py") and ":" not in source:
        raise UsageError(
            f"{source}: no such file, and not a TARGET such as file.py:function or module:function"
        )
    from ...backend.lowered import lowered_from_request
    from ...frontend import LowerRequest

    names = (LowerRequest.__dataclass_fields__.keys() - {"target"}) & flags.keys()
    request = LowerRequest(target=source, **{name: flags[name] for name in names})
    plain, args, kwargs = lowered_from_request(request)
    seconds = dict(plain.seconds)
    return Job(source, plain, args, kwargs, flags["x64"], pipeline, flags["assume"], seconds)
