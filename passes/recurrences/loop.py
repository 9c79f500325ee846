"""Builds the loops of recurrences, and replaces the results of a tree."""

from __future__ import annotations

from collections.abc import Sequence

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from jxc.cost.cpu import elements_of_iteration
from jxc.ir import build
from jxc.ir.values import element_type, is_complex, shape_of

from .._shared.signed_zero import plus_zero
from .formulas import Linear, Solution, Term
from .trees import Tree


class Builder:
    """Builds the recurrences of the trees of a block, each after the values that it reads.

    Like the trees, which add the 0.0 of a pad to each element, they have no -0.0.

    The ops of the trees stay until `erase`: the results of one may be inputs of another.
    """

    def __init__(self, block: ir.Block) -> None:
        self._ops = list(block.operations)
        self._position = {
            result: number for number, op in enumerate(self._ops) for result in op.results
        }
        self._replaced: dict[ir.Value, ir.Value] = {}
        self._trees: list[Tree] = []

    def replace(self, solution: Solution) -> None:
        """Replace the uses of the results of a tree."""
        roots = list(solution.tree.roots)
        loops = _Loops(solution, [self._replaced.get(root, root) for root in roots])
        places = [self._position.get(root, -1) for root in roots]
        for value, terms in solution.results.items():
            for linear in _linears(terms):
                with value.owner.location, self._after(places, [linear]):
                    loops.build(linear)
            with value.owner.location, self._after(places, _linears(terms)):
                self._replaced[value] = loops.total(terms, value)
        for value in solution.results:
            value.replace_all_uses_with(self._replaced[value])
        self._trees.append(solution.tree)

    def erase(self) -> None:
        """Erase the ops of the trees."""
        for tree in reversed(self._trees):
            for op in reversed(tree.ops):
                op.operation.erase()

    def _after(self, places: Sequence[int], linears: Sequence[Linear]) -> ir.InsertionPoint:
        read = [number for each in linears for number in (each.rate, each.drive)]
        last = max(places[number] for number in read if number is not None)
        return ir.InsertionPoint(self._ops[last + 1])


def _linears(terms: Sequence[Term]) -> list[Linear]:
    return [each for term in terms for each in (term.factor, term.previous) if each is not None]


class _Loops:
    """The loops of one solution, at the current insertion point."""

    def __init__(self, solution: Solution, roots: Sequence[ir.Value]) -> None:
        self._solution, self._roots = solution, roots
        self._built: dict[Linear, ir.Value] = {}

    def build(self, linear: Linear) -> None:
        """Build a recurrence, unless it was built before."""
        if linear not in self._built:
            self._built[linear] = self._loop(linear)

    def total(self, terms: Sequence[Term], value: ir.Value) -> ir.Value:
        """The sum of terms whose recurrences are built, in the type of a result."""
        solution = self._solution
        total = None
        for term in terms:
            found = self._term(term)
            total = found if total is None else hlo.add(total, found)
        kept = solution.kept_sizes(value)
        sums = [
            dim
            for dim, (size, left) in enumerate(zip(shape_of(total), kept, strict=True))
            if left == 1 and size > 1
        ]
        if sums:
            total = _reduced(total, sums)
        return build.reshape(build.convert(total, element_type(value)), shape_of(value))

    def _term(self, term: Term) -> ir.Value:
        factor = self._built[term.factor]
        if term.previous is None:
            return factor
        previous, axis = self._built[term.previous], self._solution.axis
        length = shape_of(factor)[axis]
        sizes = [max(pair) for pair in zip(shape_of(factor), shape_of(previous), strict=True)]
        factor, previous = _stretched(factor, sizes), _stretched(previous, sizes)
        # The first element has none before it: the empty product, or nothing.
        rest = hlo.multiply(
            build.slice_along(factor, {axis: range(1, length)}),
            build.slice_along(previous, {axis: range(length - 1)}),
        )
        first = build.slice_along(factor, {axis: range(1)})
        if term.previous.drive is not None:
            first = build.constant(0, first)
        return hlo.concatenate([first, plus_zero(rest)], axis)

    def _root(self, number: int) -> ir.Value:
        before = list(self._solution.tree.roots)[number]
        return build.reshape(self._roots[number], self._solution.kept_sizes(before))

    def _loop(self, linear: Linear) -> ir.Value:
        rate, drive = (
            None if number is None else self._root(number) for number in (linear.rate, linear.drive)
        )
        return _Loop(rate, drive, self._solution.axis, linear.is_backward).build()


