"""The values of a program that a pattern names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.errors import UsageError, did_you_mean
from jxc.ir.locations import Frame, frames_of, path_of
from jxc.ir.module import ops_of

from .statistics import is_numeric

TRACED_REGIONS = (hlo.WhileOp, hlo.IfOp, hlo.CaseOp)
"""The ops in whose regions values are traced."""

_LINE = re.compile(r"(.+):(\d+)$")


@dataclass(frozen=True)
class Chosen:
    """A value to trace.

    Attributes:
        op: the op that produces it.
        value: one of its results.
        depth: number of loops around it.
        number: of the op in program order, as the op itself may be replaced.
        result: which result of the op.
    """

    op: ir.OpView
    value: ir.Value
    depth: int
    number: int
    result: int


def choose(main: ir.OpView, match: str) -> list[Chosen]:
    """The values that any of the patterns in `match` names, in program order.

    Raises:
        UsageError: a pattern names none; the message offers what is like it.
    """
    patterns = [pattern.strip() for pattern in match.split("|")]
    ops = list(_ops(main, 0))
    numeric = [
        (number, op) for number, (op, _) in enumerate(ops) if any(map(is_numeric, op.results))
    ]
    named = {pattern: [n for n, op in numeric if _names(pattern, op)] for pattern in patterns}
    for pattern, found in named.items():
        if not found:
            known = [name for _, op in numeric for name in _offered(op)]
            raise UsageError(
                f"trace-values: match={pattern} names no value of the program."
                f"{did_you_mean(pattern, known)}"
            )
    return [
        Chosen(ops[number][0], value, ops[number][1], number, result)
        for number in sorted({number for found in named.values() for number in found})
        for result, value in enumerate(ops[number][0].results)
        if is_numeric(value)
    ]


def _ops(op: ir.OpView, depth: int) -> Iterator[tuple[ir.OpView, int]]:
    """Yield the ops inside, outer ones first, each with the number of loops around it."""
    for region in regions_of(op):
        for inner in ops_of(region.blocks[0]):
            yield inner, depth
            if isinstance(inner, TRACED_REGIONS):
                yield from _ops(inner, depth + isinstance(inner, hlo.WhileOp))


def regions_of(op: ir.OpView) -> list[ir.Region]:
    """The regions of an op in which values are traced; of a loop its body alone."""
    regions = list(op.regions)
    return regions[1:] if isinstance(op, hlo.WhileOp) else regions


def _names(pattern: str, op: ir.OpView) -> bool:
    if line := _LINE.match(pattern):
        return any(_is_at(frame, line[1], int(line[2])) for frame in frames_of(op.location))
    if "/" in pattern:
        return fnmatchcase(path_of(op.location), pattern)
    return any(fnmatchcase(name, pattern) for name in _names_of(op))


def _is_at(frame: Frame, file: str, line: int) -> bool:
    name = frame[0].replace("\\", "/")
    return frame[1] == line and (name == file or fnmatchcase(name, f"*/{file}"))


def _names_of(op: ir.OpView) -> list[str]:
    """An op's names: StableHLO's, JAX's, and the functions that it is in."""
    name = op.operation.name
    functions = [part for frame in frames_of(op.location) for part in (frame[2], _last(frame[2]))]
    return [name, _last(name), path_of(op.location).rpartition("/")[2], *functions]


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _offered(op: ir.OpView) -> list[str]:
    lines = [f"{file.rpartition('/')[2]}:{line}" for file, line, _ in frames_of(op.location)]
    return [word for word in (*_names_of(op), *lines) if word]
