"""Pipelines: passes found by name, run in order, verified, printed and timed."""

from __future__ import annotations

from .invariants import BrokenInvariant, Invariants
from .levels import LEVELS
from .library import Library, load_passes, our_passes
from .pipeline import Pipeline, PipelineLike, Step, make_pipeline
from .run import Instrument, PassError, Report, StepReport, opt, run_pipeline

__all__ = [
    "LEVELS",
    "BrokenInvariant",
    "Instrument",
    "Invariants",
    "Library",
    "PassError",
    "Pipeline",
    "PipelineLike",
    "Report",
    "Step",
    "StepReport",
    "load_passes",
    "make_pipeline",
    "opt",
    "our_passes",
    "run_pipeline",
]
