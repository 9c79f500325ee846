"""Apply one rule to one variant until it no longer fires, and compare the results.

Exact rules are compared only on the interpreter: some variants would make XLA abort this process,
and some are endless loops. Under an assumption such as no-nans, arguments that violate it are
replaced; if an intermediate value violates it, the result is not compared.
"""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from jxc.check.compare import Comparison, Mismatch, compare_modules, first_mismatch
from jxc.check.inputs import KINDS, CannotRun, is_float, make_inputs, specs_of
from jxc.check.judge import differing_bits
from jxc.check.modules import main_type, static_pairs
from jxc.check.run import Interpreter
from jxc.ir import clone_module, functions
from jxc.rewrite import PassContext, Rule, apply_rules, exact

DRAWN = (*KINDS, "edge", "edge")
"""The kinds of arguments in order; a small argument cannot contain all edge values at once."""


def compare_interpreted(
    before: ir.Module,
    after: ir.Module,
    promise: str | None = None,
    *,
    seed: int = 0,
    draws: int = len(DRAWN),
) -> Comparison:
    """Compare as `compare_modules` under `exact`, but never on XLA and with a short time limit.

    An assumption covers every value of a program. Arguments that violate it are replaced; if an
    intermediate value violates it, the results are not compared.

    Args:
        before: the reference, with static shapes.
        after: the module to check; @main has the same types.
        promise: "no-nans", "no-infs", "no-signed-zeros" or None.
        seed: determines the arguments.
        draws: the number of kinds in `DRAWN` to use.

    Raises:
        CannotRun: the arguments cannot be drawn.
    """
    runner = _quick_interpreter()
    report = Comparison(exact, {}, {})
    specs = specs_of(main_type(before).inputs)
    observed = returning_all(before) if promise else before
    for number, kind in enumerate(DRAWN[:draws] if specs else DRAWN[:1]):
        drawn = make_inputs(specs, kind, seed + number)
        inputs = [_without_broken(array, promise) for array in drawn]
        try:
            values, found = (runner.run(module, inputs) for module in (observed, after))
        except CannotRun as error:
            report.reasons[kind] = str(error)
            break  # other arguments would fail too, and starting a new child is slow
        if any(_breaks(value, promise).any() for value in values):
            report.reasons[kind] = f"an intermediate value violates the assumption {promise}"
            continue
        report.runs[kind] = "interpreter"
        difference = _difference(kind, inputs, values, found, promise)
        if difference is not None:
            return Comparison(exact, report.runs, report.reasons, difference)
    return report


@cache
def _quick_interpreter() -> Interpreter:
    """An interpreter with a short limit: variants are small, and some are endless loops."""
    interpreter = Interpreter(limit_s=2.0)
    atexit.register(interpreter.close)
    return interpreter


def _difference(
    kind: str,
    inputs: Sequence[np.ndarray],
    values: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    promise: str | None,
) -> Mismatch | None:
    expected = values[: len(found)]
    if promise == "no-signed-zeros":
        expected, found = ([_without_sign(each) for each in side] for side in (expected, found))
    return first_mismatch(kind, inputs, expected, found, [differing_bits] * len(found))


def returning_all(module: ir.Module) -> ir.Module:
    """A copy in which @main also returns every tensor that its ops compute."""
    copy = clone_module(module)
    main = functions(copy)["main"]
    ops = list(main.regions[0].blocks[0].operations)
    values = [value for op in ops for value in op.results]
    made = [value for value in values if isinstance(value.type, ir.RankedTensorType)]
    with copy.context, ops[-1].location, ir.InsertionPoint(ops[-1]):
        returned = [*ops[-1].operands, *made]
        func.ReturnOp(returned)
        kind = ir.FunctionType.get(main_type(copy).inputs, [value.type for value in returned])
        main.attributes["function_type"] = ir.TypeAttr.get(kind)
    ops[-1].operation.erase()
    return copy


