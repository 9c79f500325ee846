"""The trip counts of loops: how often the body of a `while` runs.

XLA states many (`known_trip_count`). The others are read from the condition: it compares an element
of the loop's state with a constant, the element is a constant before the loop, and each iteration
adds a constant to it. `scalar_of` finds such constants through tuples, fusions, calls and loops
that carry a value unchanged.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .. import Computation, Instruction

_KNOWN = re.compile(r'"known_trip_count"\s*:\s*\{\s*"n"\s*:\s*"?(\d+)')
_MIRRORED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE", "NE": "NE"}


@dataclass(frozen=True)
class CallSite:
    """A computation that runs, and from where.

    Attributes:
        computation: what runs.
        caller: the `while`, `call`, `fusion`, ... that runs it; None for the entry.
        outer: where the caller is.
    """

    computation: Computation
    caller: Instruction | None = None
    outer: CallSite | None = None


def stated_trips(loop: Instruction) -> int | None:
    """The `known_trip_count` that XLA attached to a loop, or None."""
    found = _KNOWN.search(loop.attributes.get("backend_config", ""))
    return int(found[1]) if found else None


def trips_of(loop: Instruction, site: CallSite) -> int | None:
    """The trip count of a `while` in `site`; None where it depends on data."""
    stated = stated_trips(loop)
    if stated is not None:
        return stated
    try:
        return _counted(loop, site)
    except RecursionError:  # a chain of additions longer than Python's stack
        return None


def _counted(loop: Instruction, site: CallSite) -> int | None:
    """The trip count from the condition: a counter with constant start, step and end."""
    condition = loop.callee("condition")
    if condition is None:
        return None
    within = CallSite(condition, loop, site)
    test, at = _comparison(condition.root, within)
    if test is None:
        return None
    left, right = (scalar_of(operand, at) for operand in test.operands)
    direction = test.attributes.get("direction", "")
    # The counter may be on either side of the comparison.
    for index, bound, way in ((left, right, direction), (right, left, _MIRRORED.get(direction))):
        if index is None or index.element is None or way not in _MIRRORED:
            continue
        start, end = _before(loop, index.element, site), _constant(bound, within)
        step = _after_iteration(loop, index.element, site)
        if start is None or end is None or step is None or step.element != index.element:
            continue
        if step.offset:
            return trip_count(start + index.offset, step.offset, end, way)
    return None


def _comparison(root: Instruction, site: CallSite) -> tuple[Instruction | None, CallSite]:
    """The comparison that a condition returns, and where it is: perhaps in a fusion."""
    while root.opcode in ("fusion", "call", "copy", "bitcast"):
        inside = root.callee("calls") or root.callee("to_apply")
        if inside is not None:
            root, site = inside.root, CallSite(inside, root, site)
        else:
            root = root.operands[0]
    return (root if root.opcode == "compare" else None), site


def trip_count(start: int, step: int, end: int, direction: str) -> int | None:
    """How often `for (i = start; i DIRECTION end; i += step)` runs; None if it never ends."""
    if direction in ("LE", "GE"):
        end += 1 if direction == "LE" else -1
    way = 1 if direction in ("LT", "LE") else -1
    if direction == "NE":
        return (end - start) // step if (end - start) % step == 0 <= (end - start) * step else None
    if (end - start) * way <= 0:
        return 0
    return -((start - end) // step) if step * way > 0 else None


# Constants


@dataclass(frozen=True)
class Scalar:
    """An integer: a constant, plus an element of the state of the loop around it.

    Attributes:
        offset: the constant.
        element: the number of the element; None where there is none.
    """

    offset: int
    element: int | None = None


def scalar_of(value: Instruction, site: CallSite, path: tuple[int, ...] = ()) -> Scalar | None:
    """The value of an integer as a `Scalar`; None where it is not of that form.

    Args:
        value: an instruction of `site`.
        site: the computation that runs, and from where.
        path: the part of `value`, if it is a tuple: the innermost index last.
    """
    match value.opcode:
        case "constant":
            is_integer = re.fullmatch(r"-?\d+", value.literal)
            return Scalar(int(value.literal)) if is_integer else None
        case "get-tuple-element":
            return scalar_of(value.operands[0], site, (*path, int(value.attributes["index"])))
        case "tuple" if path:
            return scalar_of(value.operands[path[-1]], site, path[:-1])
        case "copy-done":
            return scalar_of(value.operands[0], site)
        case "copy" | "bitcast" | "convert" | "reshape" | "copy-start":
            return scalar_of(value.operands[0], site, path)
        case "add" | "subtract":
            return _sum(value, site)
        case "fusion" | "call":
            inside = value.callee("calls") or value.callee("to_apply")
            return scalar_of(inside.root, CallSite(inside, value, site), path) if inside else None
        case "parameter" if (caller := site.caller) is not None and site.outer is not None:
            if caller.opcode == "while":
                return Scalar(0, path[0]) if len(path) == 1 else None
            is_branch = caller.opcode == "conditional"
            number = int(value.literal)
            return None if is_branch else scalar_of(caller.operands[number], site.outer, path)
        case "while" if len(path) == 1 and _is_carried_through(value, path[0], site):
            return scalar_of(value.operands[0], site, path)  # as before the loop
    return None


def _sum(value: Instruction, site: CallSite) -> Scalar | None:
    if value.operands[0] is value.operands[1] or value.shape.dims:
        return None
    one, other = (scalar_of(operand, site) for operand in value.operands)
    if one is None or other is None:
        return None
    sign = -1 if value.opcode == "subtract" else 1
    if other.element is None:
        return Scalar(one.offset + sign * other.offset, one.element)
    is_plain = one.element is None and sign == 1
    return Scalar(one.offset + other.offset, other.element) if is_plain else None


def _after_iteration(loop: Instruction, element: int, site: CallSite) -> Scalar | None:
    """The value of an element of the state of a loop after one iteration."""
    body = loop.callee("body")
    return scalar_of(body.root, CallSite(body, loop, site), (element,)) if body else None


def _is_carried_through(loop: Instruction, element: int, site: CallSite) -> bool:
    """Whether a loop leaves an element of its state unchanged."""
    return _after_iteration(loop, element, site) == Scalar(0, element)


def _before(loop: Instruction, element: int, site: CallSite) -> int | None:
    """The constant that an element of the state is before a loop; None where it is not constant.

    An element of an outer loop's state counts if that loop never changes it.
    """
    return _constant(scalar_of(loop.operands[0], site, (element,)), site)


def _constant(scalar: Scalar | None, site: CallSite) -> int | None:
    """The constant that a scalar of `site` is in every iteration of the loops around it."""
    if scalar is None or scalar.element is None:
        return None if scalar is None else scalar.offset
    around = site
    while around.caller is None or around.caller.opcode != "while":
        if around.outer is None:
            return None
        around = around.outer
    loop, outside = around.caller, around.outer
    if outside is None or not _is_carried_through(loop, scalar.element, outside):
        return None
    start = _before(loop, scalar.element, outside)
    return None if start is None else start + scalar.offset
