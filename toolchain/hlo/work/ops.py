"""The op that an HLO instruction computes, described as `jxc.cost.formulas` needs it.

An instruction goes by the name that StableHLO has for its op (`stablehlo_name`). Two cases need
more than the opcode: custom calls of libraries (cuBLAS, cuDNN, oneDNN, LAPACK, CUB), which
`_LIBRARY_CALLS` lists by target, and matrix products that the TPU compiler writes as convolutions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ...cost.formulas import (
    ConvolutionDims,
    Dimensions,
    OpDescription,
    Window,
    flops_of_op,
    names,
)
from ...files import parse_json
from .. import Computation, Instruction, Shape

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


def is_free(instruction: Instruction) -> bool:
    """Whether an instruction only names or groups values, so that nothing runs for it."""
    opcode = instruction.opcode
    if opcode in _STRUCTURE or opcode.endswith(("-done", "-update")):
        return True
    return instruction.target in _IDLE_CALLS


def is_control(instruction: Instruction) -> bool:
    """Whether an instruction only runs other computations."""
    return instruction.opcode in _CONTROL


def inner_ops(computation: Computation) -> Iterator[Instruction]:
    """The instructions of a fused computation, those of nested fusions included."""
    for instruction in computation.instructions:
        if instruction.fused is None:
            yield instruction
        else:
            yield from inner_ops(instruction.fused)


def stablehlo_name(instruction: Instruction) -> str:
    """StableHLO's name of the op that an instruction computes.

    A call of a known library has the name of the op that the library computes; any other custom
    call has the name of its target.
    """
    opcode = instruction.base_opcode
    if opcode == "custom-call":
        known = library_call(instruction)
        return known.name if known else instruction.target or "custom_call"
    if opcode == "convolution" and _is_product(instruction):
        return "dot_general"
    return _RENAMED.get(opcode, opcode.replace("-", "_"))


# The description of an instruction


def describe(instruction: Instruction) -> OpDescription:
    """The description of an instruction for the formulas of flops."""
    attributes, opcode = instruction.attributes, instruction.base_opcode
    body = instruction.callee("to_apply") or instruction.callee("scatter")
    labels = attributes.get("dim_labels")
    return OpDescription(
        opcode.replace("-", "_"),
        [_dimensions(operand.shape) for operand in instruction.operands],
        [_dimensions(leaf) for leaf in instruction.shape.leaves],
        body_ops=max(sum(not is_free(op) for op in body.instructions), 1) if body else 1,
        dimensions=_numbers(
            attributes.get("lhs_contracting_dims" if "dot" in opcode else "dimensions", "")
        ),
        lengths=_numbers(attributes.get("fft_length", "")),
        window=_windows(attributes.get("window", "")),
        convolution=_convolution_dims(labels) if labels else None,
    )


def _dimensions(shape: Shape) -> Dimensions:
    return Dimensions(shape.dims, shape.is_complex)


def _numbers(text: str) -> list[int]:
    """The numbers in a list such as `{1,256}`."""
    if not text:  # of most instructions
        return []
    return [int(each) for each in re.findall(r"\d+", text)]


def _windows(text: str) -> list[Window]:
    """The windows of `{size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=2x2 rhs_dilate=2x2}`."""
    if not text:
        return []
    fields = {name: value.split("x") for name, value in re.findall(r"(\w+)=([^\s}]+)", text)}
    sizes = [int(size) for size in fields.get("size", [])]
    ones = ["1"] * len(sizes)
    pads = [pad.partition("_")[0] for pad in fields.get("pad", ["0"] * len(sizes))]
    base, window = fields.get("lhs_dilate", ones), fields.get("rhs_dilate", ones)
    rows = zip(sizes, fields.get("stride", ones), pads, base, window, strict=True)
    return [Window(size, *map(int, row)) for size, *row in rows]


def _convolution_dims(labels: str) -> ConvolutionDims:
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


def _is_product(instruction: Instruction) -> bool:
    """Whether a convolution is a matrix product: traced as one, or all its windows are batches."""
    traced = instruction.op_name.rpartition("/")[2]
    if traced.startswith(("dot_general", "conv_general_dilated")):
        return traced.startswith("dot_general")
    dims = _convolution_dims(instruction.attributes["dim_labels"])
    before, after = instruction.operands[0].shape.dims, instruction.shape.leaves[0].dims
    found = _windows(instruction.attributes.get("window", ""))
    ends = zip(found, dims.input_spatial, dims.output_spatial, strict=True)
    return all(window.is_batch(before[i], after[o]) for window, i, o in ends)


# Custom calls of libraries


class LibraryCall(NamedTuple):
    """The custom calls whose target matches a pattern.

    Attributes:
        target: a regular expression that matches the start of the target.
        name: StableHLO's name of the op that they compute.
        flops: the flops of a call; None if its attributes do not determine them.
        computes: whether they compute anything.
    """

    target: str
    name: str
    flops: Callable[[Instruction], int | None]
    computes: bool = True


def library_call(instruction: Instruction) -> LibraryCall | None:
    """The entry of `_LIBRARY_CALLS` for a custom call; None if its target is not listed."""
    target = instruction.target
    return next((call for call in _LIBRARY_CALLS if re.match(call.target, target)), None)


def is_library(instruction: Instruction) -> bool:
    """Whether an instruction is a custom call that is known to compute something."""
    known = library_call(instruction)
    return known is not None and known.computes


def _as(name: str, **changes: Any) -> Callable[[Instruction], int | None]:
    """The flops of a call that computes an op of StableHLO with the same operands."""
    return lambda call: flops_of_op(replace(describe(call), name=name, **changes))


def _cublas(call: Instruction) -> int | None:
    """A product, and one addition per result for each further operand: a bias, an addend."""
    try:
        config = parse_json(call.attributes["backend_config"])["gemm_backend_config"]
        dims = config["dot_dimension_numbers"]["lhs_contracting_dimensions"]
    except (ValueError, KeyError, TypeError):
        return None
    product = _as("dot", dimensions=[int(dim) for dim in dims])(call)
    extra = len(call.operands) - 2 if "f8" not in call.target else 0
    return (product or 0) + extra * call.shape.leaves[0].elements if dims else None


def _onednn(call: Instruction) -> int | None:
    """A product. Its contracted extent follows from the three sizes, whatever the layouts are."""
    op = describe(call)
    (left, right), result = op.operands[:2], op.results[0]
    batch = math.prod(result.dims[:-2]) if len(right.dims) > 2 else 1
    if not result.elements or not batch:
        return 0
    contracted = math.isqrt(left.elements * right.elements // result.elements // batch)
    return left.product_flops * result.elements * contracted


def _cudnn(call: Instruction) -> int | None:
    """A convolution or one of its gradients, with an optional bias and activation.

    A gradient takes the flops of the convolution, so the arrays are arranged as in the convolution:
    the operand whose gradient is computed takes the position of the result.
    """
    if "dim_labels" not in call.attributes:
        return None
    op, further = describe(call), 0
    (one, other), result = op.operands[:2], op.results[0]
    if "BackwardInput" in call.target:
        arrays = (result, other, one)
    elif "BackwardFilter" in call.target:
        arrays = (one, result, other)
    else:
        arrays = (one, other, result)
        further = len(call.operands) - 2 + ('"activation_mode":"kRelu"' in str(call.attributes))
    convolution = replace(op, name="convolution", operands=arrays[:2], results=arrays[2:])
    return (flops_of_op(convolution) or 0) + further * result.elements


_LIBRARY_CALLS = [
    LibraryCall(r"__cublas\$(?:gemm|lt\$matmul)", "dot_general", _cublas),
    LibraryCall(r"__onednn\$matmul", "dot_general", _onednn),
    LibraryCall(r"__cudnn\$conv", "convolution", _cudnn),
    LibraryCall(
        r"__cublas\$triangularSolve|lapack_\w*trsm|cublas_\w*trsm",
        "triangular_solve",
        _as("triangular_solve"),
    ),
    LibraryCall(r"lapack_\w*potrf|cusolver_\w*potrf|Cholesky$", "cholesky", _as("cholesky")),
    LibraryCall(r"__cub\$DeviceRadixSort", "sort", _as("sort", dimensions=[-1], body_ops=1)),
    LibraryCall(r"X64(?:SplitLow|SplitHigh|Combine)$", "bitcast_convert", lambda _: 0, False),
    LibraryCall(r"MoveTo(?:Host|Device)$|Pin$|Unpin$", "copy", lambda _: 0, False),
]
