"""The bytes that one run of an instruction reads from memory and writes to it.

A slice reads only the elements of its result. So does a fusion of which every use of a parameter is
a slice: `wanted_of_parameters` walks the fused computation from its root to its parameters, and
passes on which elements each op needs. A `dynamic-update-slice` or a scatter that a fusion returns
and that writes into a parameter is done in place: it writes only the updated elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...cost.formulas import names
from .. import Computation, Instruction, Shape
from .flops import base_opcode, is_control, is_free

_SLICES = frozenset(["slice", "dynamic-slice", "gather"])
_UPDATES = frozenset(["dynamic-update-slice", "scatter"])
_RENAMES = frozenset(["bitcast", "reshape"])
_WHOLE = names(
    "all-gather all-reduce all-to-all broadcast cholesky concatenate convolution custom-call dot "
    "dynamic-slice dynamic-update-slice fft gather iota map pad reduce reduce-window "
    "reduce-scatter scatter select-and-scatter slice sort triangular-solve while"
)
"""Opcodes that are not elementwise: how much of an operand they need is not that of the result."""


@dataclass(frozen=True)
class Traffic:
    """The bytes between an instruction and memory.

    Attributes:
        read: bytes of operands that are read; an operand that is named twice is read once.
        written: bytes of results.
        main: those of both in the device's main memory, not in a faster memory on the chip.
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
    moved = [*reads, *writes]
    return Traffic(
        sum(size for _, size in reads),
        sum(size for _, size in writes),
        sum(size for shape, size in moved if shape.memory_space == 0),
    )


def reads_of(reader: Instruction) -> list[tuple[Instruction, int]]:
    """The operands of an instruction, each once, with the bytes of each that it reads."""
    wanted = _wanted_by(reader)
    return [
        (operand, min(operand.shape.bytes, _bytes_of(amount, operand.shape)))
        for operand, amount in wanted.items()
    ]


def produced(instruction: Instruction) -> Shape:
    """The shape of an instruction's result; of an asynchronous one, of its `-done`."""
    if instruction.opcode.endswith("-start"):
        for user in instruction.users:
            if user.opcode.endswith("-done"):
                return user.shape
    return instruction.shape


