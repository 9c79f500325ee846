"""What a scalar in a loop is: a constant, perhaps added to an element of what the loop carries."""

from __future__ import annotations

from dataclasses import dataclass

from .. import Computation, Instruction

_SAME = frozenset(["copy", "bitcast", "convert", "reshape", "copy-start", "copy-done"])


@dataclass(frozen=True)
class Scope:
    """A computation that is being run, and from where.

    Attributes:
        caller: the `while`, `call`, `fusion`, ... that runs it; None for the entry.
        outer: where the caller stands.
    """

    computation: Computation
    caller: Instruction | None = None
    outer: Scope | None = None


@dataclass(frozen=True)
class Scalar:
    """A constant, plus an element of what the loop around carries.

    Attributes:
        offset: the constant.
        element: which element; None where there is none.
    """

    offset: int
    element: int | None = None


def scalar_of(value: Instruction, scope: Scope, path: tuple[int, ...] = ()) -> Scalar | None:
    """What an integer is; None where it is neither.

    Args:
        value: an instruction of `scope`.
        scope: the computation that is being run.
        path: which part of `value`, if it is a tuple: the innermost index last.
    """
    opcode = value.opcode
    if opcode == "constant":
        return _literal(value.literal)
    if opcode == "get-tuple-element":
        return scalar_of(value.operands[0], scope, (*path, int(value.attributes["index"])))
    if opcode == "tuple" and path:
        return scalar_of(value.operands[path[-1]], scope, path[:-1])
    if opcode in _SAME:
        return scalar_of(value.operands[0], scope, () if opcode == "copy-done" else path)
    if opcode in ("add", "subtract"):
        return _sum(value, scope)
    if opcode in ("fusion", "call"):
        inside = value.callee("calls") or value.callee("to_apply")
        return scalar_of(inside.root, Scope(inside, value, scope), path) if inside else None
    if opcode == "parameter":
        return _parameter(value, scope, path)
    return _carried_out(value, scope, path) if opcode == "while" else None


def _literal(text: str) -> Scalar | None:
    try:
        return Scalar(int(text))
    except ValueError:
        return None


def _sum(value: Instruction, scope: Scope) -> Scalar | None:
    if value.operands[0] is value.operands[1] or value.shape.dims:
        return None
    one, other = (scalar_of(operand, scope) for operand in value.operands)
    if one is None or other is None:
        return None
    sign = -1 if value.opcode == "subtract" else 1
    if other.element is None:
        return Scalar(one.offset + sign * other.offset, one.element)
    is_plain = one.element is None and sign == 1
    return Scalar(one.offset + other.offset, other.element) if is_plain else None


def _parameter(value: Instruction, scope: Scope, path: tuple[int, ...]) -> Scalar | None:
    caller, outer = scope.caller, scope.outer
    if caller is None or outer is None:
        return None
    if caller.opcode == "while":
        return Scalar(0, path[0]) if len(path) == 1 else None
    number = int(value.literal)
    if caller.opcode == "conditional":
        return None
    return scalar_of(caller.operands[number], outer, path)


def _carried_out(loop: Instruction, scope: Scope, path: tuple[int, ...]) -> Scalar | None:
    """What a loop gives back unchanged is what it was given."""
    if len(path) == 1 and is_carried_through(loop, path[0], scope):
        return scalar_of(loop.operands[0], scope, path)
    return None


def is_carried_through(loop: Instruction, element: int, scope: Scope) -> bool:
    """Whether a loop's body gives back this element as it got it."""
    body = loop.callee("body")
    return body is not None and step_of(body, loop, element, scope) == Scalar(0, element)


def step_of(body: Computation, loop: Instruction, element: int, scope: Scope) -> Scalar | None:
    """What a turn of a loop makes of an element."""
    return scalar_of(body.root, Scope(body, loop, scope), (element,))


def before(loop: Instruction, element: int, scope: Scope) -> int | None:
    """The constant that an element is when a loop begins; None where it is none.

    An element of a loop around this one counts if that loop never changes it.
    """
    start = scalar_of(loop.operands[0], scope, (element,))
    return constant(start, scope)


def constant(scalar: Scalar | None, scope: Scope) -> int | None:
    """The constant that a scalar of `scope` is in every turn of the loops around it."""
    if scalar is None or scalar.element is None:
        return None if scalar is None else scalar.offset
    around: Scope | None = scope
    while around is not None and (around.caller is None or around.caller.opcode != "while"):
        around = around.outer
    if around is None or around.caller is None or around.outer is None:
        return None
    if not is_carried_through(around.caller, scalar.element, around.outer):
        return None
    start = before(around.caller, scalar.element, around.outer)
    return None if start is None else start + scalar.offset
