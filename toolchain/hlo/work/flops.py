"""Flops of HLO instructions, counted by the formulas of `jxc.cost.formulas`.

`ops` describes each instruction for the formulas. The flops of a fusion are those of all
instructions that are fused into it. Each is counted at the rate at which a device computes it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ...cost.formulas import FUNCTIONS, SCALAR_FUNCTIONS, TRANSCENDENTAL, flops_of_op
from .. import Instruction
from .ops import (
    COLLECTIVES,
    describe,
    inner_ops,
    is_control,
    is_free,
    library_call,
    stablehlo_name,
)
from .pallas import estimate_of


@dataclass
class Flops:
    """The flops of an instruction.

    Attributes:
        by_type: flops by the rate at which a device computes them.

            "f32", "bf16", ...: products and library calls, by the type of the left operand. "tf32"
            stands for f32 whose precision the program leaves to the compiler.
            "convolution-f32", "grouped-convolution-f32", "depthwise-convolution-f32": the same,
            for convolutions; gradients of grouped ones count as depthwise.
            "function-f32": an exponential and the like. "scalar-function-f32": functions that a
            CPU does not vectorize. "scalar-elementwise-f32": pooling, and comparisons of sorts.
            "elementwise-f32": all other ops. The same with f64; other types run as f32 does.
            Matrix units compute none of these.
            A device that does not list a rate has that of the name without its first word.
        transcendentals: how many exponentials, sines, ..., each of ten flops in `by_type`.
        unknown: by name, instructions whose flops are not known; they count as none.
    """

    by_type: Counter[str] = field(default_factory=Counter)
    transcendentals: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All flops."""
        return sum(self.by_type.values())


def flops_of(instruction: Instruction) -> Flops:
    """The flops of running an instruction once; of a fusion, of all instructions in it."""
    found = Flops()
    for op in inner_ops(instruction.fused) if instruction.fused else (instruction,):
        if is_free(op) or is_control(op) or op.base_opcode in COLLECTIVES:
            continue
        name = stablehlo_name(op)
        if (kernel := estimate_of(op)) is not None:
            amount: int | None = kernel.flops
            found.transcendentals += kernel.transcendentals
            found.by_type["function-f32"] += TRANSCENDENTAL * kernel.transcendentals
        elif op.base_opcode == "custom-call":
            known = library_call(op)
            amount = known.flops(op) if known else None
        else:
            amount = flops_of_op(describe(op))
        if amount is None:
            found.unknown[name] += 1
        elif amount:
            found.by_type[_rate(op, name)] += amount
        if name in FUNCTIONS:
            found.transcendentals += op.shape.elements
    return found


def _rate(op: Instruction, name: str) -> str:
    """The key of `Flops.by_type` for an instruction that computes the op `name`."""
    operand = op.operands[0].shape if op.operands else op.shape
    if op.base_opcode in ("dot", "convolution", "ragged-dot", "custom-call"):
        kind = operand.leaves[0].element_type if op.operands else "f32"
        if kind == "f32" and "high" not in op.attributes.get("operand_precision", ""):
            kind = "tf32"
        is_convolution = op.base_opcode == name == "convolution"  # TPUs compute products by it too
        prefix = _kind_of_convolution(op) if is_convolution else ""
        return prefix + {"c64": "f32", "c128": "f64"}.get(kind, kind)
    kinds = {leaf.element_type for leaf in (*operand.leaves, *op.shape.leaves)}
    width = "f64" if kinds & {"f64", "c128"} else "f32"
    if name in FUNCTIONS:
        return f"{'scalar-' if name in SCALAR_FUNCTIONS else ''}function-{width}"
    return f"{'scalar-' if name == 'sort' or _is_pooling(op, name) else ''}elementwise-{width}"


def _kind_of_convolution(op: Instruction) -> str:
    """The rate of a convolution.

    The gradient of a grouped one by its kernel has groups of batches, which XLA:CPU writes as one
    more dimension of the window.
    """
    found = describe(op)
    dims = found.convolution
    assert dims is not None
    ends = zip(found.window, dims.input_spatial, dims.output_spatial, strict=True)
    inputs, outputs = found.operands[0].dims, found.results[0].dims
    is_gradient = any(window.is_batch(inputs[i], outputs[o]) for window, i, o in ends)
    if is_gradient or "batch_group_count" in op.attributes:
        return "depthwise-convolution-"
    if "feature_group_count" not in op.attributes:
        return "convolution-"
    is_depthwise = op.operands[1].shape.dims[dims.kernel_input_features] == 1
    return "depthwise-convolution-" if is_depthwise else "grouped-convolution-"


def _is_pooling(op: Instruction, name: str) -> bool:
    """Whether an op has overlapping windows of several dimensions; a cumulative sum has one."""
    if name not in ("reduce_window", "select_and_scatter"):
        return False
    return sum(window.size > 1 for window in describe(op).window) > 1
