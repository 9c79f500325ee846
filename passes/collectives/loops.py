"""Move collectives of loops before or after the loop, where they run once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.module import has_regions, is_pure
from jxc.ir.values import is_splat, is_used
from jxc.rewrite import PassContext, reassociates, rule
from jxc.rewrite.annotations import has_annotation

from .._shared.region import copy_regions, has_placeholder
from ..loops.copies import counterparts, erase_unused
from ..loops.counted import CountedLoop
from ..loops.cuts import output_of
from . import cost
from .reduced import AllReduced, all_reduce, all_reduced

_COLLECTIVES = (hlo.AllReduceOp, hlo.AllGatherOp)
_PRODUCERS_SEEN = 8  # how many producers deep a loop-invariant operand is followed


@rule(reassociates, needs=_COLLECTIVES)
def all_reduce_after_loop(op: hlo.WhileOp) -> list[ir.Value] | None:
    """while(.. c = c + psum(x) ..) -> while(.. s = s + x ..), c + psum(s): one all-reduce.

    Also for several sums over the same devices, multiplied or divided by constants, reshaped or
    transposed. Nothing else may read the carried value.
    """
    if not _has_collective(op) or (loop := CountedLoop.of(op)) is None:
        return None
    found = {carry: sums for carry in range(len(loop.ends)) if (sums := _accumulated(loop, carry))}
    if not found:
        return None
    starts = {carry: build.constant(0, loop.op.results[carry]) for carry in found}
    results = _locally(loop, [each for sums in found.values() for each in sums], starts)
    for carry, sums in found.items():
        total = all_reduce(results[carry], sums[0].op)
        results[carry] = hlo.add(loop.op.operand[carry], total)
    return results


def _accumulated(loop: CountedLoop, carry: int) -> list[AllReduced]:
    """The all-reduces, over the same devices, that each iteration adds to a carried value."""
    if loop.is_tested(carry) or not has_placeholder(loop.op.results[carry]):
        return []
    terms = [value for _, value in loop.added_to(carry) or () if not is_splat(value, 0)]
    found = [each for value in terms if (each := _in_body(loop, value)) is not None]
    is_one_sum = len({each.key for each in found}) == 1 and found[0].combiner == "add"
    return found if is_one_sum and len(found) == len(terms) else []


def _in_body(loop: CountedLoop, value: ir.Value) -> AllReduced | None:
    found = all_reduced(value)
    return found if found is not None and found.op.results[0] in loop.position else None


def _locally(
    loop: CountedLoop, reduced: Sequence[AllReduced], starts: Mapping[int, ir.Value]
) -> list[ir.Value]:
    """The results of a copy of a loop without some all-reduces, see `_copy`."""
    made, block, same = _copy(loop, starts)
    dead = [same(each.op.results[0]) for each in reduced]
    for each, old in zip(reduced, dead, strict=True):
        old.replace_all_uses_with(same(each.operand))
    _erase(block, dead)
    return list(made.results)


@rule(reassociates, needs=_COLLECTIVES)
def all_reduced_rows_after_loop(op: hlo.WhileOp) -> list[ir.Value] | None:
    """while(.. y[i] = psum(x_i) ..) -> while(.. y[i] = x_i ..), psum(y), for small rows."""
    if not _has_collective(op) or (loop := CountedLoop.of(op)) is None:
        return None
    found = {
        carry: reduced
        for carry in range(len(loop.ends))
        if (output := output_of(loop, carry)) is not None
        and (reduced := _in_body(loop, output.update)) is not None
        and not reduced.is_widened
        and cost.is_small_row(reduced.operand)
    }
    if not found:
        return None
    results = _locally(loop, list(found.values()), {})
    for carry, reduced in found.items():
        results[carry] = all_reduce(results[carry], reduced.op, reduced.op)
    return results


@rule(reassociates, targets=("gpu", "tpu"), needs=_COLLECTIVES)
def collective_before_loop(op: hlo.WhileOp, context: PassContext) -> list[ir.Value] | None:
    """while(.. psum(x) ..) -> y = psum(x); while(.. y ..), for x from outside; all_gather too.

    The bits are the same. The contract is `reassociates` because the reference interpreter runs no
    collectives: the rule is checked through XLA.
    """
    if not _has_collective(op) or (loop := CountedLoop.of(op)) is None:
        return None
    found = [
        each
        for each in loop.ops
        if isinstance(each, _COLLECTIVES)
        and cost.is_left_in_loop(each, context)
        and all(_is_invariant(loop, operand) for operand in each.operands)
    ]
    if not found or not cost.results_are_small(found):
        return None
    moved: dict[ir.Value, ir.Value] = {}
    values = [_outside(loop, each.results[0], moved) for each in found]
    made, block, same = _copy(loop, {})
    old = [same(each.results[0]) for each in found]
    for inside, value in zip(old, values, strict=True):
        inside.replace_all_uses_with(value)
    _erase(block, old)
    return list(made.results)


def _is_invariant(loop: CountedLoop, value: ir.Value, depth: int = _PRODUCERS_SEEN) -> bool:
    """Whether every iteration computes the same `value`, from outside of the loop."""
    if loop.is_outside(value):
        return True
    if value not in loop.position or not depth or has_regions(value.owner):
        return False
    op = value.owner
    is_plain = is_pure(op) and not has_annotation(op)
    return is_plain and all(_is_invariant(loop, each, depth - 1) for each in op.operands)


def _outside(loop: CountedLoop, value: ir.Value, moved: dict[ir.Value, ir.Value]) -> ir.Value:
    """A copy of an invariant value before the loop."""
    if loop.is_outside(value):
        return value
    if value not in moved:
        op = value.owner
        operands = [_outside(loop, each, moved) for each in op.operands]
        copy = op.operation.clone()
        for number, operand in enumerate(operands):
            copy.operands[number] = operand
        moved |= dict(zip(op.results, copy.results, strict=True))
    return moved[value]


# Copies of loops


def _has_collective(op: hlo.WhileOp) -> bool:
    return any(isinstance(each, _COLLECTIVES) for each in op.body.blocks[0].operations)


def _copy(
    loop: CountedLoop, starts: Mapping[int, ir.Value]
) -> tuple[hlo.WhileOp, ir.Block, Callable[[ir.Value], ir.Value]]:
    """A copy of a loop, its body, and a function from values of the body to those of the copy.

    Args:
        loop: the loop.
        starts: the first values of some carried values, by number; the others keep theirs.
    """
    given = [starts.get(index, value) for index, value in enumerate(loop.op.operand)]
    made = hlo.WhileOp([result.type for result in loop.op.results], given)
    copy_regions(loop.op, made)
    block = made.body.blocks[0]
    return made, block, counterparts(loop, block)


def _erase(block: ir.Block, collectives: Sequence[ir.Value]) -> None:
    """Erase the unused ops of a block, and `collectives` if they are unused."""
    owners = [value.owner for value in collectives]
    erase_unused(block)
    for op in owners:
        if not is_used(op.results[0]):
            op.operation.erase()
    erase_unused(block)
