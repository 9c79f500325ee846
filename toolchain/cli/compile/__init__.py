"""`jxc compile`: a module or a function through our passes and XLA, for any target."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any

import click

from ...errors import UsageError
from ...files import input_name, read_input
from ..lower import lowering_options
from ..opt import chosen_pipeline, pipeline_options
from ..process import in_child, stay_on_cpu
from .artifacts import artifact_options, check_artifacts, write_artifacts, writes_artifacts
from .options import budget_options, running_options


@click.command(short_help="Hand a module to XLA; run it, time it, look inside, judge it.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@pipeline_options
@click.option(
    "--xla-option", multiple=True, metavar="NAME=VALUE", help="An option of XLA's, for this only."
)
@artifact_options
@running_options
@budget_options
@click.option("--json", "as_json", is_flag=True, help="Print one object.")
def compile_command(source: str, **flags: Any) -> None:
    """Compile a module from FILE ('-' for stdin), or the function TARGET with arguments like SPECs
    as `jxc lower` takes them. At -O2 unless told otherwise.

    \b
    jxc compile step.mlir --emit hlo
    jxc compile model.py:predict 'f32[8,784]' --run --input zeros
    jxc compile model.py:predict 'f32[8,784]' --diff-plain
    jxc compile model.py:step 'f32[8,784]' --target tpu:v5e:2x2,gpu:h100,cpu --report

    The hardware of a --target need not be there: `jxc targets` lists what there is. The exit code
    is 1 where the program does not fit, where it exceeds a budget, and with --diff-plain where the
    results differ by more than rounding; 3 where a target's compiler is not installed.
    """
    targets = _check(flags)
    os.environ.pop("JXC_PIPELINE", None)  # what is compiled here is what is asked for here
    if not any(target.is_present and target.kind != "cpu" for target in targets):
        stay_on_cpu()
    is_file = source == "-" or (Path(source).is_file() and not source.endswith(".py"))
    data = read_input(source) if is_file else None
    spec = chosen_pipeline(flags, default="" if flags["compile_from"] else "O2")
    stage = in_child(data, lambda saved: ["compile", str(saved), "-p", spec])
    stage.enter(f"while compiling {input_name(source)}")
    from .job import prepare

    is_judged = _is_judged(flags, targets)
    if is_judged:
        from .judge import read_budgets

        read_budgets(flags)  # before anything takes its time
    traced_for = next((target for target in targets if target.is_present), targets[0])
    job = prepare(source, data, spec, flags, traced_for.platform if is_judged else None)
    with contextlib.ExitStack() as stack:
        if job.x64:
            import jax

            stack.enter_context(jax.enable_x64(True))
        _carry_out(job, targets, flags)


def _carry_out(job: Any, targets: list[Any], flags: dict[str, Any]) -> None:
    if writes_artifacts(flags):
        write_artifacts(job, targets, flags)
    elif _is_judged(flags, targets):
        from .judge import judge

        judge(job, targets, flags)
    else:
        from .host import act

        act(job, flags)


def _is_judged(flags: dict[str, Any], targets: list[Any]) -> bool:
    """Whether it is compiled in processes of their own, and looked at from outside."""
    budgets = ("max_memory", "max_flops", "max_compile_seconds", "forbid")
    return (
        flags["report"]
        or any(flags[name] is not None for name in budgets)
        or [t.name for t in targets] != ["cpu"]
    )


def _check(flags: dict[str, Any]) -> list[Any]:
    from ...backend.targets import find_targets

    targets = find_targets(flags["target"])
    check_artifacts(flags, targets)
    runs = [name for name in ("run", "bench", "diff_plain") if flags[name]]
    if runs and _is_judged(flags, targets):
        raise UsageError(
            f"--{runs[0].replace('_', '-')} runs the program on this machine's cpu: leave out "
            "--report, the budgets and other targets"
        )
    if flags["platform"] not in (None, "cpu"):
        raise UsageError(
            f"--platform {flags['platform']} says what to lower for; `jxc compile` lowers for its "
            "--target."
        )
    return targets
