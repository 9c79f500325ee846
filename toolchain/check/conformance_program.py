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

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func
from jaxlib.mlir.passmanager import PassManager

from ..ir import _private, clone_module, functions, make_context, read_module
from .inputs import CannotRun, Spec, is_float, specs_of
from .modules import main_type
from .run import Interpreter, run_xla, shared_interpreter

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
        for want, got in zip(_parts(expected), _parts(found), strict=True):
            wrong = self._wrong(want, got)
            if wrong.any():
                index = np.unravel_index(int(wrong.argmax()), wrong.shape)
                place = f"element {[int(i) for i in index]}: " if index else ""
                return (
                    f"{place}expected {expected[index]}, found {found[index]} "
                    f"({int(wrong.sum())} of {wrong.size} elements{self._asked()})"
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

    def _asked(self) -> str:
        if self.name == "close":
            return f", {self.low} to {self.high} ulps allowed"
        return f", {self.tolerance:g} allowed" if self.name == "almost_eq" else ""


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


def _parts(array: np.ndarray) -> list[np.ndarray]:
    return [array.real, array.imag] if array.dtype.kind == "c" else [array]


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


def read_program(
    data: bytes, name: str, interpreter: Interpreter | None = None
) -> ConformanceProgram:
    """Read a program, and evaluate its inputs and expected outputs.

    A program without `@inputs` has its calls inlined, and the constants in @main are its inputs.

    Args:
        data: the module, in any form that `read_module` takes.
        name: the file's, for messages.
        interpreter: evaluates inputs and expected outputs; the process's own when None.

    Raises:
        CannotRun: the inputs or the expected outputs cannot be evaluated, or there are no checks.
        ModuleSyntaxError: `data` is not a module.
    """
    source = read_module(data, make_context(), name=name)
    run = (interpreter or shared_interpreter()).run
    checks = [_check_of(op) for op in _checks(_main_block(source))]
    if not checks:
        raise CannotRun("nothing to check: expected custom calls @check.expect_* in @main")
    expected = _values(_returning(source, lambda block: _operands(block, 1)), run)
    tested = _returning(source, lambda block: _operands(block, 0))
    if not _calls_inputs(tested):
        _private.register_inliner(tested.context)
        _run_native(tested, "inline{default-pipeline=}")
    inputs = _values(_returning(tested, _given), run)
    _lift(tested)
    return ConformanceProgram(tested, inputs, expected, checks)


def _main_block(module: ir.Module) -> ir.Block:
    main = functions(module).get("main")
    if main is None:
        raise CannotRun("no function @main")
    return main.regions[0].blocks[0]


def _run_native(module: ir.Module, passes: str) -> None:
    with module.context, ir.Location.unknown():
        PassManager.parse(f"builtin.module({passes},symbol-dce)").run(module.operation)


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


def _operands(block: ir.Block, index: int) -> list[ir.Value]:
    return [op.operands[index] for op in _checks(block)]


def _given(block: ir.Block) -> list[ir.Value]:
    """The values that become arguments: what @inputs returns, or else the constants."""
    calls = [op for op in block.operations if _target(op) == "inputs"]
    constants = [op for op in block.operations if op.operation.name == "stablehlo.constant"]
    return [result for op in calls or constants for result in op.results]


def _calls_inputs(module: ir.Module) -> bool:
    return any(_target(op) == "inputs" for op in _main_block(module).operations)


def _returning(module: ir.Module, pick: Callable[[ir.Block], list[ir.Value]]) -> ir.Module:
    """A copy whose @main returns the values that `pick` chooses, without the checks."""
    copy = clone_module(module)
    block = _main_block(copy)
    values = pick(block)
    with copy.context, ir.Location.unknown():
        block.operations[len(block.operations) - 1].operation.erase()
        with ir.InsertionPoint(block):
            func.ReturnOp(values)
        _set_type(copy, [argument.type for argument in block.arguments], [v.type for v in values])
    for op in _checks(block):
        op.operation.erase()
    _erase_unused(block)
    _run_native(copy, "symbol-dce")
    return copy


def _set_type(module: ir.Module, inputs: list[ir.Type], results: list[ir.Type]) -> None:
    main = functions(module).get("main")
    assert main is not None
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
    for name in ("arg_attrs", "res_attrs"):
        if name in main.attributes:
            del main.attributes[name]


def _erase_unused(block: ir.Block) -> None:
    for op in list(reversed(list(block.operations)[:-1])):
        is_used = any(True for result in op.results for _ in result.uses)
        if not is_used and op.operation.name != "stablehlo.custom_call":
            op.operation.erase()


def _lift(module: ir.Module) -> None:
    """Make arguments of the inputs, in place."""
    block = _main_block(module)
    with module.context, ir.Location.unknown():
        for value in _given(block):
            value.replace_all_uses_with(block.add_argument(value.type, ir.Location.unknown()))
        results = list(main_type(module).results)
        _set_type(module, [argument.type for argument in block.arguments], results)
    _erase_unused(block)
    _run_native(module, "symbol-dce")


def _values(module: ir.Module, run: Run) -> list[np.ndarray]:
    """What @main of a module without arguments returns, on the interpreter or else through XLA."""
    if not main_type(module).results:
        return []
    try:
        return _results(module, [], run)
    except CannotRun:
        return _results(module, [], run_xla)


def _results(module: ir.Module, inputs: Sequence[np.ndarray], run: Run) -> list[np.ndarray]:
    specs = specs_of(main_type(module).results)
    parts = iter(run(module, inputs))
    return [_narrow(parts, spec) for spec in specs]


def _narrow(parts: Iterator[np.ndarray], spec: Spec) -> np.ndarray:
    """An array of the spec's dtype from what `run.widen` made of it."""
    first = np.asarray(next(parts))
    if spec.dtype.kind != "c":
        return first.astype(spec.dtype)
    joined = np.empty(spec.shape, spec.dtype)
    joined.real, joined.imag = first, next(parts)
    return joined
