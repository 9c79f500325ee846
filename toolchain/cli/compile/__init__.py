"""`jxc compile`: compile a module or a function, and run it, time it, write its stages, or report.

`compile_command` checks the options before anything slow happens, reads or lowers the program
(`job`), and then does one of three things: it writes files (`artifacts`), reports on one or several
targets (`report`), or compiles for this machine and runs (`run`).
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...errors import UsageError
from ...files import input_name, read_input
from ..options import PassOptions, json_option, lowering_options, options_of
from ..process import in_child, stay_on_cpu
from .artifacts import check_artifacts, write_artifacts
from .options import (
    BudgetOptions,
    CompileOptions,
    FileOptions,
    GroupedCommand,
    RunOptions,
    XlaOptions,
)

if TYPE_CHECKING:
    from ...backend.targets import Target


@click.command(cls=GroupedCommand, short_help="Compile with XLA; run, time, write stages, report.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@options_of(PassOptions, XlaOptions, FileOptions, RunOptions)
@click.option(
    "--report", is_flag=True, help="Print the report of `jxc report` on the compiled program."
)
@options_of(BudgetOptions)
@json_option
def compile_command(source: str, **flags: Any) -> None:
    """Compile a module from FILE ('-' for stdin), or the function TARGET with arguments like SPECs
    as `jxc lower` takes them. The passes of -O2 run unless others are named.

    \b
    jxc compile step.mlir --emit hlo
    jxc compile model.py:predict 'f32[8,784]' --run --input zeros
    jxc compile model.py:predict 'f32[8,784]' --diff-plain
    jxc compile model.py:predict 'f32[8,784]' --profile
    jxc compile model.py:step 'f32[8,784]' --target tpu:v5e:2x2,gpu:h100,cpu --report

    The hardware of a --target need not be present: `jxc targets` lists it. The exit code is 1 if
    the program does not fit into memory or exceeds a budget, and with --diff-plain if the results
    differ by more than rounding; 3 if a target's compiler is not installed.
    """
    compile_source(CompileOptions.read(source, flags))


def compile_source(options: CompileOptions) -> None:
    """Read or lower a program, compile it, and do what the options ask for."""
    targets = _checked_targets(options)
    os.environ.pop("JXC_PIPELINE", None)  # only the passes that are named here run
    if not any(target.is_present and target.kind != "cpu" for target in targets):
        stay_on_cpu()
    source = options.request.target
    is_file = source == "-" or (Path(source).is_file() and not source.endswith(".py"))
    data = read_input(source) if is_file else None
    spec = options.pipeline_text(default="" if options.compile_from else "O2")
    stage = in_child(data, lambda saved: ["compile", str(saved), *options.again(spec)])
    stage.enter(f"while reading {input_name(source)}")
    from .job import prepare
    from .report import print_report, read_budgets

    is_reported = options.is_reported(targets)
    if is_reported:
        read_budgets(options)  # raises before anything slow
    traced_for = next((target for target in targets if target.is_present), targets[0])
    job = prepare(data, spec, options, traced_for.platform if is_reported else None)
    stage.enter(f"while compiling {job.name}")
    with contextlib.ExitStack() as stack:
        if job.x64:
            import jax

            stack.enter_context(jax.enable_x64(True))
        if options.writes_artifacts:
            write_artifacts(job, targets, options)
        elif is_reported:
            print_report(job, targets, options)
        else:
            from .run import compile_and_run

            compile_and_run(job, options)


def _checked_targets(options: CompileOptions) -> list[Target]:
    """The targets; refuses options that exclude each other before jax is imported."""
    from ...backend.targets import find_targets

    targets = find_targets(options.target)
    check_artifacts(options, targets)
    runs = [name for name in ("run", "bench", "profile", "diff_plain") if options.is_given(name)]
    if runs and options.is_reported(targets):
        raise UsageError(
            f"--{runs[0].replace('_', '-')} runs the program on this machine's cpu: leave out "
            "--report, the budgets and other targets"
        )
    return targets
