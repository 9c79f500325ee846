"""The values that a loop reads: one for all iterations, or computed from the loop's counter.

`Inputs.reader` takes the value of each iteration, and builds before the loop the ops that all
iterations share. It returns a function that builds the value of one iteration in the loop's body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.dtypes import numpy_dtype
from jxc.ir.values import shape_of, splat_of

Reader = Callable[[ir.Value], ir.Value]
"""Builds the value of an iteration in the loop's body, from the counter (a scalar i32)."""

_LAYOUT = (hlo.ReshapeOp, hlo.BroadcastInDimOp, hlo.ConvertOp, hlo.TransposeOp)


class Inputs:
    """The values outside of loops, and the stacks that hold one of each iteration.

    A stack has one row for each iteration. The loop of a gradient reads the stacks that the loop of
    the forward pass wrote, from the last row to the first.
    """

    def __init__(self) -> None:
        self._stacks: dict[tuple[ir.Value, ...], ir.Value] = {}
        self._rows: dict[ir.Value, list[tuple[ir.Value, int]]] = {}

    def add_row(self, value: ir.Value, stack: ir.Value, row: int) -> None:
        """Record that `value` equals a row of `stack`."""
        self._rows.setdefault(value, []).append((stack, row))

    def reader(self, values: Sequence[ir.Value]) -> Reader:
        """A reader by which iteration i reads `values[i]`; all have the same type."""
        first = values[0]
        if all(value == first for value in values):
            return lambda counter: first
        for make in (self._row_reader, _slice_reader, self._layout_reader, _constant_reader):
            if (found := make(values)) is not None:
                return found
        return self._stack_reader(values)

    def is_stacked_before(self, values: Sequence[ir.Value]) -> bool:
        """Whether reading `values` copies nothing: `reader` builds no stack."""
        first = values[0]
        if all(value == first for value in values):
            return True
        if self._row_numbers(values) or _slices(values) or _splat_elements(values) is not None:
            return True
        if (operands := _same_layout(values)) is not None:
            return self.is_stacked_before(operands)
        return tuple(values) in self._stacks or tuple(reversed(values)) in self._stacks

    def are_rows(self, values: Sequence[ir.Value]) -> bool:
        """Whether `values` are rows of a stack that a loop wrote."""
        return self._row_numbers(values) is not None

    def _row_numbers(self, values: Sequence[ir.Value]) -> tuple[ir.Value, list[int]] | None:
        for stack, _ in self._rows.get(values[0], ()):
            rows = [dict(self._rows.get(value, ())).get(stack) for value in values]
            found = [row for row in rows if row is not None]
            if len(found) == len(values):
                return stack, found
        return None

    def _row_reader(self, values: Sequence[ir.Value]) -> Reader | None:
        found = self._row_numbers(values)
        return None if found is None else _reader_of_rows(*found)

    def _layout_reader(self, values: Sequence[ir.Value]) -> Reader | None:
        operands = _same_layout(values)
        if operands is None:
            return None
        op = values[0].owner
        read = self.reader(operands)

        def build_in_body(counter: ir.Value) -> ir.Value:
            operand = read(counter)
            copy = op.operation.clone()
            copy.operands[0] = operand
            return copy.results[0]

        return build_in_body

    def _stack_reader(self, values: Sequence[ir.Value]) -> Reader:
        rows = range(len(values))
        backwards = self._stacks.get(tuple(reversed(values)))
        if backwards is not None:
            return _reader_of_rows(backwards, list(reversed(rows)))
        stack = self._stacks.get(tuple(values))
        if stack is None:
            shape = shape_of(values[0])
            stack = hlo.concatenate([build.reshape(value, [1, *shape]) for value in values], 0)
            self._stacks[tuple(values)] = stack
        return _reader_of_rows(stack, list(rows))


def row_of(stack: ir.Value, starts: Sequence[ir.Value]) -> ir.Value:
    """A row of a stack, from the start indices of a slice."""
    shape = shape_of(stack)[1:]
    return build.reshape(hlo.dynamic_slice(stack, starts, [1, *shape]), shape)


