"""`jxc.fit`: a budget of memory goes in, a checked plan comes out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ...backend.lowered import Lowered, lower
from ...backend.targets import Target, find_target
from ...display.progress import progress as line_of_progress
from ...errors import UsageError
from ...units import parse_bytes
from .measure import require_measurable, with_measurements
from .result import FitResult
from .search import search


def fit(
    program: Lowered | Callable[..., Any],
    /,
    *args: Any,
    target: Target | str | None = None,
    max_memory: int | str | None = None,
    pipeline: str = "O2",
    seconds: float = 300.0,
    exact: bool = False,
    measure: bool = False,
    progress: Callable[[str], None] | None = None,
    **kwargs: Any,
) -> FitResult:
    """Find the cheapest plan with which a program fits into memory.

        found = jxc.fit(step, params, batch, target="tpu:v5e", max_memory="14GiB")
        found.save("plan.toml")
        step = jxc.jit(step, pipeline="plan.toml")

    Args:
        program: a function, what `jax.jit` made of one, or the result of `jxc.lower`.
        args, kwargs: of a function, as `jxc.lower` takes them; none for a lowered program.
        target: the hardware, which need not be present: "cpu" (the default), "tpu:v5e".
        max_memory: bytes of one device, or a size such as "14GiB"; the device's by default.
        pipeline: the passes that run after those of the plan, as text.
        seconds: no further version is compiled after so many. Ctrl-C ends the search as well; both
            give the best plan found until then.
        exact: whether only measures are tried that keep each bit of the results: the batch does not
            run in parts, whose sums are added in another order.
        measure: run the chosen version and the one without a plan on this machine's CPU, which the
            target must be, and add their measured peak and time to the result.
        progress: called with a description of each step; by default, a terminal or a notebook
            shows it if it takes long.

    Raises:
        MissingTargetError: the target's compiler is not installed.
        UsageError: an argument is wrong, or the device's memory is not known.
        JxcError: the program cannot be lowered or compiled for the target.
    """
    if isinstance(program, Lowered):
        if args or kwargs:
            raise UsageError("fit: a lowered program has its arguments; expected fit(lowered)")
        lowered = program
    elif callable(program):
        lowered = lower(program, *args, **kwargs)
    else:
        raise UsageError(
            "fit: expected a function with its arguments, or what jxc.lower returns; found "
            f"{type(program).__name__}"
        )
    hardware = target if isinstance(target, Target) else find_target(target or "cpu")
    budget = parse_bytes(max_memory) if isinstance(max_memory, str) else max_memory
    budget = hardware.device.memory_bytes if budget is None else budget
    if budget <= 0:
        raise UsageError(
            f"the memory of {hardware.name} is not known: give max_memory, such as '14GiB'"
        )
    if measure:
        require_measurable(hardware)
    with contextlib.ExitStack() as stack:
        tell = progress or stack.enter_context(line_of_progress(f"lowering for {hardware.name}"))
        found = search(
            lowered,
            hardware,
            budget,
            pipeline=pipeline,
            seconds=seconds,
            exact=exact,
            tell=tell,
        )
        if not measure:
            return found
        return with_measurements(found, lowered, args, kwargs, pipeline=pipeline, tell=tell)
