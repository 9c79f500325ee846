"""One pass of a pipeline, with its options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..rewrite import Pass
from .text import Element


@dataclass(frozen=True)
class PipelineStep:
    """One pass of a pipeline.

    Attributes:
        element: its name and options as written.
        python: the pass, if it is written in Python; None for a native pass of MLIR.
        options: by parameter name, parsed as the pass declares them.
        made_for: for a step of a plan: the name of the program for which the plan was made.
    """

    element: Element
    python: Pass | None = None
    options: dict[str, Any] = field(default_factory=dict)
    made_for: str = ""

    @property
    def name(self) -> str:
        return self.element.name

    def __str__(self) -> str:
        return str(self.element)
