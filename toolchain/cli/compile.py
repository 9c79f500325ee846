"""`jxc compile`: module or function to executable; run it, time it, look inside."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from ..errors import JxcError, MissingTargetError, UsageError
from .io import read_input, write_output
from .lower import lowering_options
from .opt import chosen_pipeline, input_name, pipeline_options
from .supervise import in_child

_STAGES = ("hlo", "hlo-before", "llvm", "cost", "memory")


@click.command(short_help="Hand a module to XLA; run it, time it, look inside.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@pipeline_options
@click.option(
    "--xla-option", multiple=True, metavar="NAME=VALUE", help="An option of XLA's, for this only."
)
@click.option(
    "--emit",
    type=click.Choice(_STAGES),
    help="hlo: what XLA made; hlo-before: what it got; cost, memory: XLA's own counts, as JSON.",
)
@click.option("-o", "output", default="-", metavar="FILE", help="Where to; stdout by default.")
@click.option("--run", is_flag=True, help="Run it once and print what it returns.")
@click.option(
    "--input", "inputs", default="random", metavar="random|zeros|@FILE", help="What to run it on."
)
@click.option("--seed", default=0, show_default=True, help="Of random inputs.")
@click.option("--bench", type=click.IntRange(min=1), metavar="N", help="Time it, N rounds.")
@click.option("--diff-plain", is_flag=True, help="Compare values and time with plain jax.jit.")
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def compile_command(source: str, **flags: Any) -> None:
    """Compile a module from FILE ('-' for stdin), or the function TARGET with arguments like SPECs
    as `jxc lower` takes them. At -O2 unless told otherwise.

    \b
    jxc compile step.mlir --emit hlo
    jxc compile model.py:predict 'f32[8,784]' --run --input zeros
    jxc compile model.py:predict 'f32[8,784]' --diff-plain

    With --diff-plain, the exit code is 1 where the results differ by more than rounding.
    """
    _check(flags)
    os.environ.pop("JXC_PIPELINE", None)  # what is compiled here is what is asked for here
    if flags["emit"] == "llvm":
        os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"  # XLA dumps nothing on a cache hit
    is_file = source == "-" or (Path(source).is_file() and not source.endswith(".py"))
    data = read_input(source) if is_file else None
    spec = chosen_pipeline(flags, default="O2")
    stage = in_child(data, lambda saved: ["compile", str(saved), "-p", spec])
    stage.enter(f"while compiling {input_name(source)}")
    job = _prepare(source, data, spec, flags)
    with contextlib.ExitStack() as stack:
        if job.x64:
            import jax

            stack.enter_context(jax.enable_x64(True))
        _act(job, flags)


def _check(flags: dict[str, Any]) -> None:
    if flags["target"] != "cpu":
        raise MissingTargetError(f"--target {flags['target']}: this version compiles for cpu only")
    if flags["platform"] not in (None, "cpu"):
        raise UsageError(
            f"--platform {flags['platform']} says what to lower for; what is compiled here runs on "
            "the cpu. `jxc lower` writes modules for other platforms."
        )
    if flags["emit"] and (flags["run"] or flags["bench"] or flags["diff_plain"]):
        raise UsageError(
            "--emit prints a stage; --run, --bench, --diff-plain run: give one of them"
        )
    if flags["as_json"] and flags["emit"] in ("hlo", "hlo-before", "llvm"):
        raise UsageError(
            f"--json holds figures; --emit {flags['emit']} is a text: leave --json out"
        )


@dataclass
class _Job:
    """What was asked for, as far as it is known before anything is compiled."""

    name: str
    plain: Any  # the program as JAX lowered it, or as the file has it
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    x64: bool
    pipeline: Any
    facts: dict[str, Any]


def _prepare(source: str, data: bytes | None, spec: str, flags: dict[str, Any]) -> _Job:
    from ..pipeline import Library, make_pipeline

    pipeline = make_pipeline(spec, Library.of_files(flags["load_pass"]))
    facts = {"target": flags["target"], "assume": flags["assume"]}
    if data is None:
        return _from_target(source, flags, pipeline, facts)
    return _from_file(source, data, flags, pipeline, facts)


def _from_file(
    source: str, data: bytes, flags: dict[str, Any], pipeline: Any, facts: dict[str, Any]
) -> _Job:
    if flags["specs"]:
        raise UsageError(
            f"{source} is a module, whose arguments are settled; found {flags['specs'][0]!r}"
        )
    from ..backend.from_module import lowered_from_module
    from ..ir import make_context, read_module

    plain = lowered_from_module(read_module(data, make_context(), name=input_name(source)))
    return _Job(input_name(source), plain, plain.arguments, {}, True, pipeline, facts)


def _from_target(source: str, flags: dict[str, Any], pipeline: Any, facts: dict[str, Any]) -> _Job:
    if not source.endswith(".py") and ":" not in source:
        raise UsageError(
            f"{source}: no such file, and not a TARGET such as file.py:function or module:function"
        )
    from ..backend.lowered import lowered_from_request
    from ..frontend import LowerRequest

    names = LowerRequest.__dataclass_fields__.keys() - {"target"}
    request = LowerRequest(target=source, **{name: flags[name] for name in names})
    plain, args, kwargs = lowered_from_request(request)
    return _Job(source, plain, args, kwargs, flags["x64"], pipeline, facts)


def _act(job: _Job, flags: dict[str, Any]) -> None:
    start = perf_counter()
    optimised = job.plain.opt(job.pipeline, **job.facts)
    passes_seconds = perf_counter() - start
    if flags["emit"] == "hlo-before":
        return write_output(optimised.as_text("hlo"), flags["output"])
    options = _xla_options(flags["xla_option"])
    if flags["emit"] == "llvm":
        from ..backend.dump import llvm_ir

        return write_output(llvm_ir(optimised, options), flags["output"])
    start = perf_counter()
    executable = _compiled(optimised, options, job.name)
    xla_seconds = perf_counter() - start
    if flags["emit"] == "hlo":
        return write_output(executable.as_text("hlo"), flags["output"])
    if flags["emit"]:
        figures = executable.cost() if flags["emit"] == "cost" else executable.memory()
        return _print_json({flags["emit"]: figures}, flags["output"])
    summary = _summary(job, optimised, executable, passes_seconds, xla_seconds)
    return _run(job, executable, summary, flags, options)


def _compiled(lowered: Any, options: dict[str, Any], name: str = "-") -> Any:
    try:
        return lowered.compile(xla_options=options)
    except (RuntimeError, ValueError) as error:
        message = str(error).replace(" -:", f" {name}:")
        raise JxcError(f"XLA does not compile it: {message}") from error


def _xla_options(texts: tuple[str, ...]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--xla-option {text}: expected NAME=VALUE")
        options[name] = _literal(value)
    return options


def _literal(text: str) -> Any:
    known = {"true": True, "false": False}
    if text.lower() in known:
        return known[text.lower()]
    return int(text) if text.lstrip("-").isdecimal() else text


def _summary(
    job: _Job, optimised: Any, executable: Any, passes_seconds: float, xla_seconds: float
) -> dict[str, Any]:
    from ..ir import count_ops

    cost, memory = executable.cost(), executable.memory()
    return {
        "ops": {"before": count_ops(job.plain.module), "after": count_ops(optimised.module)},
        "rules": optimised.report.hits,
        "seconds": {"passes": passes_seconds, "xla": xla_seconds},
        "flops": cost.get("flops", 0.0),
        "bytes_accessed": cost.get("bytes accessed", 0.0),
        "memory": memory,
    }


def _run(
    job: _Job, executable: Any, summary: dict[str, Any], flags: dict[str, Any], options: Any
) -> None:
    from .compile_report import print_bench, print_difference, print_outputs, print_summary

    if not (flags["run"] or flags["bench"] or flags["diff_plain"]):
        if flags["as_json"]:
            return _print_json(summary, flags["output"])
        return print_summary(summary)
    from ..check.fill import fill

    args, kwargs = fill((job.args, job.kwargs), flags["inputs"], flags["seed"])
    agrees = True
    if flags["run"]:
        outputs = _ran(executable, args, kwargs)
        print_outputs(outputs, summary, quiet=flags["as_json"])
    if flags["bench"] or flags["diff_plain"]:
        programs = {"jxc": executable}
        if flags["diff_plain"]:
            programs = {"jax.jit": _compiled(job.plain, options), **programs}
        print_bench(programs, args, kwargs, flags["bench"] or 20, summary, quiet=flags["as_json"])
    if flags["diff_plain"]:
        agrees = print_difference(programs, args, kwargs, summary, quiet=flags["as_json"])
    if flags["as_json"]:
        _print_json(summary, flags["output"])
    if not agrees:
        sys.exit(1)
    return None


def _ran(executable: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    import jax

    try:
        return jax.block_until_ready(executable(*args, **kwargs))
    except Exception as error:  # a callback of the user's, or memory
        raise JxcError(f"running it failed: {type(error).__name__}: {error}") from error


def _print_json(figures: dict[str, Any], output: str) -> None:
    write_output(json.dumps({"schema_version": 1, **figures}, indent=2) + "\n", output)
