"""Inserting an alternative in the place of a match: arguments, calls, results.

The functions of the alternative become private functions of the program, one for each combination
of sizes and types, and the match becomes calls of them. With a gradient there are two calls: the
first where the results are needed, the second where all cotangents are known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from ..errors import JxcError
from ..ir import (
    element_type,
    format_location,
    functions,
    numpy_dtype,
    shape_of,
    users,
    walk,
    write_bytecode,
)
from ..ir.elementwise import is_elementwise
from ..ir.locations import INLINE
from ..pipeline.native import run_native
from .axes import Label, adds_zero, parts_of
from .declare import Alternative, ArrayInput, Declaration, SearchedFunction
from .layout import Layout, argument_of, core_labels, result_of
from .match import Bound, Found
from .pattern import Pattern
from .trace import Sizes, array_names, differentiable, inserted

VIEWS = ("stablehlo.transpose", "stablehlo.broadcast_in_dim", "stablehlo.reshape")
"""Ops that only rearrange a value."""


@dataclass(frozen=True)
class Match:
    """A pattern found in a program, with the sizes of the declared dimensions.

    Attributes:
        replacement: the replacement that declares the pattern.
        search: the function that was searched for.
        pattern: its pattern, at these sizes.
        found: the ops and values of the program.
        sizes: the sizes, element types and constants.
        layout: the dimensions.
        with_gradient: whether the pattern includes the gradient.
    """

    replacement: Declaration
    search: SearchedFunction
    pattern: Pattern
    found: Found
    sizes: Sizes
    layout: Layout
    with_gradient: bool

    @property
    def root(self) -> ir.OpView:
        """The op of the first result that the program computes."""
        return next(each[0] for each in self.found.results if each is not None)


@dataclass(frozen=True)
class Function:
    """A function in the program that can be called: its name and the types of its results."""

    name: str
    types: tuple[ir.Type, ...]


class Insertion:
    """How one match is replaced.

    Args:
        match: the match.
        given: for each input, its declared type as a `jax.ShapeDtypeStruct`, or its value.
        target: the kind of hardware.
    """

    def __init__(self, match: Match, given: Sequence[Any], target: str) -> None:
        self._match, self._target = match, target
        self._names = array_names(match.replacement, match.search)
        count = len(self._names)
        self._bounds = list(match.found.arguments[:count])
        self._cotangent_bounds = list(match.found.arguments[count:])
        self.places = differentiable(match.replacement, self._names)
        grads = len(self.places) if match.with_gradient else 0
        self._count = len(match.pattern.results) - grads
        position = {name: n for n, name in enumerate(self._names)}
        self._shapes = [self._argument_shape(n) for n in range(count)]
        self.given = [
            self._with_mapped(each, self._shapes[position[name]]) if name in position else each
            for name, each in zip(match.replacement.inputs, given, strict=True)
        ]
        places = [position.get(name) for name in match.replacement.inputs]
        self.mapped = [
            [None if n is None or not self._is_mapped(n, extra) else 0 for n in places]
            for extra in match.layout.mapped
        ]

    @property
    def key(self) -> Any:
        """Equal for plans that can call the same functions."""
        shapes = tuple(tuple(shape) for _, shape in self._shapes)
        axes = tuple(map(tuple, self.mapped))
        return self._match.with_gradient, shapes, axes, id(self._match.search)

    @cached_property
    def _block(self) -> ir.Block:
        return self._match.root.operation.block

    def _has(self, argument: int, extra: Any) -> bool:
        bound = self._bounds[argument]
        return bound is not None and any(extra in parts_of(label) for label in bound.labels)

    def _is_mapped(self, argument: int, extra: Any) -> bool:
        """Whether an argument has a mapped dimension, or is broadcast along it.

        An argument whose gradient is a result is broadcast, because the gradient has the dimension.
        If no argument has the dimension, one is broadcast.
        """
        if self._has(argument, extra):
            return True
        if not any(self._has(each, extra) for each in range(len(self._bounds))):
            return argument == 0
        if not self._match.with_gradient or argument not in self.places:
            return False
        return self._match.found.results[self._count + self.places.index(argument)] is not None

    def _argument_shape(self, number: int) -> tuple[list[Label], list[int]]:
        """The labels and sizes of an argument's dimensions, those mapped over first."""
        match, bound = self._match, self._bounds[number]
        value = match.pattern.arguments[number]
        labels = match.layout.labels(match.pattern.dimensions(value), core_labels(bound, value))
        declared = match.replacement.inputs[self._names[number]]
        assert isinstance(declared, ArrayInput)
        sizes = [match.sizes.dims[d] if isinstance(d, str) else d for d in declared.dims]
        mapped = [each for each in match.layout.mapped if self._is_mapped(number, each)]
        return [*mapped, *labels], [*(each.size for each in mapped), *sizes]

    def _result_shape(self, number: int, core: Sequence[Label]) -> tuple[list[Label], list[int]]:
        match, value = self._match, self._match.pattern.results[number]
        dimensions = match.pattern.dimensions(value)
        labels = match.layout.labels(dimensions, tuple(core))
        sizes = [
            size
            if each.is_core
            else extra.size
            if (extra := match.layout.groups.get(each.group))
            else 1
            for size, each in zip(shape_of(value), dimensions, strict=True)
        ]
        mapped = match.layout.mapped
        return [*mapped, *labels], [*(each.size for each in mapped), *sizes]

    @staticmethod
    def _with_mapped(kind: Any, shape: tuple[list[Label], list[int]]) -> Any:
        import jax

        return jax.ShapeDtypeStruct(shape[1], kind.dtype)

    @cached_property
    def cotangents(self) -> list[Any]:
        """The types of the results of the function."""
        import jax

        found = []
        for number, value in enumerate(self._match.pattern.results[: self._count]):
            core = (None,) * len(shape_of(value))
            dtype = numpy_dtype(element_type(value))
            found.append(jax.ShapeDtypeStruct(self._result_shape(number, core)[1], dtype))
        return found

    def problem(self) -> str | None:
        """Why the calls cannot be inserted; None if they can."""
        bounds = [*self._bounds, *self._cotangent_bounds]
        names = [*self._names, *(["a cotangent"] * len(self._cotangent_bounds))]
        for name, bound in zip(names, bounds, strict=True):
            if bound is None:
                return f"the program does not determine {name!r}"
        order = self._positions()
        for number, each in enumerate(self._match.found.results):
            if each is None:
                continue
            is_gradient = number >= self._count
            at = self._at(order, is_gradient)
            if any(order[user] < at for user in self._users(each[0], order)):
                return "a result is used before all inputs of the replacement are known"
        return None

    def _positions(self) -> dict[ir.Value, int]:
        """The position of each op of the block, by its first result."""
        return {
            op.results[0]: index
            for index, op in enumerate(self._block.operations)
            if len(op.results)
        }

    def _at(self, order: dict[ir.Value, int], is_gradient: bool) -> int:
        """The position before which a call is inserted; the gradient's is not the first."""
        bounds = [*self._bounds, *(self._cotangent_bounds if is_gradient else ())]
        known = [
            order.get(bound.value.owner.results[0], -1)
            for bound in bounds
            if bound is not None and not isinstance(bound.value.owner, ir.Block)
        ]
        roots = [
            order[each[0].results[0]]
            for number, each in enumerate(self._match.found.results)
            if each is not None and (number >= self._count) == is_gradient
        ]
        first = self._at(order, is_gradient=False) if is_gradient else 0
        return max([first, *(each + 1 for each in known), *([min(roots)] if roots else [])])

    def _users(self, op: ir.OpView, order: dict[ir.Value, int]) -> list[ir.Value]:
        """The ops of the block that use a result of `op`, by their first results."""
        found = []
        for user in users(op.results[0]):
            current: Any = user
            while current.operation.block != self._block:
                current = current.operation.parent
            if len(current.results) and current.results[0] in order:
                found.append(current.results[0])
        return found

    def add_functions(self, module: ir.Module, alternative: Alternative) -> list[Function]:
        """Trace the alternative and copy its functions into the program.

        Raises:
            JxcError: it cannot be traced or lowered, or its results have other types.
        """
        match = self._match
        traced = inserted(
            match.replacement,
            alternative,
            self.given,
            self.mapped,
            self._target,
            with_gradient=match.with_gradient,
            places=self.places,
            cotangents=self.cotangents,
        )
        suffixes = ("", "_gradient")
        name = alternative.name.replace("-", "_")
        made = [
            _add(module, each, name + suffix)
            for each, suffix in zip(traced, suffixes, strict=False)
        ]
        self._check(alternative, made[0])
        return made

    def _check(self, alternative: Alternative, made: Function) -> None:
        for kind, wanted in zip(made.types, self.cotangents, strict=False):
            found = ir.RankedTensorType(kind)
            is_same = tuple(found.shape) == wanted.shape
            if not is_same or numpy_dtype(found.element_type) != wanted.dtype:
                raise JxcError(
                    f"replacement {self._match.replacement.name!r}: the alternative "
                    f"{alternative.name!r} returns {kind}, the search "
                    f"{wanted.dtype.name}[{','.join(map(str, wanted.shape))}]"
                )

    def insert(self, made: Sequence[Function]) -> None:
        """Insert the calls, and use their results in the place of the match's."""
        match = self._match
        order = self._positions()
        ops = list(self._block.operations)
        ats = [self._at(order, is_gradient) for is_gradient in (False, True)]
        points = [ops[at] for at in ats]
        roots = [each for each in match.found.results if each is not None]
        location = roots[0][0].location
        with location, ir.InsertionPoint(points[0]):
            arguments = [
                argument_of(bound, *shape)
                for bound, shape in zip(self._bounds, self._shapes, strict=True)
                if bound is not None
            ]
            values = _called(made[0], arguments)
        self._replace(0, values[: self._count])
        if len(made) > 1:
            with location, ir.InsertionPoint(points[1]):
                residuals = values[self._count :]
                given = [
                    self._cotangent(number, bound)
                    for number, bound in enumerate(self._cotangent_bounds)
                    if bound is not None
                ]
                gradient = _called(made[1], [*residuals, *given])
            self._replace(self._count, gradient)

    def _cotangent(self, number: int, bound: Bound) -> ir.Value:
        value = self._match.pattern.arguments[len(self._names) + number]
        labels = self._match.layout.labels(
            self._match.pattern.dimensions(value), bound.pattern_labels
        )
        mapped = self._match.layout.mapped
        return argument_of(bound, [*mapped, *labels], self.cotangents[number].shape)

    def _replace(self, first: int, values: Sequence[ir.Value]) -> None:
        for number, value in enumerate(values, first):
            found = self._match.found.results[number]
            if found is None:
                continue
            op, wanted, core = found
            labels, _ = self._result_shape(number, core)
            with op.location, ir.InsertionPoint(_after(value)):
                new = result_of(value, labels, wanted, op.results[0])
            op.results[0].replace_all_uses_with(new)