def _breaks(array: np.ndarray, promise: str | None) -> np.ndarray:
    """The elements that violate the assumption. A zero may have any sign."""
    if array.dtype.kind == "f" and promise == "no-nans":
        return np.asarray(np.isnan(array))
    if array.dtype.kind == "f" and promise == "no-infs":
        return np.asarray(np.isinf(array))
    return np.zeros(array.shape, bool)


def _without_broken(array: np.ndarray, promise: str | None) -> np.ndarray:
    """The array with ones in place of elements that violate the assumption."""
    if array.dtype.kind == "c":
        kept = np.empty_like(array)
        kept.real, kept.imag = (_without_broken(part, promise) for part in (array.real, array.imag))
        return kept
    if promise is None or not is_float(array.dtype):
        return array
    if promise == "no-signed-zeros":
        return _without_sign(array)
    wide = array.astype(np.float64)
    return np.where(_breaks(wide, promise), np.ones((), array.dtype), array)


def _without_sign(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "biu" or not is_float(array.dtype):
        return array
    return np.where(array == 0, np.zeros((), array.dtype), array)


_HONEST = ("normal", "small")  # kinds of arguments without NaN, infinities and -0.0


@dataclass(frozen=True)
class Trial:
    """The result of trying a rule on a program.

    Attributes:
        fired: whether the rule replaced anything.
        by: the engine that ran both programs, "interpreter" or "xla"; empty if none did.
        reason: why no engine ran them.
        difference: how the results differ, with the arguments; empty if they do not.
    """

    fired: bool
    by: str = ""
    reason: str = ""
    difference: str = ""

    @property
    def checked(self) -> bool:
        """Whether the rule fired, and the program ran before and after."""
        return bool(self.by)


def context_for(rule: Rule, context: PassContext) -> PassContext:
    """The context that makes the rule active: its target, its assumption, and at any price."""
    fits = rule.targets is None or context.target in rule.targets
    target = context.target if fits or not rule.targets else rule.targets[0]
    promised = context.assumptions | ({rule.assumes} if rule.assumes else set())
    return PassContext(target, promised, always=True)


def try_rule(
    rule: Rule, program: ir.Module, context: PassContext, *, seed: int = 0, draws: int = len(DRAWN)
) -> Trial:
    """Apply the rule alone to a copy of a program until it no longer fires, and compare.

    Args:
        rule: the only rule applied.
        program: a module with @main; it is not changed.
        context: the context of the rule, see `context_for`.
        seed: of the arguments.
        draws: the number of sets of arguments, for exact rules.

    Raises:
        ir.MLIRError: the result is not valid.
        Exception: whatever the rule raised, with a note naming the op.
    """
    after = clone_module(program)
    counts = apply_rules(after.operation, [rule], context)
    if not any(count.hits for count in counts):
        return Trial(fired=False)
    after.operation.verify()
    try:
        reports = [_compared(rule, *pair, seed, draws) for pair in static_pairs(program, after)]
    except CannotRun as error:
        return Trial(fired=True, reason=str(error))
    return _trial(reports)


def _compared(rule: Rule, before: ir.Module, after: ir.Module, seed: int, draws: int) -> Comparison:
    if rule.contract == exact:
        return compare_interpreted(before, after, rule.assumes, seed=seed, draws=draws)
    kinds = KINDS if rule.assumes is None else _HONEST
    return compare_modules(before, after, contract=rule.contract, kinds=kinds, seed=seed)


def _trial(reports: Sequence[Comparison]) -> Trial:
    runs = [by for report in reports for by in report.runs.values()]
    wrong = [str(report) for report in reports if report.difference is not None]
    reasons = [reason for report in reports for reason in report.reasons.values()]
    by = "interpreter" if runs and set(runs) == {"interpreter"} else (runs and "xla") or ""
    return Trial(True, by, "" if by else (reasons or ["nothing to run"])[0], "".join(wrong[:1]))
