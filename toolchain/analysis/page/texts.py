"""The texts of a program at each stage, from values of jxc's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxlib.mlir import ir

from ...backend.hook import kind_of_platform
from ...ir import clone_module
from ...pipeline import PipelineLike, make_pipeline, run_pipeline
from ...pipeline.pipeline import Step
from ...pipeline.run import StepReport
from ...rewrite import Facts
from ..recompiles.records import Texts

if TYPE_CHECKING:
    from ...backend.lowered import CrossExecutable, Executable, Lowered

MOST_ELEMENTS = 16  # of a constant that is printed whole: a text is for reading


def module_text(module: ir.Module) -> str:
    """A module with its locations; constants of more than 16 elements are left out."""
    return module.operation.get_asm(enable_debug_info=True, large_elements_limit=MOST_ELEMENTS)


class PassTexts:
    """An instrument of `run_pipeline` that keeps the module after each pass that changed it.

    Attributes:
        found: the passes' names and the texts, in order.
    """

    def __init__(self, module: ir.Module) -> None:
        self.first = self._last = module_text(module)
        self.found: list[tuple[str, str]] = []

    def before(self, step: Step, module: ir.Module) -> None:
        """Nothing is to be kept before a pass."""

    def after(self, step: Step, module: ir.Module, report: StepReport) -> None:
        """Keep the text where it is another."""
        is_of_rules = step.python is not None and step.python.roots is not None
        if is_of_rules and not any(count.hits for count in report.rules):
            return
        text = module_text(module)
        if text != self._last:
            self.found.append((step.name, text))
        self._last = text


def texts_of(
    lowered: Lowered,
    pipeline: PipelineLike = "",
    executable: Executable | CrossExecutable | None = None,
) -> Texts:
    """What a page shows of a lowered program.

    Args:
        lowered: the program as JAX lowered it; it stays as it is.
        pipeline: whose passes are to be shown; empty for none.
        executable: what XLA made of the result; there is no HLO where it is None.
    """
    module = clone_module(lowered.module)
    watch = PassTexts(module)
    if pipeline:
        facts = Facts(kind_of_platform(lowered.platform), frozenset())
        run_pipeline(module, make_pipeline(pipeline), facts, instruments=[watch])
    return Texts(
        jaxpr=lowered.jaxpr if lowered.has_jaxpr else None,
        stablehlo=watch.first,
        passes=tuple(watch.found),
        hlo=executable.as_text() if executable else "",
    )
