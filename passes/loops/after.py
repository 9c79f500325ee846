"""Sums of products, and products that a loop only writes, move after the loop.

The backward loop of a gradient adds a product to the gradient of each weight in each iteration.
After the rewrite it writes the operands of the product, and one product after the loop sums over
all rows.

A plan has targets: carried values that are computed after the loop instead. `cuts` chooses the
values from which they are computed, such that the loop writes the fewest bytes.
"""

from __future__ import annotations

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.ir import build
from jxc.ir.elementwise import is_elementwise
from jxc.ir.values import is_boolean, is_complex, is_splat, shape_of, users
from jxc.rewrite import PassContext, reassociates, rule

from .._shared.elementwise import is_used_once
from .._shared.reduce_body import combiner_of
from .._shared.region import has_placeholder
from . import cost
from .copies import writing
from .counted import CountedLoop
from .cuts import Cut, Cuts, Output, Plan, Sum, Summand, outputs_of
from .rows import SHAPING, Rows, can_have_rows, product, reshaped


@rule(reassociates)
def sums_of_products_after_loop(op: hlo.WhileOp, context: PassContext) -> list[ir.Value] | None:
    """while(.. dw + x_i^T dy_i ..) -> while(.. y[i] = dy_i ..), dw + x^T y: one product.

    Sums of values that the loop then writes move too. If x_i is a row of a tensor from outside, or
    is written already, only dy_i is written; several products share it.
    """
    if (loop := CountedLoop.of(op)) is None:
        return None
    sums = [found for carry in range(len(loop.ends)) if (found := _sum_of(loop, carry))]
    if not any(map(_has_product, sums)):
        return None
    cuts = Cuts.movable(loop, sums)
    products = list(filter(_has_product, cuts.sums))
    if not products:
        return None
    chosen = cost.worthwhile_sums(Cuts.movable(loop, products), context)
    if not chosen:
        return None
    # Sums of values that are written for the products, or lie outside, move too.
    stacked = Cuts(loop, chosen, ()).plan().stacked
    needs = {each.carry: cuts.of_sum(each) or Cut() for each in cuts.sums}
    more = [each for each in cuts.sums if needs[each.carry].stacks <= stacked.keys()]
    more = [each for each in more if each not in chosen and not _has_product(each)]
    return moved_after(Cuts(loop, [*chosen, *more], ()).plan())


def _has_product(target: Sum) -> bool:
    return any(term.is_product for term in target.terms)


@rule(reassociates, targets=("gpu",))
def written_products_after_loop(op: hlo.WhileOp) -> list[ir.Value] | None:
    """while(.. y[i] = h_i @ w ..) -> while(.. s[i] = h_i ..), y = s @ w: nothing else reads it."""
    if (loop := CountedLoop.of(op)) is None:
        return None
    cuts = Cuts(loop, (), outputs_of(loop))
    outputs = [each for each in cuts.outputs if _product_behind(cuts, each.value)]
    if not outputs or not (chosen := cost.worthwhile_outputs(Cuts(loop, (), outputs))):
        return None
    return moved_after(Cuts(loop, (), chosen).plan())


def _sum_of(loop: CountedLoop, carry: int) -> Sum | None:
    """The sum that accumulates in a carried value; None if there is none, or a term cannot move."""
    argument = loop.body.arguments[carry]
    if loop.is_tested(carry) or not has_placeholder(argument) or _is_no_real(argument):
        return None
    if not users(loop.op.results[carry]) or (added := loop.added_to(carry)) is None:
        return None
    terms = [_term_of(loop, sign, value) for sign, value in added if not is_splat(value, 0)]
    known = [term for term in terms if term is not None]
    return Sum(carry, tuple(known)) if known and len(known) == len(terms) else None


def _is_no_real(value: ir.Value) -> bool:
    return is_boolean(value) or is_complex(value)  # build.splat has no complex zeros


