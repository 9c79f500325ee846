"""Plans as files: TOML that says which passes run, and on which values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...files import write_output
from ...ir.labels import Label
from ...passes.rematerialize.selectors import Selector
from ...pipeline.plans import PLAN_VERSION


@dataclass(frozen=True)
class Measure:
    """One line of a plan: values that a pass chooses, and what that is expected to change.

    Attributes:
        selector: the values.
        values: their number.
        bytes: that this frees at the peak, by the model; with those of the other lines and of the
            split batch, they add up to all that the model expects.
        seconds: that computing them again or moving them adds, by the model, in the same way.
        section: the pass, "rematerialize" or "offload".
    """

    selector: Selector
    values: int
    bytes: int
    seconds: float
    section: str = "rematerialize"

    @property
    def label(self) -> Label:
        """Where the values were written."""
        return self.selector.label

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`, and as a table of the file."""
        found = dict(self.label.as_json())
        if self.selector.share != 1:
            found["share"] = self.selector.share
        if self.selector.keep_every:
            found["keep_every"] = self.selector.keep_every
        if self.selector.segments:
            found |= {"segments": self.selector.segments, "levels": self.selector.levels}
        return {**found, "values": self.values, "bytes": self.bytes, "seconds": self.seconds}


@dataclass(frozen=True)
class BatchSplit:
    """What parts of the batch, one after the other, are expected to change.

    Attributes:
        parts: their number.
        bytes: that they free at the peak, by the model.
        seconds: that they add, by the model.
    """

    parts: int
    bytes: int
    seconds: float


@dataclass(frozen=True)
class FitPlan:
    """How a program fits into memory.

    Attributes:
        pipeline: the passes, in MLIR's syntax; those with an option `plan` read this file.
        measures: the values that are computed again or kept on the host.
        made_for: the program, the target, and the numbers that the compiler gave.
        split: the parts of the batch; None if it is whole.
        rules: the shardings, as the pass `annotate-sharding` reads them; empty for one device.
        kernels: how often each replacement of the pass `kernels` applies.
    """

    pipeline: str
    measures: tuple[Measure, ...] = ()
    made_for: Mapping[str, str | int | float] = field(default_factory=dict)
    split: BatchSplit | None = None
    rules: str = ""
    kernels: Mapping[str, int] = field(default_factory=dict)

    def with_rules(self, rules: str) -> FitPlan:
        """The plan for a program that is split over devices by rules first."""
        pipeline = ",".join(filter(None, ["annotate-sharding", self.pipeline]))
        return replace(self, pipeline=pipeline, rules=rules)

    def of(self, section: str) -> list[Measure]:
        """The measures of one pass."""
        return [each for each in self.measures if each.section == section]

    def as_text(self) -> str:
        """The file."""
        lines = [
            "# A plan of `jxc fit`: how a program is split over devices, in how many parts its",
            "# batch runs, and which values are computed again or kept on the host, so that it",
            '# fits into memory. It is a pipeline: jxc.jit(step, pipeline="FILE"),',
            "# JXC_PIPELINE=FILE, jxc compile -p FILE. Entries match by op, function and text of",
            "# the line, so that sizes and the number of layers may change. The keys values, bytes",
            "# and seconds are notes.",
            f"version = {PLAN_VERSION}",
            f"pipeline = {_toml(self.pipeline)}",
            *_rules(self.rules),
            *_table("[made_for]", self.made_for),
        ]
        for each in self.measures:
            lines += _table(f"[[{each.section}]]", each.as_json())
        return "\n".join(lines) + "\n"

    def as_json(self) -> dict[str, Any]:
        """As an object for `--json`."""
        measures = [each.as_json() for each in self.of("rematerialize")]
        split = vars(self.split) if self.split else None
        return {
            "pipeline": self.pipeline,
            "made_for": dict(self.made_for),
            "split": split,
            "measures": measures,
            "rules": self.rules or None,
            "on_host": [each.as_json() for each in self.of("offload")],
            "kernels": dict(self.kernels),
        }

    def save(self, path: str | Path) -> None:
        """Write the file, which is replaced as a whole."""
        write_output(self.as_text(), str(path))


def _rules(rules: str) -> Iterator[str]:
    if rules:
        escaped = rules.replace("\\", "\\\\").replace('"""', '""\\"')
        yield f'rules = """\n{escaped}"""'


def _table(header: str, items: Mapping[str, Any]) -> Iterator[str]:
    yield from ("", header)
    for key, value in items.items():
        yield f"{key} = {_toml(value)}"


def _toml(value: str | int | float) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # a basic string of TOML has the same escapes
    return f"{value:.6g}" if isinstance(value, float) else str(value)
