"""Which values to compute again: the words of an option, and the entries of a plan."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from jxc.errors import UsageError
from jxc.ir.labels import Label
from jxc.rewrite import File

Value = TypeVar("Value")

_ANY = Label("")


@dataclass(frozen=True)
class Selector:
    """An entry of a plan, or a word.

    Attributes:
        label: where the values were written.
        word: a primitive, a function, or `file:line`; empty for an entry of a plan.
        share: of the values, in order of the program.
        keep_every: of these, the n-th, 2n-th and so on are kept; 0 for none.
        segments: for the label of a loop: its iterations are split into so many segments, whose
            starts alone are kept; 0 for values.
        levels: how often segments are split again.
    """

    label: Label = _ANY
    word: str = ""
    share: float = 1.0
    keep_every: int = 0
    segments: int = 0
    levels: int = 1

    def matches(self, label: Label) -> bool:
        """Whether it chooses values with this label."""
        if self.word:
            return self.word in (label.op, label.function, label.place)
        return self.label.matches(label)

    def chosen(self, values: Sequence[Value]) -> list[Value]:
        """Those of the matching values, in order of the program, that are to be computed again."""
        first = values[: round(self.share * len(values))]
        every = self.keep_every
        return [v for i, v in enumerate(first, 1) if not every or i % every]

    def __str__(self) -> str:
        return self.word or str(self.label)


def parse_options(name: str, values: str, plan: File) -> list[Selector]:
    """The selectors that the options `values` and `plan` of the pass `name` give it, at least one.

    Raises:
        UsageError: there are none, or the plan is wrong.
    """
    found = parse_plan(plan, name) if plan.path else parse_words(values)
    if not found:
        raise UsageError(
            f"{name} needs values or a plan, such as {name}{{values=tanh,exp}} or "
            f"{name}{{plan=FILE}} with entries [[{name}]]"
        )
    return found


def parse_words(text: str) -> list[Selector]:
    """The selectors of an option: words separated by commas."""
    return [Selector(word=word.strip()) for word in text.split(",") if word.strip()]


def parse_plan(file: File, section: str) -> list[Selector]:
    """The entries `[[section]]` of a plan.

    Raises:
        UsageError: the file is not TOML, or an entry has unknown keys or values.
    """
    try:
        tables = tomllib.loads(file.read()).get(section, [])
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{file.path}: not a plan: {error}") from None
    if not isinstance(tables, list):
        raise UsageError(f"{file.path}: expected entries [[{section}]], found [{section}]")
    return [_selector(f"{file.path}: [[{section}]] {i}", t) for i, t in enumerate(tables, 1)]


_TYPES = {each.name: int if each.name == "line" else str for each in fields(Label)}
_PARTS = ("share", "keep_every", "segments", "levels")
_NOTES = ("values", "bytes", "seconds")  # what jxc fit found, for the reader


def _selector(where: str, table: dict[str, Any]) -> Selector:
    for key, value in table.items():
        if key not in (*_TYPES, *_NOTES, *_PARTS):
            known = ", ".join((*_TYPES, *_PARTS))
            raise UsageError(f"{where}: unknown key {key!r}; expected {known}")
        if key in _TYPES and not isinstance(value, _TYPES[key]):
            raise UsageError(f"{where}: {key}: expected {_TYPES[key].__name__}, found {value!r}")
    if not table.get("op"):
        raise UsageError(f"{where}: expected a key op, such as op = 'tanh'")
    share = table.get("share", 1.0)
    if not isinstance(share, float | int) or not 0 < share <= 1:
        raise UsageError(f"{where}: share: expected a number above 0 and up to 1, found {share!r}")
    label = Label(**{key: table[key] for key in _TYPES if key in table})
    every, segments = _count(where, table, "keep_every"), _count(where, table, "segments")
    levels = table.get("levels", 1)
    if levels not in (1, 2, 3):
        raise UsageError(f"{where}: levels: expected 1, 2 or 3, found {levels!r}")
    return Selector(label, "", float(share), every, segments, levels)


def _count(where: str, table: dict[str, Any], key: str) -> int:
    value = table.get(key, 0)
    if not isinstance(value, int) or value == 1 or value < 0:
        raise UsageError(f"{where}: {key}: expected an integer of 2 or more, found {value!r}")
    return value
