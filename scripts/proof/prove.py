"""Prove that two programs have the same results for every input.

`prove` compares two programs. `prove_rule` compares a program before and after a rule, on other
element types and with other constants.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import z3
from jaxlib.mlir import ir

from jxc.check.inputs import CannotRun
from jxc.check.modules import main_type
from jxc.check.run import shared_interpreter
from jxc.ir import clone_module, functions
from jxc.rewrite import TARGETS, PassContext, Rule, apply_rules, exact

from .elements import Complex, Element, FiniteFloat, Float, Term, Unmodelled, element_of, number_of
from .evaluate import Evaluation, NotScalar, evaluate, places, symbols
from .semantics import UNKNOWN
from .variants import INTEGERS, variants


class ProofStatus(Enum):
    """The outcome of a proof."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"
    UNMODELLED = "unmodelled"
    NOT_SCALAR = "not scalar"


@dataclass(frozen=True)
class ProofResult:
    """What z3 found about two programs.

    Attributes:
        outcome: proved; refuted; undecided if z3 ran out of time, or if the result depends on the
            values of functions like tanh; unmodelled if an op or a type has no z3 term; not scalar
            if elements are moved.
        reason: why it is neither proved nor refuted.
        counterexample: arguments on which the two differ, and both results.
        inputs: these arguments, one element of each.
    """

    outcome: ProofStatus
    reason: str = ""
    counterexample: str = ""
    inputs: tuple[np.ndarray, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        return ": ".join(filter(None, [self.outcome.value, self.reason, self.counterexample]))


def prove(
    before: ir.Module,
    after: ir.Module,
    *,
    assumptions: Collection[str] = (),
    limit_s: float = 5.0,
) -> ProofResult:
    """Whether one element of each result of @main is the same, bit for bit, for every input.

    All NaNs count as one value; 0.0 and -0.0 differ.

    Args:
        before: the module that is right.
        after: the module to check; @main has the same type.
        assumptions: "no-nans" and "no-infs" hold for every float value in `before`,
            "no-signed-zeros" for the results.
        limit_s: the time limit for z3.
    """
    mains = [functions(module)["main"] for module in (before, after)]
    try:
        bits = symbols(mains[0])
        at = [[evaluate(f, bits, place) for f in mains] for place in places(*mains)]
    except NotScalar as why:
        return ProofResult(ProofStatus.NOT_SCALAR, str(why))
    except Unmodelled as why:
        return ProofResult(ProofStatus.UNMODELLED, str(why))
    for expected, found in at:
        conditions = [
            *_assumed(expected, assumptions),
            *expected.conditions,
            *found.conditions,
            z3.Or(_differences(expected, found, "no-signed-zeros" in assumptions)),
        ]
        model, reason = _solve(conditions, limit_s)
        if model is not None:
            return _refuted(model, bits, expected, found)
        if reason:
            return ProofResult(ProofStatus.UNDECIDED, reason)
    return ProofResult(ProofStatus.PROVED)


def _solve(conditions: list[Term], limit_s: float) -> tuple[z3.ModelRef | None, str]:
    """A model of the conditions, or why z3 did not decide whether there is one.

    The first solver is mostly faster; the second proves that equal inputs give equal quotients.
    """
    for make, share in ((z3.Solver, 0.3), (z3.SimpleSolver, 0.7)):
        solver = make()
        solver.set("timeout", int(1000 * share * limit_s))
        solver.add(*conditions)
        answer = solver.check()
        if answer != z3.unknown:
            return (solver.model() if answer == z3.sat else None), ""
    return None, f"z3 found no answer within {limit_s:g} s"


def _assumed(evaluation: Evaluation, assumptions: Collection[str]) -> list[Term]:
    tests = {"no-nans": z3.fpIsNaN, "no-infs": z3.fpIsInf}
    return [
        z3.Not(test(number))
        for name, test in tests.items()
        if name in assumptions
        for number in evaluation.floats
    ]


def _differences(expected: Evaluation, found: Evaluation, zeros_are_one: bool) -> list[Term]:
    pairs = zip(expected.results, found.results, expected.result_types, strict=True)
    return [_differs(x, y, element_of(kind), zeros_are_one) for x, y, kind in pairs]


def _differs(x: Term, y: Term, element: Element, zeros_are_one: bool) -> Term:
    if isinstance(element, Complex):
        parts = zip(x, y, strict=True)
        return z3.Or([_differs(a, b, element.part, zeros_are_one) for a, b in parts])
    if zeros_are_one and isinstance(element, Float):
        return z3.And(x != y, z3.Not(z3.And(z3.fpIsZero(x), z3.fpIsZero(y))))
    return x != y


def _refuted(
    model: z3.ModelRef, bits: Sequence[Term], expected: Evaluation, found: Evaluation
) -> ProofResult:
    inputs = [
        number_of(model.eval(each, model_completion=True).as_long(), kind)
        for each, kind in zip(bits, expected.argument_types, strict=True)
    ]
    given = ", ".join(
        f"{kind} {x}" for kind, x in zip(expected.argument_types, inputs, strict=True)
    )
    wanted, got = (_texts(model, each) for each in (expected, found))
    text = f"({given}) gives {wanted} before and {got} after"
    names = [name for each in model.decls() if (name := each.name()).startswith(UNKNOWN)]
    if names:
        of = names[0].removeprefix(UNKNOWN).split()[0]
        return ProofResult(
            ProofStatus.UNDECIDED, f"it depends on what {of} is", text, tuple(inputs)
        )
    return ProofResult(ProofStatus.REFUTED, "", text, tuple(inputs))


def _texts(model: z3.ModelRef, evaluation: Evaluation) -> str:
    pairs = zip(evaluation.results, evaluation.result_types, strict=True)
    return ", ".join(_text(model, term, kind) for term, kind in pairs)


def _text(model: z3.ModelRef, term: Term, kind: ir.Type) -> str:
    if isinstance(term, tuple):
        part = ir.ComplexType(kind).element_type
        return "({}, {})".format(*(_text(model, each, part) for each in term))
    if z3.is_fp(term) and z3.is_true(model.eval(z3.fpIsNaN(term), model_completion=True)):
        return "nan"
    bits = z3.fpToIEEEBV(term) if z3.is_fp(term) else term
    if isinstance(element_of(kind), FiniteFloat):
        kind = ir.F16Type.get(kind.context)
    return str(number_of(model.eval(bits, model_completion=True).as_long(), kind))


def prove_rule(
    rule: Rule, program: ir.Module, limit_s: float = 5.0
) -> Iterator[tuple[str, ProofResult]]:
    """Prove or refute the rewrites of a rule on variants of a program.

    A rule that is not exact may round differently, so only its integer variants are checked.

    Args:
        rule: applied alone, with the assumption it needs, for the first of its targets.
        program: a module with @main.
        limit_s: the time limit of z3 for one variant.

    Yields:
        The element types of each variant on which the rule fires, and the result.
    """
    promised = frozenset([rule.assumes] if rule.assumes else [])
    context = PassContext((rule.targets or TARGETS)[0], promised, always=True)
    for types, before in variants(program):
        if rule.contract != exact and not set(types.split(", ")) <= set(INTEGERS):
            continue
        after = clone_module(before)
        try:
            (count,) = apply_rules(after.operation, [rule], context)
            after.operation.verify()
        except Exception as error:
            yield (
                types,
                ProofResult(ProofStatus.REFUTED, f"it raised {type(error).__name__}: {error}"),
            )
            continue
        if count.hits:
            verdict = prove(before, after, assumptions=promised, limit_s=limit_s)
            yield types, _confirmed(before, after, verdict)


def _confirmed(before: ir.Module, after: ir.Module, verdict: ProofResult) -> ProofResult:
    """The result, with the counterexample checked on the reference interpreter."""
    if (
        verdict.outcome not in (ProofStatus.REFUTED, ProofStatus.UNDECIDED)
        or not verdict.counterexample
    ):
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
        return replace(
            verdict, reason=f"{verdict.reason} (not confirmed by the interpreter)".strip()
        )
    return replace(verdict, outcome=ProofStatus.REFUTED, reason="so on the interpreter")


def _is_same(expected: np.ndarray, found: np.ndarray) -> bool:
    if expected.dtype.kind != "f":
        return np.array_equal(expected, found)
    signs = np.isnan(expected) | (np.signbit(expected) == np.signbit(found))
    return np.array_equal(expected, found, equal_nan=True) and bool(signs.all())
