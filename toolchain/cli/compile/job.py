"""The program of a command line: a function with its arguments, or a module from a file."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import UsageError
from ...files import input_name, read_input
from ..options import given_lowering
from ..process import in_child, stay_on_cpu
from .options import CompileOptions

if TYPE_CHECKING:
    from ...backend.targets import Target


@dataclass
class CompileJob:
    """A program before it is compiled.

    Attributes:
        name: for messages.
        plain: as JAX lowered it, or as the file has it.
        args, kwargs: its arguments, or their types.
        x64: whether it needs JAX's 64-bit types.
        pipeline: the passes to run.
        assume: promises about values.
        is_tuned: whether they are those of O3, which differ by target.
    """

    name: str
    plain: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    x64: bool
    pipeline: Any
    assume: tuple[str, ...]
    is_tuned: bool = False

    def passes_for(self, target: Target) -> tuple[Any, dict[str, Any]]:
        """The passes to run for a target, and options of XLA; prints what O3 has found."""
        if not self.is_tuned:
            return self.pipeline, {}
        from ...backend.tuning import NotTuned
        from ...backend.verdicts import DEFAULT
        from ...pipeline import make_pipeline
        from ...tools.tune.explicit import verdict_for

        try:
            found = verdict_for(self.plain, target, self.args, self.kwargs, self.assume)
        except NotTuned as error:
            click.echo(f"jxc: O3 on {target.name}: O2, not tuned: {error}", err=True)
            return self.pipeline, {}
        ratio = found.ratio(DEFAULT)
        than = f", {ratio:.2f} times as fast as O2" if ratio and found.choice != DEFAULT else ""
        click.echo(f"jxc: O3 on {target.name}: {found.choice}{than}", err=True)
        return make_pipeline(found.pipeline), dict(found.xla_options)


@contextlib.contextmanager
def prepared(
    verb: str, options: CompileOptions, targets: list[Target], default: str, *, runs_here: bool
) -> Iterator[CompileJob]:
    """The program of a command line, in a child process with the JAX types that it needs.

    Args:
        verb: of the command line.
        options: the command line's.
        targets: what it is compiled for.
        default: the pipeline if none is named.
        runs_here: whether it is to run on this machine.
    """
    os.environ.pop("JXC_PIPELINE", None)  # only the passes that are named here run
    if not any(target.is_present and target.kind != "cpu" for target in targets):
        stay_on_cpu()
    source = options.request.target
    is_file = source == "-" or (Path(source).is_file() and not source.endswith(".py"))
    data = read_input(source) if is_file else None
    spec = options.pipeline_text(default)
    stage = in_child(data, lambda saved: [verb, str(saved), *options.again(spec)])
    stage.enter(f"while reading {input_name(source)}")
    traced_for = next((target for target in targets if target.is_present), targets[0])
    job = prepare(data, spec, options, None if runs_here else traced_for.platform)
    stage.enter(f"while compiling {job.name}")
    with contextlib.ExitStack() as stack:
        if job.x64:
            import jax

            stack.enter_context(jax.enable_x64(True))
        yield job


def prepare(
    data: bytes | None, spec: str, options: CompileOptions, platform: str | None
) -> CompileJob:
    """Read or lower the program of a command line.

    Args:
        data: what is in the file; None for a function.
        spec: the pipeline.
        options: the command line's.
        platform: the platform to report on, which need not be present; None to run it here.

    Raises:
        UsageError, JxcError: it cannot be found, read, traced or lowered.
    """
    from ...backend.verdicts import TUNED
    from ...pipeline import make_pipeline

    pipeline = make_pipeline(spec, options.library())
    if data is not None:
        job = _from_file(data, options, pipeline, platform)
        return replace(job, is_tuned=spec == TUNED)
    source = options.request.target
    if not source.endswith(".py") and ":" not in source:
        raise UsageError(
            f"{source}: no such file, and not a TARGET such as file.py:function or module:function"
        )
    from ...backend.lowered import lowered_from_request

    request = replace(options.request, platform=platform, concrete=platform is None)
    plain, args, kwargs = lowered_from_request(request)
    is_tuned = spec == TUNED
    return CompileJob(source, plain, args, kwargs, request.x64, pipeline, options.assume, is_tuned)


def _from_file(
    data: bytes, options: CompileOptions, pipeline: Any, platform: str | None
) -> CompileJob:
    request, source = options.request, options.request.target
    if request.specs:
        raise UsageError(
            f"{source} is a module, whose arguments are fixed; found {request.specs[0]!r}"
        )
    if given := given_lowering(request):
        is_sharding = given[0] in ("--mesh", "--sharding")
        more = "; the pass annotate-sharding shards a module" if is_sharding else ""
        raise UsageError(
            f"{given[0]} is about lowering a function, and {source} is a module, which is already "
            f"lowered{more}"
        )
    from ...backend.from_module import lowered_from_module, uncallable_from_module
    from ...frontend.mesh import split_host
    from ...ir import make_context, read_module
    from ...ir.locations import name_file
    from ...ir.shardings import module_device_count

    name = input_name(source)
    plain = _resumed(options.compile_from, data, name)
    if plain is None:
        module = read_module(data, make_context(), name=name)
        name_file(module, name)  # so that kernels have lines of this file
        if platform:
            uncallable = uncallable_from_module(module)
            return CompileJob(name, uncallable, (), {}, True, pipeline, options.assume)
        split_host(module_device_count(module))
        plain = lowered_from_module(module)
    return CompileJob(name, plain, plain.arguments, {}, True, pipeline, options.assume)


def _resumed(stage: str | None, data: bytes, name: str) -> Any:
    """The program in a file of `--compile-to hlo`; None for a file that is read as a module.

    Raises:
        UsageError: the file is not of that stage.
        JxcError: as `lowered_from_hlo`.
    """
    begins = data[:4096].lstrip()
    is_hlo = begins.startswith(b"HloModule")
    is_optimised = is_hlo and b"is_scheduled=true" in begins.partition(b"\n")[0]
    found = "hlo" if is_optimised else "hlo-before" if is_hlo else "stablehlo"
    if stage is None and is_optimised:
        raise UsageError(f"{name}: XLA has optimized this HLO: continue with --compile-from hlo")
    if stage is None:
        return None
    if found != stage:
        raise UsageError(f"--compile-from {stage}: {name} looks like {found}")
    if stage != "hlo":
        return None
    from ...backend.artifacts.resume import lowered_from_hlo

    return lowered_from_hlo(data.decode(errors="replace"), name)
