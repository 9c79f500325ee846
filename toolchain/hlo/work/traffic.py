"""The bytes that one run of an instruction reads from memory and writes to it.

A slice reads only the elements of its result. So does a fusion in which every use of a parameter is
a slice: `_wanted_of_parameters` walks the fused computation from its root to its parameters, and
passes on which elements each op needs. A `dynamic-update-slice` or a scatter that a fusion returns
and that writes into a parameter is done in place: it writes only the updated elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cost.formulas import names
from .. import Computation, Instruction, Shape
from .ops import is_control, is_free

_SLICES = frozenset(["slice", "dynamic-slice", "gather"])
_UPDATES = frozenset(["dynamic-update-slice", "scatter"])
_RENAMES = frozenset(["bitcast", "reshape"])
_WHOLE = names(
    "all-gather all-reduce all-to-all broadcast cholesky concatenate convolution custom-call dot "
    "dynamic-slice dynamic-update-slice fft gather iota map pad reduce reduce-window "
    "reduce-scatter scatter select-and-scatter slice sort triangular-solve while"
)
"""Opcodes that are not elementwise: they may need other elements than those of the result."""


@dataclass(frozen=True)
class Traffic:
    """The bytes between an instruction and memory.

    Attributes:
        read: bytes of operands that are read; an operand that occurs twice is read once.
        written: bytes of results.
        main: the bytes of both in the device's main memory, not in faster memory on the chip.
    """

    read: int = 0
    written: int = 0
    main: int = 0

    @property
    def total(self) -> int:
        """Read and written."""
        return self.read + self.written


def traffic_of(instruction: Instruction) -> Traffic:
    """The traffic of running an instruction once; none where it only renames values."""
    if is_free(instruction) or is_control(instruction):
        return Traffic()
    reads = [(operand.shape, size) for operand, size in reads_of(instruction)]
    writes = list(writes_of(instruction))
    return Traffic(
        sum(size for _, size in reads),
        sum(size for _, size in writes),
        sum(size for shape, size in (*reads, *writes) if shape.memory_space == 0),
    )


def produced(instruction: Instruction) -> Shape:
    """The shape of an instruction's result; of an asynchronous one, of its `-done`."""
    if instruction.opcode.endswith("-start"):
        for user in instruction.users:
            if user.opcode.endswith("-done"):
                return user.shape
    return instruction.shape


def _bytes(shape: Shape, elements: float) -> int:
    """The bytes of that many elements of an array, which may be more than it has."""
    return shape.bytes if elements >= shape.elements else math.ceil(elements * shape.bits / 8)


# Reads


def reads_of(reader: Instruction) -> list[tuple[Instruction, int]]:
    """The operands of an instruction, each once, with the bytes of each that it reads."""
    if reader.fused is not None:
        needed: list[float] = [sum(want.values()) for want in _wanted_of_parameters(reader.fused)]
    else:
        needed = [_needed(reader, number) for number in range(len(reader.operands))]
    found = dict.fromkeys(reader.operands, 0.0)
    for operand, elements in zip(reader.operands, needed, strict=True):
        found[operand] += elements
    return [(operand, _bytes(operand.shape, elements)) for operand, elements in found.items()]


def _needed(instruction: Instruction, number: int) -> float:
    """How many elements of an operand an unfused instruction needs; infinite for all."""
    opcode = instruction.base_opcode
    if number == 0 and opcode in _SLICES:
        return produced(instruction).elements
    if number == 0 and opcode == "dynamic-update-slice":
        return 0
    if opcode == "scatter" and number < len(instruction.shape.leaves):
        return instruction.operands[-1].shape.elements
    return math.inf


_Want = Mapping[Instruction | None, float]
"""The number of elements that each slice of a value needs; the key None if all are needed."""

_ALL: _Want = {None: math.inf}


def _wanted_of_parameters(computation: Computation) -> list[_Want]:
    """For each parameter of a fused computation, which elements are needed."""
    in_place = updated_in_place(computation)
    wants: dict[Instruction, dict[Instruction | None, float]] = {computation.root: {**_ALL}}
    for instruction in reversed(computation.instructions):
        if wanted := wants.get(instruction):
            if instruction.fused is not None:
                needed = _wanted_of_parameters(instruction.fused)
            else:
                numbers = range(len(instruction.operands))
                needed = [_wanted(instruction, n, wanted, in_place) for n in numbers]
            for operand, want in zip(instruction.operands, needed, strict=True):
                wants.setdefault(operand, {}).update(want)
    return [wants.get(parameter, {}) for parameter in computation.parameters]


def _wanted(
    instruction: Instruction, number: int, result: _Want, in_place: Mapping[Instruction, int]
) -> _Want:
    """Which elements of an operand an unfused instruction needs for these of its result."""
    if instruction.opcode not in _WHOLE:  # elementwise
        return result
    if instruction.opcode in _UPDATES and number == 0 and instruction not in in_place:
        return _ALL
    elements = _needed(instruction, number)
    return _ALL if elements == math.inf else {instruction: min(elements, sum(result.values()))}


# Writes


def writes_of(instruction: Instruction) -> Iterator[tuple[Shape, int]]:
    """For each array of the result: its shape and how many bytes of it are written."""
    leaves = produced(instruction).leaves
    if instruction.opcode == "custom-call":  # further results of bytes are scratch memory
        kept = [leaf for leaf in leaves[1:] if leaf.element_type not in ("s8", "u8")]
        leaves = (*leaves[:1], *kept)
    updates = _updated(instruction)
    for number, leaf in enumerate(leaves):
        yield leaf, _bytes(leaf, updates.get(number, math.inf))


def _updated(instruction: Instruction) -> dict[int, int]:
    """For each result that is updated in place, by number: how many elements are written."""
    if instruction.opcode in _UPDATES:
        return dict.fromkeys(range(len(instruction.shape.leaves)), _update_size(instruction))
    if instruction.fused is None:
        return {}
    in_place, found = updated_in_place(instruction.fused), {}
    for number, result in enumerate(_results(instruction.fused)):
        sizes = [_update_size(update) for update, _ in _updates_of(result) if update in in_place]
        if sizes:
            found[number] = sum(sizes)
    return found


def _update_size(update: Instruction) -> int:
    """The elements that a dynamic-update-slice or a scatter writes."""
    number = 1 if update.opcode == "dynamic-update-slice" else -1
    return update.operands[number].shape.elements


def updated_in_place(computation: Computation) -> dict[Instruction, int]:
    """The updates of a fused computation whose operand and result are one buffer.

    These updates are results of the computation and write into a parameter.

    Returns:
        The number of the parameter that each writes into.
    """
    return {
        update: int(written.literal)
        for result in _results(computation)
        for update, written in _updates_of(result)
        if written.opcode == "parameter"
    }


def _results(computation: Computation) -> list[Instruction]:
    """The values that a computation returns, without the ops that only rename them."""
    root = computation.root
    return [_renamed(each) for each in (root.operands if root.opcode == "tuple" else (root,))]


def _updates_of(result: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
    """The updates that a value consists of, and the value that each writes into."""
    if result.fused is not None:
        for update, number in updated_in_place(result.fused).items():
            yield update, _renamed(result.operands[number])
    elif result.opcode in _UPDATES:
        yield result, _renamed(result.operands[0])


def _renamed(value: Instruction) -> Instruction:
    """The value behind ops that only rename it."""
    while value.opcode in _RENAMES:
        value = value.operands[0]
    return value
