"""Applying replacements to a module: search, check, insert.

A module is searched in its normal form, and changes only if something is replaced. A search has two
steps. The first looks for the pattern traced at sample sizes, without comparing constants, and
determines the sizes of the program. The second looks for the pattern traced at these sizes. The
pattern with the gradient is searched for first, then that of the function alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ..errors import JxcError
from ..ir import clone_module, format_location, functions, splat_of, walk
from ..ir.dtypes import numpy_dtype
from ..ir.shardings import is_partitioned
from ..pipeline.native import run_native
from ..rewrite import Pass, PassContext, Rule, RuleCount, remark
from ..rewrite.actions import current_observer
from ..rewrite.driver import select, selection_options
from .declare import Alternative, ArrayInput, Declaration, SearchedFunction
from .insert import Function, Insertion, Match, shared_value
from .layout import DoesNotFit, layout_of
from .match import Found, Matcher, Miss
from .pattern import Pattern
from .trace import (
    Sizes,
    applies,
    array_names,
    constants_of,
    differentiable,
    given_values,
    normalize,
    pattern_of,
)


def replacement_pass(name: str, doc: str, replacements: Sequence[Declaration]) -> Pass:
    """A pass that applies replacements, with the options of passes made of rules."""

    def run(
        module: ir.Operation,
        context: PassContext,
        *,
        disable_patterns: str = "",
        enable_patterns: str = "",
        max_num_rewrites: int = -1,
    ) -> list[RuleCount]:
        chosen = select(name, replacements, enable_patterns, disable_patterns, _NOUN)
        return _Run(module, context, max_num_rewrites).apply(chosen)

    rules = tuple(_as_rule(each) for each in replacements)
    return Pass(name, doc, selection_options(_NOUN), run, rules)


_NOUN = "replacement"


def _as_rule(given: Declaration) -> Rule:
    """The name, the contract and the targets of a replacement, for listings and verification."""
    targets: set[str] | None = set()
    for each in given.alternatives:
        targets = None if each.targets is None or targets is None else targets | set(each.targets)
    return Rule(
        name=given.name,
        function=given.function,
        roots=(),
        contract=given.contract,
        assumes=None,
        targets=None if targets is None else tuple(sorted(targets)),
        wants_context=False,
        parts=given.parts,
    )


@dataclass(frozen=True)
class _SearchedPattern:
    """One pattern that is searched for.

    Attributes:
        replacement: the replacement that declares it.
        search: the function.
        with_gradient: whether the pattern includes the gradient of the function.
    """

    replacement: Declaration
    search: SearchedFunction
    with_gradient: bool

    def pattern(self, sizes: Sizes) -> Pattern:
        """The pattern at given sizes."""
        return pattern_of(self.replacement, self.search, sizes, with_gradient=self.with_gradient)


@dataclass
class _Run:
    """One run on a module.

    Attributes:
        module: the module, which changes if something is replaced.
        context: its settings.
        limit: the most replacements; no limit when negative.
    """

    module: ir.Operation
    context: PassContext
    limit: int
    _made: dict[Any, list[Function]] = field(default_factory=dict)
    _inserted: set[str] = field(default_factory=set)
    _misses: dict[str, Miss] = field(default_factory=dict)
    _left_out: set[ir.Value] = field(default_factory=set)
    _dtypes: set[Any] = field(default_factory=set)

    def apply(self, replacements: Sequence[Declaration]) -> list[RuleCount]:
        counts = [RuleCount(each.name) for each in replacements]
        if is_partitioned(self.module):
            for each in replacements:
                remark(each.name, "missed", None, "the program is split over several devices")
            return counts
        copy = clone_module(self.module)
        normalize(copy, self.context)
        index = self._index(copy)
        self._dtypes = _dtypes_of(copy)
        for count, replacement in zip(counts, replacements, strict=True):
            start = perf_counter()
            for search in replacement.searches:
                for with_gradient in (True, False):
                    of = _SearchedPattern(replacement, search, with_gradient)
                    while self.limit and self._replace_one(copy, index, of, count):
                        index = self._index(copy)
                        count.hits += 1
                        self.limit -= 1
            if not count.hits:
                miss = self._misses.get(replacement.name)
                where, text = (miss.program, _explained(miss)) if miss else (None, _NOTHING)
                remark(replacement.name, "missed", where, text)
            count.seconds += perf_counter() - start
        if any(count.hits for count in counts):
            _move(copy, self.module)
        return counts

    def _index(self, module: ir.Module) -> dict[str, list[ir.OpView]]:
        index: dict[str, list[ir.OpView]] = {}
        for name, function in functions(module).items():
            if name not in self._inserted:
                for op in walk(function):
                    index.setdefault(op.operation.name, []).append(op)
        return index

    def _replace_one(
        self,
        module: ir.Module,
        index: dict[str, list[ir.OpView]],
        of: _SearchedPattern,
        count: RuleCount,
    ) -> bool:
        alternatives = [
            each for each in of.replacement.alternatives if _serves(each, self.context.target)
        ]
        if of.with_gradient:
            alternatives = [each for each in alternatives if each.is_differentiable]
            if not differentiable(of.replacement, array_names(of.replacement, of.search)):
                return False
        if not alternatives:
            return False
        for match in self._matches(index, of, count):
            reason = shared_value(match) or self._insert(module, match, alternatives)
            if reason is None:
                return True
            matched = len(match.found.ops)
            self._miss(of, Miss(matched, match.pattern.size, reason, None, match.root.location))
        return False

    def _miss(self, of: _SearchedPattern, miss: Miss | None) -> None:
        """Keep a miss if it is closer than those before; functions rank before their gradients."""
        if miss is None:
            return
        name = of.replacement.name
        order = -of.replacement.searches.index(of.search)
        miss.rank = (miss.matched, not of.with_gradient, order)
        known = self._misses.get(name)
        if known is None or miss.rank > known.rank:
            self._misses[name] = miss

    def _matches(
        self,
        index: dict[str, list[ir.OpView]],
        of: _SearchedPattern,
        count: RuleCount,
    ) -> Iterator[Match]:
        replacement = of.replacement
        for dtypes in replacement.dtype_choices():
            if not {numpy_dtype(each) for each in dtypes.values()} <= self._dtypes:
                continue
            given = constants_of(replacement, of.search)
            constants = {name: each.sample for name, each in given.items()}
            sizes = Sizes(replacement.sample_sizes(), dtypes, constants, self.context.target)
            pattern = of.pattern(sizes)
            matcher = Matcher(pattern, index, is_exact=False)
            for anchor in _anchors(matcher, of):
                for op in matcher.candidates(anchor):
                    count.tries += 1
                    if (found := matcher.found(anchor, op)) is None:
                        continue
                    match = self._exact(of, sizes, pattern, found, index, (anchor, op))
                    if match is not None:
                        yield match
            self._miss(of, matcher.miss)

    def _exact(
        self,
        of: _SearchedPattern,
        sample: Sizes,
        pattern: Pattern,
        found: Found,
        index: dict[str, list[ir.OpView]],
        at: tuple[int, ir.OpView],
    ) -> Match | None:
        names = _dimension_names(of)
        try:
            layout = layout_of(pattern, found, names)
            constants = _constants(of, found)
            dims = {name: layout.sizes.get(name, 1) for name in sample.dims}
            # A dimension of size 1 that is only mapped over would vanish from the pattern. Two
            # other sizes are tried for it, because the function may use the size as a number.
            exact, again = pattern, found
            for factor in (2, 1) if 1 in dims.values() else (1,):
                traced = {
                    name: factor * sample.dims[name] if n == 1 else n for name, n in dims.items()
                }
                exact = of.pattern(Sizes(traced, sample.dtypes, constants, sample.target))
                matcher = Matcher(exact, index, is_exact=True)
                if (exact_match := matcher.found(*at)) is None:
                    self._miss(of, matcher.miss)
                    return None
                again = exact_match
            layout = layout_of(exact, again, names)
            dims = {name: layout.sizes.get(name, 1) for name in sample.dims}
            sizes = Sizes(dims, sample.dtypes, constants, sample.target)
            return Match(of.replacement, of.search, exact, again, sizes, layout, of.with_gradient)
        except (DoesNotFit, JxcError) as reason:  # the search may not take these sizes
            miss = Miss(len(found.ops), pattern.size, str(reason), None, at[1].location)
            self._miss(of, miss)
        return None

    def _insert(
        self, module: ir.Module, match: Match, alternatives: Sequence[Alternative]
    ) -> str | None:
        """Replace a match; the reason if that is not possible."""
        given = given_values(match.replacement, match.search, match.sizes)
        reason = "no alternative"
        for alternative in alternatives:
            if not applies(alternative, match.sizes, given):
                reason = f"`when` of the alternative {alternative.name!r} is false"
                continue
            insertion = Insertion(match, list(given.values()), self.context.target)
            if (problem := insertion.problem()) is not None:
                return problem
            if not self._is_carried_out(match):
                return "an observer of the rewrites left it out"
            key = (alternative.name, id(alternative), match.sizes.key, insertion.key)
            if key not in self._made:
                self._made[key] = insertion.add_functions(module, alternative)
                self._inserted |= {each.name for each in self._made[key]}
            insertion.insert(self._made[key])
            remark(
                match.replacement.name, "passed", match.root.location, f"is now {alternative.name}"
            )
            run_native("trivial-dce", module)
            return None
        return reason

    def _is_carried_out(self, match: Match) -> bool:
        """Whether the observer of rewrites, if there is one, lets this one happen."""
        observer, root = current_observer(), match.root
        value = root.results[0]
        if value in self._left_out:
            return False
        name = match.replacement.name
        if observer is None or observer(name, root.operation.name, root.location):
            return True
        self._left_out.add(value)
        return False


def _dtypes_of(module: ir.Module) -> set[Any]:
    """The element types of a program, as dtypes. Patterns of other types need not be traced."""
    kinds = {value.type for op in walk(module.operation) for value in (*op.operands, *op.results)}
    found = [each.element_type for each in kinds if isinstance(each, ir.RankedTensorType)]
    return {numpy_dtype(each) for each in found}


def _serves(alternative: Alternative, target: str) -> bool:
    return alternative.targets is None or target in alternative.targets


def _anchors(matcher: Matcher, of: _SearchedPattern) -> list[int]:
    """The results of the pattern to start from: with the gradient, those of the gradient."""
    if not of.with_gradient:
        return matcher.anchors[:1]
    count = len(differentiable(of.replacement, array_names(of.replacement, of.search)))
    results = len(matcher.anchors) - count
    return [each for each in matcher.anchors if each >= results]


def _dimension_names(of: _SearchedPattern) -> list[tuple[str | int, ...]]:
    """The names of the dimensions of each argument of the pattern."""
    inputs = [of.replacement.inputs[name] for name in array_names(of.replacement, of.search)]
    return [each.dims for each in inputs if isinstance(each, ArrayInput)]


def _constants(of: _SearchedPattern, found: Found) -> dict[str, Any]:
    """The constants of the program that correspond to the samples in the pattern.

    Raises:
        DoesNotFit: a sample corresponds to no value, or to one that is not a constant.
    """
    values: dict[str, Any] = {}
    for name, given in constants_of(of.replacement, of.search).items():
        places = [v for v in found.ops if splat_of(v) == given.sample]
        if not places:
            raise DoesNotFit(f"the constant {name!r} is not in the pattern as it is")
        number = splat_of(found.ops[places[0]].results[0])
        if number is None:
            raise DoesNotFit(f"{name!r} is not a constant")
        values[name] = given.kind(number)
    return values


_NOTHING = "no op of the program computes from the same kinds of ops as a result of the search"


def _explained(miss: Miss) -> str:
    """The text of a remark about the nearest match."""
    if miss.pattern is None:
        count = "all" if miss.matched >= miss.size else f"{miss.matched} of"
        return f"{count} {miss.size} ops match, but {miss.reason}"
    where = format_location(miss.pattern)
    return f"{miss.matched} of {miss.size} ops match; this one {miss.reason} (at {where})"


def _move(source: ir.Module, target: ir.Operation) -> None:
    """Replace the contents of a module by those of another module in the same context."""
    body = target.regions[0].blocks[0]
    for op in list(body.operations):
        op.operation.erase()
    for op in source.body.operations:
        body.append(op.operation.clone())