def _term_of(loop: CountedLoop, sign: int, value: ir.Value) -> Summand | None:
    shaping = []
    while isinstance(value.owner, hlo.TransposeOp | hlo.ReshapeOp) and _is_inner(loop, value):
        if not can_have_rows(value.owner):
            return None
        shaping.append(value.owner)
        value = value.owner.operand
    if loop.is_outside(value) or not has_placeholder(value):
        return None
    match value.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as op:
            if not can_have_rows(op) or loop.is_outside(x) or loop.is_outside(y):
                return None
    return Summand(sign, value, tuple(shaping))


def _is_inner(loop: CountedLoop, value: ir.Value) -> bool:
    return value in loop.position and is_used_once(value)


def _product_behind(cuts: Cuts, value: ir.Value) -> bool:
    """Whether a value without other uses is computed from a product by a loop-invariant factor."""
    loop = cuts.loop
    while _is_inner(loop, value) and can_have_rows(op := value.owner):
        match op:
            case hlo.DotGeneralOp(lhs=x, rhs=y):
                return (cuts.of(x) == Cut()) != (cuts.of(y) == Cut())
        inner = [each for each in op.operands if _is_inner(loop, each)]
        if not (is_elementwise(op) or isinstance(op, SHAPING)) or len(inner) != 1:
            return False
        value = inner[0]
    return False


def moved_after(plan: Plan) -> list[ir.Value]:
    """The results of the loop, with the targets of the plan computed after it."""
    loop, stacked = plan.loop, list(plan.stacked)
    written = dict(Cuts(loop, plan.sums, plan.outputs).written)
    left = {*(each.carry for each in plan.sums), *(each.carry for each in plan.outputs)}
    results, stacks = writing(loop, stacked, left, is_reverse=plan.is_reverse)
    known = {value: (output.row, results[output.carry]) for value, output in written.items()}
    rows = Rows(loop, plan.is_reverse, zip(stacked, stacks, strict=True), known)
    for target in plan.sums:
        results[target.carry] = _summed(loop, target, rows)
    for output in plan.outputs:
        results[output.carry] = _stored(loop, output, rows, plan.is_reverse)
    return [results[index] for index in range(len(loop.ends))]


def _summed(loop: CountedLoop, target: Sum, rows: Rows) -> ir.Value:
    total = loop.op.operand[target.carry]
    for term in target.terms:
        with term.core.owner.location if term.core in loop.position else loop.op.location:
            value = _sum_of_rows(term, rows)
        for op in reversed(term.shaping):
            if isinstance(op, hlo.TransposeOp):
                value = build.transpose(value, op.permutation)
            else:
                value = build.reshape(value, shape_of(op.result))
        total = (hlo.add if term.sign > 0 else hlo.subtract)(total, value)
    return total


def _sum_of_rows(term: Summand, rows: Rows) -> ir.Value:
    match term.core.owner:
        case hlo.DotGeneralOp(lhs=x, rhs=y) as op:
            return product(op, [(rows.of(x), True), (rows.of(y), True)], is_summed=True)[0]
        case hlo.ReduceOp() as op if _is_sum(op) and term.core not in rows:
            dims = [0, *(dim + 1 for dim in op.dimensions)]
            return build.reduce_sum(rows.of(op.inputs[0]), dims)
    return build.reduce_sum(rows.of(term.core), [0])


def _is_sum(op: hlo.ReduceOp) -> bool:
    return combiner_of(op) == "add" and is_splat(op.init_values[0], 0)


def _stored(loop: CountedLoop, output: Output, rows: Rows, is_reverse: bool) -> ir.Value:
    """The rows of an output at the positions where the loop would write them."""
    found, dim = rows.of(output.value), output.row.dim
    if (output.row.index.step < 0) != is_reverse:
        found = hlo.reverse(found, [0])
    sizes = [loop.trips, *shape_of(output.update)]
    del sizes[dim + 1]
    order = list(range(1, len(sizes)))
    return build.transpose(reshaped(found, sizes), [*order[:dim], 0, *order[dim:]])
