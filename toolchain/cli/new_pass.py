"""`jxc new-pass`: the files of a new rule, pass or replacement in the user's project."""

from __future__ import annotations

import shlex

import click

from ..testing.new_pass import KINDS, write_new_pass


@click.command(short_help="Write a rule or pass with its tests, to start from.")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="rule",
    show_default=True,
    help="A rule on ops, a pass on a module, or a replacement written in JAX.",
)
@click.option(
    "-C", "--folder", default=".", metavar="DIR", help="Write to DIR, not to the current folder."
)
def new_pass_command(name: str, kind: str, folder: str) -> None:
    """Write NAME.py, its lit case NAME.mlir and its test test_NAME.py.

    The three pass as they are. Existing files are never changed.
    """
    code, case, test = (shlex.quote(str(path)) for path in write_new_pass(name, kind, folder))
    click.echo(
        f"wrote {code}\n      {case}\n      {test}\n"
        f"Edit them, then run\n"
        f"  jxc test {case}\n"
        f"  python -m pytest {test}\n"
        f"  jxc opt --load-pass {code} -p {name.replace('_', '-')} step.mlir\n"
        "`jxc test --update FILE` writes the CHECK lines of a case that has none."
    )
