"""A program as checks see it: its jaxpr, its module, its arguments, and what a compiler makes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target, find_target
from ...errors import JxcError, UsageError
from ...frontend import _private
from ...frontend.constants import CapturedConstant, captured_constants
from ...ir import argument_names, functions
from ...source import SourceLine, definition_line, home_of
from ..report.report import Compiled, Refused, report
from .equations import Step, bytes_of, count_equations, steps_of
from .syntax import parameters_of, return_place
from .watched import Hit, watched_hits


@dataclass(frozen=True)
class Leaf:
    """An argument or a result: one array of it.

    Attributes:
        name: as the user knows it: "params['w']", "result[0]".
        aval: its type, weak or not.
        donated: whether the caller gives its memory away; False of results.
    """

    name: str
    aval: Any
    donated: bool = False

    @property
    def bytes(self) -> int:
        """Its size."""
        return bytes_of(self.aval)

    @property
    def kind(self) -> tuple[tuple[int, ...], str]:
        """Its shape and element type."""
        return tuple(self.aval.shape), str(self.aval.dtype)


@dataclass(frozen=True)
class Carried:
    """An argument that a result looks like: what a loop around the program would pass on.

    Attributes:
        name: of the argument.
        pairs: the numbers of an argument's leaf and of a result's, in order.
        is_tree: whether it is more than one array.
    """

    name: str
    pairs: tuple[tuple[int, int], ...]
    is_tree: bool


@dataclass(frozen=True)
class Program:
    """What checks look at.

    Attributes:
        function: the user's.
        lowered: for the target, before any pass.
        target: what it is looked at for.
        may_compile: whether a compiler may be asked.
        given: the arguments, and those by name, without static ones, where all are arrays.
    """

    function: Callable[..., Any] = field(repr=False)
    lowered: Lowered = field(repr=False)
    target: Target
    may_compile: bool = True
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = field(default=None, repr=False)

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self.lowered.jaxpr

    @property
    def module(self) -> ir.Module:
        """The module that JAX lowered; not to be changed."""
        return self.lowered.module

    @cached_property
    def home(self) -> str | None:
        """The folder of the installed package that the function is from; None for the user's."""
        return home_of(self.function)

    @cached_property
    def defined(self) -> SourceLine | None:
        """The line of its `def`."""
        return definition_line(self.function)

    @cached_property
    def returned(self) -> SourceLine | None:
        """The line of its one `return`; of its `def` where there are several."""
        return return_place(self.function) or self.defined

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Every equation, in loops and branches too."""
        return tuple(steps_of(self.jaxpr, self.home))

    @cached_property
    def equations(self) -> int:
        """How many equations there are."""
        return count_equations(self.jaxpr)

    @cached_property
    def constants(self) -> tuple[CapturedConstant, ...]:
        """The arrays that the function captured, the largest first."""
        return captured_constants(self.jaxpr, self.function)

    @cached_property
    def arguments(self) -> tuple[Leaf, ...]:
        """The leaves of the arguments."""
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.lowered.jax_lowered.args_info)
        names = _private.argument_names(self.jaxpr)
        if len(names) != len(leaves):
            names = [jax.tree_util.keystr(path) for path, _ in leaves]
        avals = self.jaxpr.in_avals
        return tuple(
            Leaf(name, aval, bool(getattr(info, "donated", False)))
            for name, (_, info), aval in zip(names, leaves, avals, strict=False)
        )

    @cached_property
    def results(self) -> tuple[Leaf, ...]:
        """The leaves of the results."""
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.lowered.jax_lowered.out_info)
        names = ["result" + jax.tree_util.keystr(path) for path, _ in leaves]
        return tuple(map(Leaf, names, self.jaxpr.out_avals))

    @cached_property
    def parameters(self) -> dict[int, int]:
        """The number of each parameter of @main -> that of the argument's leaf it is.

        JAX leaves out arguments that are not used.
        """
        wanted = [leaf.name for leaf in self.arguments]
        found: dict[int, int] = {}
        position = 0
        for number, name in enumerate(argument_names(functions(self.module)["main"])):
            if name in wanted[position:]:
                position = wanted.index(name, position) + 1
                found[number] = position - 1
        return found

    @cached_property
    def carried(self) -> tuple[Carried, ...]:
        """The arguments that a result has the structure, shapes and types of.

        Of single arrays only the first argument and the first result, by position.
        """
        info = self.lowered.jax_lowered
        args = _numbered(info.args_info)
        subtrees = [*_subtrees(_numbered(info.out_info))]
        names = parameters_of(self.function)[: len(args[0])]
        names += [f"argument {n + 1}" for n in range(len(names), len(args[0]))]
        taken: set[int] = set()
        found = []
        arguments = [*zip(names, args[0], strict=False), *args[1].items()]
        for position, (name, argument) in enumerate(arguments):
            pairs = self._match(argument, subtrees, taken, is_first=position == 0)
            if pairs:
                taken.update(result for _, result in pairs)
                found.append(Carried(name, pairs, len(pairs) > 1))
        return tuple(found)

    def _match(
        self, argument: Any, subtrees: Sequence[Any], taken: set[int], *, is_first: bool
    ) -> tuple[tuple[int, int], ...]:
        leaves, structure = jax.tree.flatten(argument)
        is_single = isinstance(argument, int)
        for position, subtree in enumerate(subtrees):
            others, other_structure = jax.tree.flatten(subtree)
            if structure != other_structure or not leaves or taken & set(others):
                continue
            if is_single and not (is_first and position in (0, 1) and others == [0]):
                continue
            pairs = tuple(zip(leaves, others, strict=True))
            if all(self.arguments[a].kind == self.results[r].kind for a, r in pairs):
                return pairs
        return ()

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """What the rules of O2 would replace, for this target."""
        return watched_hits(self.module, self.target.kind, self.home)

    @cached_property
    def compiled(self) -> Compiled:
        """What the target's compiler makes of it, without our passes.

        Raises:
            JxcError: the compiler is not there, or does not take it.
        """
        made = report(self.lowered, self.target, "O0", with_plain=False).optimised
        if isinstance(made, Refused):
            raise JxcError(f"XLA does not compile it for {self.target.name}: {made.message}")
        return made

    @cached_property
    def compiled_or_none(self) -> Compiled | None:
        """The same; None where the compiler may not be asked, or does not take it."""
        if not self.may_compile:
            return None
        try:
            return self.compiled
        except JxcError:
            return None

    @property
    def compile_seconds(self) -> float | None:
        """What compiling takes, measured; None where the compiler may not be asked."""
        compiled = self.compiled_or_none
        return compiled.build.seconds if compiled else None

    def seconds_of(self, moved: float) -> float | None:
        """The least time in which so many bytes pass through the target's main memory."""
        bandwidth = self.target.device.bandwidth
        return moved / bandwidth if bandwidth else None


