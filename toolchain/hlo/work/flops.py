"""Flops of HLO instructions, counted as `jxc.cost` counts those of StableHLO's ops.

Nothing is estimated twice over: the names, the weight of a transcendental and the formulas are the
same, so that a program's figures before and after compilation can be compared. What only HLO has
(libraries' custom calls, products that a TPU runs as convolutions) counts as what it computes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...cost.flops import ARITHMETIC, ELEMENTARY, TRANSCENDENTAL
from .. import Computation, Instruction
from .formulas import FORMULAS
from .libraries import library_flops, stablehlo_name
from .names import COLLECTIVES, base_opcode, is_control, is_free, target_of, words

_COMPLEX = {"multiply": 6, "divide": 11}
_HLO_ARITHMETIC = words("clz count_leading_zeros mulhi stochastic_convert clamp")
_MOVES = words(
    "broadcast-in-dim broadcast bitcast-convert complex concatenate copy dynamic-reshape "
    "dynamic-slice dynamic-update-slice gather imag infeed iota outfeed pad real "
    "reshape reverse rng-get-and-update-state slice transpose"
)


@dataclass
class Flops:
    """What is computed.

    Attributes:
        by_type: flops by the rate of a device that they run at: HLO's name of an element type, or
            "tf32" for products of f32 whose precision the program leaves to the compiler.
        transcendentals: how many exponentials, sines, ..., each of ten flops in `by_type`.
        unknown: what nobody knows the flops of, by name: counted as none.
    """

    by_type: Counter[str] = field(default_factory=Counter)
    transcendentals: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All flops."""
        return sum(self.by_type.values())

    def add(self, other: Flops) -> None:
        """Count what another has as well."""
        self.by_type.update(other.by_type)
        self.transcendentals += other.transcendentals
        self.unknown.update(other.unknown)


def inner_ops(computation: Computation) -> Iterator[Instruction]:
    """The instructions of a fused computation, those of fusions in it included."""
    for instruction in computation.instructions:
        fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
        if fused is None:
            yield instruction
        else:
            yield from inner_ops(fused)


def flops_of(instruction: Instruction) -> Flops:
    """The flops of running an instruction once; of a fusion, of all that is in it."""
    found = Flops()
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    if fused is not None:
        for each in inner_ops(fused):
            found.add(flops_of(each))
        return found
    if is_free(instruction) or is_control(instruction):
        return found
    name, opcode = stablehlo_name(instruction), base_opcode(instruction)
    if opcode in ("dot", "convolution", "ragged-dot"):
        found.by_type[_rate_of_products(instruction)] = FORMULAS[opcode](instruction)
    elif name in ELEMENTARY:
        found.transcendentals = instruction.shape.elements
        amount = instruction.shape.elements * TRANSCENDENTAL * _complex_factor(name, instruction)
        found.by_type[_rate(instruction)] = amount
    elif name in ARITHMETIC or name in _HLO_ARITHMETIC:
        amount = instruction.shape.elements * _complex_factor(name, instruction)
        found.by_type[_rate(instruction)] = amount
    elif opcode in FORMULAS:
        found.by_type[_rate(instruction)] = FORMULAS[opcode](instruction)
    elif opcode == "custom-call":
        _library(instruction, found)
    elif opcode not in _MOVES and opcode not in COLLECTIVES:
        found.unknown[name] += 1
    return found


def _library(call: Instruction, found: Flops) -> None:
    amount = library_flops(call)
    if amount is None:
        found.unknown[target_of(call) or "custom_call"] += 1
    elif call.operands:
        found.by_type[_rate_of_products(call)] = amount


def _rate(instruction: Instruction) -> str:
    """Elementwise work runs where f32 does, or f64: matrix units do not do it."""
    operand = instruction.operands[0].shape if instruction.operands else instruction.shape
    kinds = {leaf.element_type for leaf in (*operand.leaves, *instruction.shape.leaves)}
    return "f64" if kinds & {"f64", "c128"} else "f32"


def _rate_of_products(instruction: Instruction) -> str:
    kind = instruction.operands[0].shape.leaves[0].element_type
    precision = instruction.attributes.get("operand_precision", "")
    if kind == "f32" and "high" not in precision:
        return "tf32"
    return {"c64": "f32", "c128": "f64"}.get(kind, kind)


def _complex_factor(name: str, instruction: Instruction) -> int:
    """Real operations in one complex one: six in a product, about two of the others."""
    if not instruction.operands or not instruction.operands[-1].shape.is_complex:
        return 1
    return _COMPLEX.get(name, 2)
