"""The reference in docs/reference has every public name, variable and verb, and no other."""

import importlib
import re
from pathlib import Path

import pytest

from jxc.cli import cli
from jxc.errors import VARIABLES

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. (?:py:data|auto\w+):: (\S+)$", re.MULTILINE)
DOCUMENTED = [
    name
    for page in (REFERENCE / "python").glob("*.md")
    for name in DIRECTIVE.findall(page.read_text())
]
MODULES = ("jxc", "jxc.ir", "jxc.testing", "jxc.backend.targets")


def resolve(name):
    """The object of a dotted name."""
    head, _, last = name.rpartition(".")
    try:
        return getattr(importlib.import_module(head), last)
    except ImportError:
        return getattr(resolve(head), last)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_reference(module):
    names = importlib.import_module(module).__all__
    public = {f"{module}.{name}" for name in names} - set(MODULES)
    assert public - set(DOCUMENTED) == set()


def test_every_name_in_the_reference_exists_and_has_a_docstring():
    assert len(DOCUMENTED) == len(set(DOCUMENTED))
    assert [name for name in DOCUMENTED if not resolve(name).__doc__] == []


def test_every_environment_variable_is_in_the_reference():
    rows = re.findall(r"^\| `(JXC_\w+)` \|", (REFERENCE / "commands.md").read_text(), re.MULTILINE)
    assert sorted(rows) == VARIABLES


def test_exit_codes_are_those_of_the_help():
    listed = re.findall(
        r"^\| (\d) \| (.*) \|$", (REFERENCE / "commands.md").read_text(), re.MULTILINE
    )
    assert listed == re.findall(r"^ +(\d)  (.*)$", cli.help, re.MULTILINE)
