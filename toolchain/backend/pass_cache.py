"""Results of pipelines in JAX's persistent compilation cache: the next process runs no passes.

If the user has JAX's persistent cache on (`jax_compilation_cache_dir`), the rewritten modules are
kept in its subfolder `jxc`. The key is a digest of the module that JAX lowered, of the pipeline, of
the code of its passes, and of the versions that they run on. As in JAX's own key, locations do not
count, unless `jax_compilation_cache_include_metadata_in_key` is set. JAX's limit on the size of its
cache holds for the subfolder too, or a limit of its own if JAX has none. There is none on the time
or the size of an entry: one program that is not found makes the process import all passes.

Caches on remote file systems, and programs that call back into Python, are left out.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxlib import version as jaxlib_version
from jaxlib.mlir import ir

from ..cost.device import Device
from ..cost.rates import Rates
from ..files import from_json, parse_json
from ..ir import write_bytecode
from ..pipeline import Pipeline, PipelineReport, StepReport
from ..rewrite import PassContext, RuleCount
from . import _private
from .pass_code import NoKey, is_empty, is_own_code_unchanged, own_code, pipeline_key
from .store import Store

FOLDER = "jxc"
"""The subfolder of JAX's cache folder."""

DEFAULT_LIMIT = 1 << 30
"""Bytes in the subfolder, if `jax_compilation_cache_max_size` sets no limit."""

_POINTERS = (b"CustomSPMDPartitioning",)  # calls whose attributes are addresses in this process


@dataclass(frozen=True)
class PipelineResult:
    """A rewritten module, and the report of the run that made it.

    Attributes:
        module: the module for XLA.
        report: the work of each pass; its times are 0 if it comes from the cache.
        ops: ops in the module that JAX lowered, and in `module`.
    """

    module: ir.Module
    report: PipelineReport
    ops: tuple[int, int]


@dataclass(frozen=True)
class PassCache:
    """The entry for one pipeline on one module, which may be absent."""

    store: Store
    key: str

    def read(self, context: ir.Context) -> PipelineResult | None:
        """The result, with its module in `context`; None if the entry is absent or damaged."""
        data = self.store.get(self.key)
        if data is None:
            return None
        header, _, bytecode = data.partition(b"\n")
        try:
            facts: _Facts = from_json(_Facts, parse_json(header))
            with context:
                module = ir.Module.parse(bytecode, context)
        except (ir.MLIRError, ValueError):
            self.store.remove(self.key)
            return None
        return PipelineResult(module, PipelineReport(list(map(_step_of, facts.steps))), facts.ops)

    def write(self, result: PipelineResult) -> None:
        """Keep a result, unless the passes that made it may differ from those of the key."""
        if not is_own_code_unchanged():
            return
        facts = _Facts(tuple(map(_facts_of, result.report.steps)), result.ops)
        header = json.dumps(asdict(facts)).encode()
        self.store.put(self.key, header + b"\n" + write_bytecode(result.module))


_StepFacts = tuple[str, tuple[tuple[str, int, int], ...]]
"""The name of a step; the name, hits and tries of each of its rules."""


@dataclass(frozen=True)
class _Facts:
    """The header of an entry: the steps that ran, and the ops before and after."""

    steps: tuple[_StepFacts, ...]
    ops: tuple[int, int]


def _facts_of(step: StepReport) -> _StepFacts:
    rules = tuple((rule.name, rule.hits, rule.tries) for rule in step.rules if rule.tries)
    return step.name, rules


def _step_of(facts: _StepFacts) -> StepReport:
    name, rules = facts
    return StepReport(name, 0.0, tuple(RuleCount(*each) for each in rules))


def pass_cache(
    module: ir.Module,
    pipeline: Pipeline | str,
    context: PassContext,
    backend: Any,
    host_callbacks: Sequence[Any] = (),
) -> PassCache | None:
    """The entry for a pipeline on a module; None where results are not kept.

    Args:
        module: as JAX lowered it, without the stamp.
        pipeline: the passes, or the name of a level.
        context: what the passes may decide by.
        backend: jaxlib's client, which compiles the result.
        host_callbacks: as JAX passes them to the compiler.
    """
    folder, limit = _private.persistent_cache(backend)
    is_remote = folder is not None and "://" in folder
    if folder is None or is_remote or host_callbacks or limit == 0 or is_empty(pipeline):
        return None
    try:
        code, steps = own_code(), pipeline_key(pipeline)
    except (NoKey, OSError):
        return None
    data = _private.bytecode_for_key(module)
    if code is None or any(each in data for each in _POINTERS):
        return None
    parts = [code, steps, _context_key(context), sys.version, jax.__version__]
    digest = hashlib.sha256(data)
    digest.update("\0".join([*parts, jaxlib_version.__version__, np.__version__]).encode())
    store = Store(Path(folder) / FOLDER, limit if limit > 0 else DEFAULT_LIMIT)
    return PassCache(store, digest.hexdigest())


def _context_key(context: PassContext) -> str:
    values = {each.name: getattr(context, each.name) for each in fields(context)}
    for name, value in values.items():
        if isinstance(value, frozenset):
            values[name] = sorted(value)
        elif isinstance(value, Rates):
            values[name] = (value.target, sorted({**value.of_device, **value.measured}.items()))
        elif isinstance(value, Device):
            values[name] = value.name
    return repr(values)
