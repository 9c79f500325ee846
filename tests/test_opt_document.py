"""docs/opt.md lists the flags of `jxc opt` and `jxc translate`: no more and no less."""

import re
from pathlib import Path

import click
import pytest

from jxc.cli.opt import opt_command
from jxc.cli.translate import translate_command

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| `(-[^`]+)` \| ([a-z, ]+) \| ([a-z, ]+) \| (.*) \|$", re.MULTILINE)
TABLE = (ROOT / "docs" / "opt.md").read_text().partition("\n## ")[0]
ROWS = {flag: (of, ours, note) for flag, of, ours, note in ROW.findall(TABLE)}


def flags_of(command):
    """The flags in the help of a command, without short forms of long ones."""
    context = click.Context(command, info_name="jxc")
    text = command.get_help(context)
    spelled = re.findall(r"^  ((?:-[\w-]+(?:, | / )?)+)", text, re.MULTILINE)
    flags = {flag for each in spelled for flag in re.split(r", | / ", each) if flag}
    long = {flag for flag in flags if flag.startswith("--")}
    return (long | ({"-o", "-O"} & flags)) - {"--help"}


@pytest.mark.parametrize(
    ("name", "command"), [("opt", opt_command), ("translate", translate_command)]
)
def test_document_lists_the_flags_of(name, command):
    listed = {flag for flag, (_, ours, _) in ROWS.items() if name in ours.split(", ")}
    assert listed == flags_of(command)


def test_rows_say_what_is_known():
    assert {ours for _, ours, _ in ROWS.values()} <= {"opt", "translate", "opt, translate", "no"}
    assert {of for of, _, _ in ROWS.values()} <= {"opt", "translate", "opt, translate", "jxc"}
    assert [flag for flag, (_, ours, note) in ROWS.items() if ours == "no" and not note] == []
    rows = [line for line in TABLE.splitlines() if line.startswith("| `")]
    assert len(rows) == len(ROWS)
