"""`jxc filecheck`: the checker of lit tests, which needs nothing on PATH."""

from __future__ import annotations

import click

from ..testing.filecheck import run_filecheck


@click.command(
    short_help="Match a text against the CHECK lines of a file.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="FILE ...")
@click.pass_context
def filecheck_command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Match standard input against the CHECK lines in FILE.

    The options are LLVM's: --check-prefix=NAME, --input-file=FILE, --match-full-lines and others.

    \b
    jxc opt -O2 step.mlir | jxc filecheck step.mlir
    """
    ctx.exit(run_filecheck(arguments))
