"""`jxc opt`: from a module to a module. Reads, runs a pipeline in a child process, prints.

The passes need no jax, and these files never import it: `jxc opt` starts in a fraction of the time.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import click

from ...files import input_name, read_input, write_output
from .. import ModuleCommand
from ..options import options_of, read_options
from ..pass_help import help_pass, list_passes
from ..process import in_child, leave, stay_on_cpu
from .options import OptOptions
from .recipe import read_recipe


class OptCommand(ModuleCommand):
    """`jxc opt`, with options whose value may be left out, as those of mlir-opt."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the command line as click does, which would take FILE for a left-out value."""
        spelled = {"--verify-diagnostics": "--verify-diagnostics=all"}
        return super().parse_args(ctx, [spelled.get(each, each) for each in args])


@click.command(short_help="Run passes on a module.", cls=OptCommand)
@click.argument("file", default="-")
@click.option("-o", "output", default="-", metavar="FILE", help="Write to FILE, not to stdout.")
@options_of(OptOptions)
def opt_command(file: str, output: str, **flags: Any) -> None:
    """Run passes on the module in FILE ('-' for stdin) and print the result.

    FILE holds MLIR text or bytecode, a StableHLO portable artifact, a jax.export file, HLO text or
    an HLO proto. Without -O or -p no pass runs.

    \b
    jxc opt -O2 step.mlir
    jxc opt -p 'inline,simplify{max-num-rewrites=3},cse' step.mlir -o small.mlir
    """
    stay_on_cpu()  # replacements are traced by JAX, which would start every backend
    options = read_options(OptOptions, flags)
    is_query = options.list_passes or options.help_pass
    data = b"" if is_query else read_input(file)
    if options.run_reproducer and not is_query:
        options = options.with_recipe(read_recipe(data, input_name(file)))
    spec = options.pipeline_text(default="O0")
    split = ["--split-input-file"] * options.split_input_file
    stage = in_child(data, lambda saved: ["opt", str(saved), *split, *options.again(spec)])
    stage.enter(f"while reading {input_name(file)}")
    with contextlib.redirect_stdout(sys.stderr):
        library = options.library()
    if options.list_passes:
        list_passes(library)
        leave(0)
    if options.help_pass:
        help_pass(options.help_pass, library)
        leave(0)
    from ...pipeline import make_pipeline
    from .run import OptRun, run_all

    pipeline = make_pipeline(spec, library)
    options.check(pipeline)
    if options.dump_pass_pipeline:
        click.echo(str(pipeline), err=True)
    run = OptRun(input_name(file), pipeline, options.context(), stage, options)
    result, is_right = run_all(run, data)
    write_output(result, output)
    leave(0 if is_right else 1)
