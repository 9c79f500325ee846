"""Run two modules on the same arguments, and compare each output.

Under `exact` the reference interpreter runs both modules, and every bit must agree. XLA runs the
modules that the interpreter does not support or is too slow for, and all modules under other
contracts. XLA does not specify its rounding, so its results are compared with the float64
evaluation of the program (`reference`) by the bounds of `judge`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from time import monotonic
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from ..rewrite import Contract, exact
from .inputs import GIVEN, IN_PLACE, KINDS, CannotRun, Spec, is_finite, make_inputs, specs_of
from .judge import differing_beyond_rounding, differing_beyond_ulps, differing_bits
from .modules import main_type
from .reference import (
    INTERPRETER_SECONDS,
    Float64Evaluation,
    RationedInterpreter,
    interpreter_seconds,
    too_slow,
)
from .run import Interpreter, XlaProgram, as_specified, shared_interpreter

Judge: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Takes an output as expected and as found; returns a mask of the elements that differ too much."""


@dataclass(frozen=True)
class Mismatch:
    """The first element in which two runs differ.

    Attributes:
        kind: the kind of arguments that shows it, one of `inputs.KINDS`, "mild", "given" or
            "in place".
        inputs: the arguments.
        output: the index of the output; complex ones count twice: real part, imaginary part.
        index: the index of the element.
        expected: the element in the first module's output.
        found: the element in the second module's output.
        count: how many elements of that output differ.
        size: how many elements it has.
        by: the engine that ran both: "interpreter" or "xla".
    """

    kind: str
    inputs: tuple[np.ndarray, ...]
    output: int
    index: tuple[int, ...]
    expected: np.generic
    found: np.generic
    count: int
    size: int
    by: str = ""

    def __str__(self) -> str:
        element = f"output {self.output}{list(self.index) if self.index else ''}"
        head = (
            f"{element}: expected {self.expected!s}, found {self.found!s} "
            f"({self.count} of {self.size} elements differ), on {_named(self.kind)}:"
        )
        lines = [f"  argument {i}: {_short(array)}" for i, array in enumerate(self.inputs)]
        return "\n".join([head, *lines])


@dataclass(frozen=True)
class Comparison:
    """The result of comparing two modules.

    Attributes:
        contract: how far the second may be from the first.
        runs: for each kind of arguments that ran, the engine: "interpreter", "xla", or both,
            "interpreter, xla", where several sets of that kind were drawn.
        reasons: for each kind of arguments, why it did not run, or not on the interpreter.
        difference: the first one found, if any.
        was_stopped: whether the deadline left out some arguments.
    """

    contract: Contract
    runs: dict[str, str]
    reasons: dict[str, str]
    difference: Mismatch | None = None
    was_stopped: bool = False

    @property
    def ran(self) -> bool:
        """Whether the modules ran at all."""
        return bool(self.runs)

    @property
    def agrees(self) -> bool:
        """Whether they ran, and agreed on every kind of arguments that did."""
        return self.ran and self.difference is None

    def __str__(self) -> str:
        if not self.ran:
            return f"could not run: {next(iter(self.reasons.values()), 'no arguments')}"
        where = ", ".join(f"{kind} ({by})" for kind, by in self.runs.items())
        if self.difference is None:
            return f"same ({self.contract}) on {where}"
        return f"differs ({self.contract}): {self.difference}"


def _named(kind: str) -> str:
    return "the values that reach it" if kind == IN_PLACE else f"{kind} arguments"


def compare_modules(
    before: ir.Module,
    after: ir.Module,
    *,
    contract: Contract = exact,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    bound: int = 4,
    interpreter: Interpreter | None = None,
    deadline: Deadline | None = None,
    given: Sequence[np.ndarray] | None = None,
) -> Comparison:
    """Run two modules on the same arguments and compare, output by output.

    Through XLA, and under contracts other than `exact`, edge values are "mild" ones, see
    `inputs.KINDS`: XLA flushes denormal numbers.

    Args:
        before: the module that is right; static shapes.
        after: the one in question; @main has the same type.
        contract: how far it may move a result.
        kinds: which arguments to draw, see `inputs.KINDS`.
        seed: of the arguments.
        bound: small integers are less than this.
        interpreter: where to run; the process's own when None.
        deadline: checked before each kind of arguments; those left out are listed with a reason.
        given: arguments to compare on as well; None for drawn ones only.

    Raises:
        ValueError: the two differ in the type of @main.
    """
    comparer = Comparer(before, after, contract, interpreter or shared_interpreter())
    return comparer.compare(kinds, seed, bound=bound, deadline=deadline, given=given)


def _fit(arrays: Sequence[np.ndarray], specs: Sequence[Spec]) -> bool:
    return [Spec(each.shape, each.dtype) for each in arrays] == list(specs)


@dataclass
class Deadline:
    """A limit on the time of a check, and the progress of the check.

    Attributes:
        seconds: the limit, from the creation of this value; None for no limit.
        progress: called before each set of arguments, with `doing` and the number of sets so far.
        doing: what is being checked, such as "@main".
        draws: how many sets of arguments were run.
    """

    seconds: float | None = None
    progress: Callable[[str, int], None] | None = None
    doing: str = ""
    draws: int = 0

    def __post_init__(self) -> None:
        self._start = monotonic()

    def is_over(self) -> bool:
        """Whether the time is used up. At least one set of arguments is always run."""
        if self.progress is not None:
            self.progress(self.doing, self.draws)
        if self.draws and self.seconds is not None and monotonic() - self._start > self.seconds:
            return True
        self.draws += 1
        return False

    def __str__(self) -> str:
        return f"not checked: the limit of {self.seconds:g} s is over"


