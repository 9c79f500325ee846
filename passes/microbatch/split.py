"""Rules for ops of which an operand is split: which operands and results are split alike.

A rule returns the plan of an op or raises `CannotSplit` with the reason. It must hold that part i
of each result depends on part i of the split operands, and on whole operands, only. A reduction
over the batch gives summands instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import shape_of

from .._shared.reduce_body import combiner_of, is_idempotent
from .products import PRODUCTS
from .states import (
    SAME,
    CannotSplit,
    OpPlan,
    Parted,
    Partial,
    Rule,
    State,
    is_neutral,
    only,
    the_dim,
)


def elementwise(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    """Operands and results are split alike; scalars are whole."""
    dim = the_dim(states)
    forms = tuple(Parted(dim) if shape_of(value) else SAME for value in op.operands)
    return OpPlan(forms, (Parted(dim),) * len(op.results))


def moved_dim(shape: Sequence[int], result: Sequence[int], dim: int, parts: int) -> int | None:
    """The dimension of a reshaped array whose blocks are the blocks of dimension `dim`."""
    before = math.prod(shape[:dim])
    for at, size in enumerate(result):
        if size > 1 and math.prod(result[:at]) == before:
            return at if size % parts == 0 else None
    return None


def _reshape(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    to = moved_dim(shape_of(op.operands[0]), shape_of(op.results[0]), dim, parts)
    if to is None:
        raise CannotSplit("it merges the batch with a dimension before it")
    return OpPlan((Parted(dim),), (Parted(to),))


def _transpose(op: hlo.TransposeOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    return OpPlan((Parted(dim),), (Parted(list(op.permutation).index(dim)),))


def _broadcast(op: hlo.BroadcastInDimOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    return OpPlan((Parted(dim),), (Parted(list(op.broadcast_dimensions)[dim]),))


def _slice(op: hlo.SliceOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    size = shape_of(op.operand)[dim]
    if (op.start_indices[dim], op.limit_indices[dim], op.strides[dim]) != (0, size, 1):
        raise CannotSplit("it takes some examples of the batch")
    return OpPlan((Parted(dim),), (Parted(dim),))


def _pad(op: hlo.PadOp, states: Sequence[State], parts: int) -> OpPlan:
    if not isinstance(states[0], Parted) or isinstance(states[1], Parted):
        raise CannotSplit("it pads by a value of the batch")
    dim = states[0].dim
    if op.edge_padding_low[dim] or op.edge_padding_high[dim] or op.interior_padding[dim]:
        raise CannotSplit("it pads the batch")
    return OpPlan((Parted(dim), SAME), (Parted(dim),))


def _concatenate(op: hlo.ConcatenateOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    if op.dimension.value == dim:
        raise CannotSplit(
            "it joins arrays along the batch, so that its parts are of other examples"
        )
    return elementwise(op, states, parts)


def _reverse(op: hlo.ReverseOp, states: Sequence[State], parts: int) -> OpPlan:
    if the_dim(states) in list(op.dimensions):
        raise CannotSplit("it reverses the batch")
    return elementwise(op, states, parts)


def _reduce(op: hlo.ReduceOp, states: Sequence[State], parts: int) -> OpPlan:
    count = len(op.inputs)
    if only(states[count:], Parted):
        raise CannotSplit("its initial value depends on the batch")
    dim, dims = the_dim(states), list(op.dimensions)
    forms: tuple[State, ...] = (Parted(dim),) * count + (SAME,) * count
    if dim not in dims:
        to = dim - sum(each < dim for each in dims)
        return OpPlan(forms, (Parted(to),) * count)
    combine = combiner_of(op)
    if combine is None:
        raise CannotSplit("it combines the examples of the batch by more than a sum or a maximum")
    is_idempotent_start = is_idempotent(combine, op.operands[1])
    if not is_idempotent_start and not is_neutral(combine, op.operands[1]):
        raise CannotSplit("it combines the examples of the batch from a start that counts N times")
    return OpPlan(forms, (Partial(combine),))


def _is_trivial_window(op: ir.OpView, dim: int) -> bool:
    for name, plain in (("window_dimensions", 1), ("window_strides", 1), ("base_dilations", 1)):
        given = getattr(op, name, None)
        if given is not None and list(given)[dim] != plain:
            return False
    dilations = getattr(op, "window_dilations", None)
    if dilations is not None and list(dilations)[dim] != 1:
        return False
    padding = op.padding
    if padding is None:
        return True
    if padding.is_splat:
        return bool(padding.get_splat_value().value == 0)
    return [int(each) for each in padding][2 * dim : 2 * dim + 2] == [0, 0]


def _reduce_window(op: hlo.ReduceWindowOp, states: Sequence[State], parts: int) -> OpPlan:
    count = len(op.inputs)
    if only(states[count:], Parted):
        raise CannotSplit("its initial value depends on the batch")
    dim = the_dim(states)
    if not _is_trivial_window(op, dim):
        raise CannotSplit("its windows cover several examples of the batch")
    forms: tuple[State, ...] = (Parted(dim),) * count + (SAME,) * count
    return OpPlan(forms, (Parted(dim),) * count)


def _select_and_scatter(op: hlo.SelectAndScatterOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states[:2])
    if isinstance(states[2], Parted) or not _is_trivial_window(op, dim):
        raise CannotSplit("its windows cover several examples of the batch")
    return OpPlan((Parted(dim), Parted(dim), SAME), (Parted(dim),))


def _sort(op: hlo.SortOp, states: Sequence[State], parts: int) -> OpPlan:
    if the_dim(states) == op.dimension.value:
        raise CannotSplit("it sorts the examples of the batch")
    return elementwise(op, states, parts)


def _dynamic_slice(op: hlo.DynamicSliceOp, states: Sequence[State], parts: int) -> OpPlan:
    if only(states[1:], Parted):
        raise CannotSplit("it slices at an index of the batch")
    dim = the_dim(states)
    if op.slice_sizes[dim] != shape_of(op.operand)[dim]:
        raise CannotSplit("it slices the batch")
    return OpPlan((Parted(dim), *[SAME] * (len(states) - 1)), (Parted(dim),))


def _dynamic_update_slice(
    op: hlo.DynamicUpdateSliceOp, states: Sequence[State], parts: int
) -> OpPlan:
    if only(states[2:], Parted):
        raise CannotSplit("it writes at an index of the batch")
    dim = the_dim(states)
    if shape_of(op.update)[dim] != shape_of(op.operand)[dim]:
        raise CannotSplit("it writes some examples of the batch")
    return OpPlan((Parted(dim), Parted(dim), *[SAME] * (len(states) - 2)), (Parted(dim),))


def _by_matrices(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    if dim >= len(shape_of(op.operands[0])) - 2:
        raise CannotSplit("the batch is a dimension of its matrices")
    return elementwise(op, states, parts)


def _fft(op: hlo.FftOp, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    if dim >= len(shape_of(op.operands[0])) - len(list(op.fft_length)):
        raise CannotSplit("it transforms along the batch")
    return elementwise(op, states, parts)


def _top_k(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    dim = the_dim(states)
    if dim == len(shape_of(op.operands[0])) - 1:
        raise CannotSplit("it selects among the examples of the batch")
    return elementwise(op, states, parts)


def _bitcast(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    dim, ranks = the_dim(states), [len(shape_of(v)) for v in (op.operands[0], op.results[0])]
    if shape_of(op.operands[0]) != shape_of(op.results[0]) and dim >= min(ranks):
        raise CannotSplit("it takes the bits of several examples of the batch together")
    return elementwise(op, states, parts)


_RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "pad": _pad,
    "concatenate": _concatenate,
    "reverse": _reverse,
    "reduce": _reduce,
    "reduce_window": _reduce_window,
    "select_and_scatter": _select_and_scatter,
    "sort": _sort,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update_slice,
    "cholesky": _by_matrices,
    "triangular_solve": _by_matrices,
    "fft": _fft,
    "top_k": _top_k,
    "bitcast_convert": _bitcast,
}


def plan_split(op: ir.OpView, states: Sequence[State], parts: int) -> OpPlan:
    """The plan for an op of which an operand is split and none is partial.

    Raises:
        CannotSplit: no rule shows that the op works by parts of the batch.
    """
    name = op.operation.name.partition(".")[2]
    if is_elementwise(op):
        rule: Rule | None = elementwise
    else:
        rule = _RULES.get(name) or PRODUCTS.get(name)
    if rule is None:
        raise CannotSplit(f"nothing shows that {op.operation.name} works on each example by itself")
    plan = rule(op, states, parts)
    for values, each in ((op.operands, plan.operands), (op.results, plan.results)):
        for value, state in zip(values, each, strict=True):
            if isinstance(state, Parted) and shape_of(value)[state.dim] % parts:
                raise CannotSplit(
                    f"dimension {state.dim} of {value.type} has no {parts} equal parts"
                )
    return plan