def number_reader(numbers: Sequence[int], element: ir.Type | None = None) -> Reader:
    """A reader by which iteration i computes `numbers[i]`, a scalar of type `element` or i32."""
    element = element or ir.IntegerType.get_signless(32)
    first, step = numbers[0], numbers[1] - numbers[0]
    if all(number == first + step * index for index, number in enumerate(numbers)):

        def affine(counter: ir.Value) -> ir.Value:
            product = build.convert(counter, element)
            if step != 1:
                product = hlo.multiply(product, build.scalar(step, element))
            return hlo.add(product, build.scalar(first, element)) if first else product

        return affine
    return _table_reader(np.array(numbers, np.int64), element)


def _table_reader(numbers: np.ndarray, element: ir.Type) -> Reader:
    kind = ir.RankedTensorType.get([len(numbers)], element)
    table = build.dense(numbers.astype(numpy_dtype(element)), kind)
    return lambda counter: build.reshape(hlo.dynamic_slice(table, [counter], [1]), [])


def _reader_of_rows(stack: ir.Value, rows: Sequence[int]) -> Reader:
    read = number_reader(rows)

    def build_in_body(counter: ir.Value) -> ir.Value:
        return row_of(stack, build.starts_along(stack, {0: read(counter)}))

    return build_in_body


def offsets_reader(offsets: Sequence[Sequence[int]]) -> Callable[[ir.Value], list[ir.Value]]:
    """A function by which iteration i computes the start indices `offsets[i]` of a slice."""
    columns = [
        number_reader(column) if len(set(column)) > 1 else column[0]
        for column in zip(*offsets, strict=True)
    ]
    i32 = ir.IntegerType.get_signless(32)
    return lambda counter: [
        build.scalar(each, i32) if isinstance(each, int) else each(counter) for each in columns
    ]


def _same_layout(values: Sequence[ir.Value]) -> list[ir.Value] | None:
    """The operands of ops that all change the layout or element type in the same way."""
    ops = [value.owner for value in values]
    first = ops[0]
    if not isinstance(first, _LAYOUT):
        return None
    attributes = tuple(first.attributes.items())
    for op in ops[1:]:
        if type(op) is not type(first) or op.operand.type != first.operand.type:
            return None
        if tuple(op.attributes.items()) != attributes:
            return None
    return [op.operand for op in ops]


def _slices(values: Sequence[ir.Value]) -> list[list[int]] | None:
    """The start indices, if all values are contiguous slices of one value."""
    ops = [value.owner for value in values]
    first = ops[0]
    if not all(isinstance(op, hlo.SliceOp) and op.operand == first.operand for op in ops):
        return None
    if any(set(op.strides) - {1} for op in ops):
        return None
    return [list(op.start_indices) for op in ops]


def _slice_reader(values: Sequence[ir.Value]) -> Reader | None:
    offsets = _slices(values)
    if offsets is None:
        return None
    operand, sizes = values[0].owner.operand, list(shape_of(values[0]))
    starts = offsets_reader(offsets)
    return lambda counter: hlo.dynamic_slice(operand, starts(counter), sizes)


def _constant_reader(values: Sequence[ir.Value]) -> Reader | None:
    elements = _splat_elements(values)
    if elements is None:
        return None
    kind = ir.RankedTensorType(values[0].type)
    if str(kind.element_type) in ("i32", "i64"):
        read = number_reader([int(each) for each in elements], kind.element_type)
    else:
        read = _table_reader(elements, kind.element_type)
    return lambda counter: build.broadcast(read(counter), kind.shape, [])


def _splat_elements(values: Sequence[ir.Value]) -> np.ndarray | None:
    """The element of each value, if all are splat constants."""
    if not all(isinstance(value.owner, hlo.ConstantOp) for value in values):
        return None
    element = numpy_dtype(ir.RankedTensorType(values[0].type).element_type)
    if element is None or element.isbuiltin != 1 or element.kind not in "fiu":
        return None
    found = [splat_of(value) for value in values]
    if any(each is None or each != each for each in found):  # Python's NaN has no payload
        return None
    return np.array(found, element)
