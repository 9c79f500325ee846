"""Rules that are equations: `@equation(exact)` on a function without a body.

The docstring is the rule. It is parsed when the module is imported, and compiled into functions
that match ops and build the replacement.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..ir import build
from ..ir.bounds import is_extreme, type_bounds
from ..ir.values import SPLATS, as_result, element_type, is_all_ones, is_splat
from .rule import Contract, Rule, RuleResult, kebab

_Bound: TypeAlias = Mapping[str, ir.Value]
_Matcher: TypeAlias = Callable[[ir.Value, _Bound], Iterator[_Bound]]
_Builder: TypeAlias = Callable[[_Bound, ir.OpView], ir.Value | None]

_OPERATORS: dict[type[ast.AST], type[ir.OpView]] = {
    ast.Add: hlo.AddOp,
    ast.Sub: hlo.SubtractOp,
    ast.Mult: hlo.MulOp,
    ast.Div: hlo.DivOp,
    ast.Mod: hlo.RemOp,
    ast.BitAnd: hlo.AndOp,
    ast.BitOr: hlo.OrOp,
    ast.BitXor: hlo.XorOp,
    ast.LShift: hlo.ShiftLeftOp,
    ast.Pow: hlo.PowOp,
    ast.USub: hlo.NegOp,
    ast.Invert: hlo.NotOp,
}
_FUNCTIONS: dict[str, type[ir.OpView]] = {
    "abs": hlo.AbsOp,
    "clamp": hlo.ClampOp,
    "complex": hlo.ComplexOp,
    "exp": hlo.ExpOp,
    "imag": hlo.ImagOp,
    "logistic": hlo.LogisticOp,
    "max": hlo.MaxOp,
    "min": hlo.MinOp,
    "real": hlo.RealOp,
    "shift_right_arithmetic": hlo.ShiftRightArithmeticOp,
    "shift_right_logical": hlo.ShiftRightLogicalOp,
    "sign": hlo.SignOp,
}
_COMMUTATIVE = (hlo.AddOp, hlo.MulOp, hlo.AndOp, hlo.OrOp, hlo.XorOp, hlo.MaxOp, hlo.MinOp)
_CONSTANTS: dict[str, Callable[[ir.Value], bool]] = {
    "ones": is_all_ones,
    "least": partial(is_extreme, least=True),
    "greatest": partial(is_extreme, least=False),
}
"""Constants with a name, by whether a value is a splat of one."""


def equation(
    contract: Contract,
    *,
    on: Callable[[ir.Value], bool] | None = None,
    assumes: str | None = None,
) -> Callable[[Callable[[], None]], Rule]:
    """Turn a function without a body into a `Rule`: its docstring states equations.

    The first line of the docstring has one or more equations, separated by commas. Other text may
    follow after a comma or a colon. A letter stands for any value; if it occurs twice, for the same
    value. A number stands for a splat constant. So do `ones`, with all bits set, and `least` and
    `greatest`, the extremes of the type. On floats, 0 is 0.0 and -0 is -0.0. The two operands of a
    commutative op match in both orders. All ops are elementwise.

        @jxc.equation(jxc.exact, on=is_integer)
        def add_of_difference() -> None:
            \"\"\"(x - y) + y -> x, on integers: floats round.\"\"\"

    The operators are those of Python and the functions abs, clamp, complex, exp, imag, logistic,
    max, min, real, shift_right_arithmetic, shift_right_logical and sign.

    Args:
        contract: `exact`, `reassociates` or `approximates(ulps=n)`.
        on: whether the rule applies to a result, such as `jxc.ir.values.is_integer`.
        assumes: the promise that it needs from the user, as for `rule`.

    Raises:
        TypeError: the docstring has no equation, or one that cannot be read.
    """

    def decorate(function: Callable[[], None]) -> Rule:
        text = (inspect.getdoc(function) or "").partition("\n")[0]
        rows = [_Row.of(*each, f"equation {function.__name__!r}") for each in _equations(text)]
        if not rows:
            raise TypeError(
                f"equation {function.__name__!r}: expected a docstring such as "
                f"'(x - y) + y -> x, on integers', found {text!r}"
            )

        @wraps(function)
        def apply(op: ir.OpView) -> RuleResult:
            if on is not None and not on(op.results[0]):
                return None
            for row in rows:
                if isinstance(op, row.root):
                    for bound in row.match(op):
                        return row.build(bound, op)
            return None

        producers = [row.producers for row in rows]
        constants = [row.constants for row in rows]
        return Rule(
            name=kebab(function.__name__),
            function=apply,
            roots=tuple(dict.fromkeys(row.root.OPERATION_NAME for row in rows)),
            contract=contract,
            assumes=assumes,
            targets=None,
            wants_context=False,
            producer=frozenset().union(*producers) if all(producers) else None,
            constants=frozenset().union(*constants) if all(constants) else None,
            parts=(text, on),
        )

    return decorate


def _equations(text: str) -> Iterator[tuple[str, str]]:
    for part in _outside_parentheses(text):
        left, arrow, right = part.removesuffix(".").partition(" -> ")
        if arrow:
            yield left.strip(), right.replace(";", ":").partition(":")[0].strip()


def _outside_parentheses(text: str) -> list[str]:
    """The parts of a text between commas that are not in parentheses."""
    depth, parts = 0, [""]
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


@dataclass(frozen=True)
class _Row:
    """One equation.

    Attributes:
        root: the kind of op on its left side.
        match: yields the values of its letters, for each way in which an op matches the left side.
        build: builds the right side.
        producers: the kinds of ops of which one must produce an operand; empty for any.
        constants: the constants of which one must be an operand; empty for any operands.
    """

    root: Any
    match: Callable[[ir.OpView], Iterator[_Bound]]
    build: _Builder
    producers: frozenset[type]
    constants: frozenset[str]

    @classmethod
    def of(cls, left: str, right: str, where: str) -> _Row:
        try:
            tree, result = (ast.parse(each, mode="eval").body for each in (left, right))
            root, operands = _op_of(tree)
            known = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            builder = _builder(result, known)
        except (SyntaxError, ValueError) as error:
            raise TypeError(f"{where}: cannot read '{left} -> {right}': {error}") from None
        matchers = [_matcher(each) for each in operands]
        kinds = [_producers(each) for each in operands]
        constants = {each for each in map(_constant_of, operands) if each is not None}
        return cls(
            root,
            partial(_match_all, matchers, bound={}),
            builder,
            frozenset().union(*kinds),
            frozenset("splat" if each in _CONSTANTS else each for each in constants),
        )


def _op_of(tree: ast.expr) -> tuple[Any, list[ast.expr]]:
    """The kind of op that an expression denotes, and its operands.

    Raises:
        ValueError: the expression is neither an operator nor the call of a function.
    """
    if isinstance(tree, ast.BinOp | ast.UnaryOp) and type(tree.op) in _OPERATORS:
        both = [tree.left, tree.right] if isinstance(tree, ast.BinOp) else [tree.operand]
        return _OPERATORS[type(tree.op)], both
    if isinstance(tree, ast.Call) and getattr(tree.func, "id", "") in _FUNCTIONS:
        return _FUNCTIONS[tree.func.id], tree.args  # type: ignore[attr-defined]
    raise ValueError(f"{ast.unparse(tree)} is no operator and none of {', '.join(_FUNCTIONS)}")


def _number_of(tree: ast.expr) -> float | None:
    """The number that an expression denotes; None for other expressions. -0 is -0.0."""
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        found = _number_of(tree.operand)
        return None if found is None else -float(found)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int | float):
        return float(tree.value)
    return None


def _producers(tree: ast.expr) -> frozenset[type]:
    """The kinds of ops that can produce what an expression matches; empty for any."""
    if _constant_of(tree) is not None:
        return frozenset(SPLATS)
    return frozenset() if isinstance(tree, ast.Name) else frozenset({_op_of(tree)[0]})


def _match_all(matchers: Sequence[_Matcher], op: ir.OpView, bound: _Bound) -> Iterator[_Bound]:
    """The values of the letters, for each way in which the operands of `op` match."""
    operands = list(op.operands)
    orders = [operands, operands[::-1]] if isinstance(op, _COMMUTATIVE) else [operands]
    for order in orders:
        found: list[_Bound] = [bound]
        for matcher, value in zip(matchers, order, strict=True):
            found = [after for before in found for after in matcher(value, before)]
        yield from found


def _matcher(tree: ast.expr) -> _Matcher:
    if (constant := _constant_of(tree)) is not None:
        is_it = _CONSTANTS.get(constant) or partial(is_splat, number=float(constant))
        return partial(_bind_constant, constant, is_it)
    if isinstance(tree, ast.Name):
        name = tree.id

        def bind(value: ir.Value, bound: _Bound) -> Iterator[_Bound]:
            if name not in bound:
                yield {**bound, name: value}
            elif bound[name] == value:
                yield bound

        return bind
    kind, operands = _op_of(tree)
    matchers = [_matcher(each) for each in operands]

    def match(value: ir.Value, bound: _Bound) -> Iterator[_Bound]:
        if isinstance(value.owner, kind):
            yield from _match_all(matchers, value.owner, bound)

    return match


def _bind_constant(
    name: str, is_it: Callable[[ir.Value], bool], value: ir.Value, bound: _Bound
) -> Iterator[_Bound]:
    if is_it(value):
        yield {**bound, name: value}


def _builder(tree: ast.expr, known: set[str]) -> _Builder:
    """The function that builds the right side of an equation.

    Raises:
        ValueError: it has a letter that the left side lacks, or a constant that cannot be built.
    """
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if unknown := names - known - {"ones", *_FUNCTIONS}:
        raise ValueError(f"{min(unknown)} is not on the left side")
    return partial(_result, tree)


def _result(tree: ast.expr, bound: _Bound, op: ir.OpView) -> ir.Value | None:
    found = _built(tree, bound, op)
    return None if found is None else as_result(found, op)


def _constant_of(tree: ast.expr) -> str | None:
    """The name of a constant, or its number as text; None for other expressions."""
    if isinstance(tree, ast.Name):
        return tree.id if tree.id in _CONSTANTS else None
    number = _number_of(tree)
    return None if number is None else str(number)


def _splat(constant: str, bound: _Bound, op: ir.OpView) -> ir.Value | None:
    """A splat constant of the result's type: the one that the left side matched, or a new one."""
    if constant in bound and (same := as_result(bound[constant], op)) is not None:
        return same
    if constant != "ones":
        return None if constant in _CONSTANTS else build.splat_result(float(constant), op)
    kind = type_bounds(element_type(op.results[0]))
    return build.splat_result(kind.high if kind is not None and kind.low == 0 else -1, op)


def _built(tree: ast.expr, bound: _Bound, op: ir.OpView) -> ir.Value | None:
    """Build the ops of an expression; None if it has a constant of a dynamic shape."""
    if (constant := _constant_of(tree)) is not None:
        return _splat(constant, bound, op)
    if isinstance(tree, ast.Name):
        return bound[tree.id]
    kind, operands = _op_of(tree)
    values = [_built(each, bound, op) for each in operands]
    if any(value is None for value in values):
        return None
    found: ir.Value = kind(*values, results=[op.results[0].type]).result
    return found
