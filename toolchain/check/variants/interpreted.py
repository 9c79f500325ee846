"""Comparing on the reference interpreter alone; under a promise on values that keep it."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from functools import cache

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from ...ir import clone_module, functions
from ...rewrite import exact
from ..compare import Comparison, Mismatch, first_mismatch
from ..inputs import KINDS, CannotRun, is_float, make_inputs, specs_of
from ..judge import differing_bits
from ..modules import main_type
from ..run import Interpreter

DRAWN = (*KINDS, "edge", "edge")
"""Kinds of arguments, in order: a small argument has no room for every edge value at once."""


def compare_interpreted(
    before: ir.Module,
    after: ir.Module,
    promise: str | None = None,
    *,
    seed: int = 0,
    draws: int = len(DRAWN),
) -> Comparison:
    """As `compare_modules` under `exact`, but never through XLA, and soon given up.

    XLA, in this process, would abort on some variants, and some are loops that never end.

    A promise is about every value of a program. Arguments that break it are mended; where a value
    on the way breaks it, what comes out is not compared.

    Args:
        before: the module that is right; static shapes.
        after: the one in question; @main has the same types.
        promise: "no-nans", "no-infs", "no-signed-zeros" or None.
        seed: of the arguments.
        draws: how many of `DRAWN` to run on.

    Raises:
        CannotRun: the arguments cannot be drawn.
    """
    runner = _hasty_interpreter()
    report = Comparison(exact, {}, {})
    specs = specs_of(main_type(before).inputs)
    telling = returning_all(before) if promise else before
    for turn, kind in enumerate(DRAWN[:draws] if specs else DRAWN[:1]):
        drawn = make_inputs(specs, kind, seed + turn)
        inputs = [_mended(array, promise) for array in drawn]
        try:
            values, found = (runner.run(module, inputs) for module in (telling, after))
        except CannotRun as error:
            report.reasons[kind] = str(error)
            break  # the next arguments would end the same way, and a child is slow to start
        if any(_breaks(value, promise).any() for value in values):
            report.reasons[kind] = f"a value on the way breaks the promise {promise}"
            continue
        report.runs[kind] = "interpreter"
        difference = _difference(kind, inputs, values, found, promise)
        if difference is not None:
            return Comparison(exact, report.runs, report.reasons, difference)
    return report


@cache
def _hasty_interpreter() -> Interpreter:
    """One that gives up sooner than the process's own."""
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
    """A copy in which @main returns, after its results, every tensor that its ops make."""
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
    """Where an array holds what was promised not to be. A zero may have any sign."""
    if array.dtype.kind == "f" and promise == "no-nans":
        return np.isnan(array)
    if array.dtype.kind == "f" and promise == "no-infs":
        return np.isinf(array)
    return np.zeros(array.shape, bool)


def _mended(array: np.ndarray, promise: str | None) -> np.ndarray:
    """The array with ones in the place of what was promised not to be."""
    if array.dtype.kind == "c":
        mended = np.empty_like(array)
        mended.real, mended.imag = (_mended(part, promise) for part in (array.real, array.imag))
        return mended
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
