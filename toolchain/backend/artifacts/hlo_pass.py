"""A user's function on HLO text, run on one compilation and on no other.

    def drop_copies(hlo: str, context: jxc.rewrite.PassContext) -> str | None: ...
    drop_copies.stage = "pre-scheduler"

XLA calls what is registered with it for every module of the process: ours answers for one module,
by name, and is taken back when that is compiled.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from jax.extend import xla
from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...frontend.target import resolve_target
from ...ir import clone_module, read_module
from ...ir.hlo import (
    hlo_name,
    hlo_signature,
    read_hlo,
    without_entry_layout,
    without_stack_frames,
    write_hlo,
)
from ...ir.io import hlo_of_module
from ...rewrite import PassContext
from ...source import definition_line, home_of, user_line_of_traceback
from ..targets.build import device_count

HLO_STAGES = ("before", "pre-scheduler", "post-scheduler")
"""Before XLA's passes; after its optimisations; on the scheduled module. The latter: cpu only."""

_XLA_STAGES = {
    "pre-scheduler": xla.PipelineStage.PRE_SCHEDULER,
    "post-scheduler": xla.PipelineStage.POST_SCHEDULER,
}
_NAME = "jxc-hlo-pass"
_lock = threading.RLock()

Made = TypeVar("Made")


@dataclass(frozen=True)
class HloPass:
    """A function from HLO text, and what is known of the target, to HLO text or None.

    Attributes:
        name: for messages.
        function: called as `function(text, context)`; None says that nothing changes.
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
    """The function that "file.py:fn" names, at the stage that its attribute `stage` names.

    Raises:
        UsageError: there is none, or no such stage.
        ImportFailure: the file failed; the message names its line.
    """
    function = resolve_target(spelling).function
    return HloPass(spelling, function, getattr(function, "stage", "before"))


def compile_through(
    hlo_pass: HloPass,
    module: ir.Module,
    context: PassContext,
    compile_: Callable[[ir.Module], Made],
) -> Made:
    """What `compile_` makes of a module, the pass having run on it.

    Args:
        hlo_pass: the pass.
        module: what to compile; it stays as it is.
        context: what the pass is told.
        compile_: compiles a module, bypassing JAX's caches, which know nothing of the pass.

    Raises:
        JxcError: the pass raised, or returned what is not such a module; the message names the
            user's line. Or XLA refuses what it returned.
    """
    call = _Call(hlo_pass, context)
    if hlo_pass.stage == "before":
        _refuse_partitions(hlo_pass, module)
        return call.judge(compile_, _rewritten(module, call))
    if context.target != "cpu":
        raise UsageError(
            f"--hlo-pass {hlo_pass.name}: stage {hlo_pass.stage} is inside the compiler, which JAX "
            f"reaches for cpu only, not for {context.target}: stage before is for every target"
        )
    proto = hlo_of_module(module)
    with registered(_XLA_STAGES[hlo_pass.stage], hlo_name(proto), call.on_proto):
        return call.judge(compile_, clone_module(module))


def _refuse_partitions(hlo_pass: HloPass, module: ir.Module) -> None:
    """Shardings do not come back from HLO as they went in."""
    if (count := device_count(module)) > 1:
        raise UsageError(
            f"--hlo-pass {hlo_pass.name}: stage before is for programs of one device, and this is "
            f"for {count}: stage pre-scheduler is not"
        )


@contextlib.contextmanager
def registered(
    stage: xla.PipelineStage, name: str, callback: Callable[[bytes], bytes | None]
) -> Iterator[None]:
    """XLA:CPU hands the module called `name` to `callback`, for as long as this lasts.

    Args:
        stage: where in XLA's pipeline.
        name: of the HLO module; others pass by untouched.
        callback: from a serialised `HloModuleProto` to another, or to None. Must not raise.
    """

    def only_ours(proto: bytes) -> bytes | None:
        return callback(proto) if hlo_name(proto) == name else None

    with _lock:
        xla.register_hlo_module_transformation(only_ours, name=_NAME, stage=stage, platforms="cpu")
        try:
            yield
        finally:
            xla.clear_hlo_module_transformation(_NAME, stage, platforms="cpu")


def _rewritten(module: ir.Module, call: _Call) -> ir.Module:
    """The module after a pass on what XLA would be given."""
    changed = call.on_proto(hlo_of_module(module))
    call.raise_failure()
    if changed is None:
        return module
    made = read_module(write_hlo(changed), module.context, name=call.hlo_pass.name)
    for name in module.operation.attributes:
        if name not in made.operation.attributes:
            made.operation.attributes[name] = module.operation.attributes[name]
    return made


class _Call:
    """One run of a pass: what went wrong is kept, as XLA's own frames are no place to raise in."""

    def __init__(self, hlo_pass: HloPass, context: PassContext) -> None:
        self.hlo_pass = hlo_pass
        self.context = context
        self.ran = False
        self.changed = False
        self._failure: JxcError | None = None

    def on_proto(self, proto: bytes) -> bytes | None:
        """The pass, as XLA calls it."""
        self.ran = True
        try:
            made = self._checked(proto)
        except JxcError as failure:
            self._failure = failure
            return None
        self.changed = made is not None
        return made

    def raise_failure(self) -> None:
        """Say what went wrong, if anything did."""
        if self._failure is not None:
            raise self._failure

    def judge(self, compile_: Callable[[ir.Module], Made], module: ir.Module) -> Made:
        """Compile, and blame the pass where it is to blame."""
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
        before, after = map(_spell_signature, (proto, made))
        if before != after:
            raise JxcError(
                f"{where} changed the parameters or results, which its caller settles: expected "
                f"{before}, found {after}"
            )
        return made

    def _called(self, text: str) -> str | None:
        function = self.hlo_pass.function
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return function(text, self.context)
        except BaseException as error:  # sys.exit, too, would leave XLA half-way
            place = user_line_of_traceback(error.__traceback__, home_of(function))
            lines = [
                f"{place or self._place()}: --hlo-pass {self.hlo_pass.name} raised "
                f"{type(error).__name__}: {error}".rstrip(": ")
            ]
            raise JxcError("\n".join([*lines, *([place.quote()] if place else [])])) from error

    def _place(self) -> str:
        return str(definition_line(self.hlo_pass.function) or self.hlo_pass.name)


def _spell_signature(proto: bytes) -> str:
    parameters, result = hlo_signature(proto)
    return f"({', '.join(map(str, parameters))}) -> {result}"