def _called(function: Function, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """The results of a call."""
    return list(func.CallOp(function.types, function.name, arguments).results)


def _after(value: ir.Value) -> ir.OpView:
    """The op after the one that computes `value`."""
    ops = list(value.owner.operation.block.operations)
    return ops[ops.index(value.owner) + 1]


def _add(module: ir.Module, traced: ir.Module, name: str) -> Function:
    """Copy the functions of a traced module into `module`, as private ones."""
    run_native(INLINE, traced)
    taken, renamed = set(functions(module)), {}
    for each in functions(traced):
        wanted = name if each == "main" else f"{name}_{each}"
        while wanted in taken:
            wanted = _next(wanted)
        taken.add(wanted)
        renamed[each] = wanted
    copy = ir.Module.parse(write_bytecode(traced), module.context)
    with module.context:
        for op in [*walk(copy.operation)]:
            for key in op.attributes:
                attribute = op.attributes[key]
                if isinstance(attribute, ir.FlatSymbolRefAttr) and attribute.value in renamed:
                    op.attributes[key] = ir.FlatSymbolRefAttr.get(renamed[attribute.value])
        for old, op in functions(copy).items():
            op.attributes["sym_name"] = ir.StringAttr.get(renamed[old])
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
            for key in ("arg_attrs", "res_attrs"):
                if key in op.attributes:
                    del op.attributes[key]
            module.body.append(op.operation.clone())
        main = functions(module)[renamed["main"]]
        kinds = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value).results
    return Function(renamed["main"], tuple(kinds))


