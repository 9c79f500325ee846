"""A user's function on HLO text, run inside one compilation, and the compilation around it.

    def drop_copies(hlo: str, context: jxc.rewrite.PassContext) -> str | None: ...
    drop_copies.stage = "pre-scheduler"

At the stage "before", the function gets the program as HLO before XLA's passes, and its result is
compiled. At the other stages XLA calls it: XLA passes every module that the process compiles to a
registered callback, so ours changes the module of one name only, and is unregistered afterwards.
JAX's caches are bypassed, because their keys do not include the function.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from jax.extend import xla
from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...frontend.target import resolve_target
from ...ir import clone_module, read_module
from ...ir.extra_results import EXTRA_RESULTS
from ...ir.hlo import (
    hlo_name,
    hlo_signature,
    read_hlo,
    without_entry_layout,
    without_stack_frames,
    write_hlo,
)
from ...ir.io import hlo_of_module
from ...ir.shardings import module_device_count
from ...rewrite import PassContext
from ...source import definition_line, home_of, user_line_of_traceback
from .. import _private
from ..interception import compiled_by
from ..lowered import CrossExecutable, Executable, Lowered
from ..targets import Target
from ..targets.build import build

HLO_STAGES = ("before", "pre-scheduler", "post-scheduler")
"""Before XLA's passes; after its optimisations; on the scheduled module. The last two: cpu only."""

_XLA_STAGES = {
    "pre-scheduler": xla.PipelineStage.PRE_SCHEDULER,
    "post-scheduler": xla.PipelineStage.POST_SCHEDULER,
}
_NAME = "jxc-hlo-pass"
_lock = threading.RLock()

Made = TypeVar("Made")


@dataclass(frozen=True)
class HloPass:
    """A function that rewrites HLO text.

    Attributes:
        name: for messages.
        function: called as `function(text, context)`; returns HLO text, or None for no change.
        stage: one of `HLO_STAGES`.
    """

    name: str
    function: Callable[[str, PassContext], str | None]
    stage: str = "before"

    def __post_init__(self) -> None:
        if self.stage not in HLO_STAGES:
            raise UsageError(
                f"{self.name}.stage is {self.stage!r}: expected one of {', '.join(HLO_STAGES)}"
            )


def find_hlo_pass(spelling: str) -> HloPass:
    """The pass that "file.py:fn" names, at the stage in the function's attribute `stage`.

    Raises:
        UsageError: there is no such function or stage.
        ImportFailure: importing the file failed; the message names the line.
    """
    function = resolve_target(spelling).function
    return HloPass(spelling, function, getattr(function, "stage", "before"))


def compile_through(
    hlo_pass: HloPass,
    module: ir.Module,
    context: PassContext,
    compile_: Callable[[ir.Module], Made],
) -> Made:
    """Compile a module with a pass.

    Args:
        hlo_pass: the pass.
        module: the module; it is not changed.
        context: given to the pass.
        compile_: compiles a module, bypassing JAX's caches.

    Raises:
        JxcError: the pass raised, or returned something else than a module of the same signature;
            the message names the user's line. Or XLA refuses what it returned.
    """
    call = _HloPassCall(hlo_pass, context)
    if hlo_pass.stage == "before":
        if (count := module_device_count(module)) > 1:  # HLO has other shardings than StableHLO
            raise UsageError(
                f"--hlo-pass {hlo_pass.name}: stage before is for programs of one device, and this "
                f"is for {count}: stage pre-scheduler is not"
            )
        return call.judge(compile_, _rewritten(module, call))
    if context.target != "cpu":
        raise UsageError(
            f"--hlo-pass {hlo_pass.name}: stage {hlo_pass.stage} is inside the compiler, which JAX "
            f"reaches for cpu only, not for {context.target}: stage before is for every target"
        )
    proto = hlo_of_module(module)
    with registered(_XLA_STAGES[hlo_pass.stage], hlo_name(proto), call.on_proto):
        return call.judge(compile_, clone_module(module))


@contextlib.contextmanager
def registered(
    stage: xla.PipelineStage, name: str, callback: Callable[[bytes], bytes | None]
) -> Iterator[None]:
    """Within the block, XLA:CPU passes the module called `name` through `callback`.

    Args:
        stage: the position in XLA's pipeline.
        name: of the HLO module; other modules are not changed.
        callback: from a serialised `HloModuleProto` to another, or to None. Must not raise.
    """
    with _lock:
        xla.register_hlo_module_transformation(
            lambda proto: callback(proto) if hlo_name(proto) == name else None,
            name=_NAME,
            stage=stage,
            platforms="cpu",
        )
        try:
            yield
        finally:
            xla.clear_hlo_module_transformation(_NAME, stage, platforms="cpu")


