"""Budgets for one program: ops, collectives, flops, memory, and what must not be in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..backend.lowered import Lowered, lower
from ..backend.targets import find_target
from ..errors import JxcError, UsageError
from ..ir import count_ops
from ..pipeline import PipelineLike
from ..tools.report.budgets import Budgets, Measured, check
from ..tools.report.memory import peak_bytes
from ..tools.report.report import read_optimised


@dataclass(frozen=True)
class CompiledProgram:
    """A program that a test compiled, before its HLO is read.

    Attributes:
        name: for messages.
        ops: of StableHLO; None where it was not lowered.
        peak_bytes, temporary_bytes: None where the compiler does not report them.
        stablehlo: as JAX lowered it.
        hlo: after XLA optimized it.
    """

    name: str
    ops: int | None
    peak_bytes: int | None
    temporary_bytes: int | None
    stablehlo: str = field(repr=False)
    hlo: str = field(repr=False)

    @cached_property
    def measured(self) -> Measured:
        """What its budgets are checked against."""
        return Measured(
            read_optimised(self.hlo, find_target("cpu")),
            self.ops,
            self.peak_bytes,
            self.temporary_bytes,
            stablehlo=self.stablehlo,
        )


def exceeded(budgets: Budgets, program: CompiledProgram) -> list[str]:
    """Every budget that a program exceeds, a sentence each."""
    return [f"{program.name}: {each}" for each in check(budgets, program.measured)]


class BudgetExceeded(JxcError, AssertionError):
    """A program takes more than it may."""


def check_budget(
    fn: Any,
    /,
    *args: Any,
    pipeline: PipelineLike | None = None,
    target: str | None = None,
    max_ops: int | None = None,
    max_collectives: int | None = None,
    max_flops: float | str | None = None,
    max_memory: int | str | None = None,
    max_temporaries: int | str | None = None,
    forbid: str | tuple[str, ...] = (),
    **kwargs: Any,
) -> None:
    """See that a function, compiled for these arguments, keeps to budgets; it is not run.

    Args:
        fn: a function, what `jax.jit` made of one, or a `jxc.lower`ed one.
        args, kwargs: arrays or `jax.ShapeDtypeStruct`s, or pytrees of them.
        pipeline: passes to run first, such as "O2".
        target: what it is compiled for, which need not be here: "gpu:h100", "tpu:v5e:2x2".
        max_ops: StableHLO ops, after the passes.
        max_collectives: in the optimised HLO, as often as they run.
        max_flops: of one run, such as 2e12 or "2T".
        max_memory: bytes at the peak, such as "12GiB".
        max_temporaries: bytes that are neither arguments nor results.
        forbid: opcodes of HLO, element types, `collectives` and ops of StableHLO:
            "f64,all-gather,custom-call,stablehlo.sort".

    Raises:
        AssertionError: a budget is exceeded; the message says by how much and where.
        UsageError: there is no budget, or one cannot be understood.
        JxcError: the function cannot be traced or compiled.
    """
    __tracebackhide__ = True  # pytest shows the test's own line
    given = {
        "max_ops": max_ops,
        "max_collectives": max_collectives,
        "max_flops": max_flops,
        "max_memory": max_memory,
        "max_temporaries": max_temporaries,
        "forbid": forbid or None,
    }
    budgets = Budgets.parse(given)
    if budgets == Budgets():
        raise UsageError("check_budget: expected a budget, such as max_ops=100; found none")
    plain = lowered_of(fn, args, kwargs, target)
    program = _measured(plain, pipeline, target, name_of(fn))
    if wrong := exceeded(budgets, program):
        raise BudgetExceeded("\n".join(wrong))


def lowered_of(
    fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], target: str | None
) -> Lowered:
    """A function lowered for a target; what is lowered already, as it is."""
    lowered = fn if isinstance(fn, Lowered) else lower(fn, *args, **kwargs)
    if isinstance(fn, Lowered) and (args or kwargs):
        raise UsageError("a lowered function has its arguments: give none")
    if target is None or find_target(target).platform == lowered.platform:
        return lowered
    return lowered.for_target(target)


def name_of(fn: Any) -> str:
    """What a function is called in messages."""
    return getattr(fn, "__name__", type(fn).__name__)


def _measured(
    plain: Lowered, pipeline: PipelineLike | None, target: str | None, name: str
) -> CompiledProgram:
    lowered = plain if pipeline is None else plain.opt(pipeline, target=target)
    made = lowered.compile(target)
    memory = made.memory()
    return CompiledProgram(
        name,
        ops=count_ops(lowered.module),
        peak_bytes=peak_bytes(*(memory[name] for name in ("argument", "output", "temp", "alias"))),
        temporary_bytes=memory["temp"],
        stablehlo=plain.as_text(),
        hlo=made.as_text("hlo"),
    )
