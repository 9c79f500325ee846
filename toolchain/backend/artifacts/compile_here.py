"""Compiling for a target with a pass on HLO; here, past every cache, whose keys know none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...ir import clone_module
from ...ir.extra_results import EXTRA_RESULTS
from ...rewrite import PassContext
from .. import _private
from ..interception import compiled_by
from ..lowered import CrossExecutable, Executable, Lowered
from ..targets import Target
from ..targets.build import build
from .hlo_pass import compile_through, find_hlo_pass

_OF_CPU = "xla.cpu.BackendConfig"  # what XLA looks for in optimised HLO, and calls it


def compile_with(
    lowered: Lowered,
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    name: str = "-",
) -> Executable | CrossExecutable:
    """A program compiled for a target: here for this machine's CPU, in another process otherwise.

    Args:
        lowered: the program, lowered for that target's platform, after our passes.
        target: what for.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.
        name: of the program's file, for XLA's messages.

    Raises:
        JxcError: XLA refuses it, or the pass failed.
    """
    if target.name != "cpu":
        made = build(lowered.module, target, xla_options=xla_options, hlo_pass=hlo_pass)
        return CrossExecutable(made, lowered)
    try:
        return _here(lowered, xla_options, hlo_pass)
    except (RuntimeError, ValueError) as error:
        message = str(error).replace(" -:", f" {name}:")
        if _OF_CPU in message:
            message += "\n  Was it optimised for another target? Only the cpu's is compiled on for."
        raise JxcError(f"XLA does not compile it: {message}") from error


def _here(lowered: Lowered, xla_options: Mapping[str, Any] | None, hlo_pass: str | None) -> Any:
    if hlo_pass is None:
        return lowered.compile(xla_options=xla_options)
    if EXTRA_RESULTS in lowered.module.operation.attributes:
        raise UsageError("--hlo-pass: a program that a pass has added results to is run without")
    return compile_through(
        find_hlo_pass(hlo_pass),
        lowered.module,
        PassContext("cpu"),
        lambda module: compile_here(lowered, module, xla_options),
    )


def compile_here(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> Executable:
    """Compile `module`, which is called as `lowered` is, for the devices that that was lowered for.

    JAX's persistent cache is neither asked nor written, and its cache in memory knows no copy.
    """
    copy = clone_module(module)
    carrying = _private.with_module(lowered.jax_lowered, copy)
    with compiled_by(copy, lambda plain: plain()):
        return Executable(carrying.compile(dict(xla_options or {}) or None), lowered)
