"""The input of checks: a program's jaxpr, module, arguments and results, the rewrites of O2, and
the compiled program. Everything is computed on first use and kept, since checks share it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
from jaxlib.mlir import ir

from ...backend.lowered import Lowered
from ...backend.targets import Target, find_target
from ...compiled.fit import Fit
from ...compiled.kernels import roofline
from ...compiled.program import Compiled, Refused, compile_lowered
from ...errors import JxcError, UsageError
from ...frontend import jaxprs
from ...frontend.constants import CapturedConstant, captured_constants
from ...hlo.work import Access
from ...ir import argument_names, functions
from ...source import SourceLine, definition_line, home_of
from .jaxpr import TracedEquation, bytes_of, traced_equations
from .rule_hits import RuleHit, rule_hits
from .source_code import parameters_of, return_place


@dataclass(frozen=True)
class NamedArray:
    """One array of the arguments or of the results.

    Attributes:
        name: as the user knows it: "params['w']", "result[0]".
        aval: its type, weak or not.
        donated: whether the caller donates it; False for results.
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
class CarriedArgument:
    """An argument that a result matches, so that a loop around the program may pass it on.

    Attributes:
        name: of the argument.
        pairs: the number of each of its arrays, and of the array of the result that matches.
    """

    name: str
    pairs: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class ExaminedProgram:
    """A program for one target.

    Attributes:
        function: the user's.
        lowered: for the target, before any pass.
        target: the hardware.
        may_compile: whether the target's compiler may run.
        given: the arguments, positional and by name, without static ones; None unless all of them
            are arrays.
        kept: measurements that several checks use, by name.
    """

    function: Callable[..., Any] = field(repr=False)
    lowered: Lowered = field(repr=False)
    target: Target
    may_compile: bool = True
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = field(default=None, repr=False)
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def jaxpr(self) -> Any:
        """The closed jaxpr."""
        return self.lowered.jaxpr

    @property
    def module(self) -> ir.Module:
        """The module that JAX lowered; checks must not change it."""
        return self.lowered.module

    @cached_property
    def home(self) -> str | None:
        """The folder of the installed package that has the function; None for a user's file."""
        return home_of(self.function)

    @cached_property
    def defined(self) -> SourceLine | None:
        """The line of its `def`."""
        return definition_line(self.function)

    @cached_property
    def returned(self) -> SourceLine | None:
        """The line of its only `return`; the line of its `def` if there are several."""
        return return_place(self.function) or self.defined

    @cached_property
    def equations(self) -> tuple[TracedEquation, ...]:
        """Every equation, those in loops and branches included."""
        return tuple(traced_equations(self.jaxpr, self.home))

    @cached_property
    def constants(self) -> tuple[CapturedConstant, ...]:
        """The arrays that the function captured, the largest first."""
        return captured_constants(self.jaxpr, self.function)

    @cached_property
    def arguments(self) -> tuple[NamedArray, ...]:
        """The arrays of the arguments."""
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.lowered.jax_lowered.args_info)
        names = jaxprs.argument_names(self.jaxpr)
        if len(names) != len(leaves):
            names = [jax.tree_util.keystr(path) for path, _ in leaves]
        avals = self.jaxpr.in_avals
        return tuple(
            NamedArray(name, aval, bool(getattr(info, "donated", False)))
            for name, (_, info), aval in zip(names, leaves, avals, strict=False)
        )

    @cached_property
    def results(self) -> tuple[NamedArray, ...]:
        """The arrays of the results."""
        leaves, _ = jax.tree_util.tree_flatten_with_path(self.lowered.jax_lowered.out_info)
        names = ["result" + jax.tree_util.keystr(path) for path, _ in leaves]
        return tuple(map(NamedArray, names, self.jaxpr.out_avals))

    @cached_property
    def parameters(self) -> dict[int, int]:
        """The number of each parameter of @main -> the number of the argument's array that it is.

        JAX leaves out arguments that are not used.
        """
        names = [each.name for each in self.arguments]
        found: dict[int, int] = {}
        start = 0
        for number, name in enumerate(argument_names(functions(self.module)["main"])):
            if name in names[start:]:
                found[number] = names.index(name, start)
                start = found[number] + 1
        return found

    @cached_property
    def carried(self) -> tuple[CarriedArgument, ...]:
        """The arguments that match a result in structure, shapes and element types.

        A single array matches only if it is the first argument, and the first result or the only
        one.
        """
        info = self.lowered.jax_lowered
        args = _numbered(info.args_info)
        subtrees = _subtrees(_numbered(info.out_info))
        names = parameters_of(self.function)[: len(args[0])]
        names += [f"argument {n + 1}" for n in range(len(names), len(args[0]))]
        taken: set[int] = set()
        found = []
        arguments = [*zip(names, args[0], strict=False), *args[1].items()]
        for position, (name, argument) in enumerate(arguments):
            pairs = self._match(argument, subtrees, taken, is_first=position == 0)
            if pairs:
                taken.update(result for _, result in pairs)
                found.append(CarriedArgument(name, pairs))
        return tuple(found)

    def _match(
        self, argument: Any, subtrees: Sequence[Any], taken: set[int], *, is_first: bool
    ) -> tuple[tuple[int, int], ...]:
        """The arrays of an argument with those of the first subtree of the results that matches."""
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
    def hits(self) -> tuple[RuleHit, ...]:
        """The rewrites of O2 for this target."""
        return rule_hits(self.module, self.target, self.home)

    @cached_property
    def compiled(self) -> Compiled:
        """The program as the target's compiler makes it without our passes.

        Raises:
            JxcError: the compiler is not installed, or refuses the program.
        """
        made = self._made
        if isinstance(made, Refused):
            raise JxcError(f"XLA does not compile it for {self.target.name}: {made.message}")
        return made

    @cached_property
    def _made(self) -> Compiled | Refused:
        return compile_lowered(self.lowered, self.target, "O0")

    @property
    def fit(self) -> Fit | None:
        """Whether it fits into the target's memory; None if the compiler may not run or fails."""
        try:
            return self._made.fit if self.may_compile else None
        except JxcError:
            return None

    @cached_property
    def compiled_or_none(self) -> Compiled | None:
        """`compiled`; None if the compiler may not run, or refuses the program."""
        if not self.may_compile:
            return None
        try:
            return self.compiled
        except JxcError:
            return None

    @property
    def compile_seconds(self) -> float | None:
        """The measured compile time; None if the compiler may not run."""
        compiled = self.compiled_or_none
        return compiled.build.seconds if compiled else None

    def seconds_of(self, moved: float) -> float | None:
        """The least time to move so many bytes through main memory, by the report's roofline."""
        accesses = [Access(round(moved), math.inf)]
        return roofline({}, accesses, self.target.device, is_launched=False).seconds or None


