"""Helpers for the tests of the linter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import jxc
from jxc.tools.doctor import Finding

PROGRAMS = Path(__file__).parent / "programs"


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def findings_of(fn: Any, *args: Any, **options: Any) -> list[Finding]:
    """The findings in a function; without a compiler by default."""
    return jxc.doctor(fn, *args, **{"compile": False, **options})


def names_of(fn: Any, *args: Any, **options: Any) -> list[str]:
    return [each.name for each in findings_of(fn, *args, **options)]


def source_line(finding: Finding) -> str:
    """The text of the line that a finding is at."""
    assert finding.place is not None
    return finding.place.text