class _Loop:
    """The loop of one recurrence."""

    def __init__(
        self, rate: ir.Value | None, drive: ir.Value | None, axis: int, is_backward: bool
    ) -> None:
        self._rate, self._drive = rate, drive
        self._axis, self._is_backward = axis, is_backward
        assert drive is not None or not is_backward
        self._given = [x for x in (rate, drive) if x is not None]
        self._sizes = [max(each) for each in zip(*map(shape_of, self._given), strict=True)]
        self._length = self._sizes[axis]
        self._row = [1 if dim == axis else size for dim, size in enumerate(self._sizes)]
        self._element = element_type(self._given[0])

    def build(self) -> ir.Value:
        """The elements of the recurrence."""
        # The first element is not multiplied by anything: its rate may be infinite.
        i32 = ir.IntegerType.get_signless(32)
        first = build.scalar(self._length - 1 if self._is_backward else 0, i32)
        (total,) = self._read(self._given[-1], first, 1)
        total = total if self._drive is None else _sum_from_zero(total)
        buffer = build.constant(0, ir.RankedTensorType.get(self._sizes, self._element))
        values = [total, self._write(buffer, [total], first)]
        step = elements_of_iteration(self._sizes, self._axis)
        return build.fori_loop_by_groups(self._length - 1, step, values, self._advance)[1]

    def _advance(self, number: ir.Value, count: int, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """Compute `count` more elements; `number` are done after the first."""
        total, done = carried
        kind = element_type(number)
        at = after = hlo.add(number, build.scalar(1, kind))
        if self._is_backward:
            at = hlo.subtract(build.scalar(self._length - 1 - count, kind), number)
            after = hlo.add(at, build.scalar(1, kind))
        rates = [] if self._rate is None else self._read(self._rate, after, count)
        drives = [] if self._drive is None else self._read(self._drive, at, count)
        found = []
        turn = slice(None, None, -1 if self._is_backward else 1)
        for i in range(count)[turn]:
            total = hlo.multiply(total, rates[i]) if rates else total
            total = hlo.add(total, drives[i]) if drives else total
            found.append(total)
        return [total, self._write(done, found[turn], at)]

    def _read(self, x: ir.Value, at: ir.Value, count: int) -> list[ir.Value]:
        """Elements along the axis from `at` on, wide."""
        wide = _wide(self._element)
        each = build.elements_along(x, self._axis, at, count)
        return [_stretched(build.convert(one, wide), self._row) for one in each]

    def _write(self, done: ir.Value, found: Sequence[ir.Value], at: ir.Value) -> ir.Value:
        together = build.concatenate(
            [build.convert(one, self._element) for one in found], self._axis
        )
        if self._rate is not None:  # a sum from 0.0 is never -0.0
            together = plus_zero(together)
        return hlo.dynamic_update_slice(done, together, build.starts_along(done, {self._axis: at}))


def _sum_from_zero(x: ir.Value) -> ir.Value:
    if not is_complex(x):
        return plus_zero(x)
    return hlo.complex(plus_zero(hlo.real(x)), plus_zero(hlo.imag(x)))


def _reduced(x: ir.Value, dims: Sequence[int]) -> ir.Value:
    if not is_complex(x):
        return build.reduce_sum(x, dims)
    return hlo.complex(*(build.reduce_sum(part(x), dims) for part in (hlo.real, hlo.imag)))


def _wide(element: ir.Type) -> ir.Type:
    """The type in which elements are combined: f64 for floats.

    Rounding errors of one chain add up. An element that overflows f32 must not spoil those after
    it: the tree computes some of them from products of rates alone.
    """
    if isinstance(element, ir.ComplexType):
        return ir.ComplexType.get(_wide(element.element_type))
    return element if isinstance(element, ir.IntegerType) else ir.F64Type.get()


def _stretched(x: ir.Value, sizes: Sequence[int]) -> ir.Value:
    return build.broadcast(x, sizes, range(len(sizes)))
