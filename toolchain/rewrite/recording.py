"""The rewrites of a run, each copied out of the program: what was replaced and by what.

`jxc verify` runs both copies on the values that reach them. A recorder copies ops before the driver
erases them:

- Two small modules hold the ops that compute the replaced values and their replacements, as
  functions of the same inputs. No input depends on another: ops between inputs are in both modules.
- One module, `inputs`, holds the ops that compute these inputs from the arguments of @main.

A rewrite in the body of a loop is copied with the values of the first iteration. A rewrite in a
branch is copied with the condition under which the branch is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from operator import not_
from typing import Any, TypeAlias

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo as hlo

from ..ir import format_location, write_bytecode
from ..ir.module import main_of, terminator
from ..ir.values import is_used
from .cone import Cone, clone_with, dying, is_constant_like, read_by
from .rule import Rule

Condition: TypeAlias = Callable[[int], bool]

_MOST_CONE_OPS = 64
_MOST_INPUT_OPS = 20_000  # copied to compute the inputs; copying takes 10 us an op


@dataclass(frozen=True)
class RecordedRewrite:
    """One rewrite.

    Attributes:
        rule: the rule.
        location: of the op that was replaced, as text.
        before, after: bytecode of modules whose @main computes the results, from the same inputs.
        inputs: the numbers of these inputs among the results of `RewriteRecorder.inputs`.
        reached: for each region around the rewrite, the number of the integer among these results
            that decides whether the region runs, and the condition on it.
    """

    rule: Rule
    location: str
    before: bytes
    after: bytes
    inputs: range
    reached: tuple[tuple[int, Condition], ...]

    def is_reached(self, results: Sequence[Any]) -> bool:
        """Whether the program runs the rewrite, by the results of `RewriteRecorder.inputs`."""
        return all(condition(int(results[number])) for number, condition in self.reached)


class _NotRecorded(Exception):
    """A rewrite cannot be copied out of the program."""


class RewriteRecorder:
    """Copies rewrites in @main.

    Args:
        module: the program that will be rewritten; calls are inlined.
        most: the most rewrites to copy.
        of_one_rule: the most rewrites of one rule.
    """

    def __init__(self, module: ir.Module, most: int, of_one_rule: int) -> None:
        main = main_of(module.operation)
        assert main is not None
        self.rewrites: list[RecordedRewrite] = []
        self._left, self._of_one_rule = most, of_one_rule
        self._counts: Counter[str] = Counter()
        self._copied = 0
        self._outputs: list[ir.Value] = []
        with module.context, ir.Location.unknown():
            self._inputs, self._block = _empty_main([each.type for each in main.arguments])

    def __call__(
        self, rule: Rule, op: ir.OpView, values: Sequence[ir.Value], built: Sequence[ir.OpView]
    ) -> None:
        """Record that `values`, computed by new ops `built`, are about to replace `op`."""
        if not self._left or self._counts[rule.name] == self._of_one_rule:
            return
        if rule.assumes or self._copied > _MOST_INPUT_OPS:
            return
        with ir.Location.unknown():
            try:
                found = self._copy(rule, op, values, built)
            except (_NotRecorded, ir.MLIRError):
                return
        self.rewrites.append(found)
        self._counts[rule.name] += 1
        self._left -= 1

    def inputs(self) -> ir.Module:
        """The module whose @main computes the inputs of all rewrites; to be called once."""
        with self._inputs.context, ir.Location.unknown():
            _finish(self._inputs, self._block, self._outputs)
        return self._inputs

    def _copy(
        self, rule: Rule, op: ir.OpView, values: Sequence[ir.Value], built: Sequence[ir.OpView]
    ) -> RecordedRewrite:
        pairs = list(zip(op.results, values, strict=True))
        replaced, values = zip(*[pair for pair in pairs if is_used(pair[0])] or pairs, strict=True)
        before = Cone(dying(op), replaced)
        after = Cone(built, values)
        members = {*before.ops, *after.ops, *_between([*before.inputs, *after.inputs])}
        inputs = list(dict.fromkeys([*_leaves(before.results, members), *_leaves(values, members)]))
        if not all(map(_is_static, [*inputs, *replaced])):
            raise _NotRecorded
        old, new = (_function(each, inputs, members) for each in (replaced, values))
        wanted = list(_conditions(op))
        outputs = self._computed([*inputs, *(value for value, _ in wanted)])
        first = len(self._outputs)
        self._outputs += outputs
        last = first + len(inputs)
        reached = tuple((last + number, holds) for number, (_, holds) in enumerate(wanted))
        return RecordedRewrite(
            rule, format_location(op.location), old, new, range(first, last), reached
        )

    def _computed(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        """Copies of `values`, computed from the arguments of @main."""
        known: dict[ir.Value, ir.Value] = {}
        with ir.InsertionPoint(self._block):
            for value in values:
                _copy_into(known, value, self._resolved)
        self._copied += len(known)
        return [known[value] for value in values]

    def _resolved(self, value: ir.Value) -> tuple[ir.Value, bool]:
        """The value to copy in place of a block argument, and whether it is in the copy already."""
        block = value.owner
        if not isinstance(block, ir.Block):
            return value, False
        owner, number = block.owner, ir.BlockArgument(value).arg_number
        if isinstance(owner, hlo.WhileOp):
            return owner.operands[number], False
        if owner.operation.name == "func.func" and owner.attributes["sym_name"].value == "main":
            return self._block.arguments[number], True
        raise _NotRecorded


def _is_static(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and value.type.has_static_shape


def _between(inputs: Sequence[ir.Value]) -> list[ir.OpView]:
    """The ops that compute one of `inputs` from another one."""
    wanted, order, seen = set(inputs), [], set()
    pending = [(value, False) for value in inputs]
    while pending:
        value, is_done = pending.pop()
        owner = value.owner
        if isinstance(owner, ir.Block) or (not is_done and owner in seen):
            continue
        if is_done:
            order.append(owner)
            continue
        seen.add(owner)
        pending.append((value, True))
        pending += [(each, False) for each in read_by(owner)]
    dependent: set[ir.OpView] = set()
    for owner in order:
        read = read_by(owner)
        if any(value in wanted or value.owner in dependent for value in read):
            dependent.add(owner)
    return list(dependent)


def _leaves(results: Sequence[ir.Value], members: set[ir.OpView]) -> list[ir.Value]:
    """The values outside of `members` and constants that `results` are computed from."""
    found: list[ir.Value] = []
    pending, seen = list(results), set(results)
    while pending:
        value = pending.pop()
        owner = value.owner
        if isinstance(owner, ir.Block) or not (owner in members or is_constant_like(owner)):
            found.append(value)
            continue
        more = [each for each in read_by(owner) if each not in seen]
        seen.update(more)
        pending += more
    return found


def _conditions(op: ir.OpView) -> Iterator[tuple[ir.Value, Condition]]:
    """The integers that decide whether `op` runs, each with the condition.

    Raises:
        _NotRecorded: it is in a region of another op, such as a reduction, or not in @main.
    """
    inner, outer = op, op.operation.parent
    while outer is not None and outer.name != "func.func":
        owner = outer.opview
        number = [_contains(region, inner) for region in owner.regions].index(True)
        if isinstance(owner, hlo.WhileOp):
            if number == 1:
                yield terminator(owner.regions[0].blocks[0]).operands[0], bool
        elif isinstance(owner, hlo.IfOp):
            yield owner.operands[0], (not_ if number else bool)
        elif isinstance(owner, hlo.CaseOp):
            yield owner.operands[0], partial(_is_branch, number, len(owner.regions))
        else:
            raise _NotRecorded
        inner, outer = owner, owner.operation.parent
    if outer is None or outer.attributes["sym_name"].value != "main":
        raise _NotRecorded


def _is_branch(number: int, count: int, index: int) -> bool:
    """Whether a `case` of `count` branches runs this one. Other indices select the last branch."""
    return number == (index if 0 <= index < count else count - 1)


def _contains(region: ir.Region, op: ir.OpView) -> bool:
    return any(block == op.operation.block for block in region.blocks)


_Resolve = Callable[[ir.Value], tuple[ir.Value, bool]]


def _copy_into(known: dict[ir.Value, ir.Value], value: ir.Value, resolve: _Resolve) -> None:
    """Copy the ops that compute `value` to the insertion point, and add their results to `known`.

    Args:
        known: the copies so far, by the value.
        value: the value.
        resolve: see `RewriteRecorder._resolved`.
    """
    pending = [(value, False)]
    while pending:
        each, is_done = pending.pop()
        if each in known:
            continue
        source, is_copy = resolve(each)
        if is_copy:
            known[each] = source
        elif source != each:
            pending += [] if source in known else [(each, False), (source, False)]
            if source in known:
                known[each] = known[source]
        elif is_done:
            twin = _clone(each.owner, known)
            known.update(zip(each.owner.results, twin.results, strict=True))
        else:
            pending.append((each, True))
            pending += [(operand, False) for operand in read_by(each.owner)]


def _clone(op: ir.OpView, known: dict[ir.Value, ir.Value]) -> ir.OpView:
    """A copy of an op whose operands, and those of the ops inside, are copies too."""
    names = op.operation.name, *op.operation.attributes
    of_symbols = ("func.call", "called_computations")
    if any(name in of_symbols or name.startswith("sdy.") for name in names):
        raise _NotRecorded
    return clone_with(op, known)


def _function(
    results: Sequence[ir.Value], inputs: Sequence[ir.Value], members: set[ir.OpView]
) -> bytes:
    """Bytecode of a module whose @main computes `results` from `inputs`."""
    if len(members) > _MOST_CONE_OPS:
        raise _NotRecorded
    module, block = _empty_main([value.type for value in inputs])
    known = dict(zip(inputs, block.arguments, strict=True))
    with ir.InsertionPoint(block):
        for value in results:
            _copy_into(known, value, lambda each: (each, False))
    _finish(module, block, [known[value] for value in results])
    return write_bytecode(module)


def _empty_main(inputs: Sequence[ir.Type]) -> tuple[ir.Module, ir.Block]:
    module = ir.Module.create()
    with ir.InsertionPoint(module.body):
        return module, func.FuncOp("main", (list(inputs), [])).add_entry_block()


def _finish(module: ir.Module, block: ir.Block, results: Sequence[ir.Value]) -> None:
    """Return `results` from the function of `block`, and verify the module."""
    with ir.InsertionPoint(block):
        func.ReturnOp(results)
    types = [value.type for value in block.arguments], [value.type for value in results]
    block.owner.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))
    module.operation.verify()


OnRewrite: TypeAlias = Callable[[Rule, ir.OpView, Sequence[ir.Value], Sequence[ir.OpView]], None]
"""Called with a rule, the op that it is about to replace, the new values and the new ops."""

_current: ContextVar[OnRewrite | None] = ContextVar("jxc_recorded", default=None)


@contextmanager
def record_rewrites(recorder: OnRewrite) -> Iterator[None]:
    """Call `recorder` before each rewrite by a rule inside."""
    token = _current.set(recorder)
    try:
        yield
    finally:
        _current.reset(token)


def current_recorder() -> OnRewrite | None:
    """The recorder of the rewrites that happen now, or None."""
    return _current.get()
