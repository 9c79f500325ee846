"""Instruments, which watch a run of a pipeline; one that prints the module around passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from jaxlib.mlir import ir

from ..ir import write_text
from .pipeline import PipelineStep
from .report import StepReport


class Instrument(Protocol):
    """Watches a run: called before and after each pass. Must not change the module."""

    def before(self, step: PipelineStep, module: ir.Module) -> None: ...
    def after(self, step: PipelineStep, module: ir.Module, report: StepReport) -> None: ...


@dataclass
class PrintIR:
    """Prints the module before and after passes, under MLIR's headers.

    Attributes:
        emit: called with each piece of text.
        before_names: names of passes to print before; "*" for all.
        after_names: names of passes to print after; "*" for all.
        only_changes: print after a pass only if it changed the module.
        text_options: keyword arguments of `write_text`.
    """

    emit: Callable[[str], None]
    before_names: frozenset[str] = frozenset()
    after_names: frozenset[str] = frozenset()
    only_changes: bool = False
    text_options: dict[str, object] = field(default_factory=dict)
    _last: str = ""

    def before(self, step: PipelineStep, module: ir.Module) -> None:
        if not self.before_names.isdisjoint((step.name, "*")):
            self._print("Before", step, module)
        if self.only_changes:
            self._last = self._text(module)

    def after(self, step: PipelineStep, module: ir.Module, report: StepReport) -> None:
        if self.only_changes:
            is_chosen = self._text(module) != self._last
        else:
            is_chosen = not self.after_names.isdisjoint((step.name, "*"))
        if is_chosen:
            self._print("After", step, module)

    def _text(self, module: ir.Module) -> str:
        return write_text(module, **self.text_options)  # type: ignore[arg-type]

    def _print(self, when: str, step: PipelineStep, module: ir.Module) -> None:
        self.emit(f"// -----// IR Dump {when} {step} //----- //\n{self._text(module)}\n")
