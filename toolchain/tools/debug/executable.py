"""A program with results beside the user's: compiled, run, and taken apart again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...backend import hook
from ...backend.extra_results import compile_with_extra_results
from ...backend.lowered import Executable, Lowered
from ...ir import clone_module
from ...ir.extra_results import ExtraResults, drop_extra_results, extra_results
from ...pipeline import make_pipeline, run_pipeline
from ...rewrite import PassContext
from .finding import Finding, NanError, bad_results, find, with_statistics
from .origin import Recorded
from .traced import TracedValue, traced_values


@dataclass(frozen=True)
class Seen:
    """What instrumenting passes saw in one run.

    Attributes:
        nans: where the first NaN comes from, by `locate-nans`; None without one.
        values: what `trace-values` was asked for, in program order.
        left_out: how many values it was asked for beyond the number that it traces.
    """

    nans: Finding | None = None
    values: tuple[TracedValue, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class Instrumented(Executable):
    """A compiled program that passes have instrumented. Called as any other is.

    It returns what the program returns. Arguments that the program would have eaten (donated ones)
    stay, so that it can be run on them once more.

    Attributes:
        added: what the passes added to its results.
        xla_options: what it was compiled with.
    """

    added: tuple[ExtraResults, ...] = ()
    xla_options: Mapping[str, Any] | None = field(default=None, compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run it.

        Raises:
            NanError: `locate-nans` found one; the error has the outputs too.
        """
        outputs, seen = self.run(*args, **kwargs)
        if seen.nans:
            raise NanError(seen.nans, outputs)
        return outputs

    def run(self, *args: Any, **kwargs: Any) -> tuple[Any, Seen]:
        """What the program returns, and what was seen meanwhile. Waits until it is done."""
        outputs, beside = self.compiled(*args, **kwargs)
        numbers = [np.asarray(each, np.float64) for each in beside]
        nans: Finding | None = None
        values: list[TracedValue] = []
        for added, each in zip(self.added, numbers, strict=True):
            if added.by == "trace-values":
                values += traced_values(added.table, each.tolist())
            elif added.by == "locate-nans" and nans is None:
                nans = self._nan(added.table, each.tolist(), args, kwargs)
        left_out = sum(each.table.get("left_out", 0) for each in self.added)
        return outputs, Seen(nans, tuple(values), left_out)

    def _nan(
        self, table: dict[str, Any], numbers: list[float], args: Any, kwargs: Any
    ) -> Finding | None:
        if table["watch"] != "results":
            found = find(Recorded(table, numbers))
            return found[0] if found else None
        reached = bad_results(table, numbers)
        if not reached:
            return None
        watched = self._watching(table["infs"])
        found = find(watched.record(args, kwargs))
        if found is None:
            what = "NaN or infinity" if table["infs"] else "NaN"
            return Finding(what, "unknown", "", reaches=tuple(reached))
        finding, number = found
        if finding.cause and finding.cause.kind == "carried" and not table["infs"]:
            finding = replace(finding, cause=self._overflow(args, kwargs) or finding.cause)
        if number < 0:
            return finding
        closer = self._watching(table["infs"], number)
        return with_statistics(finding, closer.record(args, kwargs))

    def _overflow(self, args: Any, kwargs: Any) -> Finding | None:
        """The op that made the first infinity, where that is what the first bad value is."""
        found = find(self._watching(True).record(args, kwargs))
        return found[0] if found and found[0].what == "infinity" else None

    def record(self, args: Any, kwargs: Any) -> Recorded:
        """What was written down of every value, by `locate-nans{watch=values}` as the last pass."""
        _, beside = self.compiled(*args, **kwargs)
        return Recorded(self.added[-1].table, np.asarray(beside[-1], np.float64).tolist())

    def _watching(self, infs: bool, detail: int = -1) -> Instrumented:
        """The program in which every value is looked at; made once it is needed."""
        known = self._watched
        if (infs, detail) not in known:
            if len(known) > _KEPT:
                known.clear()
            module = clone_module(self.lowered.module)
            drop_extra_results(module.operation)
            infs_text = str(infs).lower()
            text = f"locate-nans{{watch=values infs={infs_text} detail={detail}}}"
            kind = hook.kind_of_platform(self.lowered.platform)
            run_pipeline(module, make_pipeline(text), PassContext(kind))
            known[infs, detail] = compiled(self.lowered, module, self.xla_options)
        return known[infs, detail]

    @cached_property
    def _watched(self) -> dict[tuple[bool, int], Instrumented]:
        return {}


_KEPT = 8  # programs that look at every value; they are as large as the program itself


def compiled(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> Instrumented:
    """Compile `module`, an instrumented form of a lowered program.

    Raises:
        UsageError: the program changes arguments in place, and so cannot run twice.
    """
    done = compile_with_extra_results(lowered, module, xla_options)
    return Instrumented(done, lowered, tuple(extra_results(module)), xla_options)
