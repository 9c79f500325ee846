"""Memory that libraries of XLA:CPU take while a kernel runs, which no buffer of the program has.

It is measured as the growth of the process beyond the buffers. On programs on which no rule was
found, the rules bring the measured peak from 1.09 to 1.03 of the promised one (U-Net), from 1.04 to
0.97 (ResNet-50), and from 1.17 to 1.05 (GPT-2 in parts of the batch).

YNN copies operands of convolutions into the order in which it reads them, and frees the copies at
the end: both operands in jaxlib 0.10.2, the second alone in 0.12.0.1. On 20 convolutions with sides
of 64 or 128 and 3 to 64 features (forward, by their kernels and by their inputs, with groups, f32
and bf16) the copies differ by at most 0.8 MiB of 17 from the operands. Gradients of strided
convolutions take up to 8 MiB more.

Eigen writes the patches of a convolution if they take less than `_PATCHES`: on 8 convolutions
within 0.4 MiB of them. Of larger ones it takes at most 0.5 MiB.

Eigen packs blocks of both operands of a matrix product: all columns of the right one, and at most
as many rows of the left one, each of at most `_DEPTH` of the summed elements. On 10 products of
0.25 to 4 million elements of the result this is within 0.7 MiB of the measured bytes, but for one
that takes 2.5 MiB more. YNN splits long sums of products, and keeps the sums of all parts: the
smaller the result, the shorter the parts. On 24 products this is within 0.4 MiB of up to 8, but
1.3 MiB too much for some sums of 4,096.

YNN of jaxlib 0.10.2 copies what it sums along rows that are far apart, all of it if the rows have
`_WIDE` elements; that of 0.12.0.1 copies nothing. On 60 sums of 2 to 2,048 rows of 512 to 262,144
f32 this is within 0.5 MiB of up to 32. Each core has a copy if the sums are of several such arrays.
Sums of products of two f32 arrays over one dimension, of which one of extent 1 remains, are matrix
products there, which take `_PRODUCTS` times the bytes of the products: 4.7 to 5.0 times on 14 of
them, 6.0 if the sum is not over the last dimension.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import prod

import jaxlib.version

from ..cost import cpu
from ..hlo.values import Instruction
from ..hlo.work.ops import inner_ops

_COPIES = "__ynn_fusion"
_FIRST = 0 if jaxlib.version.__version_info__ < (0, 12) else 1
"""The number of the first operand of a convolution that is copied."""

_PATCHES = 4 << 20
_BY_EIGEN = re.compile(r"b\d*f_\d*io->b\d*f$")
"""Dimensions in the order of Eigen's convolutions."""

_ARE_SUMS_COPIED = jaxlib.version.__version_info__ < (0, 12)
_WIDE = 2**15

_PRODUCTS = 5

_DEPTH = 580
"""The summed elements of the blocks that Eigen has packed at the same time."""

_LONG, _SHORTEST, _PER_PART = 4096, 64, 128
"""Of products by YNN: the fewest summed elements that it splits, those of the shortest part, and
the elements of the result for each element by which a part is longer."""


def scratch_bytes(instructions: Iterable[Instruction]) -> int:
    """The most bytes that the libraries take at once, in a run of these instructions of XLA:CPU."""
    return max(map(_taken, instructions), default=0)


def _taken(instruction: Instruction) -> int:
    if instruction.opcode == "dot":
        return _packed(instruction)
    if instruction.opcode == "convolution":
        return _patches(instruction)
    config = instruction.attributes.get("backend_config", "")
    if instruction.fused is None or _COPIES not in config:
        return 0
    return sum(map(_of_library, inner_ops(instruction.fused)))


def _of_library(op: Instruction) -> int:
    """The bytes that YNN takes for an op of a fusion."""
    if op.opcode == "convolution":
        return sum(operand.shape.bytes for operand in op.operands[_FIRST:])
    if op.opcode == "reduce":
        return _summed(op)
    summed = _extent(op, "lhs_contracting_dims") if op.opcode == "dot" else 0
    if summed < _LONG:
        return 0
    return op.shape.bytes * summed // max(_SHORTEST, op.shape.elements // _PER_PART)


def _summed(op: Instruction) -> int:
    """The bytes of the copies of what a reduction sums; its layout is taken to be the usual one."""
    shape = op.operands[0].shape
    dims = sorted(_numbers(op, "dimensions"))
    if not (_ARE_SUMS_COPIED and dims):
        return 0
    kept = [size for dim, size in enumerate(shape.dims) if dim not in dims]
    product = op.operands[0]
    is_product = product.opcode == "multiply" and product.operands[0] is not product.operands[1]
    if is_product and len(dims) == 1 and 1 in kept and shape.element_type == "f32":
        return _PRODUCTS * shape.bytes
    outer, inner = prod(shape.dims[: dims[0]]), prod(shape.dims[dims[-1] + 1 :])
    part = shape.bytes // max(outer, 1) * min(inner, _WIDE) // _WIDE
    return part * min(outer, cpu.CORES)


def _patches(convolution: Instruction) -> int:
    """The bytes of the patches of a convolution that Eigen computes."""
    attributes, kernel = convolution.attributes, convolution.operands[1].shape
    if "feature_group_count" in attributes or not _BY_EIGEN.match(attributes["dim_labels"]):
        return 0
    features = max(kernel.dims[-1], 1)
    found = convolution.shape.bytes // features * (kernel.elements // features)
    return found if found < _PATCHES else 0


def _packed(dot: Instruction) -> int:
    """The bytes of the blocks of a matrix product that Eigen computes."""
    left, right = (operand.shape for operand in dot.operands)
    summed, batch = _extent(dot, "lhs_contracting_dims"), _extent(dot, "lhs_batch_dims")
    rows, columns = (shape.elements // max(summed * batch, 1) for shape in (left, right))
    width = right.bytes // max(right.elements, 1)
    return (columns + min(rows, columns)) * min(summed, _DEPTH) * width


def _extent(dot: Instruction, name: str) -> int:
    """The elements along dimensions of the left operand."""
    return prod(dot.operands[0].shape.dims[dim] for dim in _numbers(dot, name))


def _numbers(op: Instruction, name: str) -> list[int]:
    """The numbers in an attribute, such as dimensions."""
    return [int(number) for number in re.findall(r"\d+", op.attributes.get(name, ""))]
