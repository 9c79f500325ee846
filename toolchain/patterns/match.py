"""Matching: where a program computes what a pattern computes.

A search goes from a result of the pattern and an op of the program towards their operands. Each
step compares two ops and names the dimensions of their operands (`steps`). Commutative ops and
reductions of several dimensions correspond in several ways, which are tried in turn. A value of the
pattern corresponds to one value of the program, with the same dimensions each time that it is
reached. The other results of the pattern are then searched for among the ops of the same block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from jaxlib.mlir import ir

from ..ir import element_type, has_side_effect, shape_of, splat_attr, static_shape
from ..rewrite import has_annotation
from .axes import Core, Extra, Label, Labels, core_of, peel, resolved
from .bodies import Differs
from .pattern import Pattern
from .steps import Ops, Pair, step_of

_MOST_STEPS = 20_000
"""Steps of one search before it gives up: a search that succeeds needs a few for each op."""


@dataclass(frozen=True)
class Bound:
    """The value of the program that a value of the pattern corresponds to.

    Attributes:
        value: the value of the program.
        labels: of its dimensions.
        dims: for each dimension of the pattern's value, that of `value`, or None.
        pattern_labels: of the dimensions of the pattern's value.
    """

    value: ir.Value
    labels: Labels
    dims: tuple[int | None, ...]
    pattern_labels: Labels


@dataclass
class Miss:
    """The attempt that matched the most ops and failed.

    Attributes:
        matched: how many ops of the pattern were matched.
        size: how many ops the pattern has.
        reason: what differs.
        pattern: the location in the pattern.
        program: the location in the program.
        rank: larger for a closer miss.
    """

    matched: int
    size: int
    reason: str
    pattern: ir.Location | None = None
    program: ir.Location | None = None
    rank: tuple[int, ...] = ()


@dataclass
class Found:
    """A pattern found in a program.

    Attributes:
        arguments: what each argument of the pattern corresponds to; None where it is not used.
        results: the op of the program for each result of the pattern, with the labels of its
            dimensions and of the pattern's result; None where the program does not compute it.
        ops: the ops of the program that correspond to ops of the pattern.
    """

    arguments: list[Bound | None]
    results: list[tuple[ir.OpView, Labels, Labels] | None]
    ops: dict[ir.Value, ir.OpView]


class Matcher:
    """Searches for one pattern in one program.

    Args:
        pattern: what is searched for.
        index: the ops of the program by name, in order.
        is_exact: whether the sizes of the pattern are those of the program.
    """

    def __init__(
        self, pattern: Pattern, index: dict[str, list[ir.OpView]], *, is_exact: bool
    ) -> None:
        self._pattern, self._index, self._is_exact = pattern, index, is_exact
        self._bound: dict[ir.Value, Bound] = {}
        self._links: list[Extra] = []
        self._left = _MOST_STEPS
        self.miss: Miss | None = None
        sizes = {n: len(pattern.cone(value)) for n, value in enumerate(pattern.results)}
        self.anchors = sorted(sizes, key=lambda n: -sizes[n])
        """The results of the pattern, those computed from the most values first."""

    def found(self, anchor: int, op: ir.OpView) -> Found | None:
        """The match in which `op` computes result `anchor` of the pattern, if there is one.

        Several results need not all be there: those that the program does not compute are None.
        """
        self._bound.clear()
        self._links.clear()
        self._left = _MOST_STEPS
        for labels in self._rooted(anchor, op, 0):
            results: list[Any] = [None] * len(self._pattern.results)
            results[anchor] = (op, labels[1], labels[0])
            for number, other in enumerate(n for n in self.anchors if n != anchor):
                results[other] = self._result(other, op, number + 1)
            return self._as_found(results)
        return None

    def candidates(self, anchor: int) -> Sequence[ir.OpView]:
        """The ops that may compute a result of the pattern."""
        value = _behind(self._pattern.results[anchor])
        if isinstance(value.owner, ir.Block):
            return ()
        wanted = value.owner
        return [
            op
            for op in self._index.get(wanted.operation.name, ())
            if len(op.results) == 1 and _has_static_types(op) and self._may_be(wanted, op)
        ]

    def _may_be(self, wanted: ir.OpView, op: ir.OpView) -> bool:
        """A cheap test: the same element type, and operands that may correspond."""
        if str(element_type(wanted.results[0])) != str(element_type(op.results[0])):
            return False
        names = [self._kinds(value) for value in wanted.operands]
        given = [_kind(value) for value in op.operands]
        if len(names) != len(given):
            return False
        pairs = [range(len(given))]
        if len(given) == 2:
            pairs.append(range(1, -1, -1))
        return any(
            all(names[n] is None or names[n] == given[m] for n, m in enumerate(order))
            for order in pairs
        )

    def _kinds(self, value: ir.Value) -> str | None:
        """The name of the op that computes a value of the pattern; None for an argument."""
        value = _behind(value)
        return None if isinstance(value.owner, ir.Block) else _name(value)

    def _rooted(self, result: int, op: ir.OpView, root: int) -> Iterator[tuple[Labels, Labels]]:
        """The labels of the pattern's result and of the op's for which they correspond."""
        value, shape = self._pattern.results[result], static_shape(op.results[0])
        if shape is None:
            return
        sizes = shape_of(value)
        core = [
            dim
            for dim, each in enumerate(self._pattern.dimensions(value))
            if each.is_core and sizes[dim] != 1
        ]
        labels = {dim: Core() for dim in core}
        mine: Labels = tuple(labels.get(dim) for dim in range(len(sizes)))
        free = [dim for dim, size in enumerate(shape) if size != 1]
        for chosen in sorted(permutations(free, len(core)), key=lambda dims: -sum(dims)):
            theirs: list[Label] = [Extra(size, root) if size != 1 else None for size in shape]
            for dim, source in zip(chosen, core, strict=True):
                theirs[dim] = labels[source]
            mark, links = list(self._bound), len(self._links)
            if self._solve([Pair(value, mine, op.results[0], tuple(theirs))]):
                yield mine, tuple(theirs)
            self._undo(mark, links)

    def _result(self, result: int, anchor: ir.OpView, root: int) -> Any:
        """The op of the program that computes another result of the pattern, or None."""
        value = _behind(self._pattern.results[result])
        block = anchor.operation.block
        if value in self._bound:
            op = self._bound[value].value.owner
            candidates: Sequence[ir.OpView] = [op] if not isinstance(op, ir.Block) else []
        else:
            candidates = self.candidates(result)
        for op in candidates:
            if op.operation.block == block:
                for mine, theirs in self._rooted(result, op, root):
                    return op, theirs, mine
        return None

    def _undo(self, mark: list[ir.Value], links: int) -> None:
        keep = set(mark)
        for value in [each for each in self._bound if each not in keep]:
            del self._bound[value]
        for extra in self._links[links:]:
            extra.link = None
        del self._links[links:]

    def _solve(self, goals: list[Pair]) -> bool:
        """Whether all pairs of values correspond; binds the values on the way."""
        while goals:
            self._left -= 1
            if self._left < 0:
                return False
            goal = goals.pop()
            mark, links = list(self._bound), len(self._links)
            try:
                options = self._ways(goal)
                if options is None:
                    continue
                first, second = next(options, None), next(options, None)
            except Differs as difference:
                self._note(goal, str(difference))
                self._undo(mark, links)
                return False
            if first is None:
                self._note(goal, "has operands of other dimensions than the pattern")
                self._undo(mark, links)
                return False
            if second is None:
                goals += first
                continue
            for pairs in (first, second, *options):
                inner, inner_links = list(self._bound), len(self._links)
                if self._fits(pairs) and self._solve([*goals, *pairs]):
                    return True
                self._undo(inner, inner_links)
            self._undo(mark, links)
            return False
        return True

    def _fits(self, pairs: list[Pair]) -> bool:
        """A cheap test of the kinds of ops before a branch of the search."""
        for pair in pairs:
            wanted, found = self._kinds(pair.pattern), _kind(pair.program)
            if wanted is not None and wanted != found:
                self._note(pair, f"is {found}, the pattern has {wanted}")
                return False
        return True

    def _ways(self, goal: Pair) -> Iterator[list[Pair]] | None:
        """The ways in which a pair of values can correspond; None if they do already.

        Raises:
            Differs: they do not correspond.
        """
        mine, labels = peel(goal.pattern, goal.pattern_labels)
        theirs, found = peel(goal.program, goal.program_labels)
        if not isinstance(theirs.owner, ir.Block) and not _has_static_types(theirs.owner):
            raise Differs("has operands that are not arrays of static shape")
        if str(element_type(mine)) != str(element_type(theirs)):
            raise Differs(f"has elements {element_type(theirs)}, the pattern {element_type(mine)}")
        if self._is_exact:
            _check_sizes(mine, labels, theirs, found)
        is_argument = self._pattern.number(mine) is not None
        if core_of(found) - core_of(labels):
            raise Differs("depends on a dimension that the pattern's value does not have")
        is_constant = splat_attr(mine) is not None
        missing = core_of(labels) - core_of(found)
        if missing and not is_argument and not is_constant and not _is_iota(mine):
            raise Differs("is the same along a dimension along which the pattern's value is not")
        if self._known(mine, labels, theirs, found):
            return None
        if is_argument:
            self._bind(mine, labels, theirs, found)
            return None
        op, other = mine.owner, theirs.owner
        if isinstance(other, ir.Block) or type(op) is not type(other):
            raise Differs(f"is {_name(theirs)}, the pattern has {_name(mine)}")
        if ir.OpResult(theirs).result_number != ir.OpResult(mine).result_number:
            raise Differs(f"is another result of {_kind(theirs)} than in the pattern")
        if has_side_effect(other):
            raise Differs("has a side effect")
        if has_annotation(other):
            raise Differs("has an attribute that a user or another tool set")
        self._bind(mine, labels, theirs, found)
        return step_of(op)(Ops(op, labels, other, found, self._is_exact))

    def _known(self, mine: ir.Value, labels: Labels, theirs: ir.Value, found: Labels) -> bool:
        """Whether a value of the pattern is bound; if so, it must be to the same dimensions."""
        known = self._bound.get(mine)
        if known is None:
            return False
        constants = [splat_attr(value) for value in (known.value, theirs)]
        if constants[0] is not None and constants[0] == constants[1]:
            return True
        if known.value != theirs:
            raise Differs("is another value than where the pattern has the same one before")
        if known.dims != _dims(labels, found):
            raise Differs("has its dimensions in another order than where it was used before")
        for old, new in zip(known.labels, found, strict=True):
            self._unify(resolved(old), resolved(new))
        return True

    def _unify(self, old: Label, new: Label) -> None:
        if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
            for each in zip(old, new, strict=True):
                self._unify(*each)
            return
        if old is new or (isinstance(old, Core) and isinstance(new, Core)):
            return
        if isinstance(old, Extra) and isinstance(new, Extra) and old.root < new.root:
            if any(each.link is old and each.root == new.root for each in self._links):
                raise Differs("has its dimensions in another order than where it was used before")
            new.link = old
            self._links.append(new)
            return
        raise Differs("has its dimensions in another order than where it was used before")

    def _bind(self, mine: ir.Value, labels: Labels, theirs: ir.Value, found: Labels) -> None:
        self._bound[mine] = Bound(theirs, found, _dims(labels, found), labels)

    def _note(self, goal: Pair, reason: str) -> None:
        matched = sum(not isinstance(value.owner, ir.Block) for value in self._bound)
        if self.miss is None or matched > self.miss.matched:
            mine, theirs = goal.users or (None, None)
            self.miss = Miss(
                matched,
                self._pattern.size,
                reason,
                _location(peel(goal.pattern, goal.pattern_labels)[0], mine),
                _location(peel(goal.program, goal.program_labels)[0], theirs),
            )

    def _as_found(self, results: list[Any]) -> Found:
        arguments = []
        for value in self._pattern.arguments:
            bound = self._bound.get(value)
            if bound is not None:
                labels = tuple(map(resolved, bound.labels))
                bound = Bound(bound.value, labels, bound.dims, bound.pattern_labels)
            arguments.append(bound)
        ops = {
            value: bound.value.owner
            for value, bound in self._bound.items()
            if not isinstance(value.owner, ir.Block) and not isinstance(bound.value.owner, ir.Block)
        }
        resolved_results = [
            None if each is None else (each[0], tuple(map(resolved, each[1])), each[2])
            for each in results
        ]
        return Found(arguments, resolved_results, ops)


def _check_sizes(mine: ir.Value, labels: Labels, theirs: ir.Value, found: Labels) -> None:
    """Check that the dimensions along which the pattern computes have equal sizes.

    Raises:
        Differs: a size is another.
    """
    sizes = dict(zip(found, shape_of(theirs), strict=True))
    for label, size in zip(labels, shape_of(mine), strict=True):
        if label in sizes and isinstance(label, Core) and sizes[label] != size:
            raise Differs(f"has {sizes[label]} elements where the pattern has {size}")


def _has_static_types(op: ir.OpView) -> bool:
    """Whether all operands and results are arrays of static shape."""
    return all(
        isinstance(value.type, ir.RankedTensorType) and value.type.has_static_shape
        for value in (*op.operands, *op.results)
    )


def _dims(labels: Labels, found: Labels) -> tuple[int | None, ...]:
    """For each dimension of the pattern's value, the dimension of the program's."""
    return tuple(
        found.index(label) if isinstance(label, Core) and label in found else None
        for label in labels
    )


def _behind(value: ir.Value) -> ir.Value:
    """The value that is rearranged to `value`."""
    return peel(value, (None,) * len(shape_of(value)))[0]


def _kind(value: ir.Value) -> str:
    """The name of the op behind a value; "an argument" for arguments."""
    return _name(_behind(value))


def _name(value: ir.Value) -> str:
    is_argument = isinstance(value.owner, ir.Block)
    return "an argument" if is_argument else str(value.owner.operation.name)


def _is_iota(value: ir.Value) -> bool:
    return _kind(value) == "stablehlo.iota"


def _location(value: ir.Value, user: ir.OpView | None) -> ir.Location:
    """The location of the op behind a value; for an argument that of its user."""
    if not isinstance(value.owner, ir.Block):
        return value.owner.location
    return value.location if user is None else user.location
