"""Builds the loop of repetitions, and replaces the uses of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import element_type, shape_of

from .inputs import Inputs, Reader, offsets_reader
from .sequence import Slot
from .wiring import Wiring

Result = tuple[int, int]
"""A result of a repetition: the position of its op, and its number."""


@dataclass(frozen=True)
class Carry:
    """A value that an iteration passes to the next.

    Attributes:
        initial: the value in the first iteration.
        next: the result that it becomes, or the number of the carry whose value it takes.
    """

    initial: ir.Value
    next: Result | int


@dataclass(frozen=True)
class Stack:
    """A buffer with the results of all iterations.

    Attributes:
        result: the result of each iteration.
        initial: the buffer before the loop.
        head: 1 if the first row is the carry that the result becomes in the next iteration.
    """

    result: Result
    initial: ir.Value
    head: int


def build_loop(wiring: Wiring, inputs: Inputs) -> None:
    """Replace the repetitions by a `stablehlo.while`.

    Args:
        wiring: the repetitions; `is_loop` holds.
        inputs: the stacks of earlier loops of the block, to which those of this loop are added.
    """
    last = wiring.rows[-1][-1]
    uses = wiring.uses_outside
    with last.location, ir.InsertionPoint(last):
        carries, carry_of = _carries(wiring, uses)
        stacks = _stacks(wiring, uses, carries)
        build_body = _body(wiring, inputs, carry_of, carries, stacks)
        initial = [*(each.initial for each in carries), *(each.initial for each in stacks)]
        results = build.fori_loop(wiring.count, initial, build_body)
        _replace_uses(uses, carries, stacks, results, wiring.count, inputs)
    for row in reversed(wiring.rows[1:]):
        for op in reversed(row):
            op.operation.erase()


def _carries(
    wiring: Wiring, uses: Mapping[Result, Mapping[int, Sequence[Slot]]]
) -> tuple[list[Carry], dict[int, int]]:
    """The carries, and the number of the one that each carried column reads.

    A value that is used d iterations later is carried d times. A result of which the program uses
    only the last is carried too.
    """
    carries: list[Carry] = []
    carry_of: dict[int, int] = {}
    known: dict[tuple[object, ...], int] = {}
    for column, source in wiring.carried.items():
        before = wiring.values(column)[: source.delay]
        key = (source, *before)
        if key not in known:
            for step, value in enumerate(reversed(before)):
                carries.append(
                    Carry(value, len(carries) - 1 if step else (source.op, source.result))
                )
            known[key] = len(carries) - 1
        carry_of[column] = known[key]
    returned = {carry.next for carry in carries}
    for result, by_row in uses.items():
        if result not in returned and set(by_row) == {wiring.count - 1}:
            carries.append(Carry(build.constant(0, _type_of(wiring, result)), result))
    return carries, carry_of


def _stacks(
    wiring: Wiring,
    uses: Mapping[Result, Mapping[int, Sequence[Slot]]],
    carries: Sequence[Carry],
) -> list[Stack]:
    """The stacks of the results that the program uses from other iterations than the last.

    A gradient reads the carry of each iteration. If the program uses the initial value of the carry
    elsewhere, that is the first row of the stack.
    """
    stacks = []
    for result, by_row in uses.items():
        if set(by_row) == {wiring.count - 1}:
            continue
        kind = _type_of(wiring, result)
        initial = next((each.initial for each in carries if each.next == result), None)
        if initial is not None and wiring.is_used_outside(initial):
            rows = [wiring.count, *[0] * kind.rank]
            none = [0] * (kind.rank + 1)
            first = build.reshape(initial, [1, *kind.shape])
            zero = build.constant(0, ir.RankedTensorType.get([], kind.element_type))
            stacks.append(Stack(result, hlo.pad(first, zero, none, rows, none), 1))
        else:
            stack = ir.RankedTensorType.get([wiring.count, *kind.shape], kind.element_type)
            stacks.append(Stack(result, build.constant(0, stack), 0))
    return stacks


def _type_of(wiring: Wiring, result: Result) -> ir.RankedTensorType:
    return ir.RankedTensorType(wiring.rows[0][result[0]].results[result[1]].type)


def _body(
    wiring: Wiring,
    inputs: Inputs,
    carry_of: Mapping[int, int],
    carries: Sequence[Carry],
    stacks: Sequence[Stack],
) -> Callable[[ir.Value, Sequence[ir.Value]], list[ir.Value]]:
    """The function that moves the first repetition into the body of the loop."""
    readers: dict[tuple[ir.Value, ...], Reader] = {}
    for column in wiring.outside:
        values = tuple(wiring.values(column))
        if values not in readers:
            readers[values] = inputs.reader(values)
    offsets = {
        position: offsets_reader(starts) for position, starts in wiring.varying_offsets.items()
    }

    def body(counter: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        read = {values: reader(counter) for values, reader in readers.items()}
        for column in wiring.outside:
            wiring.slots[0][column].set(read[tuple(wiring.values(column))])
        for column, number in carry_of.items():
            wiring.slots[0][column].set(carried[number])
        results = _move(wiring, {at: starts(counter) for at, starts in offsets.items()})

        def following(carry: Carry) -> ir.Value:
            return carried[carry.next] if isinstance(carry.next, int) else results[carry.next]

        new = [following(carry) for carry in carries]
        for stack, buffer in zip(stacks, carried[len(carries) :], strict=True):
            value = results[stack.result]
            row = build.reshape(value, [1, *shape_of(value)])
            index = (
                hlo.add(counter, build.scalar(1, element_type(counter))) if stack.head else counter
            )
            new.append(
                hlo.dynamic_update_slice(buffer, row, build.starts_along(buffer, {0: index}))
            )
        return new

    return body


def _move(wiring: Wiring, starts: Mapping[int, list[ir.Value]]) -> dict[Result, ir.Value]:
    """Move the first repetition to the insertion point, and return its results.

    Slices and pads whose offsets differ between iterations become dynamic: from `starts`.
    """
    results: dict[Result, ir.Value] = {}
    block = ir.InsertionPoint.current.block
    replaced = []
    for position, op in enumerate(wiring.rows[0]):
        if position in starts:
            results[position, 0] = _dynamic(op, starts[position])
            op.result.replace_all_uses_with(results[position, 0])
            replaced.append(op)
            continue
        block.append(op)
        results.update({(position, number): each for number, each in enumerate(op.results)})
    for op in replaced:
        op.operation.erase()
    return results


def _dynamic(op: ir.OpView, starts: Sequence[ir.Value]) -> ir.Value:
    if op.operation.name == "stablehlo.slice":
        return hlo.dynamic_slice(op.operand, starts, list(shape_of(op.result)))
    around = build.broadcast(op.padding_value, shape_of(op.result), [])
    return hlo.dynamic_update_slice(around, op.operand, starts)


def _replace_uses(
    uses: Mapping[Result, Mapping[int, Sequence[Slot]]],
    carries: Sequence[Carry],
    stacks: Sequence[Stack],
    results: Sequence[ir.Value],
    count: int,
    inputs: Inputs,
) -> None:
    """Replace the uses outside of the loop by its results and by rows of its stacks."""
    last = {carry.next: value for carry, value in zip(carries, results, strict=False)}
    for stack, buffer in zip(stacks, results[len(carries) :], strict=True):
        if stack.head:
            initial = next(each.initial for each in carries if each.next == stack.result)
            inputs.add_row(initial, buffer, 0)
        for number, slots in uses[stack.result].items():
            final = last.get(stack.result) if number == count - 1 else None
            row = build_row(buffer, number + stack.head) if final is None else final
            inputs.add_row(row, buffer, number + stack.head)
            for slot in slots:
                slot.set(row)
    stacked = {stack.result for stack in stacks}
    for result, by_row in uses.items():
        for slot in by_row[count - 1] if result not in stacked else ():
            slot.set(last[result])


def build_row(stack: ir.Value, number: int) -> ir.Value:
    """A row of a stack."""
    return build.reshape(
        build.slice_along(stack, {0: range(number, number + 1)}), shape_of(stack)[1:]
    )
