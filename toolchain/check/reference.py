"""A module evaluated in float64: the reference that other roundings are judged by.

Every float type of the module becomes float64. The result, on the given inputs and on inputs one
ulp away, goes to `judge`. The StableHLO interpreter evaluates it where that takes seconds at most,
see `interpreter_seconds`; XLA evaluates the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo as hlo

from ..cost.flops import cost_of
from ..cost.formulas import MOVEMENT
from ..ir import walk
from ..ir.bounds import trip_count
from ..ir.dtypes import numpy_dtype
from ..ir.module import functions
from ..ir.retype import retype
from .inputs import CannotRun, part_of, specs_of
from .judge import Reference, moved_by_ulp, precision_of_type, widest
from .modules import main_type
from .run import Interpreter, XlaProgram, as_specified

PREFER_XLA_SECONDS = 0.25
"""Above this estimate XLA evaluates a reference if it can; it compiles in about 0.1 s."""

INTERPRETER_SECONDS = 1.0
"""Above this estimate for one run the interpreter is not tried: a check takes 30 runs or more."""

INTERPRETER_BUDGET_S = 2.5
"""Processor seconds for all runs on the interpreter in one check, unless the caller gives a time.

It suffices for two runs of a program at `INTERPRETER_SECONDS`: of edge values, which XLA cannot
judge."""

_START_S = 3.0  # processor seconds that starting the interpreter's process takes at most

_SECONDS_PER_ELEMENT = 0.3e-6  # of the interpreter, for each flop and each element of a result
_SECONDS_PER_REGION_FLOP = 1.8e-6  # a reduction, sort or scatter runs its region for each
_SECONDS_PER_OP = 10e-6

_TRIANGULAR_SOLVE = re.compile(r"lapack_[sdcz]trsm_ffi")
_OPAQUE = frozenset({"stablehlo.custom_call", "stablehlo.bitcast_convert"})
_NOT_ROUNDING = MOVEMENT | {
    *("abs", "and", "clamp", "compare", "constant", "is_finite", "maximum", "minimum", "negate"),
    *("not", "or", "select", "sign", "xor"),
}


class RationedInterpreter(Interpreter):
    """An interpreter with a time budget for one check; XLA runs the modules that exceed it.

    Estimates decide, so that all machines decide alike. The time that a run takes is charged in
    full, so the last run may exceed the budget.

    Args:
        interpreter: runs the modules.
        budget_s: processor seconds of all runs.
        draws: how many sets of arguments the check has.
    """

    def __init__(self, interpreter: Interpreter, budget_s: float, draws: int) -> None:
        self._interpreter = interpreter
        self._estimates: dict[int, tuple[ir.Module, float]] = {}
        self.budget_s = self.left_s = budget_s
        self.share_s = budget_s / max(draws, 1)

    def affords(self, seconds: float, *, is_edge: bool) -> bool:
        """Whether one set of arguments may take so many seconds.

        Edge values may use the whole rest: XLA's results do not tell what is NaN or denormal.
        """
        return seconds <= (self.left_s if is_edge else min(self.left_s, self.share_s))

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """As `Interpreter.run`.

        Raises:
            CannotRun: also if the budget does not suffice.
        """
        estimate = self._estimate(module)
        if self.left_s <= 0 or estimate > self.budget_s:
            raise CannotRun(f"{too_slow(estimate)}, and its budget is {self.budget_s:g} s")
        before = self._interpreter.spent_s
        try:
            with self._interpreter.limited(self.left_s + _START_S):
                return self._interpreter.run(module, inputs)
        finally:
            self.left_s -= max(estimate, self._interpreter.spent_s - before)

    def _estimate(self, module: ir.Module) -> float:
        if id(module) not in self._estimates:
            self._estimates[id(module)] = module, interpreter_seconds(module)
        return self._estimates[id(module)][1]


class Float64Evaluation:
    """A module with float64 for every float.

    Args:
        module: the module; is not to change.
        interpreter: runs it where it can.
    """

    def __init__(self, module: ir.Module, interpreter: Interpreter) -> None:
        self._module, self._interpreter = module, interpreter
        self._prefer_xla_s = PREFER_XLA_SECONDS
        if isinstance(interpreter, RationedInterpreter):
            self._prefer_xla_s = min(PREFER_XLA_SECONDS, interpreter.share_s / 2)  # two runs

    def references(self, inputs: Sequence[np.ndarray], *, or_xla: bool = True) -> list[Reference]:
        """A reference for each output of @main, split into parts as `run.widen` does.

        The interpreter decides what is NaN: XLA's convolutions may skip a padded zero that meets an
        infinite weight. A module that has no float64 evaluation, because it reads the bits of
        floats or calls out, is its own reference: on XLA, in its own types. Then an ulp is that of
        the coarsest type in the module: a 16-bit product does not see an ulp of an f32.

        Args:
            inputs: the arguments of @main.
            or_xla: whether XLA may evaluate what the interpreter cannot run, or runs too slowly.

        Raises:
            CannotRun: nothing evaluates the module.
        """
        is_wide = True
        try:
            near_inputs = [moved_by_ulp(array) for array in inputs]
            exact, near = self._run([[widest(a) for a in inputs], near_inputs], or_xla)
        except CannotRun:
            if not or_xla:
                raise
            is_wide, own = False, as_specified(self._module)
            near_inputs = [moved_by_ulp(array, eps=coarsest_eps(self._module)) for array in inputs]
            with np.errstate(over="ignore"):  # the largest number, moved by an ulp
                narrow = [a.astype(b.dtype) for a, b in zip(near_inputs, inputs, strict=True)]
            exact, near = ([widest(a) for a in own(draw)] for draw in (inputs, narrow))
        outputs = specs_of(main_type(self._module).results)
        # Two parts of a complex output, or the output itself.
        kinds = [
            kind
            for spec in outputs
            for kind in ([part_of(spec).dtype] * 2 if spec.dtype.kind == "c" else [spec.dtype])
        ]
        rounds = is_wide and rounds_once(self._module)
        is_lapack = _solves_triangular_system(self._module)
        return [
            Reference(a, b, *precision_of_type(kind), rounds, is_lapack)
            for a, b, kind in zip(exact, near, kinds, strict=True)
        ]

    def _run(self, draws: Sequence[list[np.ndarray]], or_xla: bool) -> list[list[np.ndarray]]:
        if self._seconds >= INTERPRETER_SECONDS and not or_xla:
            raise CannotRun(too_slow(self._seconds))
        if self._seconds >= self._prefer_xla_s:
            # Only the size of what an ulp of input moves is used, also where there are NaNs.
            first = self._compiled if or_xla else partial(self._interpreter.run, self._wide)
            return [first(draws[0]), self._compiled(draws[1])]
        try:
            return [self._interpreter.run(self._wide, draw) for draw in draws]
        except CannotRun:
            if not or_xla:
                raise
            return [self._compiled(draw) for draw in draws]

    @cached_property
    def _wide(self) -> ir.Module:
        return in_float64(self._module)

    @cached_property
    def _compiled(self) -> XlaProgram:
        return as_specified(self._wide)

    @cached_property
    def _seconds(self) -> float:
        return interpreter_seconds(self._module)


def interpreter_seconds(module: ir.Module) -> float:
    """An estimate of the seconds that the interpreter takes for one run of @main.

    Flops and elements of results, times the trip counts of the loops around them; a loop whose trip
    count is not known counts as one iteration. Dynamic extents count as nothing.
    """
    bodies = {name: each.regions[0] for name, each in functions(module).items()}
    done: dict[str, float] = {}

    def of_region(region: ir.Region) -> float:
        return sum(of_op(op) for block in region.blocks for op in block.operations)

    def of_function(name: str) -> float:
        if name not in done:
            done[name] = 0.0  # a recursive call, which StableHLO does not have
            done[name] = of_region(bodies[name]) if name in bodies else 0.0
        return done[name]

    def of_op(op: ir.OpView) -> float:
        match op:
            case hlo.WhileOp():
                return (trip_count(op) or 1) * sum(map(of_region, op.regions))
            case hlo.IfOp() | hlo.CaseOp():
                return max(map(of_region, op.regions))
        if op.operation.name == "func.call":
            return of_function(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        cost = cost_of(op)
        flops = cost.flops or 0 if cost is not None else 0
        kinds = [value.type for value in op.results]
        ranked = [kind for kind in kinds if isinstance(kind, ir.RankedTensorType)]
        elements = sum(math.prod(kind.shape) for kind in ranked if kind.has_static_shape)
        each = _SECONDS_PER_REGION_FLOP if op.regions else _SECONDS_PER_ELEMENT
        return _SECONDS_PER_OP + each * flops + _SECONDS_PER_ELEMENT * float(elements)

    return of_function("main")


def too_slow(seconds: float) -> str:
    """Why the interpreter is not tried, as a reason for a report."""
    return f"the interpreter would take about {seconds:,.{0 if seconds >= 2 else 1}f} s"


def coarsest_eps(module: ir.Module) -> float:
    """The largest relative spacing of the float types of all results; 0.0 without floats."""
    kinds = {value.type for op in walk(module.operation) for value in op.results}
    elements = {kind.element_type for kind in kinds if isinstance(kind, ir.RankedTensorType)}
    known = filter(None, map(numpy_dtype, elements))
    return max((precision_of_type(each)[0] for each in known), default=0.0)


def rounds_once(module: ir.Module) -> bool:
    """Whether @main has at most one op that rounds, outside of regions and calls."""
    (block,) = functions(module)["main"].regions[0].blocks
    ops = [op for op in block.operations if _rounds(op)]
    return not ops or (len(ops) == 1 and not ops[0].regions)


def _rounds(op: ir.OpView) -> bool:
    name = op.operation.name.removeprefix("stablehlo.").removeprefix("chlo.")
    if name in _NOT_ROUNDING or name == "func.return":
        return False
    kinds = [value.type for value in (*op.results, *op.operands)]
    elements = [kind.element_type for kind in kinds if isinstance(kind, ir.RankedTensorType)]
    inexact = (ir.FloatType, ir.ComplexType)
    return name == "func.call" or any(isinstance(each, inexact) for each in elements)


def _solves_triangular_system(module: ir.Module) -> bool:
    """Whether the module calls LAPACK's trsm, whose result for a singular matrix is unspecified.

    OpenBLAS chooses its kernel by the processor: one gives NaN where another gives infinity.
    """
    return any(
        op.operation.name == "stablehlo.custom_call"
        and _TRIANGULAR_SOLVE.fullmatch(op.call_target_name.value)
        for op in walk(module.operation)
    )


def in_float64(module: ir.Module) -> ir.Module:
    """The module with float64 for every float, and complex128 for complex numbers.

    Raises:
        CannotRun: it reads the bits of floats, leaves StableHLO, or is not valid with other types.
    """
    try:
        return retype(module, _wide_type, _wide_op)
    except ir.MLIRError as error:
        raise CannotRun(f"no float64 evaluation: {str(error).splitlines()[0]}") from error


def _wide_type(kind: ir.Type) -> ir.Type:
    if not isinstance(kind, ir.RankedTensorType):
        return kind
    element = kind.element_type
    if isinstance(element, ir.FloatType):
        element = ir.F64Type.get()
    elif isinstance(element, ir.ComplexType):
        element = ir.ComplexType.get(ir.F64Type.get())
    return ir.RankedTensorType.get(kind.shape, element, kind.encoding)


def _wide_op(op: ir.OpView, operands: list[ir.Value]) -> list[ir.Value] | None:
    name = op.operation.name
    if name == "stablehlo.bitcast_convert" and _wide_type(op.operand.type) == op.operand.type:
        # Random bits become floats in types of their own size, which float64 holds exactly.
        return [
            hlo.convert(_wide_type(op.result.type), hlo.bitcast_convert(op.result.type, *operands))
        ]
    if name in _OPAQUE and any(_wide_type(v.type) != v.type for v in (*op.operands, *op.results)):
        raise CannotRun(f"no float64 evaluation: the program has a {name} of floats")
    if name == "stablehlo.reduce_precision":
        return operands
    if name == "stablehlo.constant":
        constant = op.operation.clone().results[0]
        wide = _wide_type(constant.type)
        return [constant if wide == constant.type else hlo.convert(wide, constant)]
    if "algorithm" in op.attributes and name == "stablehlo.dot_general":
        # The algorithm names types of its own: a plain product has none.
        kind = _wide_type(op.result.type)
        return [hlo.dot_general(kind, *operands, op.dot_dimension_numbers)]
    return None
