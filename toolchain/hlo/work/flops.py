"""Flops of HLO instructions: each is described as `jxc.cost.formulas` needs it, and counted there.

An instruction goes by the name that StableHLO has for its op (`stablehlo_name`). What only HLO has
is counted as what it computes: calls of libraries (`libraries`), and matrix products that the TPU
compiler writes as convolutions. A fusion counts all that is fused into it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...cost.formulas import (
    FUNCTIONS,
    MOVEMENT,
    SCALAR_FUNCTIONS,
    ConvolutionDims,
    OpDescription,
    Window,
    flops_of_op,
    names,
)
from .. import Computation, Instruction

COLLECTIVES = names(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all "
    "reduce-scatter send recv"
)
"""The opcodes that send data to other devices or receive it."""

_STRUCTURE = names(
    "parameter constant tuple get-tuple-element bitcast after-all add-dependency domain "
    "partition-id replica-id get-dimension-size opt-barrier"
)
_CONTROL = names("while conditional call async-start async-done async-update")
_IDLE_CALLS = names(
    "AllocateBuffer ConcatBitcast AssumeGatherIndicesInBound GatherScatterIndicesBitpacked "
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement"
)
_RENAMED = {
    "dot": "dot_general",
    "broadcast": "broadcast_in_dim",
    "opt-barrier": "optimization_barrier",
}
_DIGITS = re.compile(r"\d+")
_FIELD = re.compile(r"(\w+)=(\S+)")


@dataclass
class Flops:
    """The flops of an instruction.

    Attributes:
        by_type: flops by the rate of the device that they run at, see `rate_of_elements` and
            `rate_of_products`.
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

    def add(self, other: Flops) -> None:
        """Add the flops of another instruction."""
        self.by_type.update(other.by_type)
        self.transcendentals += other.transcendentals
        self.unknown.update(other.unknown)


def base_opcode(instruction: Instruction) -> str:
    """The opcode without the `-start` of an asynchronous instruction."""
    return instruction.opcode.removesuffix("-start")


def target_of(instruction: Instruction) -> str:
    """The name of what a custom call calls; empty for anything else."""
    return instruction.attributes.get("custom_call_target", "").strip('"')


def is_free(instruction: Instruction) -> bool:
    """Whether an instruction only names or groups values, so that nothing runs for it."""
    opcode = instruction.opcode
    if opcode in _STRUCTURE or opcode.endswith(("-done", "-update")):
        return True
    return target_of(instruction) in _IDLE_CALLS


def is_control(instruction: Instruction) -> bool:
    """Whether an instruction only runs other computations."""
    return instruction.opcode in _CONTROL


def inner_ops(computation: Computation) -> Iterator[Instruction]:
    """The instructions of a fused computation, those of fusions in it included."""
    for instruction in computation.instructions:
        fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
        if fused is None:
            yield instruction
        else:
            yield from inner_ops(fused)


def stablehlo_name(instruction: Instruction) -> str:
    """StableHLO's name of the op that an instruction computes.

    A call of a known library has the name of what the library computes, another custom call that of
    its target.
    """
    from .libraries import library_call  # which describes calls by this file

    opcode = base_opcode(instruction)
    if opcode == "custom-call":
        known = library_call(instruction)
        return known.name if known else target_of(instruction) or "custom_call"
    if opcode == "convolution" and is_product(instruction):
        return "dot_general"
    return _RENAMED.get(opcode, opcode.replace("-", "_"))


def flops_of(instruction: Instruction) -> Flops:
    """The flops of running an instruction once; of a fusion, of all that is in it."""
    from .libraries import library_call

    found = Flops()
    fused = instruction.callee("calls") if instruction.opcode == "fusion" else None
    if fused is not None:
        for each in inner_ops(fused):
            found.add(flops_of(each))
        return found
    opcode = base_opcode(instruction)
    if is_free(instruction) or is_control(instruction) or opcode in COLLECTIVES:
        return found
    name = stablehlo_name(instruction)
    if opcode == "custom-call":
        known = library_call(instruction)
        amount, is_product_ = known.flops(instruction) if known else None, True
    elif name in MOVEMENT:
        return found
    else:
        amount = flops_of_op(described(instruction))
        is_product_ = opcode in ("dot", "convolution", "ragged-dot")
    if amount is None:
        found.unknown[name] += 1
    elif amount:
        rate = rate_of_products if is_product_ else rate_of_elements
        found.by_type[rate(instruction)] = amount
    if name in FUNCTIONS:
        found.transcendentals = instruction.shape.elements
    return found


