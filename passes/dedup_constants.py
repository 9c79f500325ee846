"""Keep one `stablehlo.constant` per block and value."""

from __future__ import annotations

import math
from collections.abc import Hashable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import walk
from jxc.ir.constants import array_of
from jxc.ir.values import is_complex, shape_of
from jxc.rewrite import module_pass


@module_pass
def dedup_constants(module: ir.Operation, *, max_elements: int = 1024) -> None:
    """Keep one `stablehlo.constant` per block and value, up to `max_elements` elements.

    JAX lowers each literal of a program to a constant of its own. Values are the same if their
    types and bits are: 0.0 and -0.0 differ, and so do NaNs of different payloads. The first
    constant of a block stays; a constant with attributes of its own (a sharding) is left alone.
    """
    kept: dict[Hashable, ir.Value] = {}
    repeated: list[tuple[hlo.ConstantOp, ir.Value]] = []
    for op in walk(module):
        if isinstance(op, hlo.ConstantOp) and _is_plain(op, max_elements):
            value = kept.setdefault((op.operation.block, _key(op)), op.result)
            if value != op.result:
                repeated.append((op, value))
    for op, value in repeated:
        op.result.replace_all_uses_with(value)
        op.operation.erase()


def _is_plain(op: hlo.ConstantOp, max_elements: int) -> bool:
    return math.prod(shape_of(op.result)) <= max_elements and len(op.operation.attributes) == 1


def _key(op: hlo.ConstantOp) -> Hashable:
    """A key that is equal for constants of equal type and bits."""
    array = array_of(op.result) if is_complex(op.result) else None
    return op.value if array is None else (str(op.result.type), array.tobytes())
