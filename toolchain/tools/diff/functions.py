"""`jxc.diff`: comparing two functions or stages from Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from jaxlib.mlir import ir

from ...backend.lowered import CrossExecutable, Executable, Lowered, lower
from ...backend.targets import find_target, require
from ...errors import UsageError
from ...ir import make_context, read_module, write_bytecode
from .compare import compare
from .output import ComparedProgram, ProgramComparison

_Side = Callable[..., Any] | Lowered | Executable | CrossExecutable


def diff(
    one: _Side,
    other: _Side,
    /,
    *args: Any,
    target: str | None = "cpu",
    stage: Literal["stablehlo", "hlo"] = "stablehlo",
    xla_options: Mapping[str, Any] | None = None,
    **kwargs: Any,
) -> ProgramComparison:
    """Compare two programs by op and line, and what a compiler makes of them, as `jxc diff`.

        print(jxc.diff(before, after, x))
        low = jxc.lower(step, x)
        assert not jxc.diff(low, low.opt("O2")).is_same

    Args:
        one, other: functions, or values of `jxc.lower`, `opt` and `compile`.
        args, kwargs: of the functions, as for `jxc.lower`; stages have theirs.
        target: what both are compiled for; None to compare the modules only, which is faster.
        stage: which ops are compared: "hlo" means optimized HLO.
        xla_options: XLA's options by name.

    Returns:
        The comparison: `is_same`, `difference`, `metrics`; printing it prints the table.

    Raises:
        UsageError: there are arguments and no function, or stage "hlo" has no target.
        JxcError: a function cannot be lowered, or a program cannot be compiled.
    """
    if (args or kwargs) and not any(map(_is_function, (one, other))):
        raise UsageError("jxc.diff: expected arguments for functions only; stages have theirs")
    if target is None and stage == "hlo":
        raise UsageError("jxc.diff: stage 'hlo' needs the compiler: give a target")
    found = None if target is None else find_target(target)
    if found is not None:
        require(found)
    context = make_context()
    sides = [
        _program(side, letter, args, kwargs, found, context)
        for side, letter in ((one, "A"), (other, "B"))
    ]
    return compare(*sides, stage=stage, xla_options=xla_options)


def _is_function(side: Any) -> bool:
    return not isinstance(side, Lowered | Executable | CrossExecutable)


def _program(
    side: Any, letter: str, args: Any, kwargs: Any, target: Any, context: ir.Context
) -> ComparedProgram:
    if _is_function(side):
        if not callable(side):
            raise UsageError(
                f"jxc.diff: expected a function or a value of jxc.lower, found {side!r:.80}"
            )
        lowered = lower(side, *args, **kwargs)
        if target is not None and lowered.platform != target.platform:
            lowered = lowered.for_target(target.name)
    else:
        lowered = side if isinstance(side, Lowered) else side.lowered
    module = read_module(write_bytecode(lowered.module), context, name=lowered.name)
    rules = lowered.report.hits if lowered.report else {}
    return ComparedProgram(
        lowered.name, module, "", lowered.pipeline, target, rules=rules, seconds=lowered.seconds
    )