def _bytes_of(elements: int | None, shape: Shape) -> int:
    """The bytes of a number of elements of a shape; of all of them for None."""
    return shape.bytes if elements is None else -(-elements * shape.bits // 8)


def _wanted_by(instruction: Instruction) -> dict[Instruction, int | None]:
    """How many elements of each operand are needed; None for all."""
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    wants = (
        [_elements(want) for want in wanted_of_parameters(fused)]
        if fused
        else [_of_operand(instruction, number) for number in range(len(instruction.operands))]
    )
    found: dict[Instruction, int | None] = {}
    for operand, want in zip(instruction.operands, wants, strict=True):
        before = found.get(operand, 0)
        found[operand] = None if before is None or want is None else before + want
    return found


def _of_operand(instruction: Instruction, number: int) -> int | None:
    """How many elements of an operand an unfused instruction needs; None for all."""
    opcode = base_opcode(instruction)
    if number == 0 and opcode in _SLICES:
        return produced(instruction).elements
    if number == 0 and opcode == "dynamic-update-slice":
        return 0
    if opcode == "scatter" and number < len(instruction.shape.leaves):
        return instruction.operands[-1].shape.elements
    return None


Want = Mapping[Instruction | None, int | None]
"""For each slice of a value, how many elements it needs; the key None if all are needed."""

_ALL: Want = {None: None}


def _elements(want: Want) -> int | None:
    return None if None in want else sum(amount or 0 for amount in want.values())


def wanted_of_parameters(computation: Computation) -> list[Want]:
    """For each parameter of a fused computation, which elements are needed."""
    in_place = updated_in_place(computation)
    wants: dict[Instruction, dict[Instruction | None, int | None]] = {
        computation.root: {None: None}
    }
    for instruction in reversed(computation.instructions):
        wanted = wants.get(instruction)
        if wanted:
            for operand, want in _needed_of_operands(instruction, wanted, in_place):
                wants.setdefault(operand, {}).update(want)
    return [wants.get(parameter, {}) for parameter in computation.parameters]


def _needed_of_operands(
    instruction: Instruction, wanted: Want, in_place: Mapping[Instruction, int]
) -> Iterator[tuple[Instruction, Want]]:
    """What an instruction needs of each operand, if `wanted` of its result is needed."""
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    inner = wanted_of_parameters(fused) if fused else []
    for number, operand in enumerate(instruction.operands):
        if fused:
            yield operand, inner[number] if number < len(inner) else _ALL
        elif instruction.opcode in _WHOLE:
            yield operand, _of_whole(instruction, number, wanted, in_place)
        else:
            yield operand, wanted


def _of_whole(
    instruction: Instruction, number: int, wanted: Want, in_place: Mapping[Instruction, int]
) -> Want:
    """What an op that is not elementwise needs of an operand."""
    if instruction.opcode in _UPDATES and number == 0 and instruction not in in_place:
        return _ALL
    amount = _of_operand(instruction, number)
    if amount is None:
        return _ALL
    share = _elements(wanted)
    return {instruction: amount if share is None else min(amount, share)}


def updated_in_place(computation: Computation) -> dict[Instruction, int]:
    """The updates of a fused computation whose operand and result are one buffer.

    These updates are results of the computation and write into a parameter.

    Returns:
        The number of the parameter that each writes into.
    """
    root = computation.root
    found: dict[Instruction, int] = {}
    for result in root.operands if root.opcode == "tuple" else (root,):
        result = _renamed(result)
        for update, target in _updates_of(result):
            if target.opcode == "parameter":
                found[update] = int(target.literal)
    return found


def _updates_of(result: Instruction) -> Iterator[tuple[Instruction, Instruction]]:
    """The updates that a value consists of, and the value that each writes into."""
    fused = result.callee("calls") if result.opcode == "fusion" else None
    if fused is not None:
        for update, number in updated_in_place(fused).items():
            yield update, _renamed(result.operands[number])
    elif result.opcode in _UPDATES:
        yield result, _renamed(result.operands[0])


def _renamed(value: Instruction) -> Instruction:
    """The value behind ops that only rename it."""
    while value.opcode in _RENAMES:
        value = value.operands[0]
    return value


def writes_of(instruction: Instruction) -> Iterator[tuple[Shape, int]]:
    """For each array of the result: its shape and how many bytes of it are written."""
    leaves = list(produced(instruction).leaves)
    if instruction.opcode == "custom-call" and len(leaves) > 1:
        leaves = [
            leaves[0],
            *(leaf for leaf in leaves[1:] if leaf.element_type not in ("s8", "u8")),
        ]
    updates = _updated(instruction)
    for number, leaf in enumerate(leaves):
        yield leaf, min(leaf.bytes, _bytes_of(updates.get(number), leaf))


def _updated(instruction: Instruction) -> dict[int, int]:
    """For each result that is updated in place, by number: how many elements are written."""
    if instruction.opcode in _UPDATES:
        return dict.fromkeys(range(len(instruction.shape.leaves)), _update_size(instruction))
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    if fused is None:
        return {}
    root, in_place = fused.root, updated_in_place(fused)
    results = root.operands if root.opcode == "tuple" else (root,)
    found = {}
    for number, result in enumerate(results):
        sizes = [
            _update_size(update)
            for update, _ in _updates_of(_renamed(result))
            if update in in_place
        ]
        if sizes:
            found[number] = sum(sizes)
    return found


def _update_size(update: Instruction) -> int:
    """The elements that a dynamic-update-slice or a scatter writes."""
    where = 1 if update.opcode == "dynamic-update-slice" else -1
    return update.operands[where].shape.elements