def program_of(
    lowered: Lowered,
    target: Target | str,
    *,
    may_compile: bool,
    given: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
) -> ExaminedProgram:
    """A traced program for a target. It is lowered again if it was lowered for other hardware.

    Args:
        lowered: the program.
        target: the hardware.
        may_compile: whether the target's compiler may run.
        given: the arguments that it was traced with, to time it on; ignored if some are types or
            static.

    Raises:
        JxcError: it was not traced, or cannot be lowered for the target.
    """
    if lowered.function is None:
        raise UsageError("expected a function: a module from a file has no jaxpr to examine")
    found = find_target(target) if isinstance(target, str) else target
    if lowered.platform != found.platform:
        lowered = lowered.for_target(found.name)
    assert lowered.function is not None
    return ExaminedProgram(lowered.function, lowered, found, may_compile, _runnable(lowered, given))


def _runnable(lowered: Lowered, given: Any) -> Any:
    """The arguments, if the compiled program can be called with them, or None."""
    leaves, structure = jax.tree.flatten(given)
    expected = jax.tree.flatten(lowered.jax_lowered.args_info)
    is_typed = any(isinstance(leaf, jax.ShapeDtypeStruct) for leaf in leaves)
    return None if is_typed or structure != expected[1] else given


def _numbered(tree: Any) -> Any:
    """The same tree with its leaves numbered."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, list(range(len(leaves))))


def _subtrees(tree: Any, depth: int = 2) -> list[Any]:
    """A tree and its parts, down to two levels of tuples and lists."""
    inside = tree if isinstance(tree, (tuple, list)) and depth else ()
    return [tree, *(each for part in inside for each in _subtrees(part, depth - 1))]
