"""Pipelines: passes found by name, run in order, with checks, reports and instruments."""

from __future__ import annotations

from .instruments import Instrument as Instrument
from .invariants import BrokenInvariant as BrokenInvariant, Invariants as Invariants
from .levels import LEVELS as LEVELS
from .library import Library as Library, load_passes as load_passes, our_passes as our_passes
from .pipeline import (
    Pipeline as Pipeline,
    PipelineLike as PipelineLike,
    PipelineStep as PipelineStep,
    make_pipeline as make_pipeline,
)
from .report import PipelineReport as PipelineReport, StepReport as StepReport
from .run import PassError as PassError, opt as opt, run_pipeline as run_pipeline
