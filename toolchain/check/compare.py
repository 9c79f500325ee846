"""Whether two modules mean the same: run both on the same arguments, and compare what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir

from ..rewrite import Contract, exact
from .entries import main_type
from .inputs import KINDS, CannotRun, make_inputs, specs_of
from .run import Interpreter, run_xla, shared_interpreter

SPREAD = 64.0
"""How many ulps, of the largest magnitude in an output, rounding in another order may move it.

Rounding errors of a sum grow with the root of its length and with its largest terms, and the
largest magnitude of the output stands for these. Through XLA programs that differ in nothing but a
fusion boundary move by some ulps too: it contracts x * y + z where it can.
"""


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
    what it cannot run goes through XLA. Under the other contracts XLA runs both. Through XLA floats
    may lie `SPREAD` ulps of their output's largest magnitude apart, integers not at all; and edge
    values are left out unless the contract is `exact`: other orders of summation may meet
    infinities that the first order does not.

    Args:
        before: the module that is right.
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
        if kind == "edge" and contract != exact:
            continue
        difference = runner.run(kind, make_inputs(specs, kind, seed, bound=bound), report)
        if difference is not None:
            return Report(contract, report.runs, report.reasons, difference)
    return report


@dataclass
class _Runner:
    before: ir.Module
    after: ir.Module
    contract: Contract
    interpreter: Interpreter

    def run(self, kind: str, inputs: list[np.ndarray], report: Report) -> Difference | None:
        """Compare on one set of arguments; says in `report` how it went."""
        try:
            expected, found, by = self._results(kind, inputs, report)
        except CannotRun as error:
            report.reasons[kind] = str(error)
            return None
        report.runs[kind] = by
        is_strict = by == "interpreter" and self.contract == exact
        for output, (a, b) in enumerate(zip(expected, found, strict=True)):
            differs = _differs(a, b, 0.0 if is_strict else SPREAD)
            if differs.any():
                return _first(kind, inputs, output, a, b, differs)
        return None

    def _results(
        self, kind: str, inputs: list[np.ndarray], report: Report
    ) -> tuple[list[np.ndarray], list[np.ndarray], str]:
        if self.contract == exact:
            try:
                both = [self.interpreter.run(m, inputs) for m in (self.before, self.after)]
                return both[0], both[1], "interpreter"
            except CannotRun as error:
                report.reasons[kind] = str(error)
        both = [run_xla(m, inputs) for m in (self.before, self.after)]
        return both[0], both[1], "xla"


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


def _differs(expected: np.ndarray, found: np.ndarray, spread: float) -> np.ndarray:
    """Where two outputs are not the same: bit by bit, or by more than `spread` ulps of scale."""
    if expected.dtype.kind != "f":
        return np.asarray(expected != found)
    both_nan = np.isnan(expected) & np.isnan(found)
    same_bits = (expected == found) & (np.signbit(expected) == np.signbit(found))
    if not spread:
        return ~(same_bits | both_nan)
    finite = np.isfinite(expected)
    scale = np.abs(expected[finite]).max(initial=0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(expected - found) <= spread * np.finfo(expected.dtype).eps * scale
    return ~(near | (expected == found) | both_nan)


def _short(array: np.ndarray) -> str:
    text = np.array2string(array, threshold=16, edgeitems=3, max_line_width=10**6)
    return f"{array.dtype}{list(array.shape)} {' '.join(text.split())}"
