"""The faults of XLA that jxc avoids: plain XLA has them as the list says, and the levels do not.

The programs run in child processes, since some end the process.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jaxlib.version
import pytest

from jxc.pipeline import LEVELS
from jxc.pipeline.library import our_passes

from .faults import CHECKED, FAULTS
from .xla_faults import BESIDE, PROGRAMS, name_of

ROOT = Path(__file__).parents[2]
INSTALLED = jaxlib.version.__version__
LIMIT_S = 300  # a fault may also be a hang


def run(level: str, *names: str) -> dict[str, str]:
    """Whether each program is right or wrong; the last one may have ended the process."""
    command = [sys.executable, "-m", "tests.passes.xla_faults", level, *names]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return dict.fromkeys(names, "hangs")
    found = dict(line.split() for line in done.stdout.splitlines())
    if done.returncode:
        found.update({name: f"dies ({done.returncode})" for name in names if name not in found})
        assert done.returncode < 0, done.stderr[-2000:]
    return found


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_plain_xla_has_the_faults_that_are_listed(fault):
    result = run("plain", fault.name)[fault.name]
    print(f"{fault.name} on jaxlib {INSTALLED}: {result}")
    if INSTALLED not in CHECKED:
        pytest.skip(f"faults.py lists no faults of jaxlib {INSTALLED}: plain XLA {result}")
    if INSTALLED not in fault.seen:
        assert result == "right", f"faults.py lacks it for jaxlib {INSTALLED}"
    elif result == "right" and fault.depends_on_cpu:
        print(f"this CPU does not have the fault {fault.name}")
    else:
        assert result != "right", f"faults.py lists it for jaxlib {INSTALLED}"


@pytest.mark.parametrize("level", ["O1", "O2"])
def test_levels_avoid_the_faults(level):
    names = [name_of(program) for program in (*PROGRAMS, *BESIDE)]
    assert run(level, *names) == dict.fromkeys(names, "right")


def test_each_fault_has_a_program_and_a_rule_of_the_levels():
    assert [name_of(program) for program in PROGRAMS] == [fault.name for fault in FAULTS]
    (workarounds,) = (each for each in our_passes() if each.name == "workarounds")
    assert {rule.name for rule in workarounds.rules} == {fault.rule for fault in FAULTS}
    assert all("workarounds" in LEVELS[level] for level in ("O1", "O2", "O3"))


def test_the_documentation_lists_the_faults():
    rows = re.findall(r"^\| .*`([a-z0-9-]+)` \|$", (ROOT / "docs/promises.md").read_text(), re.M)
    assert rows == [fault.rule for fault in FAULTS]
    page = (ROOT / "docs/promises.md").read_text()
    for fault in FAULTS:
        (row,) = (line for line in page.splitlines() if line.startswith(f"| {fault.title} |"))
        assert f" {', '.join(fault.seen)} |" in row
        assert fault.report in row
