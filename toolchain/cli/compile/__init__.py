"""`jxc compile`: compile a module or a function, and run it, time it, or write its stages.

`compile_command` checks the options before anything slow happens, reads or lowers the program
(`job`), and then either writes files (`artifacts`), or compiles for this machine and runs (`run`).
"""

from __future__ import annotations

from typing import Any

import click

from ...backend.targets import find_targets
from ..options import PassOptions, json_option, lowering_options, options_of
from .artifacts import check_artifacts, is_here, write_artifacts
from .job import prepared
from .options import CompileOptions, FileOptions, GroupedCommand, HloPassOptions, RunOptions


@click.command(cls=GroupedCommand, short_help="Compile with XLA; run, time, write stages.")
@click.argument("source", default="-", metavar="[FILE|-|TARGET]")
@lowering_options
@options_of(PassOptions, HloPassOptions, FileOptions, RunOptions)
@json_option
def compile_command(source: str, **flags: Any) -> None:
    """Compile a module from FILE ('-' for stdin), or the function TARGET with arguments like SPECs
    as `jxc lower` takes them. The passes of -O2 run unless others are named.

    \b
    jxc compile step.mlir --emit hlo
    jxc compile model.py:predict 'f32[8,784]' --run --input zeros
    jxc compile model.py:predict 'f32[8,784]' --diff-plain
    jxc compile model.py:step 'f32[8,784]' --target tpu:v5e:2x2,gpu:h100 --emit hlo -o stages

    The hardware of a --target need not be present: `jxc targets` lists it. `jxc report` shows what
    its compiler makes of a program. The exit code is 1 with --diff-plain if the results differ by
    more than rounding; 3 if a target's compiler is not installed.
    """
    options = CompileOptions.read(source, flags)
    targets = find_targets(options.target)
    check_artifacts(options, targets)
    default = "" if options.compile_from else "O2"
    with prepared("compile", options, targets, default, runs_here=is_here(targets)) as job:
        if options.writes_artifacts:
            write_artifacts(job, targets, options)
            return
        from .run import compile_and_run

        compile_and_run(job, options)
