"""How often a loop turns, from what the compiler says of it or from its condition."""

from __future__ import annotations

import re

from .. import Instruction
from .scalars import Scalar, Scope, before, constant, scalar_of, step_of

_KNOWN = re.compile(r'"known_trip_count"\s*:\s*\{\s*"n"\s*:\s*"?(\d+)')
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


def stated_trips(loop: Instruction) -> int | None:
    """The `known_trip_count` that XLA attached, or None."""
    found = _KNOWN.search(loop.attributes.get("backend_config", ""))
    return int(found[1]) if found else None


def trips_of(loop: Instruction, scope: Scope) -> int | None:
    """How often the body of a `while` of `scope` runs, or None where it depends on data."""
    stated = stated_trips(loop)
    if stated is not None:
        return stated
    try:
        return _counted(loop, scope)
    except RecursionError:  # a chain of additions longer than Python's stack
        return None


def _counted(loop: Instruction, scope: Scope) -> int | None:
    """From a comparison of an element that starts and steps by constants with a constant."""
    condition, body = loop.callee("condition"), loop.callee("body")
    if condition is None or body is None:
        return None
    within = Scope(condition, loop, scope)
    test, at = _comparison(condition.root, within)
    if test is None:
        return None
    left, right = (scalar_of(operand, at) for operand in test.operands)
    direction = test.attributes.get("direction", "")
    for index, bound, way in ((left, right, direction), (right, left, _MIRRORED.get(direction))):
        if index is None or index.element is None or way not in _MIRRORED:
            continue
        start, end = before(loop, index.element, scope), constant(bound, within)
        step = step_of(body, loop, index.element, scope)
        if start is None or end is None or step is None or step.element != index.element:
            continue
        if step != Scalar(0, index.element):
            return turns(start + index.offset, step.offset, end, way)
    return None


def _comparison(root: Instruction, scope: Scope) -> tuple[Instruction | None, Scope]:
    """The comparison that a condition gives, and where it stands: perhaps in a fusion."""
    while root.opcode in ("fusion", "call", "copy", "bitcast"):
        inside = root.callee("calls") or root.callee("to_apply")
        if inside is not None:
            root, scope = inside.root, Scope(inside, root, scope)
        else:
            root = root.operands[0]
    return (root if root.opcode == "compare" else None), scope


def turns(start: int, step: int, end: int, direction: str) -> int | None:
    """How often a loop turns whose index starts, steps, and goes on while it compares so.

    None for a loop that does not end by counting.
    """
    if direction in ("LE", "GE"):
        end += 1 if direction == "LE" else -1
    way = 1 if direction in ("LT", "LE") else -1
    if direction == "NE":
        return (end - start) // step if (end - start) % step == 0 <= (end - start) * step else None
    if (end - start) * way <= 0:
        return 0
    return -((start - end) // step) if step * way > 0 else None
