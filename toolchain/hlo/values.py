"""The optimized HLO of a program as Python objects, which are not modified after parsing."""

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
    """The type of a value: an array, a tuple of shapes, a token or an opaque value.

    Attributes:
        element_type: HLO's name, such as "f32", "bf16", "pred", "token"; "tuple" for a tuple.
        dims: the sizes of one device's shard; the upper bounds of dynamic dimensions.
        memory_space: the layout's S(n); 0 is the device's main memory.
        parts: the shapes in a tuple.
        layout: dimensions in minor-to-major order; empty if the text has no layout.
    """

    element_type: str
    dims: tuple[int, ...] = ()
    memory_space: int = 0
    parts: tuple[Shape, ...] = ()
    layout: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """The number of elements, over all parts of a tuple."""
        if self.is_tuple:
            return sum(part.elements for part in self.parts)
        return 0 if self.bits == 0 else math.prod(self.dims)

    @property
    def bytes(self) -> int:
        """The size without padding to tiles; two elements of 4 bits share a byte."""
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
        """The arrays in a tuple and in the tuples inside it, in order; else the shape itself."""
        if not self.is_tuple:
            return (self,)
        return tuple(leaf for part in self.parts for leaf in part.leaves)

    def __str__(self) -> str:
        """HLO's spelling without layouts: `f32[8,128]`, `(f32[8], s32[])`."""
        if self.is_tuple:
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.element_type}[{','.join(map(str, self.dims))}]"


@dataclass(eq=False)
class Instruction:
    """One instruction of a computation.

    Attributes:
        name: unique in the module, without the percent sign.
        opcode: HLO's, such as "dot" or "dynamic-slice".
        shape: the type of its result.
        operands: the instructions whose results it reads, in order.
        attributes: the text of each attribute, by name.
        calls: the called computations, by attribute: "calls", "body", "to_apply", ...
        literal: the text in parentheses after a constant, a parameter (its number) or an iota.
        op_name: the name stack of the traced op, such as "jit(step)/sin"; empty if unknown.
        place: the source line of the user's program; None if unknown.
        is_root: whether its result is the result of its computation.
        computation: the computation that contains it.
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
    is_root: bool
    computation: Computation = field(repr=False)

    @property
    def base_opcode(self) -> str:
        """The opcode without the `-start` of an asynchronous instruction."""
        return self.opcode.removesuffix("-start")

    @property
    def target(self) -> str:
        """The function that a custom call calls; empty for other instructions."""
        return self.attributes.get("custom_call_target", "").strip('"')

    @property
    def fused(self) -> Computation | None:
        """The computation of a fusion; None for other instructions."""
        return self.callee("calls") if self.opcode == "fusion" else None

    @property
    def called(self) -> tuple[Computation, ...]:
        """All called computations, in the order of the text."""
        return tuple(computation for named in self.calls.values() for computation in named)

    def callee(self, attribute: str) -> Computation | None:
        """The first computation in the attribute `body=`, `calls=`, ...; None without one."""
        return next(iter(self.calls.get(attribute, ())), None)

    @property
    def arguments(self) -> tuple[Instruction, ...]:
        """What it passes to the computation that it calls: operands, also of its `-update`s."""
        if self.opcode != "async-start":
            return self.operands
        updates = (each for each in self.users if each.opcode == "async-update")
        return self.operands + tuple(operand for each in updates for operand in each.operands[1:])

    @property
    def users(self) -> tuple[Instruction, ...]:
        """The instructions of its computation that read it, each once, in order."""
        return self.computation.users.get(self, ())


@dataclass(eq=False)
class Computation:
    """A sequence of instructions.

    Attributes:
        name: unique in the module, without the percent sign.
        instructions: in the order of the text, which is the schedule of a scheduled module.
        is_entry: whether it is the entry computation.
    """

    name: str
    instructions: tuple[Instruction, ...] = field(default=(), repr=False)
    is_entry: bool = False

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters, in order of their numbers."""
        found = [each for each in self.instructions if each.opcode == "parameter"]
        return tuple(sorted(found, key=lambda each: int(each.literal)))

    @cached_property
    def root(self) -> Instruction:
        """The instruction whose result is that of the computation."""
        return next((each for each in self.instructions if each.is_root), self.instructions[-1])

    @cached_property
    def users(self) -> Mapping[Instruction, tuple[Instruction, ...]]:
        """The instructions that read each instruction, each once, in order."""
        found: dict[Instruction, dict[Instruction, None]] = {}
        for reader in self.instructions:
            for operand in reader.operands:
                found.setdefault(operand, {})[reader] = None
        return {operand: tuple(readers) for operand, readers in found.items()}


@dataclass(eq=False)
class Module:
    """An HLO module.

    Attributes:
        name: such as "jit_step".
        entry: the entry computation.
        computations: by name, in the order of the text: callees before callers.
        num_partitions: the number of devices over which the program is partitioned.
        num_replicas: the number of copies of the program that run at the same time.
        aliases: for an output index, the number of the parameter whose buffer it reuses.
    """

    name: str
    entry: Computation
    computations: Mapping[str, Computation] = field(repr=False)
    num_partitions: int = 1
    num_replicas: int = 1
    aliases: Mapping[tuple[int, ...], int] = field(default_factory=dict)
