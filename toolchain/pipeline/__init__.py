"""Pipelines: passes found by name, run in order, with checks, reports and instruments."""

from __future__ import annotations

from .instruments import Instrument
from .invariants import BrokenInvariant, Invariants
from .levels import LEVELS
from .library import Library, load_passes, our_passes
from .pipeline import Pipeline, PipelineLike, PipelineStep, make_pipeline
from .report import PipelineReport, StepReport
from .run import PassError, opt, run_pipeline

__all__ = [
    "LEVELS",
    "BrokenInvariant",
    "Instrument",
    "Invariants",
    "Library",
    "PassError",
    "Pipeline",
    "PipelineLike",
    "PipelineReport",
    "PipelineStep",
    "StepReport",
    "load_passes",
    "make_pipeline",
    "opt",
    "our_passes",
    "run_pipeline",
]
