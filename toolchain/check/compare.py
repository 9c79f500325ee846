"""Whether two modules mean the same: run both on the same arguments, and compare what comes out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from jaxlib.mlir import ir

from ..ir import walk
from ..rewrite import Contract, exact
from .entries import main_type
from .inputs import KINDS, CannotRun, make_inputs, specs_of
from .judge import differing_beyond_rounding, differing_bits, differing_by_spread
from .reference import Unrounded, precision_of
from .run import Interpreter, XlaProgram, shared_interpreter

Judge: TypeAlias = Callable[[np.ndarray, np.ndarray], np.ndarray]

_TRIANGULAR_SOLVE = re.compile(r"lapack_[sdcz]trsm_ffi")


@dataclass(frozen=True)
class Difference:
    """The first element in which two runs differ.

    Attributes:
        kind: which arguments it was found with, one of `inputs.KINDS`.
        inputs: the arguments.
        output: which output, complex ones counting twice: real part, imaginary part.
        index: the element of it.
        expected: what the first module gives there.
        found: what the second module gives there.
        count: how many elements of that output differ.
        size: how many elements it has.
    """

    kind: str
    inputs: tuple[np.ndarray, ...]
    output: int
    index: tuple[int, ...]
    expected: np.generic
    found: np.generic
    count: int
    size: int

    def __str__(self) -> str:
        place = f"output {self.output}{list(self.index) if self.index else ''}"
        lines = [
            f"{place}: expected {self.expected!r}, found {self.found!r} "
            f"({self.count} of {self.size} elements differ), on {self.kind} arguments:"
        ]
        lines += [f"  argument {i}: {_short(array)}" for i, array in enumerate(self.inputs)]
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """What comparing two modules gave.

    Attributes:
        contract: how far the second may be from the first.
        runs: for each kind of arguments, what it ran on: "interpreter" or "xla".
        reasons: why it did not run, or not on the interpreter, by kind of arguments.
        difference: the first one found, if any.
    """

    contract: Contract
    runs: dict[str, str]
    reasons: dict[str, str]
    difference: Difference | None = None

    @property
    def ran(self) -> bool:
        """Whether the modules ran at all."""
        return bool(self.runs)

    @property
    def agrees(self) -> bool:
        """Whether they ran, and gave the same wherever they did."""
        return self.ran and self.difference is None

    def __str__(self) -> str:
        if not self.ran:
            return f"could not run: {next(iter(self.reasons.values()), 'no arguments')}"
        where = ", ".join(f"{kind} ({by})" for kind, by in self.runs.items())
        if self.difference is None:
            return f"same ({self.contract}) on {where}"
        return f"differs ({self.contract}): {self.difference}"


def compare_modules(
    before: ir.Module,
    after: ir.Module,
    *,
    contract: Contract = exact,
    kinds: Sequence[str] = KINDS,
    seed: int = 0,
    bound: int = 4,
    interpreter: Interpreter | None = None,
) -> Report:
    """Run two modules on the same arguments and compare, output by output.

    Under `exact` the reference interpreter runs both, and every bit must agree, all NaNs being one;
    what it cannot run goes through XLA. Under the other contracts XLA runs both. Through XLA a
    float may be as far from its value in float64 as rounding explains, see `judge`, and
    edge values are "mild" ones then, see `inputs.KINDS`.

    Args:
        before: the module that is right; static shapes.
        after: the one in question; @main has the same types.
        contract: how far it may move a result.
        kinds: which arguments to draw, see `inputs.KINDS`.
        seed: of the arguments.
        bound: small integers are less than this.
        interpreter: where to run; the process's own when None.

    Raises:
        ValueError: the two differ in the type of @main.
    """
    signature = main_type(before)
    if str(signature) != str(main_type(after)):
        raise ValueError(f"@main is {signature} before and {main_type(after)} after")
    runner = _Runner(before, after, contract, interpreter or shared_interpreter())
    report = Report(contract, {}, {})
    try:
        specs = specs_of(signature.inputs)
    except CannotRun as error:
        return Report(contract, {}, {"any": str(error)})
    for kind in kinds if specs else kinds[:1]:
        drawn = "mild" if kind == "edge" and contract != exact else kind
        difference = runner.run(drawn, make_inputs(specs, drawn, seed, bound=bound), report)
        if difference is not None:
            return Report(contract, report.runs, report.reasons, difference)
    return report


@dataclass
class _Runner:
    before: ir.Module
    after: ir.Module
    contract: Contract
    interpreter: Interpreter

    @cached_property
    def through_xla(self) -> list[XlaProgram]:
        """Both, compiled once for all arguments."""
        return [XlaProgram(module) for module in (self.before, self.after)]

    @cached_property
    def unrounded(self) -> Unrounded:
        """The right one, to forgive rounding by."""
        return Unrounded(self.before, self.interpreter)

    def run(self, kind: str, inputs: list[np.ndarray], report: Report) -> Difference | None:
        """Compare on one set of arguments; says in `report` how it went."""
        try:
            expected, found, by = self._results(kind, inputs, report)
            unrounded = None if by == "interpreter" else self.unrounded
            judged = judges(self.before, inputs, unrounded, has_edges=kind == "mild")
        except CannotRun as error:
            report.reasons[kind] = str(error)
            return None
        report.runs[kind] = by
        return first_difference(kind, inputs, expected, found, judged)

    def _results(
        self, kind: str, inputs: list[np.ndarray], report: Report
    ) -> tuple[list[np.ndarray], list[np.ndarray], str]:
        if self.contract == exact:
            try:
                both = [self.interpreter.run(m, inputs) for m in (self.before, self.after)]
                return both[0], both[1], "interpreter"
            except CannotRun as error:
                report.reasons[kind] = str(error)
        both = [program(inputs) for program in self.through_xla]
        return both[0], both[1], "xla"


def judges(
    module: ir.Module,
    inputs: Sequence[np.ndarray],
    unrounded: Unrounded | None,
    *,
    has_edges: bool = False,
) -> list[Judge]:
    """For each output of @main, what says where two of it differ.

    Args:
        module: the program.
        inputs: what it ran on.
        unrounded: the same program, to forgive rounding; None to compare bits.
        has_edges: whether there are NaNs and infinities among the inputs, of which XLA is no judge.

    Raises:
        CannotRun: there are edges, and the interpreter cannot evaluate the program.
    """
    precision = precision_of(module)
    if unrounded is None:
        return [differing_bits] * len(precision)
    chosen: list[Judge]
    try:
        found = unrounded.references(inputs, or_xla=not has_edges)
        chosen = [partial(differing_beyond_rounding, reference=each) for each in found]
    except CannotRun:
        if has_edges:
            raise
        chosen = [partial(differing_by_spread, eps=eps) for eps in precision]
    if _solves_triangular_system(module):
        return [partial(_differing_where_finite, each) for each in chosen]
    return chosen


def _solves_triangular_system(module: ir.Module) -> bool:
    """Whether the module calls LAPACK's trsm, whose result for a singular matrix is unspecified.

    OpenBLAS chooses its kernel by the processor: one gives NaN where another gives infinity.
    """
    return any(
        op.operation.name == "stablehlo.custom_call"
        and _TRIANGULAR_SOLVE.fullmatch(op.call_target_name.value)
        for op in walk(module.operation)
    )


def _differing_where_finite(judge: Judge, expected: np.ndarray, found: np.ndarray) -> np.ndarray:
    """Where two outputs differ by `judge`; elements that are not finite in `expected` never do."""
    is_decided = np.isfinite(expected) if expected.dtype.kind == "f" else True
    return judge(expected, found) & is_decided


def first_difference(
    kind: str,
    inputs: Sequence[np.ndarray],
    expected: Sequence[np.ndarray],
    found: Sequence[np.ndarray],
    judged: Sequence[Judge],
) -> Difference | None:
    """The first element of the first output in which two runs differ, if any do."""
    for output, (a, b, judge) in enumerate(zip(expected, found, judged, strict=True)):
        differs = judge(a, b)
        if differs.any():
            return _first(kind, inputs, output, a, b, differs)
    return None


def _first(
    kind: str,
    inputs: Sequence[np.ndarray],
    output: int,
    expected: np.ndarray,
    found: np.ndarray,
    differs: np.ndarray,
) -> Difference:
    index = tuple(int(i) for i in np.unravel_index(int(differs.argmax()), differs.shape))
    return Difference(
        kind,
        tuple(inputs),
        output,
        index,
        expected[index],
        found[index],
        int(differs.sum()),
        differs.size,
    )


def _short(array: np.ndarray) -> str:
    text = np.array2string(array, threshold=16, edgeitems=3, max_line_width=10**6)
    return f"{array.dtype}{list(array.shape)} {' '.join(text.split())}"
