"""`passes/README.md`, and the lines of `--help-pass` about how a rule was checked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from jaxlib.mlir.dialects.stablehlo import AddOp

from jxc.cli.pass_help import how_checked, phrase
from jxc.ir.values import as_result
from jxc.rewrite import exact, rule

from .lit_seeds import all_rules

ROOT = Path(__file__).parent.parent
CHECKED = ROOT / "passes" / "checked.json"

sys.path.insert(0, str(ROOT / "scripts"))
import catalogue  # noqa: E402


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (None, "not yet counted"),
        ({"checked": 12}, "checked on 12 generated programs"),
        ({"checked": 3, "proved": ["i1", "f16"]}, "proved for i1, f16"),
        ({"checked": 3, "proved": ["i1"], "status": "in part"}, "proved in part for i1"),
        ({"checked": 3, "proved": ["i1"], "wrong": 2}, "3 generated programs; WRONG on 2 more"),
        ({"checked": 3, "proved": ["i1, f32", "f32"]}, "for f32, 1 mixture of types"),
    ],
)
def test_record_as_words(record, words):
    assert words in phrase(record)


def test_rules_outside_jxc_have_no_record():
    @rule(exact)
    def add_zero(op: AddOp):
        """x + 0 -> x."""
        return as_result(op.lhs, op)

    assert how_checked(add_zero) == ""
    assert "generated programs" in how_checked(all_rules()["add-zero"])


def test_example_shows_only_the_ops():
    before, after = catalogue.example(all_rules()["subtract-self"])
    assert before.startswith("%0 = stablehlo.subtract %arg0, %arg0")
    assert "func.func" not in before + after
    assert "stablehlo.constant dense<0>" in after


def test_stale_names_what_is_out_of_date():
    recorded = json.loads(CHECKED.read_text())
    del recorded["rules"]["add-zero"]
    recorded["rules"]["subtract-zero"]["checked"] = 0
    reasons = "\n".join(catalogue.stale("another text", recorded))
    for name in ("add-zero", "subtract-zero"):
        assert f"{name} was checked on no program: run `make rules`" in reasons
    assert "subtract-self" not in reasons
    assert "passes/README.md is out of date" in reasons


def test_examples_do_not_depend_on_a_calibration(tmp_path):
    rates = {"schema_version": 1, "targets": {"cpu": {"row-sum": 0.5}}, "measured": {}}
    (tmp_path / "rates.json").write_text(json.dumps(rates))
    script = ROOT / "scripts" / "catalogue.py"
    environment = {key: value for key, value in os.environ.items() if key != "JXC_RATES"}
    done = subprocess.run(
        [sys.executable, script, "--check"],
        env=environment | {"JXC_CONFIG_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_check_rules_runs_a_single_rule_by_name(tmp_path):
    script = ROOT / "scripts" / "check_rules.py"
    done = subprocess.run(
        [sys.executable, script, "no-such-rule"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no rule 'no-such-rule'" in done.stderr
