"""One program with expected outputs, split into a module, its inputs and its checks.

Such a program is a StableHLO module whose `@main` gets its arguments from `@inputs()` and
the expected outputs from `@expected()`, and compares by custom calls:

- `check.expect_eq(found, expected)`: the same bits, all NaNs being one;
- `check.expect_close`: at most `max_ulp_difference` (3) units in the last place apart, and at least
  `min_ulp_difference` (0) in the element that is furthest off;
- `check.expect_almost_eq`: at most `tolerance` (0.001) apart.

Complex numbers are compared part by part. The inputs become arguments of `@main`, so that no pass
folds the program away.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

from ..ir import clone_module, functions, make_context, read_module
from ..ir.locations import INLINE
from ..ir.module import main_of, ops_of, terminator
from ..ir.values import is_used
from ..pipeline.native import run_native
from .inputs import CannotRun, complex_array, is_float, specs_of
from .modules import main_type, sync_type
from .run import run_xla, shared_interpreter

Run = Callable[[ir.Module, Sequence[np.ndarray]], list[np.ndarray]]


@dataclass(frozen=True)
class OutputCheck:
    """The condition that one custom call puts on one output.

    Attributes:
        name: "eq", "close" or "almost_eq".
        low: "close": how many ulps the element furthest off must at least be off.
        high: "close": how many ulps an element may be off.
        tolerance: "almost_eq": how far an element may be off.
    """

    name: str
    low: int = 0
    high: int = 3
    tolerance: float = 1e-3

    def complaint(self, expected: np.ndarray, found: np.ndarray) -> str | None:
        """Why `found` breaks the condition, an array like `expected`; None if it does not."""

        def parts(array: np.ndarray) -> list[np.ndarray]:
            return [array.real, array.imag] if array.dtype.kind == "c" else [array]

        for want, got in zip(parts(expected), parts(found), strict=True):
            wrong = self._wrong(want, got)
            if wrong.any():
                index = np.unravel_index(int(wrong.argmax()), wrong.shape)
                place = f"element {[int(i) for i in index]}: " if index else ""
                allowed = {
                    "eq": "",
                    "close": f", {self.low} to {self.high} ulps allowed",
                    "almost_eq": f", {self.tolerance:g} allowed",
                }[self.name]
                return (
                    f"{place}expected {expected[index]}, found {found[index]} "
                    f"({int(wrong.sum())} of {wrong.size} elements{allowed})"
                )
        return None

    def _wrong(self, expected: np.ndarray, found: np.ndarray) -> np.ndarray:
        if not is_float(expected.dtype):
            return np.asarray(expected != found)
        if self.name == "eq":
            return ulps_apart(expected, found, signed_zeros=True) > 0
        if self.name == "close":
            apart = ulps_apart(expected, found)
            too_near = apart.max(initial=0) < self.low
            return np.asarray((apart > self.high) | too_near)
        wide, other = expected.astype(np.float64), found.astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(wide - other) <= self.tolerance
        return np.asarray(~(near | (wide == other) | (np.isnan(wide) & np.isnan(other))))


def ulps_apart(a: np.ndarray, b: np.ndarray, *, signed_zeros: bool = False) -> np.ndarray:
    """How many representable numbers lie from each element of `a` to that of `b`.

    Args:
        a: floats of any width up to 64 bits, those of `ml_dtypes` included.
        b: the same shape and dtype.
        signed_zeros: -0.0 and 0.0 are one apart, not none.

    Returns:
        uint64, 0 between NaNs; its greatest value between a NaN or an infinity and anything else.
    """
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    signs = np.signbit(wide_a), np.signbit(wide_b)
    one, other = _magnitude(a), _magnitude(b)
    same_sign = signs[0] == signs[1]
    gap = np.where(one > other, one - other, other - one)
    apart = np.where(same_sign, gap, one + other)
    if signed_zeros:
        apart = np.where(same_sign, apart, np.maximum(apart, 1))
    far = np.iinfo(np.uint64).max
    apart = np.where(np.isfinite(wide_a) & np.isfinite(wide_b), apart, far)
    same = (np.isnan(wide_a) & np.isnan(wide_b)) | (np.isinf(wide_a) & (wide_a == wide_b))
    return np.asarray(np.where(same, 0, apart), np.uint64)


def _magnitude(array: np.ndarray) -> np.ndarray:
    """The bits of the absolute values as integers: neighbours among floats differ by one."""
    bits = np.dtype(f"u{array.dtype.itemsize}")
    return np.ascontiguousarray(np.abs(array)).view(bits).astype(np.uint64).reshape(array.shape)


@dataclass(frozen=True)
class ConformanceProgram:
    """A program with its inputs, expected outputs and checks.

    Attributes:
        module: @main takes the inputs and returns the values to check.
        inputs: @main's arguments.
        expected: what @main should return.
        checks: how to compare each of its results.
    """

    module: ir.Module
    inputs: list[np.ndarray]
    expected: list[np.ndarray]
    checks: list[OutputCheck]

    def complaint(self, module: ir.Module, run: Run) -> str | None:
        """Which result of @main of `module` breaks its check, and how; None if none does.

        Args:
            module: this program's module, or the same after passes.
            run: `Interpreter.run` or `run_xla`.

        Raises:
            CannotRun: it cannot be run.
        """
        results = _results(module, self.inputs, run)
        triples = zip(self.checks, self.expected, results, strict=True)
        for number, (check, expected, found) in enumerate(triples):
            if reason := check.complaint(expected, found):
                return f"output {number}: {reason}"
        return None


def read_program(data: bytes, name: str) -> ConformanceProgram:
    """Read a program, and evaluate its inputs and expected outputs.

    A program without `@inputs` has its calls inlined, and the constants in @main are its inputs.

    Args:
        data: the module, in any form that `read_module` takes.
        name: the file's, for messages.

    Raises:
        CannotRun: the inputs or the expected outputs cannot be evaluated, or there are no checks.
        ModuleSyntaxError: `data` is not a module.
    """
    source = read_module(data, make_context(), name=name)
    run = shared_interpreter().run
    checks = [_check_of(op) for op in _checks(_main_block(source))]
    if not checks:
        raise CannotRun("nothing to check: expected custom calls @check.expect_* in @main")
    expected = _values(_returning(source, lambda b: [op.operands[1] for op in _checks(b)]), run)
    tested = _returning(source, lambda block: [op.operands[0] for op in _checks(block)])
    block = _main_block(tested)
    if not any(_target(op) == "inputs" for op in block.operations):
        run_native(INLINE, tested)
    inputs = _values(_returning(tested, _inputs), run)
    for value in _inputs(block):
        value.replace_all_uses_with(block.add_argument(value.type, value.location))
    _tidy(tested)
    return ConformanceProgram(tested, inputs, expected, checks)


def _main_block(module: ir.Module) -> ir.Block:
    main = main_of(module)
    if main is None:
        raise CannotRun("no function @main")
    return main.regions[0].blocks[0]


def _target(op: ir.OpView) -> str:
    """The name that a call or a custom call calls; empty for other ops."""
    if op.operation.name == "stablehlo.custom_call":
        return str(ir.StringAttr(op.attributes["call_target_name"]).value)
    if op.operation.name == "func.call":
        return str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
    return ""


def _checks(block: ir.Block) -> list[ir.OpView]:
    return [op for op in block.operations if _target(op).startswith("check.expect_")]


def _check_of(op: ir.OpView) -> OutputCheck:
    name = _target(op).removeprefix("check.expect_")
    if name not in ("eq", "close", "almost_eq"):
        raise CannotRun(f"an unknown check: @check.expect_{name}")
    names = {"min_ulp_difference": "low", "max_ulp_difference": "high", "tolerance": "tolerance"}
    given = {
        ours: op.attributes[name].value for name, ours in names.items() if name in op.attributes
    }
    return OutputCheck(name, **given)


def _inputs(block: ir.Block) -> list[ir.Value]:
    """The values that become arguments: the results of @inputs, or else the constants."""
    calls = [op for op in block.operations if _target(op) == "inputs"]
    constants = [op for op in block.operations if op.operation.name == "stablehlo.constant"]
    return [result for op in calls or constants for result in op.results]


def _returning(module: ir.Module, pick: Callable[[ir.Block], list[ir.Value]]) -> ir.Module:
    """A copy whose @main returns the values that `pick` chooses, without the checks."""
    copy = clone_module(module)
    block = _main_block(copy)
    values = pick(block)
    with copy.context, ir.Location.unknown():
        terminator(block).operation.erase()
        with ir.InsertionPoint(block):
            func.ReturnOp(values)
    for op in _checks(block):
        op.operation.erase()
    _tidy(copy)
    return copy


def _tidy(module: ir.Module) -> None:
    """Erase unused ops of @main and unused functions, and set @main's type from its block."""
    main = functions(module)["main"]
    block = main.regions[0].blocks[0]
    for op in reversed(ops_of(block)):
        if not any(map(is_used, op.results)) and op.operation.name != "stablehlo.custom_call":
            op.operation.erase()
    with module.context:
        sync_type(main)
    for name in {"arg_attrs", "res_attrs"} & {*main.attributes}:
        del main.attributes[name]
    run_native("symbol-dce", module)


def _values(module: ir.Module, run: Run) -> list[np.ndarray]:
    """What @main of a module without arguments returns, on the interpreter or else through XLA."""
    if not main_type(module).results:
        return []
    try:
        return _results(module, [], run)
    except CannotRun:
        return _results(module, [], run_xla)


def _results(module: ir.Module, inputs: Sequence[np.ndarray], run: Run) -> list[np.ndarray]:
    """The results of @main in their own dtypes, from what `run.widen` made of them."""
    parts = iter(run(module, inputs))
    results = []
    for spec in specs_of(main_type(module).results):
        first = np.asarray(next(parts))
        is_complex = spec.dtype.kind == "c"
        results.append(
            complex_array(spec, first, next(parts)) if is_complex else first.astype(spec.dtype)
        )
    return results
