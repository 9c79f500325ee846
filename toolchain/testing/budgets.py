"""`check_budget`: budgets for one function, which is compiled and not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..backend.lowered import Lowered, lower
from ..backend.targets import find_target
from ..compiled.memory import peak_bytes
from ..compiled.program import read_optimised
from ..errors import JxcError, UsageError
from ..ir import count_ops
from ..pipeline import PipelineLike
from ..tools.explain.functions import name_of
from ..tools.report.budgets import Budgets, Measured, check


class BudgetExceeded(JxcError, AssertionError):
    """A program exceeds a budget of a test."""


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
    """Compile a function and check it against budgets; it is not run.

    Args:
        fn: a function, a jitted function, or the result of `jxc.lower`.
        args, kwargs: arrays or `jax.ShapeDtypeStruct`s, or pytrees of them.
        pipeline: passes to run before compilation, such as "O2".
        target: the target to compile for, such as "gpu:h100" or "tpu:v5e:2x2"; no such hardware
            is needed.
        max_ops: StableHLO ops, after the passes.
        max_collectives: collectives in the optimized HLO, as often as they run.
        max_flops: of one run, such as 2e12 or "2T".
        max_memory: bytes in use at the peak, such as "12GiB".
        max_temporaries: bytes that are neither arguments nor results.
        forbid: HLO opcodes, element types, `collectives` and StableHLO ops that must not occur:
            "f64,all-gather,custom-call,stablehlo.sort".

    Raises:
        AssertionError: a budget is exceeded; the message says by how much and where.
        UsageError: no budget is given, or one cannot be parsed.
        JxcError: the function cannot be traced or compiled.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
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
    plain = lowered_for(fn, args, kwargs, target)
    lowered = plain if pipeline is None else plain.opt(pipeline, target=target)
    compiled = lowered.compile(target)
    memory = compiled.memory()
    measured = Measured(
        read_optimised(compiled.as_text("hlo"), find_target("cpu")),
        count_ops(lowered.module),
        peak_bytes(*(memory[name] for name in ("argument", "output", "temp", "alias"))),
        memory["temp"],
        stablehlo=plain.as_text(),
    )
    if problems := check(budgets, measured):
        raise BudgetExceeded("\n".join(f"{name_of(fn)}: {each}" for each in problems))


def lowered_for(
    fn: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], target: str | None
) -> Lowered:
    """A function lowered for a target; the result of `jxc.lower` needs no arguments."""
    lowered = fn if isinstance(fn, Lowered) else lower(fn, *args, **kwargs)
    if isinstance(fn, Lowered) and (args or kwargs):
        raise UsageError("expected no arguments for a function that is lowered already")
    if target is None or find_target(target).platform == lowered.platform:
        return lowered
    return lowered.for_target(target)
