"""Branches that are known, loops of no or one iteration, unused results of ops with regions.

Ops with effects stay, and are executed as often as before: a branch or body is removed only if it
has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.values import (
    element_type,
    is_same_splat,
    is_used,
    shape_of,
    splat_attr,
    splat_of,
    static_shape,
)
from jxc.rewrite import exact, once_per_visit, rule

from .._shared.region import (
    copy_regions,
    drop_arguments,
    effect_operands,
    end_of,
    has_effects,
    has_placeholder,
    inline_block,
    needed_arguments,
    return_only,
    with_placeholders,
)
from .fold import LITERALS, literal
from .fold_arithmetic import compared, evaluate


@rule(exact, producer=LITERALS)
def if_of_constant(op: hlo.IfOp) -> Sequence[ir.Value] | None:
    """if(true, f, g) -> f(), if(false, f, g) -> g()."""
    chosen = splat_of(op.pred)
    return None if chosen is None else _chosen(op, 0 if chosen else 1)


@rule(exact)
def case_of_constant(op: hlo.CaseOp) -> Sequence[ir.Value] | None:
    """case(1, f, g, h) -> g(); an index out of range selects the last branch."""
    last = len(op.regions) - 1
    index = splat_of(op.index) if last else 0
    if index is None:
        return None
    return _chosen(op, int(index) if 0 <= index <= last else last)


def _chosen(op: hlo.IfOp | hlo.CaseOp, index: int) -> list[ir.Value] | None:
    """The results of one branch, inlined, if the others have no effects."""
    others = [region.blocks[0] for i, region in enumerate(op.regions) if i != index]
    if any(has_effects(each) for block in others for each in block.operations):
        return None
    if not _has_types(end_of(op.regions[index]).operands, op):
        return None
    return inline_block(op, index)


def _has_types(values: Sequence[ir.Value], op: ir.OpView) -> bool:
    return [value.type for value in values] == [result.type for result in op.results]


@rule(exact)
def if_same_results(op: hlo.IfOp | hlo.CaseOp) -> Sequence[ir.Value] | None:
    """if(p, {x}, {x}) -> x, for a value from outside or for equal constants."""
    ends = [list(end_of(region).operands) for region in op.regions]
    same: dict[int, ir.Value] = {}
    constants: dict[int, ir.Attribute] = {}
    for index, (first, *others) in enumerate(zip(*ends, strict=True)):
        if first.type != op.results[index].type or not others:
            continue
        if all(other == first for other in others):
            same[index] = first
            continue
        is_constant = isinstance(first.owner, hlo.ConstantOp) and has_placeholder(first)
        if is_constant and all(is_same_splat(first, other) for other in others):
            constants[index] = splat_attr(first)
    if not same and not constants:
        return None
    for index, attribute in constants.items():
        same[index] = build.splat(attribute, op.results[index].type)
    kept = [index for index in range(len(op.results)) if index not in same]
    return with_placeholders(op, {**same, **dict(zip(kept, _narrowed(op, kept), strict=True))})


@rule(exact)
def if_equal_results(op: hlo.IfOp | hlo.CaseOp) -> Sequence[ir.Value] | None:
    """if(p, {x, x}, {y, y}) -> if(p, {x}, {y}), whose one result replaces both."""
    ends = [list(end_of(region).operands) for region in op.regions]
    pairs = [tuple(each) for each in zip(*ends, strict=True)]
    first = {index: pairs.index(pair) for index, pair in enumerate(pairs)}
    twice = {index: earlier for index, earlier in first.items() if earlier != index}
    if not twice or any(op.results[i].type != op.results[j].type for i, j in twice.items()):
        return None
    kept = sorted(set(first.values()))
    values = dict(zip(kept, _narrowed(op, kept), strict=True))
    return [values[first[index]] for index in range(len(pairs))]


@rule(exact)
def if_unused(op: hlo.IfOp | hlo.CaseOp) -> Sequence[ir.Value] | None:
    """if(p, {x, y}, {z, w}) -> if(p, {x}, {z}), if the second result has no use."""
    kept = sorted(_used(op))
    left = [result for index, result in enumerate(op.results) if index not in kept]
    if not left or not all(map(has_placeholder, left)):
        return None
    if not kept and not has_effects(op):
        return None  # MLIR's dead code elimination removes it
    return with_placeholders(op, dict(zip(kept, _narrowed(op, kept), strict=True)))


def _used(op: ir.OpView) -> set[int]:
    """The indices of the used results."""
    return {index for index, result in enumerate(op.results) if is_used(result)}


def _narrowed(op: hlo.IfOp | hlo.CaseOp, kept: Sequence[int]) -> list[ir.Value]:
    """The results of a copy that returns only those at `kept`; no copy if it would be dead."""
    if not kept and not has_effects(op):
        return []
    kinds = [op.results[index].type for index in kept]
    if isinstance(op, hlo.IfOp):
        made: hlo.IfOp | hlo.CaseOp = hlo.IfOp(kinds, op.pred)
    else:
        made = hlo.CaseOp(kinds, op.index, len(op.regions))
    copy_regions(op, made)
    for region in made.regions:
        return_only(region.blocks[0], kept)
    return list(made.results)


@rule(exact)
def while_of_no_iterations(op: hlo.WhileOp) -> Sequence[ir.Value] | None:
    """while(x, cond, body) -> x, if cond(x) is false."""
    inits = list(op.operand)
    if not _has_types(inits, op) or _first_condition(op) is not False or has_effects(op):
        return None
    return inits


@rule(exact)
def while_of_one_iteration(op: hlo.WhileOp) -> Sequence[ir.Value] | None:
    """while(x, cond, body) -> body(x), if cond(x) is true and cond(body(x)) is false."""
    inits, test, body = list(op.operand), op.cond.blocks[0], op.body.blocks[0]
    if not _has_types(inits, op):
        return None
    if _first_condition(op) is not True:
        return None
    first = dict(zip(body.arguments, inits, strict=True))
    then = dict(zip(test.arguments, end_of(op.body).operands, strict=True))
    if _condition(op, {**first, **then}) is not False or any(map(has_effects, test.operations)):
        return None
    return inline_block(op, 1, inits)


@once_per_visit
def _first_condition(op: hlo.WhileOp) -> bool | None:
    """The condition before the first iteration, or None if it is not known."""
    return _condition(op, dict(zip(op.cond.blocks[0].arguments, op.operand, strict=True)))


def _condition(op: hlo.WhileOp, stands_for: Mapping[ir.Value, ir.Value]) -> bool | None:
    """The condition, given the values of block arguments; None if it is not known."""
    outcome = _evaluated(end_of(op.cond).operands[0], stands_for)
    return None if outcome is None else bool(outcome)


_EVALUATED = (hlo.AddOp, hlo.AndOp, hlo.CompareOp, hlo.NotOp, hlo.OrOp, hlo.SubtractOp)


def _evaluated(
    value: ir.Value, stands_for: Mapping[ir.Value, ir.Value], depth: int = 6
) -> np.ndarray | None:
    """A scalar that is computed from constants by ops that loop conditions use, or None.

    Args:
        value: the scalar.
        stands_for: the values of block arguments.
        depth: the most ops to follow.
    """
    op = value.owner
    if isinstance(op, hlo.ConstantOp):
        return literal(value) if not shape_of(value) else None
    if isinstance(op, ir.Block):
        other = stands_for.get(value)
        return _evaluated(other, stands_for, depth - 1) if other is not None and depth else None
    if not depth or not isinstance(op, _EVALUATED):
        return None
    operands = (_evaluated(each, stands_for, depth - 1) for each in op.operands)
    found = [each for each in operands if each is not None]
    if len(found) < len(op.operands):
        return None
    if isinstance(op, hlo.CompareOp):
        return compared(op, *found)
    return evaluate(op.operation.name.removeprefix("stablehlo."), found, element_type(value))


@rule(exact)
def while_unchanged(op: hlo.WhileOp) -> Sequence[ir.Value] | None:
    """while((x, y), cond, body) -> while(x, ..), y, if the body returns y unchanged."""
    arguments, ends = op.body.blocks[0].arguments, end_of(op.body).operands
    fixed = {
        index: init
        for index, (init, end) in enumerate(zip(op.operand, ends, strict=True))
        if end in (arguments[index], init) and init.type == op.results[index].type
    }
    fixed = {i: init for i, init in fixed.items() if isinstance(init.type, ir.RankedTensorType)}
    return _carrying_less(op, fixed) if 0 < len(fixed) < len(ends) else None


@rule(exact)
def while_unused(op: hlo.WhileOp) -> Sequence[ir.Value] | None:
    """while((x, y), cond, body) -> while(x, ..), if no used value is computed from y."""
    needed = _used(op)
    if len(needed) == len(op.results) or not _has_types(list(op.operand), op):
        return None
    if any(not isinstance(result.type, ir.RankedTensorType) for result in op.results):
        return None
    # the condition and effects are computed from carried values too
    test, body, ends = op.cond.blocks[0], op.body.blocks[0], list(end_of(op.body).operands)
    needed |= needed_arguments(test, [*end_of(op.cond).operands, *effect_operands(test)])
    if len(needed) < len(ends):
        made_from = [*(ends[index] for index in needed), *effect_operands(body)]
        needed |= needed_arguments(body, made_from, ends)
    left = {i: init for i, init in enumerate(op.operand) if i not in needed}
    return _carrying_less(op, left) if 0 < len(left) < len(op.results) else None


def _carrying_less(op: hlo.WhileOp, left: Mapping[int, ir.Value]) -> list[ir.Value]:
    """A copy of a loop that does not carry the values at `left`, which are constant in it."""
    kept = [index for index in range(len(op.results)) if index not in left]
    made = hlo.WhileOp([op.results[i].type for i in kept], [op.operand[i] for i in kept])
    copy_regions(op, made)
    return_only(made.body.blocks[0], kept)
    for region in made.regions:
        drop_arguments(region.blocks[0], left)
    return with_placeholders(op, {**left, **dict(zip(kept, made.results, strict=True))})


@rule(exact)
def sort_of_one(op: hlo.SortOp) -> Sequence[ir.Value] | None:
    """sort(x) -> x, along a dimension of extent 0 or 1."""
    shape = static_shape(*op.inputs, *op.results)
    if shape is None or op.dimension is None or shape[op.dimension.value] > 1:
        return None
    return list(op.inputs)


@rule(exact)
def sort_unused(op: hlo.SortOp) -> Sequence[ir.Value] | None:
    """sort(x, y) -> sort(x), if the sorted y is not used and the comparator does not read y."""
    used, block = _used(op), op.comparator.blocks[0]
    if not 0 < len(used) < len(op.inputs):
        return None
    read = needed_arguments(block, end_of(op.comparator).operands)
    kept = sorted(used | {index // 2 for index in read})
    if not _can_drop(op, kept, block):
        return None
    made = hlo.SortOp(
        [op.results[i].type for i in kept],
        [op.inputs[i] for i in kept],
        dimension=op.dimension,
        is_stable=op.is_stable,
    )
    copy_regions(op, made)
    unread = [i for i in range(len(block.arguments)) if i // 2 not in kept]
    drop_arguments(made.comparator.blocks[0], dict.fromkeys(unread))
    return with_placeholders(op, dict(zip(kept, made.results, strict=True)))


@rule(exact)
def reduce_unused(op: hlo.ReduceOp) -> Sequence[ir.Value] | None:
    """reduce(x, y) -> reduce(x), if no used result is computed from y."""
    needed, block, count = _used(op), op.body.blocks[0], len(op.inputs)
    if not 0 < len(needed) < count:
        return None
    ends, before = end_of(op.body).operands, 0
    while len(needed) > before:  # until they are computed from each other only
        before = len(needed)
        needed |= {i % count for i in needed_arguments(block, [ends[i] for i in needed])}
    kept = sorted(needed)
    if not _can_drop(op, kept, block):
        return None
    made = hlo.ReduceOp(
        [op.results[i].type for i in kept],
        [op.inputs[i] for i in kept],
        [op.init_values[i] for i in kept],
        op.dimensions,
    )
    copy_regions(op, made)
    body = made.body.blocks[0]
    return_only(body, kept)
    drop_arguments(body, dict.fromkeys(i for i in range(2 * count) if i % count not in kept))
    return with_placeholders(op, dict(zip(kept, made.results, strict=True)))


def _can_drop(op: hlo.SortOp | hlo.ReduceOp, kept: list[int], block: ir.Block) -> bool:
    """Whether some results are not kept, and zeros can replace each result and each argument."""
    values = [*op.results, *block.arguments]
    return len(kept) < len(op.inputs) and all(map(has_placeholder, values))
