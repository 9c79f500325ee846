"""Tuning that a user asks for: `jxc tune`, and `-O3` of a program that is compiled outside JAX."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
from jaxlib.mlir import ir

from ...backend import hook, registered
from ...backend.lowered import Lowered
from ...backend.targets import Target
from ...backend.tuning import NotTuned, TuneSettings, tuning
from ...backend.verdicts import TUNED, TuneVerdict, find_verdict, key_of, local_device
from ...check.fill import fill
from ...ir import clone_module
from ...rewrite import promises
from .estimated import rank

_AGAIN = TuneSettings(again=True)


def verdict_for(
    lowered: Lowered,
    target: Target,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    assume: tuple[str, ...] = (),
    settings: TuneSettings | None = None,
) -> TuneVerdict:
    """The stored verdict for a program on a target, or one found now.

    Args:
        lowered: the program, without passes.
        target: on hardware that is here candidates are timed, for other hardware estimated.
        args, kwargs: of the call to time; random values for types.
        assume: promises such as "no-nans".
        settings: the budget, if there is no stored verdict.

    Raises:
        NotTuned: as `tune_here` and `rank`.
    """
    settings = settings or TuneSettings()
    if not target.is_present:
        return rank(lowered, target, assume, settings)
    device = local_device(target.platform, jax.devices(target.platform)[0].device_kind)
    known = find_verdict(key_of(lowered.module, device, promises(assume)))
    if known is not None:
        return known
    args, kwargs = fill((args, kwargs or {}), "random")
    return tune_here(lowered, args, kwargs, assume, settings)


def tune_here(
    lowered: Lowered,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    assume: tuple[str, ...] = (),
    settings: TuneSettings = _AGAIN,
) -> TuneVerdict:
    """Tune a program on the device that it was lowered for, and store the verdict.

    Args:
        lowered: the program, without passes.
        args, kwargs: of the call that is timed, concrete.
        assume: promises such as "no-nans".
        settings: the budget.

    Raises:
        NotTuned: it must not be run several times, or there is not enough time or memory.
    """
    done: list[TuneVerdict | str] = []
    name = hook.context_value(TUNED, strict=True, assume=assume)
    module = clone_module(lowered.module)
    with module.context:
        module.operation.attributes[registered.STAMP] = ir.StringAttr.get(name or "")
    stamped = replace(lowered, module=module)
    with tuning(replace(settings, done=done.append)):
        stamped.compile()(*args, **kwargs)
    if not done:
        raise NotTuned("it is a tiny program, which O3 leaves to XLA")
    if isinstance(done[-1], str):
        raise NotTuned(done[-1])
    return done[-1]
