"""Run the commands and programs in the documents.

A `python` block whose first line names a file (`# model.py`) is written to that file. Other
`python` code_blocks are run. A `console` block is run line by line and its output compared; `...`
matches any text, a time such as `1.5 ms` any time, and white space any white space. All blocks of a
document run in order, in one temporary folder. A document with the line `<!-- requires: keras -->`
is skipped where the module `keras` is not installed. One with `<!-- machine: x86_64 -->` is skipped
on other processors, for which XLA makes other HLO.
"""

import importlib.util
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REQUIRES = re.compile(r"^<!-- (requires|machine): (\S+) -->$", re.MULTILINE)


def code_blocks(document):
    return BLOCK.findall((ROOT / document).read_text())


def environment():
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return {**os.environ, "PATH": path, "JAX_PLATFORMS": "cpu", "COLUMNS": "80"}


def run(command, folder, **options):
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


def commands(text):
    """Each command with its expected output."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return [part.partition("\n")[::2] for part in parts]


VARYING = {"...": r".*", "time": r"\d[\d.]* ?(?:ns|µs|ms|s|min)", "space": r"\s+"}
TOKENS = re.compile(rf"(\.\.\.)|(\b{VARYING['time']}\b)|(\s+)")


def matches(shown, found):
    """Whether the output is the one that the document shows, except for what varies."""
    pattern, end = "", 0
    for token in TOKENS.finditer(shown.strip()):
        kind = list(VARYING.values())[token.lastindex - 1]
        pattern += re.escape(shown.strip()[end : token.start()]) + kind
        end = token.end()
    return re.fullmatch(pattern + re.escape(shown.strip()[end:]), found.strip(), flags=re.DOTALL)


def has_programs(document):
    return any(language in ("python", "console") for language, _ in code_blocks(document))


def missing(document):
    """The module or the processor that the document requires, if it is not there."""
    for kind, name in REQUIRES.findall((ROOT / document).read_text()):
        if kind == "requires" and importlib.util.find_spec(name) is None:
            return f"the module {name}, which is not installed"
        if kind == "machine" and platform.machine().lower().replace("amd64", "x86_64") != name:
            return f"an {name} processor; this is {platform.machine()}"
    return None


PAGES = [str(page.relative_to(ROOT)) for page in (ROOT / "docs").rglob("*.md")]
DOCUMENTS = ["README.md", "CONTRIBUTING.md", *filter(has_programs, PAGES)]


@pytest.mark.parametrize("document", sorted(DOCUMENTS))
def test_document_runs(document, tmp_path):
    if lacking := missing(document):
        pytest.skip(f"{document} needs {lacking}")
    ran = 0
    for language, text in code_blocks(document):
        named = re.match(r"# (\S+\.py)\n", text)
        if language == "python" and named:
            (tmp_path / named[1]).write_text(text)
        elif language == "python":
            run([sys.executable, "-c", text], tmp_path)
            ran += 1
        elif language == "console":
            for command, shown in commands(text):
                found = run(command, tmp_path, shell=True)
                assert matches(shown, found), f"$ {command}\n{found}"
                ran += 1
    assert ran


MEASURED = {"docs/profile.md"}  # what it shows differs in each run


WHOLE = sorted(page for page in {*DOCUMENTS} - MEASURED if "tutorials" not in page)


@pytest.mark.parametrize("page", WHOLE)
def test_console_blocks_leave_out_no_lines(page):
    """Tutorials may leave out rows that depend on the version of XLA."""
    lines = [
        line
        for language, text in code_blocks(page)
        if language == "console"
        for line in text.splitlines()
    ]
    assert "..." not in map(str.strip, lines)


@pytest.mark.parametrize(
    ("shown", "found", "holds"),
    [
        ("ran in 3.5 ms", "ran in 14 s", True),
        ("a  1.5 s\nb", "a\n2 s   b", True),
        ("peak ... MiB", "peak 3 MiB", True),
        ("3 samples", "4 samples", False),
        ("3 ops in 2 s", "4 ops in 2 s", False),
        ("same (exact)", "differs (exact)", False),
    ],
)
def test_only_times_and_elided_text_may_vary(shown, found, holds):
    assert bool(matches(shown, found)) == holds