@dataclass
class Comparer:
    """Runs two modules, and keeps what one set of arguments shares with the next.

    The attributes are the arguments of `compare_modules`.
    """

    before: ir.Module
    after: ir.Module
    contract: Contract
    interpreter: Interpreter

    @cached_property
    def through_xla(self) -> list[XlaProgram]:
        """Both, compiled once for all arguments."""
        return [as_specified(module) for module in (self.before, self.after)]

    @cached_property
    def evaluation(self) -> Float64Evaluation:
        return Float64Evaluation(self.before, self.interpreter)

    @cached_property
    def seconds(self) -> float:
        """An estimate of how long the interpreter takes for the slower of the two."""
        return max(map(interpreter_seconds, (self.before, self.after)))

    def compare(
        self,
        kinds: Sequence[str] = KINDS,
        seed: int = 0,
        *,
        bound: int = 4,
        deadline: Deadline | None = None,
        given: Sequence[np.ndarray] | None = None,
    ) -> Comparison:
        """The comparison on one set of arguments of each kind; as `compare_modules`."""
        signature, contract = main_type(self.before), self.contract
        if str(signature) != str(main_type(self.after)):
            raise ValueError(f"@main is {signature} before and {main_type(self.after)} after")
        report = Comparison(contract, {}, {})
        try:
            specs = specs_of(signature.inputs)
        except CannotRun as error:
            return Comparison(contract, {}, {"any": str(error)})
        drawn = ["mild" if kind == "edge" and contract != exact else kind for kind in kinds]
        if given is not None and not _fit(given, specs):
            report.reasons[GIVEN] = "the arguments are of other types than @main takes"
            given = None
        # Last, because a module that the interpreter takes too long for is not run there again.
        for kind in (drawn if specs else drawn[:1]) + [GIVEN] * (given is not None):
            if deadline is not None and deadline.is_over():
                report.reasons[kind] = str(deadline)
                return replace(report, was_stopped=True)
            own = given if kind == GIVEN else None
            inputs = make_inputs(specs, kind, seed, bound=bound) if own is None else list(own)
            difference = self.run(kind, inputs, report)
            if difference is not None:
                return Comparison(contract, report.runs, report.reasons, difference)
        return report

    def run(self, kind: str, inputs: list[np.ndarray], report: Comparison) -> Mismatch | None:
        """Compare on one set of arguments; writes into `report` what ran, or why not."""
        try:
            expected, found, by = self._results(kind, inputs, report)
            if by == "interpreter":
                judged: Sequence[Judge] = [differing_bits] * len(expected)
            else:
                has_edges = kind == "mild" or (kind == GIVEN and not all(map(is_finite, inputs)))
                judged = judges(self.evaluation, inputs, self.contract, has_edges=has_edges)
        except CannotRun as error:
            report.reasons[kind] = str(error)
            return None
        report.runs[kind] = by
        mismatch = first_mismatch(kind, inputs, expected, found, judged)
        return mismatch and replace(mismatch, by=by)

    def _results(
        self, kind: str, inputs: list[np.ndarray], report: Comparison
    ) -> tuple[list[np.ndarray], list[np.ndarray], str]:
        if self.contract == exact:
            try:
                self._require_time(kind)
                both = [self.interpreter.run(m, inputs) for m in (self.before, self.after)]
                return both[0], both[1], "interpreter"
            except CannotRun as error:
                report.reasons[kind] = str(error)
        both = [program(inputs) for program in self.through_xla]
        return both[0], both[1], "xla"

    def _require_time(self, kind: str) -> None:
        """Raise `CannotRun` where the interpreter would take too long for two runs."""
        if self.seconds > INTERPRETER_SECONDS:
            raise CannotRun(too_slow(self.seconds))
        if not isinstance(self.interpreter, RationedInterpreter):
            return
        if not self.interpreter.affords(2 * self.seconds, is_edge=kind == "edge"):
            budget = self.interpreter.budget_s
            raise CannotRun(f"{too_slow(2 * self.seconds)}, and its budget is {budget:g} s")


def judges(
    evaluation: Float64Evaluation,
    inputs: Sequence[np.ndarray],
    contract: Contract,
    *,
    has_edges: bool = False,
) -> list[Judge]:
    """For each output of a module, the judge of two results through XLA.

    Args:
        evaluation: of the module that is right.
        inputs: the arguments.
        contract: how far a result may move; `exact` is judged as rounding, as XLA rounds freely.
        has_edges: whether NaNs and infinities are among the arguments; XLA does not decide those.

    Raises:
        CannotRun: nothing evaluates the module, or there are edges and the interpreter cannot.
    """
    references = evaluation.references(inputs, or_xla=not has_edges)
    if contract.kind == "approximates":
        ulps = contract.ulps
        return [partial(differing_beyond_ulps, reference=each, ulps=ulps) for each in references]
    return [partial(differing_beyond_rounding, reference=each) for each in references]


def first_mismatch(
    kind: str,
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    judged: Sequence[Judge],
) -> Mismatch | None:
    """The first element of the first output in which two runs differ, if any do."""
    for output, (a, b, judge) in enumerate(zip(expected, found, judged, strict=True)):
        differs = judge(a, b)
        if differs.any():
            index = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), differs.shape))
            count, size = int(differs.sum()), differs.size
            return Mismatch(kind, tuple(inputs), output, index, a[index], b[index], count, size)
    return None


def _short(array: np.ndarray) -> str:
    flat = array if array.size <= 16 else array.ravel()
    text = np.array2string(flat, threshold=16, edgeitems=3, max_line_width=10**6)
    return f"{array.dtype}{list(array.shape)} {' '.join(text.split())}"
