"""Running a program that `locate-nans` or `trace-values` has instrumented.

These passes add results to the program. Calling the executable returns the user's results alone,
and turns the added ones into findings. `locate-nans` watches only the results at first. Once one of
them holds a NaN, two more programs run on the same arguments: one records every value, which gives
the op; one records statistics of that op's operands and results. They are compiled when needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ...backend.extra_results import compile_with_extra_results
from ...backend.lowered import Executable, Lowered
from ...frontend import kind_of_platform
from ...ir import clone_module
from ...ir.extra_results import ExtraResults, drop_extra_results, extra_results
from ...pipeline import make_pipeline, run_pipeline
from ...rewrite import PassContext
from .finding import NanError, NanFinding, bad_results, find_first, with_statistics
from .origin import NanRecord
from .values import TracedValue, traced_values

_MAX_PROGRAMS = 8  # that record every value and are kept; each is as large as the program itself


@dataclass(frozen=True)
class Observations:
    """What instrumenting passes recorded in one run.

    Attributes:
        nans: where the first NaN comes from, by `locate-nans`; None without a NaN.
        values: the values that `trace-values` was asked for, in program order.
        left_out: the number of further values with a matching name that it does not trace.
    """

    nans: NanFinding | None = None
    values: tuple[TracedValue, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, repr=False)
class Instrumented(Executable):
    """A compiled program that passes have instrumented. It is called as any other executable.

    Donated arguments stay valid, so that it can run on them again.

    Attributes:
        added: the results that the passes added.
        xla_options: the options that it was compiled with.
    """

    added: tuple[ExtraResults, ...] = ()
    xla_options: Mapping[str, Any] | None = field(default=None, compare=False)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Raises:
            NanError: `locate-nans` found a NaN; the error holds the outputs too.
        """
        outputs, observations = self.run(*args, **kwargs)
        if observations.nans:
            raise NanError(observations.nans, outputs)
        return outputs

    def run(self, *args: Any, **kwargs: Any) -> tuple[Any, Observations]:
        """The program's outputs, and what was recorded. Waits until the program is done."""
        outputs, added_outputs = self.compiled(*args, **kwargs)
        nans: NanFinding | None = None
        values: list[TracedValue] = []
        for added, output in zip(self.added, added_outputs, strict=True):
            numbers = np.asarray(output, np.float64).tolist()
            if added.by == "trace-values":
                values += traced_values(added.table, numbers)
            elif added.by == "locate-nans" and nans is None:
                nans = self._nan(added.table, numbers, args, kwargs)
        left_out = sum(each.table.get("left_out", 0) for each in self.added)
        return outputs, Observations(nans, tuple(values), left_out)

    def _nan(
        self, table: dict[str, Any], numbers: list[float], args: Any, kwargs: Any
    ) -> NanFinding | None:
        if table["watch"] != "results":
            found = find_first(NanRecord(table, numbers))
            return found[0] if found else None
        names = bad_results(table, numbers)
        if not names:
            return None
        infs = table["infs"]
        found = find_first(self._record(args, kwargs, infs))
        if found is None:
            what = "NaN or infinity" if infs else "NaN"
            return NanFinding(what, "unknown", "", reaches=tuple(names))
        finding, op_number = found
        if finding.cause and finding.cause.kind == "carried" and not infs:
            # The op that made the first infinity, if it comes before the first NaN.
            first = find_first(self._record(args, kwargs, infs=True))
            if first and first[0].what == "infinity":
                finding = replace(finding, cause=first[0])
        if op_number < 0:
            return finding
        return with_statistics(finding, self._record(args, kwargs, infs, op_number))

    def _record(self, args: Any, kwargs: Any, infs: bool, detail: int = -1) -> NanRecord:
        """Run a program that records every value, and statistics of the op with number `detail`."""
        programs = self._recording_programs
        if (infs, detail) not in programs:
            if len(programs) > _MAX_PROGRAMS:
                programs.clear()
            module = clone_module(self.lowered.module)
            drop_extra_results(module.operation)
            text = f"locate-nans{{watch=values infs={str(infs).lower()} detail={detail}}}"
            kind = kind_of_platform(self.lowered.platform)
            run_pipeline(module, make_pipeline(text), PassContext(kind))
            programs[infs, detail] = compiled(self.lowered, module, self.xla_options)
        program = programs[infs, detail]
        _, added_outputs = program.compiled(*args, **kwargs)
        return NanRecord(
            program.added[-1].table, np.asarray(added_outputs[-1], np.float64).tolist()
        )

    @cached_property
    def _recording_programs(self) -> dict[tuple[bool, int], Instrumented]:
        return {}


def compiled(
    lowered: Lowered, module: ir.Module, xla_options: Mapping[str, Any] | None = None
) -> Instrumented:
    """Compile `module`, an instrumented form of a lowered program.

    Raises:
        UsageError: the program changes arguments in place, so it cannot run twice.
    """
    done = compile_with_extra_results(lowered.jax_lowered, module, xla_options)
    return Instrumented(done, lowered, tuple(extra_results(module)), xla_options)
