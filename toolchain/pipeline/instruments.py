"""Instruments, which watch a run of a pipeline, such as the one that prints around passes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from jaxlib.mlir import ir

from ..ir import write_text
from ..ir.module import module_name
from .pipeline import PipelineStep
from .report import StepReport


class Instrument(Protocol):
    """Watches a run: called before and after each pass. Must not change the module."""

    def before(self, step: PipelineStep, module: ir.Module) -> None: ...
    def after(self, step: PipelineStep, module: ir.Module, report: StepReport) -> None: ...


@runtime_checkable
class FailureInstrument(Protocol):
    """An instrument that is also called when a pass failed."""

    def failed(self, step: PipelineStep, module: ir.Module) -> None: ...


@dataclass
class PrintIR:
    """Prints the module before and after passes, under MLIR's headers.

    Attributes:
        emit: called with each piece of text.
        before_names: names of passes to print before; "*" for all.
        after_names: names of passes to print after; "*" for all.
        only_changes: print after a pass only if it changed the module.
        only_failures: print after a pass only if it failed.
        text_options: keyword arguments of `write_text`.
        folder: write each text to a file of its own below this folder instead.
        written: the files of this run; others are overwritten.
    """

    emit: Callable[[str], None]
    before_names: frozenset[str] = frozenset()
    after_names: frozenset[str] = frozenset()
    only_changes: bool = False
    only_failures: bool = False
    text_options: dict[str, object] = field(default_factory=dict)
    folder: Path | None = None
    written: set[Path] = field(default_factory=set)
    _last: str = ""
    _number: int = -1

    def before(self, step: PipelineStep, module: ir.Module) -> None:
        self._number += 1
        if not self.before_names.isdisjoint((step.name, "*")):
            self._print("Before", step, module)
        if self.only_changes:
            self._last = self._text(module)

    def after(self, step: PipelineStep, module: ir.Module, report: StepReport) -> None:
        if self.only_failures:
            is_chosen = False
        elif self.only_changes:
            is_chosen = self._text(module) != self._last
        else:
            is_chosen = not self.after_names.isdisjoint((step.name, "*"))
        if is_chosen:
            self._print("After", step, module)

    def failed(self, step: PipelineStep, module: ir.Module) -> None:
        if self.only_failures:
            self._print("After", step, module, note=" Failed")

    def _text(self, module: ir.Module) -> str:
        return write_text(module, **self.text_options)  # type: ignore[arg-type]

    def _print(self, when: str, step: PipelineStep, module: ir.Module, note: str = "") -> None:
        text = f"// -----// IR Dump {when} {step}{note} //----- //\n{self._text(module)}\n"
        if self.folder is None:
            self.emit(text)
        else:
            path = self.folder / _folder_name(module) / f"{self._number}_{step.name}.mlir"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if path in self.written else "w", encoding="utf-8") as file:
                file.write(text)
            self.written.add(path)


def _folder_name(module: ir.Module) -> str:
    """The name that MLIR gives to the folder of a module."""
    name = module_name(module) if "sym_name" in module.operation.attributes else "no-symbol-name"
    return "builtin_module_" + re.sub(r"[^\w.-]", "_", name)
