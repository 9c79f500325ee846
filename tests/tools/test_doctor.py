"""The whole linter: a faulty program, its clean version, the result, and silencing comments."""

from __future__ import annotations

import importlib.util
import re
from typing import Any

import jax.numpy as jnp
import pytest

import jxc
from jxc.errors import UsageError
from jxc.tools.doctor import all_checks, examine, program_of
from jxc.tools.doctor.checks import slow_on_target

from .doctoring import PROGRAMS, f32, findings_of, names_of


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def no_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times by which the passes of jxc gain nothing, independent of the machine."""
    monkeypatch.setattr(slow_on_target, "_times", lambda plain, ours: ([1.0, 1.0], [1.0, 1.0]))


def faulty_findings() -> set[tuple[int, str]]:
    lines = (PROGRAMS / "doctor_faulty.py").read_text().splitlines()
    marks = ((n, re.search("# FAULT (.*)", line)) for n, line in enumerate(lines, 1))
    return {(n, name.strip()) for n, mark in marks if mark for name in mark[1].split(",")}


@pytest.mark.usefixtures("no_gain")
def test_doctor_finds_exactly_the_faults_at_their_lines() -> None:
    program = load("doctor_faulty")
    findings = jxc.doctor(program.step, *program.arguments())
    at = {(each.place.line, each.name) for each in findings if each.place}
    assert at == faulty_findings()
    assert len(findings) == len(at)
    assert all(each.fix.endswith(".") for each in findings)
    assert all(str(each.cost) for each in findings)


@pytest.mark.usefixtures("no_gain")
def test_doctor_finds_nothing_in_clean_program() -> None:
    program = load("doctor_clean")
    assert jxc.doctor(program.step, *program.arguments()) == []


def test_check_is_named_after_its_function_and_documented() -> None:
    assert all_checks()
    for name, each in all_checks().items():
        assert name == each.name == each.function.__name__.replace("_", "-")
        assert len(each.doc) > 80


def test_doctor_rejects_unknown_names() -> None:
    with pytest.raises(UsageError, match="Did you mean 'weak-type'"):
        findings_of(jnp.sin, f32(4), only=["weak-types"])
    with pytest.raises(UsageError, match="expected a list of names"):
        findings_of(jnp.sin, f32(4), ignore="weak-type")


def test_program_of_rejects_modules() -> None:
    from jxc.backend.from_module import uncallable_from_module
    from jxc.ir import make_context, read_module

    text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    lowered = uncallable_from_module(read_module(text.encode(), make_context(), name="-"))
    with pytest.raises(UsageError, match="expected a function"):
        program_of(lowered, "cpu", may_compile=False)


def test_examine_skips_compiled_checks_without_compiler() -> None:
    program = program_of(jxc.lower(jnp.sin, f32(4)), "cpu", may_compile=False)
    done = examine(program, list(all_checks().values()))
    assert set(done.skipped) == {c.name for c in all_checks().values() if c.needs_compiler}
    assert "compiled" not in vars(program)


def doubled(x: Any) -> Any:
    return x[jnp.arange(0, 512, 2)]


def silenced(x: Any) -> Any:
    return x[  # jxc: ignore[gather-as-slice]
        jnp.arange(0, 512, 2)
    ]


def silenced_for_another(x: Any) -> Any:
    return x[jnp.arange(0, 512, 2)]  # jxc: ignore[weak-type]


def with_comment_in_a_string(x: Any) -> Any:
    return [x[jnp.arange(0, 512, 2)], "# jxc: ignore[gather-as-slice]"][0]


def test_comment_silences_its_finding_on_its_statement_only() -> None:
    assert names_of(doubled, f32(512, 64)) == ["gather-as-slice"]
    assert names_of(silenced, f32(512, 64)) == []
    assert names_of(silenced_for_another, f32(512, 64)) == ["gather-as-slice"]
    assert names_of(with_comment_in_a_string, f32(512, 64)) == ["gather-as-slice"]
    assert names_of(doubled, f32(512, 64), ignore=["gather-as-slice"]) == []
    assert names_of(doubled, f32(512, 64), only=["dead-output"]) == []


def test_result_prints_as_command_and_has_short_repr() -> None:
    result = jxc.doctor(doubled, f32(512, 64), compile=False, only=["gather-as-slice"])
    assert result == list(result) and len(result) == 1
    assert repr(result) == "<jxc.doctor: 1 finding for cpu by 1 check: gather-as-slice>"
    assert repr(result[0]).startswith("<Finding ") and "\n" not in repr(result[0])
    text = str(result)
    assert "return x[jnp.arange(0, 512, 2)]" in text
    assert "\n  fix: Write x[start:stop:step]" in text
    assert text.endswith("\n1 finding for cpu by 1 check")
    assert result._repr_html_().startswith('<div class="jxc-html">')
    assert str(jxc.doctor(jnp.sin, f32(8), compile=False, only=["f64"])) == (
        "nothing found for cpu by 1 check"
    )