def _next(name: str) -> str:
    """`name` with its number increased: f, f_1, f_2."""
    stem, _, number = name.rpartition("_")
    return f"{stem}_{int(number) + 1}" if stem and number.isdecimal() else f"{name}_1"


def shared_value(match: Match) -> str | None:
    """A value of the match that is also used elsewhere, as text; None if there is none.

    Such a value would be computed twice.
    """
    matched = {op.results[0] for op in match.found.ops.values()}
    roots = {each[0].results[0] for each in match.found.results if each is not None}
    for value, op in match.found.ops.items():
        if op.results[0] in roots or all(map(_is_cheap, match.pattern.cone(value))):
            continue
        if (other := _other_user(op.results[0], matched)) is not None:
            where = format_location(other.location)
            return f"the result of {op.operation.name} is also used at {where}"
    return None


def _is_cheap(value: ir.Value) -> bool:
    op = value.owner
    is_made = not isinstance(op, ir.Block)
    return not is_made or is_elementwise(op) or op.operation.name in (*VIEWS, *_SOURCES)


_SOURCES = ("stablehlo.constant", "stablehlo.iota")


def _other_user(value: ir.Value, matched: set[ir.Value]) -> ir.OpView | None:
    """An op that uses `value`, perhaps through transposes, and is not in the match."""
    for user in users(value):
        if len(user.results) and user.results[0] in matched:
            continue
        if user.operation.name not in VIEWS and not adds_zero(user):
            return user
        if (other := _other_user(user.results[0], matched)) is not None:
            return other
    return None
