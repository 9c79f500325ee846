"""One element of each result of a function, as z3 terms over one element of each argument.

Where no op moves elements, a result for one element holds for all elements and every shape. Scalars
and splats may be moved. Where a constant has several elements, each index is evaluated in turn;
otherwise an iota is any index below its size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import z3
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.constants import array_of
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import element_type, is_complex, shape_of, splat_of, static_shape

from .elements import Float, Integer, Term, Unmodelled, bits_of_array, element_of
from .semantics import converted, is_elementwise, meaning

_MOVES = frozenset(
    "stablehlo." + name
    for name in ("broadcast_in_dim", "concatenate", "pad", "reshape", "reverse", "transpose")
)
_SLICES = ("stablehlo.slice", "stablehlo.dynamic_slice")
_MOST_PLACES = 32
_INDEX = Integer(32, is_signed=False)


class NotScalar(Unmodelled):
    """An element of a result depends on elements at other indices."""


@dataclass
class Evaluation:
    """A function evaluated for one element.

    Attributes:
        arguments: one element of each argument.
        argument_types: their element types.
        results: one element of each result.
        result_types: their element types.
        floats: every float value, arguments included.
        conditions: on the indices that iotas return.
    """

    arguments: list[Term]
    argument_types: list[ir.Type]
    results: list[Term]
    result_types: list[ir.Type]
    floats: list[Term]
    conditions: list[Term]


def symbols(function: ir.OpView) -> list[Term]:
    """For each argument of a `func.func`, a free bit-vector for one element.

    Raises:
        Unmodelled: z3 has no such numbers.
    """
    return [
        z3.BitVec(f"argument {argument.arg_number}", element_of(argument.type).width)
        for argument in _body(function).arguments
    ]


Place: TypeAlias = tuple[int, ...] | None
"""The indices of an element; None for any element."""


def places(*functions: ir.OpView) -> Sequence[Place]:
    """The indices to evaluate: None for any, or each one where constants have several elements.

    Raises:
        NotScalar: there are too many, or constants of several shapes.
    """
    constants = [
        op
        for function in functions
        for op in _body(function).operations
        if isinstance(op, hlo.ConstantOp) and len(_elements(op)) != 1
    ]
    shapes = {shape_of(op.result) for op in constants}
    if not shapes:
        return [None]
    if len(shapes) > 1 or not 0 < math.prod(shape := shapes.pop()) <= _MOST_PLACES:
        raise NotScalar("constants of several shapes, of no elements or of many")
    return list(np.ndindex(shape))


def evaluate(function: ir.OpView, bits: Sequence[Term], place: Place = None) -> Evaluation:
    """One element of each result of a `func.func`.

    Args:
        function: not a declaration.
        bits: one element of each argument.
        place: the indices of the element, one of `places`.

    Raises:
        NotScalar: the function is not elementwise.
        Unmodelled: an op or a type has no z3 term.
    """
    body, scope = _body(function), _Scope(place)
    for argument, each in zip(body.arguments, bits, strict=True):
        scope.bind(argument, element_of(argument.type).of_bits(each), not shape_of(argument))
    *ops, last = body.operations
    for op in ops:
        scope.op(op)
    return Evaluation(
        [scope.terms[value] for value in body.arguments],
        [element_type(value) for value in body.arguments],
        [scope.terms[value] for value in last.operands],
        [element_type(value) for value in last.operands],
        [part for value, term in scope.terms.items() for part in _floats(value, term)],
        scope.conditions,
    )


@dataclass
class _Scope:
    """One element of each value of a block, and which values are splats."""

    place: Place
    terms: dict[ir.Value, Term] = field(default_factory=dict)
    same_everywhere: set[ir.Value] = field(default_factory=set)
    conditions: list[Term] = field(default_factory=list)

    def bind(self, value: ir.Value, term: Term, is_same_everywhere: bool) -> None:
        self.terms[value] = term
        if is_same_everywhere:
            self.same_everywhere.add(value)

    def op(self, op: ir.OpView) -> None:
        """Bind the result of an op."""
        if len(op.results) != 1 or len(op.regions) != 0:
            raise NotScalar(op.operation.name)
        if isinstance(op, hlo.ConstantOp):
            elements = _elements(op)
            index = 0
            if len(elements) > 1:
                assert self.place is not None
                index = int(np.ravel_multi_index(self.place, shape_of(op.result)))
            self.bind(op.result, elements[index], len(elements) == 1)
        elif isinstance(op, hlo.IotaOp):
            self.bind(op.result, self._index(op), False)
        else:
            is_same = all(value in self.same_everywhere for value in op.operands)
            self.bind(op.results[0], self._term(op, is_same), is_same)

    def _index(self, op: hlo.IotaOp) -> Term:
        shape, dimension = shape_of(op.result), int(op.iota_dimension)
        if static_shape(op.result) is None or shape[dimension] >= 2**_INDEX.width:
            raise NotScalar("an iota of dynamic shape")
        if self.place is not None and len(self.place) != len(shape):
            raise NotScalar("an iota, and constants of another shape")
        index = z3.BitVec(f"index {dimension} of {shape}", _INDEX.width)
        known = z3.ULT(index, shape[dimension])
        if self.place is not None:
            known = z3.And(known, index == self.place[dimension])
        self.conditions.append(known)
        return converted(index, _INDEX, element_of(op.result.type))

    def _term(self, op: ir.OpView, is_same: bool) -> Term:
        name = op.operation.name
        operands = [(self.terms[value], element_of(value.type)) for value in op.operands]
        if name in _MOVES or name in _SLICES:
            first, *others = (term for term, _ in operands)
            if not is_same or not (name in _SLICES or all(_is_same(first, x) for x in others)):
                raise NotScalar(name)
            return first
        if not is_elementwise(op) or _changes_shape(op):
            raise NotScalar(name)
        return meaning(op, operands, element_of(op.results[0].type))


def _body(function: ir.OpView) -> ir.Block:
    blocks = list(function.regions[0].blocks)
    if len(blocks) != 1:
        raise NotScalar("a function without a body, or with several blocks")
    return blocks[0]


def _elements(op: hlo.ConstantOp) -> list[Term]:
    """The elements in row-major order; one element for a splat."""
    kind = element_type(op.result)
    element = element_of(kind)
    number = splat_of(op.result)
    if number is None or math.isnan(number):  # Python's floats do not keep the bits of NaN
        array = array_of(op.result)
    else:
        array = np.array(number).astype(numpy_dtype(kind))
    if array is None:
        raise Unmodelled(f"constants of {kind}")
    bits = bits_of_array(array, element)
    if len(set(bits)) == 1:
        bits = bits[:1]
    return [element.of_bits(z3.BitVecVal(each, element.width)) for each in bits]


def _is_same(x: Term, y: Term) -> bool:
    pairs = zip(x, y, strict=True) if isinstance(x, tuple) else [(x, y)]
    return all(a.eq(b) for a, b in pairs)


def _changes_shape(op: ir.OpView) -> bool:
    """Whether an op is a bitcast between types of different widths."""
    if not isinstance(op, hlo.BitcastConvertOp):
        return False
    return element_of(op.operand.type).width != element_of(op.result.type).width


def _floats(value: ir.Value, term: Term) -> Sequence[Term]:
    if is_complex(value):
        return list(term)
    return [term] if isinstance(element_of(value.type), Float) else []