def program_of(
    lowered: Lowered,
    target: Target | str,
    *,
    may_compile: bool,
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
) -> Program:
    """A traced program for a target, lowered again where it was lowered for other hardware.

    Args:
        lowered: the program.
        target: what for.
        may_compile: whether a compiler may be asked.
        given: what it was traced with, to run it on; left alone where that is types or static.

    Raises:
        JxcError: it was not traced, or cannot be lowered for that.
    """
    if lowered.function is None:
        raise UsageError("expected a function: a module from a file has no jaxpr to look at")
    found = find_target(target) if isinstance(target, str) else target
    if lowered.platform != found.platform:
        lowered = lowered.for_target(found.name)
    assert lowered.function is not None
    return Program(lowered.function, lowered, found, may_compile, _runnable(lowered, given))


def _runnable(lowered: Lowered, given: Any) -> Any:
    """Arguments that the compiled program can be called with, or None."""
    leaves, structure = jax.tree.flatten(given)
    wanted = jax.tree.flatten(lowered.jax_lowered.args_info)
    is_typed = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    return None if is_typed or structure != wanted[1] else given


def _numbered(tree: Any) -> Any:
    """The same tree, its leaves numbered."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, list(range(len(leaves))))


def _subtrees(tree: Any, depth: int = 2) -> list[Any]:
    """A tree and what it holds, as far as its tuples and lists go."""
    inside = tree if isinstance(tree, (tuple, list)) and depth else ()
    return [tree, *(each for part in inside for each in _subtrees(part, depth - 1))]
