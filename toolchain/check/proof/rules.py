"""A rule, proved on a program on which it fires, on other types and with other constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from jaxlib.mlir import ir

from ...ir import clone_module
from ...rewrite import TARGETS, PassContext, Rule, apply_rules, exact
from ..inputs import CannotRun
from ..modules import main_type
from ..run import shared_interpreter
from .prove import Outcome, Verdict, prove
from .variants import INTEGERS, variants


def prove_rule(
    rule: Rule, program: ir.Module, limit_s: float = 5.0
) -> Iterator[tuple[str, Verdict]]:
    """What the rule does to variants of a program, proved or refuted.

    A rule that is not exact may round otherwise: only its variants on integers are looked at.

    Args:
        rule: on its own, with the promise it needs, for the first of its targets.
        program: a module with @main.
        limit_s: how long z3 may take for one variant.

    Yields:
        The element types of a variant on which the rule fires, and the verdict.
    """
    promised = frozenset([rule.assumes] if rule.assumes else [])
    context = PassContext((rule.targets or TARGETS)[0], promised)
    for types, before in variants(program):
        if rule.contract != exact and not set(types.split(", ")) <= set(INTEGERS):
            continue
        after = clone_module(before)
        try:
            (count,) = apply_rules(after.operation, [rule], context)
            after.operation.verify()
        except Exception as error:
            yield types, Verdict(Outcome.REFUTED, f"it raised {type(error).__name__}: {error}")
            continue
        if count.hits:
            verdict = prove(before, after, assumptions=promised, limit_s=limit_s)
            yield types, _confirmed(before, after, verdict)


def _confirmed(before: ir.Module, after: ir.Module, verdict: Verdict) -> Verdict:
    """The verdict, with what the reference interpreter says of a counterexample."""
    if verdict.outcome not in (Outcome.REFUTED, Outcome.UNDECIDED) or not verdict.counterexample:
        return verdict
    shapes = [ir.RankedTensorType(kind).shape for kind in main_type(before).inputs]
    arrays = [
        np.full([max(extent, 1) for extent in shape], number)
        for shape, number in zip(shapes, verdict.inputs, strict=True)
    ]
    try:
        expected, found = (shared_interpreter().run(each, arrays) for each in (before, after))
    except CannotRun as error:
        return replace(verdict, reason=f"{verdict.reason} (interpreter: {error})".strip())
    if all(map(_is_same, expected, found)):
        return replace(verdict, reason=f"{verdict.reason} (not so on the interpreter)".strip())
    return replace(verdict, outcome=Outcome.REFUTED, reason="so on the interpreter")


def _is_same(expected: np.ndarray, found: np.ndarray) -> bool:
    if expected.dtype.kind != "f":
        return np.array_equal(expected, found)
    signs = np.isnan(expected) | (np.signbit(expected) == np.signbit(found))
    return np.array_equal(expected, found, equal_nan=True) and bool(signs.all())