def _rewritten(module: ir.Module, call: _HloPassCall) -> ir.Module:
    """The module after the pass, which gets it as HLO before XLA's passes."""
    changed = call.on_proto(hlo_of_module(module))
    call.raise_failure()
    if changed is None:
        return module
    made = read_module(write_hlo(changed), module.context, name=call.hlo_pass.name)
    for name in module.operation.attributes:
        if name not in made.operation.attributes:
            made.operation.attributes[name] = module.operation.attributes[name]
    return made


class _HloPassCall:
    """One run of a pass. Errors are kept and raised later: XLA calls it from C++."""

    def __init__(self, hlo_pass: HloPass, context: PassContext) -> None:
        self.hlo_pass = hlo_pass
        self.context = context
        self.ran = False
        self.changed = False
        self._failure: JxcError | None = None

    def on_proto(self, proto: bytes) -> bytes | None:
        """Run the pass, as XLA calls it."""
        self.ran = True
        try:
            made = self._checked(proto)
        except JxcError as failure:
            self._failure = failure
            return None
        self.changed = made is not None
        return made

    def raise_failure(self) -> None:
        """Raise what the pass raised, if anything."""
        if self._failure is not None:
            raise self._failure

    def judge(self, compile_: Callable[[ir.Module], Made], module: ir.Module) -> Made:
        """Compile, and name the pass in the error if it caused one."""
        try:
            made = compile_(module)
        except Exception as error:
            self.raise_failure()
            if self.changed:
                raise JxcError(
                    f"XLA does not compile what --hlo-pass {self.hlo_pass.name} returned: {error}"
                ) from error
            raise
        self.raise_failure()
        if not self.ran:
            raise JxcError(f"--hlo-pass {self.hlo_pass.name}: XLA did not call it")
        return made

    def _checked(self, proto: bytes) -> bytes | None:
        text = write_hlo(proto)
        returned = self._called(text)
        if returned is None or returned == text:
            return None
        where = f"{self._place()}: --hlo-pass {self.hlo_pass.name}"
        if not isinstance(returned, str):
            found = type(returned).__name__
            raise JxcError(f"{where} returned {found}: expected HLO text, or None for no change")
        if self.hlo_pass.stage != "before":
            returned = without_stack_frames(returned)
        returned = without_entry_layout(returned)
        made = read_hlo(returned, f"{where} returned HLO that does not parse")
        before, after = map(_show_signature, (proto, made))
        if before != after:
            raise JxcError(
                f"{where} changed the parameters or results, which the caller fixes: "
                f"expected {before}, found {after}"
            )
        return made

    def _called(self, text: str) -> str | None:
        function = self.hlo_pass.function
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return function(text, self.context)
        except BaseException as error:  # sys.exit, too, must not unwind XLA's frames
            place = user_line_of_traceback(error.__traceback__, home_of(function))
            lines = [
                f"{place or self._place()}: --hlo-pass {self.hlo_pass.name} raised "
                f"{type(error).__name__}: {error}".rstrip(": ")
            ]
            raise JxcError("\n".join([*lines, *([place.quote()] if place else [])])) from error

    def _place(self) -> str:
        return str(definition_line(self.hlo_pass.function) or self.hlo_pass.name)


def _show_signature(proto: bytes) -> str:
    parameters, result = hlo_signature(proto)
    return f"({', '.join(map(str, parameters))}) -> {result}"


_CPU_CONFIG = "xla.cpu.BackendConfig"  # in XLA's message about optimised HLO of other targets


def compile_with(
    lowered: Lowered,
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
    name: str = "-",
) -> Executable | CrossExecutable:
    """A program compiled for a target: in this process for its CPU, in another one otherwise.

    Args:
        lowered: the program, lowered for that target's platform, after our passes.
        target: the target.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.
        name: of the program's file, for messages.

    Raises:
        JxcError: XLA refuses it, or the pass failed.
    """
    if target.name != "cpu":
        made = build(lowered.module, target, xla_options=xla_options, hlo_pass=hlo_pass)
        return CrossExecutable(made, lowered)
    if hlo_pass and EXTRA_RESULTS in lowered.module.operation.attributes:
        raise UsageError(
            "--hlo-pass does not work with passes that add results (locate-nans, trace-values)"
        )
    try:
        if hlo_pass is None:
            return lowered.compile(xla_options=xla_options)
        return compile_through(
            find_hlo_pass(hlo_pass),
            lowered.module,
            PassContext("cpu"),
            lambda module: compile_here(lowered, module, xla_options),
        )
    except (RuntimeError, ValueError) as error:
        message = str(error).replace(" -:", f" {name}:")
        if _CPU_CONFIG in message:
            message += "\n  Was it optimised for another target? Only HLO of cpu can be compiled."
        raise JxcError(f"XLA does not compile it: {message}") from error


def compile_here(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> Executable:
    """Compile `module`, which has the signature of `lowered`, for the devices of `lowered`.

    JAX's caches are neither read nor written.
    """
    copy = clone_module(module)
    carrying = _private.with_module(lowered.jax_lowered, copy)
    with compiled_by(copy, lambda plain: plain()):
        return Executable(carrying.compile(dict(xla_options or {}) or None), lowered)
