"""An HLO module as values: what the compiler made of a program, for reading only."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ..source import SourceLine

_BITS = re.compile(r"(?:bf|[fsuc])(\d+)")


@dataclass(frozen=True)
class Shape:
    """The type of a value, or of each part of a tuple.

    Attributes:
        element_type: HLO's name of it, such as "f32", "bf16", "pred", "token"; "tuple" of a tuple.
        dims: the extents of one device's part; upper bounds where they are dynamic.
        memory_space: the layout's S(n): 0 is the device's main memory.
        parts: the shapes in a tuple.
        layout: dimensions from the fastest to the slowest; empty where the text has none.
    """

    element_type: str
    dims: tuple[int, ...] = ()
    memory_space: int = 0
    parts: tuple[Shape, ...] = ()
    layout: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """How many elements there are, in all parts."""
        if self.is_tuple:
            return sum(part.elements for part in self.parts)
        return 0 if self.bits == 0 else math.prod(self.dims)

    @property
    def bytes(self) -> int:
        """The size of the values, dense: without padding to tiles, i4 taking half a byte."""
        if self.is_tuple:
            return sum(part.bytes for part in self.parts)
        return math.ceil(math.prod(self.dims) * self.bits / 8)

    @property
    def bits(self) -> int:
        """Bits of one element; 0 for tokens, opaque values and tuples."""
        if self.element_type == "pred":
            return 8
        found = _BITS.match(self.element_type)
        return int(found[1]) if found else 0

    @property
    def is_tuple(self) -> bool:
        """Whether this is a tuple, which may be empty."""
        return self.element_type == "tuple"

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers."""
        return self.element_type in ("c64", "c128")

    @property
    def leaves(self) -> tuple[Shape, ...]:
        """The arrays in it, those of nested tuples included, in order."""
        if not self.is_tuple:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    def __str__(self) -> str:
        """As HLO writes it, without layouts: `f32[8,128]`, `(f32[8], s32[])`."""
        if self.is_tuple:
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.element_type}[{','.join(map(str, self.dims))}]"


@dataclass(eq=False)
class Instruction:
    """One instruction of a computation.

    Attributes:
        name: unique in the module, without the percent sign.
        opcode: HLO's, such as "dot" or "dynamic-slice".
        shape: what it gives.
        operands: what it reads, in order.
        attributes: by name, each as the text has it.
        calls: the computations that it names, by attribute: "calls", "body", "to_apply", ...
        literal: what stands in the parentheses of a constant, a parameter (its number), an iota.
        op_name: the path of the traced op, such as "jit(step)/sin"; empty where there is none.
        place: the line of the user's program that it comes from, where that is known.
        line: its line in the text, from 1.
        is_root: whether it is what its computation gives.
        computation: where it stands.
    """

    name: str
    opcode: str
    shape: Shape
    operands: tuple[Instruction, ...] = field(repr=False)
    attributes: Mapping[str, str] = field(repr=False)
    calls: Mapping[str, tuple[Computation, ...]] = field(repr=False)
    literal: str
    op_name: str
    place: SourceLine | None
    line: int
    is_root: bool
    computation: Computation = field(repr=False)

    @property
    def called(self) -> tuple[Computation, ...]:
        """The computations that it names, in the order of the text."""
        return tuple(computation for named in self.calls.values() for computation in named)

    def callee(self, attribute: str) -> Computation | None:
        """The computation named by `body=`, `calls=`, ..., or None."""
        found = self.calls.get(attribute, ())
        return found[0] if found else None

    @property
    def users(self) -> tuple[Instruction, ...]:
        """Who reads it in its computation, each once, in order."""
        return self.computation.users.get(self, ())


@dataclass(eq=False)
class Computation:
    """A sequence of instructions.

    Attributes:
        name: unique in the module, without the percent sign.
        instructions: in the order of the text, which is the schedule of a scheduled module.
        is_entry: whether the program starts here.
    """

    name: str
    instructions: tuple[Instruction, ...] = field(default=(), repr=False)
    is_entry: bool = False

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters by number, whatever their order in the text."""
        found = [each for each in self.instructions if each.opcode == "parameter"]
        return tuple(sorted(found, key=lambda each: int(each.literal)))

    @cached_property
    def root(self) -> Instruction:
        """What the computation gives."""
        return next((each for each in self.instructions if each.is_root), self.instructions[-1])

    @cached_property
    def users(self) -> Mapping[Instruction, tuple[Instruction, ...]]:
        """For each instruction that is read here: who reads it, each once, in order."""
        found: dict[Instruction, dict[Instruction, None]] = {}
        for reader in self.instructions:
            for operand in reader.operands:
                found.setdefault(operand, {})[reader] = None
        return {operand: tuple(readers) for operand, readers in found.items()}


@dataclass(eq=False)
class Module:
    """A whole program.

    Attributes:
        name: such as "jit_step".
        entry: where it starts.
        computations: by name, in the order of the text: callees before callers.
        is_scheduled: whether the order of instructions is the order of execution.
        num_partitions: the devices over which one program is split.
        num_replicas: the copies of it that run side by side.
        aliases: the index of an output -> the number of the parameter whose memory it takes.
    """

    name: str
    entry: Computation
    computations: Mapping[str, Computation] = field(repr=False)
    is_scheduled: bool = False
    num_partitions: int = 1
    num_replicas: int = 1
    aliases: Mapping[tuple[int, ...], int] = field(default_factory=dict)