def rate_of_elements(instruction: Instruction) -> str:
    """The rate at which a device computes an instruction that is no product of matrices.

    "elementwise-f32", "function-f32" for an exponential and the like, "scalar-function-f32" for
    functions that a CPU does not vectorize; the same with f64. Matrix units compute none of these,
    and other types run as f32 does.
    """
    operand = instruction.operands[0].shape if instruction.operands else instruction.shape
    kinds = {leaf.element_type for leaf in (*operand.leaves, *instruction.shape.leaves)}
    width = "f64" if kinds & {"f64", "c128"} else "f32"
    name = stablehlo_name(instruction)
    if name not in FUNCTIONS:
        return f"elementwise-{width}"
    return f"{'scalar-' if name in SCALAR_FUNCTIONS else ''}function-{width}"


def rate_of_products(instruction: Instruction) -> str:
    """The rate of a product or a library call: the element type of its left operand.

    "tf32" stands for f32 whose precision the program leaves to the compiler.
    """
    kind = instruction.operands[0].shape.leaves[0].element_type if instruction.operands else "f32"
    precision = instruction.attributes.get("operand_precision", "")
    if kind == "f32" and "high" not in precision:
        return "tf32"
    return {"c64": "f32", "c128": "f64"}.get(kind, kind)


# -- the description of an instruction ------------------------------------------------------------


def described(instruction: Instruction) -> OpDescription:
    """What the formulas need of an instruction."""
    attributes = instruction.attributes
    opcode = base_opcode(instruction)
    dimensions = attributes.get("lhs_contracting_dims" if "dot" in opcode else "dimensions", "")
    labels = attributes.get("dim_labels")
    return OpDescription(
        opcode.replace("-", "_"),
        [operand.shape for operand in instruction.operands],
        instruction.shape.leaves,
        body_ops=_body_ops(instruction),
        dimensions=numbers(dimensions),
        lengths=numbers(attributes.get("fft_length", "")),
        window=windows(attributes.get("window", "")),
        convolution=convolution_dims(labels) if labels else None,
    )


def numbers(text: str) -> list[int]:
    """The numbers in a list such as `{1,256}` or `3x3`."""
    return [int(each) for each in _DIGITS.findall(text)]


def _body_ops(instruction: Instruction) -> int:
    """The ops in a reducer, an update or a comparator that compute something; at least one."""
    body = instruction.callee("to_apply") or instruction.callee("scatter")
    return 1 if body is None else max(sum(not is_free(each) for each in body.instructions), 1)


def windows(text: str) -> list[Window]:
    """The windows of `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=2x2 rhs_dilate=2x2}`."""
    fields = {name: value.split("x") for name, value in _FIELD.findall(text.strip("{}"))}
    sizes = [int(size) for size in fields.get("size", [])]
    ones = ["1"] * len(sizes)
    pads = [pad.partition("_")[0] for pad in fields.get("pad", ["0"] * len(sizes))]
    base, window = fields.get("lhs_dilate", ones), fields.get("rhs_dilate", ones)
    rows = zip(sizes, fields.get("stride", ones), pads, base, window, strict=True)
    return [Window(size, *map(int, row)) for size, *row in rows]


def convolution_dims(labels: str) -> ConvolutionDims:
    """The dimensions of `dim_labels=b01f_01io->b01f`."""
    inputs, kernel, output = re.split("_|->", labels)
    spatial = [str(number) for number in range(len(output) - 2)]
    return ConvolutionDims(
        input_spatial=[inputs.index(each) for each in spatial],
        kernel_input_features=kernel.index("i"),
        output_batch=output.index("b"),
        output_features=output.index("f"),
        output_spatial=[output.index(each) for each in spatial],
    )


def is_product(instruction: Instruction) -> bool:
    """Whether a convolution is a matrix product: traced as one, or all its windows are batches."""
    traced = instruction.op_name.rpartition("/")[2]
    if traced.startswith(("dot_general", "conv_general_dilated")):
        return traced.startswith("dot_general")
    dims = convolution_dims(instruction.attributes["dim_labels"])
    before, after = instruction.operands[0].shape.dims, instruction.shape.leaves[0].dims
    found = windows(instruction.attributes.get("window", ""))
    ends = zip(found, dims.input_spatial, dims.output_spatial, strict=True)
    return all(window.is_batch(before[i], after[o]) for window, i, o in ends)
