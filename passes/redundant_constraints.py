"""Remove sharding constraints that change nothing, which JAX writes for meshes of explicit axes.

JAX writes one after most ops of such a program, and rules do not match through them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, sdy, stablehlo as hlo

from jxc.ir import functions, walk
from jxc.ir.module import main_of, terminator
from jxc.ir.propagation import (
    Shardings,
    argument_shardings,
    can_propagate,
    is_partial,
    placement,
)
from jxc.ir.shardings import is_partitioned
from jxc.ir.shardy import ShardyError
from jxc.rewrite import module_pass
from jxc.rewrite.cone import is_constant_like, read_by

_MOST_TRIALS = 4
_UNSTATED = (ir.Block, func.CallOp, hlo.WhileOp, hlo.IfOp, hlo.CaseOp, sdy.ManualComputationOp)


@module_pass(needs=(sdy.ShardingConstraintOp,))
def redundant_constraints(module: ir.Operation) -> None:
    """Remove sharding constraints without which Shardy's propagation splits all values alike.

    A constraint to another sharding than that of its operand is kept: data moves there. The others
    are removed from a copy of the module. If Shardy splits values of the copy in another way, the
    constraints on the first of these are kept too, and the rest is tried again. All are kept if
    Shardy fails.
    """
    constraints = _constraints(module)
    if constraints and is_partitioned(module) and can_propagate(module):
        with suppress(ShardyError):
            _remove_redundant(module, constraints)


def _remove_redundant(module: ir.Operation, constraints: list[sdy.ShardingConstraintOp]) -> None:
    shardings = Shardings(module)
    needed = _before_partial_sums(module, constraints) | _of_unstated(module, constraints)
    removed = {
        at
        for at, op in enumerate(constraints)
        if op.result not in needed and _is_satisfied(op, shardings)
    }
    for _ in range(_MOST_TRIALS):
        if not removed:
            return
        trial = module.clone(ip=False).operation
        copies = _constraints(trial)
        sources = _sources(copies, removed)
        _remove(copies, removed)
        changed = _changed(module, shardings, trial)
        if not changed:
            _remove(constraints, removed)
            return
        wrong = {at for at in removed if sources[at] in changed}
        first = {at for at in wrong if changed.isdisjoint(_operands(sources[at]))}
        removed -= first or wrong or removed


def _constraints(module: ir.Operation) -> list[sdy.ShardingConstraintOp]:
    return [op for op in walk(module) if isinstance(op, sdy.ShardingConstraintOp)]


def _is_satisfied(op: sdy.ShardingConstraintOp, shardings: Shardings) -> bool:
    """Whether no data moves at a constraint that leaves no dimension open.

    Its operand is then split in the same way, or a constant that each device computes itself.
    """
    asked = sdy.TensorShardingAttr(op.sharding)
    if is_partial(asked):  # the propagation does not infer it, and JAX states it for each value
        return False
    is_closed = all(sdy.DimensionShardingAttr(d).is_closed for d in asked.dimension_shardings)
    owner, found = op.input.owner, shardings.of(op.input)
    if isinstance(owner, sdy.ShardingConstraintOp):
        found = sdy.TensorShardingAttr(owner.sharding)
    elif not isinstance(owner, ir.Block) and is_constant_like(owner):
        return is_closed
    return is_closed and placement(found) == placement(asked)


def _before_partial_sums(
    module: ir.Operation, constraints: Sequence[sdy.ShardingConstraintOp]
) -> set[ir.Value]:
    """The results of constraints from which partial sums are made, with no constraint between.

    How a value is split determines what each device adds to a partial sum.
    """
    values = [op.input for op in constraints if is_partial(sdy.TensorShardingAttr(op.sharding))]
    calls = [op for op in walk(module) if isinstance(op, func.CallOp)] if values else []
    called = functions(module)
    found: set[ir.Value] = set()
    while values:
        value = values.pop()
        if value not in found:
            found.add(value)
            if not isinstance(value.owner, sdy.ShardingConstraintOp):
                values += _made_of(value, calls, called)
    return found


def _of_unstated(
    module: ir.Operation, constraints: Sequence[sdy.ShardingConstraintOp]
) -> set[ir.Value]:
    """The results of constraints on values that may be partial sums without JAX stating so.

    These are arguments of loops and functions, and results of loops and calls.
    """
    main = main_of(module)
    stated = [sdy.TensorShardingAttr(op.sharding) for op in constraints]
    if main is None or not any(map(is_partial, [*stated, *argument_shardings(main)])):
        return set()
    given = set(main.regions[0].blocks[0].arguments)
    return {
        op.result
        for op in constraints
        if isinstance(op.input.owner, _UNSTATED) and op.input not in given
    }


def _made_of(
    value: ir.Value, calls: Sequence[func.CallOp], called: Mapping[str, ir.OpView]
) -> list[ir.Value]:
    """The values that a value is computed from, in callers and in called functions as well."""
    owner = value.owner
    if isinstance(owner, func.CallOp):
        return _returned(called[owner.callee.value]) or list(owner.operands)
    holder = owner.owner.opview if isinstance(owner, ir.Block) else owner
    if isinstance(holder, func.FuncOp):
        number, name = ir.BlockArgument(value).arg_number, holder.name.value
        return [call.operands[number] for call in calls if call.callee.value == name]
    return [*read_by(holder), *_returned(holder)]


def _returned(op: ir.OpView) -> list[ir.Value]:
    """The values that the blocks in the regions of an op return."""
    blocks = [block for region in op.regions for block in region.blocks]
    return [value for block in blocks for value in terminator(block).operands]


def _sources(
    constraints: Sequence[sdy.ShardingConstraintOp], removed: Collection[int]
) -> list[ir.Value]:
    """The operand of each constraint, once those of `removed` are gone."""
    operands = {constraints[at].result: constraints[at].input for at in removed}
    found = []
    for op in constraints:
        value = op.input
        while value in operands:
            value = operands[value]
        found.append(value)
    return found


def _remove(constraints: list[sdy.ShardingConstraintOp], removed: Collection[int]) -> None:
    for at in sorted(removed):
        op = constraints[at]
        op.result.replace_all_uses_with(op.input)
        op.operation.erase()


def _changed(module: ir.Operation, shardings: Shardings, trial: ir.Operation) -> set[ir.Value]:
    """The values of a trial that are split in another way than in the module.

    Constants are left out: each device computes its own part.
    """
    found = Shardings(trial)
    return {
        copy
        for old, new in zip(_compared(module), _compared(trial), strict=True)
        if not is_constant_like(new)  # a constraint that is gone may have hidden that it is one
        for value, copy in zip(old.results, new.results, strict=True)
        if placement(shardings.of(value)) != placement(found.of(copy))
    }


def _compared(module: ir.Operation) -> list[ir.OpView]:
    return [op for op in walk(module) if not isinstance(op, sdy.ShardingConstraintOp)]


def _operands(value: ir.Value) -> list[ir.Value]:
    return [] if isinstance(value.owner, ir.Block) else list(value.owner.operands)
