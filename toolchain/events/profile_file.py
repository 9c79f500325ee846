"""The object of `jxc profile --json` in a file, which `jxc diff` and `jxc doctor` read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..files import from_json, read_json


@dataclass(frozen=True)
class _Line:
    file: str
    line: int
    text: str


@dataclass(frozen=True)
class _Row:
    name: str
    detail: str
    part: str
    seconds: float
    step_seconds: tuple[float, float, float] | None
    line: _Line | None


@dataclass(frozen=True)
class _Groupings:
    line: tuple[_Row, ...]
    layer: tuple[_Row, ...]
    kernel: tuple[_Row, ...]
    program: tuple[_Row, ...]


@dataclass(frozen=True)
class _Step:
    is_warm_up: bool


@dataclass(frozen=True)
class _Program:
    name: str
    runs: int


@dataclass(frozen=True)
class _Profile:
    """What is read of the object."""

    program: str
    seconds: float
    warm_up_seconds: float
    running_seconds: float
    parts: Mapping[str, float]
    programs: tuple[_Program, ...]
    by: _Groupings
    steps: tuple[_Step, ...] = ()


def read_profile(path: str) -> Mapping[str, Any]:
    """The object of `jxc profile --json` in a file.

    Raises:
        UsageError: the file cannot be read, or has another object.
    """
    found = read_json(path)
    try:
        from_json(_Profile, found)
    except ValueError as error:
        raise UsageError(
            f"expected in {path} the object of `jxc profile --json`: {error}. "
            "Write it with `jxc profile --json FILE`"
        ) from None
    return {"steps": [], **found}
