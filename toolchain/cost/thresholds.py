"""When work is worth it. Thresholds live here and nowhere else."""

from __future__ import annotations

from math import prod

from jaxlib.mlir import ir

from ..ir import walk
from ..ir.values import is_unsigned

TINY_MODULE_OPS = 8
"""Modules up to this many ops are not worth a pipeline: JAX compiles one for each eager op.

A small script meets about twenty of them at first use; the passes take about a millisecond each,
and there is nothing in them to combine. Ops that pay alone are the exception, see `_PAY_ALONE`.
"""

_PAY_ALONE = frozenset(
    f"stablehlo.{name}"
    for name in (
        *("convolution", "reduce_window", "select_and_scatter", "sort", "while", "scatter"),
        "custom_call",
    )
)

_PAY_WHEN_LARGE = frozenset(
    (
        *(f"stablehlo.{name}" for name in ("atan2", "cbrt", "cosine", "dot_general", "power")),
        *(f"stablehlo.{name}" for name in ("reduce", "remainder", "sine", "tan")),
        *(f"chlo.{name}" for name in ("acos", "asin", "atan", "tan", "top_k")),
    )
)

_LARGE_ELEMENTS = 4096  # what the smallest of these need to gain anything


def is_tiny(module: ir.Module) -> bool:
    """Whether a module is so small that no pass can gain anything on it."""
    for ops, op in enumerate(walk(module.operation), start=1):
        if ops > TINY_MODULE_OPS or _pays_alone(op) or _is_folded_wrongly(op):
            return False
    return True


def _pays_alone(op: ir.OpView) -> bool:
    name = op.operation.name
    if name in _PAY_ALONE:
        return True
    return name in _PAY_WHEN_LARGE and any(
        kind.has_static_shape and prod(kind.shape) >= _LARGE_ELEMENTS
        for kind in (ir.ShapedType(value.type) for value in op.operands)
    )


def _is_folded_wrongly(op: ir.OpView) -> bool:
    """Whether XLA's own folding of `op` may be wrong, so that ours must come first.

    Seen in jaxlib 0.10.2 and 0.12.0.1: it takes booleans for signed numbers in `clamp`, the sign of
    -0.0 for 0.0, unsigned indices for signed ones, no order for the total one, and an initial value
    for neutral.
    """
    match op.operation.name:
        case "stablehlo.reduce":
            operand = ir.ShapedType(op.operands[0].type)
            return not len(op.attributes["dimensions"]) or (
                operand.has_static_shape and 0 in operand.shape
            )
        case "stablehlo.compare":
            return "compare_type" in op.attributes and "TOTAL" in str(op.attributes["compare_type"])
        case "stablehlo.dynamic_slice" | "stablehlo.gather":
            return any(map(is_unsigned, list(op.operands)[1:]))
        case "stablehlo.clamp" | "stablehlo.sign":
            return any(map(_is_constant, op.operands))
    return False


def _is_constant(value: ir.Value) -> bool:
    """Whether `value` is a constant, or one that `vmap` and the like have spread."""
    op = value.owner
    while not isinstance(op, ir.Block) and op.operation.name in _SPREADING:
        op = op.operands[0].owner
    return not isinstance(op, ir.Block) and op.operation.name == "stablehlo.constant"


_SPREADING = ("stablehlo.broadcast_in_dim", "stablehlo.convert", "stablehlo.reshape")


FOLDED_ELEMENTS = 4096
"""The most elements that a folded constant may have, unless all are equal: they are written out."""

FOLDED_FREELY = 16
"""Constants up to this many elements are folded even where that leaves more of them than before."""

_PRODUCTS_FOR_A_COPY = 4  # multiply-adds in the time that one element takes to be copied


def pays_to_slice_operands(products_saved: int, elements_copied: int) -> bool:
    """Whether a product of matrices of which a part is used is better made of parts.

    Args:
        products_saved: multiply-adds that are left out.
        elements_copied: what the parts of the operands hold: a product reads them from memory.
    """
    return products_saved >= _PRODUCTS_FOR_A_COPY * elements_copied
