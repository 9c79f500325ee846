"""The reference in docs/reference has every public name, variable and verb, and no other."""

import importlib
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from jxc.cli import cli
from jxc.errors import VARIABLES
from jxc.tools.explain import presentation
from jxc.tools.report import sections

REFERENCE = Path(__file__).parent.parent / "docs" / "reference"
DIRECTIVE = re.compile(r"^\.\. (?:py:data|auto\w+):: (\S+)$", re.MULTILINE)
DOCUMENTED = [
    name
    for page in (REFERENCE / "python").glob("*.md")
    for name in DIRECTIVE.findall(page.read_text())
]
SECTIONS = Path(sections.__file__).read_text()
QUOTED = re.compile(r"(?:^|(?<=, ))(`+)(.+?)\1(?=$|, )")
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
    codes = " ".join(cli.help.partition("Exit codes: ")[2].split())
    assert listed == re.findall(r"(\d) ([^;.]+)", codes)


def glossary(title):
    """The terms in the tables of a section of the glossary."""
    text = (REFERENCE / "reports.md").read_text()
    section = re.split(rf"^## {title}$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    return {term for row in section.splitlines() for term in re.findall(r"`([^`]+)`", row)}


def test_every_row_of_a_report_is_explained():
    numbers = importlib.import_module("jxc.tools.report.report")._NUMBERS
    rows = {label.strip() for label in numbers}
    columns = re.findall(r'"([a-z][\w ]*)": (?:show_\w+|_count)', SECTIONS)
    assert len(columns) > 5
    assert rows | set(columns) <= glossary("jxc report")


def test_every_row_of_a_difference_is_explained():
    metrics = importlib.import_module("jxc.tools.diff.compare")._METRICS
    assert {label.strip() for _, label, _, _ in metrics} <= glossary("jxc diff")


def test_every_stage_of_a_compilation_is_explained():
    assert set(presentation._STAGES.values()) <= glossary("jxc explain")


def test_quoted_messages_are_in_the_code():
    sys.path.insert(0, str(REFERENCE.parent / "site"))
    import messages

    written = messages.texts()
    text = (REFERENCE / "messages.md").read_text().split("## All messages")[0]
    cells = re.findall(r"^\| (`.*?`) \| ", text.split("\n## ", 1)[1], re.MULTILINE)
    quoted = [q.strip() for cell in cells for _, q in QUOTED.findall(cell)]
    assert len(quoted) > 50
    assert [each for each in quoted if not any(contains(text, each) for text in written)] == []


def contains(message, quoted):
    """Whether a message has the quoted text; `…` in the quotation stands for any text."""
    pattern = ".*".join(re.escape(part.strip()) for part in quoted.split("…") if part.strip())
    return re.search(pattern, message)


def test_the_list_of_verbs_fits_a_terminal() -> None:
    lines = CliRunner().invoke(cli, ["--help"]).output.splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 80
