"""The candidates of O3: pipelines, and XLA options that keep results.

To add options, add a row to `KNOBS`. A candidate whose module and options are those of an
earlier candidate is not compiled again, so a pass that does not apply costs nothing but its own
time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...backend.verdicts import DEFAULT
from ...pipeline import LEVELS, PipelineReport
from ...rewrite import TARGETS

PLAIN = "plain"


@dataclass(frozen=True)
class Candidate:
    """A way to compile a program.

    Attributes:
        name: as tables and logs show it.
        pipeline: its passes.
        xla_options: XLA's options by name.
    """

    name: str
    pipeline: str
    xla_options: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Knob:
    """XLA options or passes that are tried on the best pipelines of some targets.

    Attributes:
        name: as tables and logs show it.
        xla_options: XLA's options by name.
        targets: the kinds of hardware on which it can be faster.
        passes: run before those of the pipeline.
    """

    name: str
    xla_options: Mapping[str, Any] = field(hash=False)
    targets: Collection[str] = TARGETS
    passes: str = ""

    def on(self, base: Candidate) -> Candidate:
        """A candidate with these options and passes too."""
        options = {**base.xla_options, **self.xla_options}
        pipeline = ",".join(each for each in (self.passes, base.pipeline) if each)
        return Candidate(f"{base.name} with {self.name}", pipeline, options)


KNOBS: tuple[Knob, ...] = (
    Knob("multi-output fusion", {"xla_cpu_use_multi_output_fusion": True}, ("cpu",)),
    Knob("serial kernels", {"xla_disable_hlo_passes": "cpu-parallel-task-assigner"}, ("cpu",)),
    Knob("kernels", {}, ("gpu", "tpu"), passes="kernels"),
)
"""XLA options and passes that keep results, up to rounding, and are faster on some programs and
slower on others. The pass `kernels`: benchmarks/KERNELS.md. Times as fast as O2 on two cores, in
alternation with O2:

    multi-output fusion   chains of elementwise ops with several results 2.1 to 2.4, forces between
                          particles 1.31, a stencil 1.06; the gradient of a batch norm 0.85,
                          training of a small transformer 0.86, a gradient of a gather 0.84, of 20
                          others 0.9 to 1.05; training of a mixer 1.27
    serial kernels        small programs: Monte Carlo 1.29, molecular dynamics 1.22, an S5 layer
                          1.11, of 8 others 0.95 to 1.02; the same bits

Not here, since no program gained more than noise: tiling propagation (the default of newer versions
of jaxlib; one ODE solver gained, which cannot be tuned), vector widths, the concurrency-optimized
scheduler, region analysis for copies, XNNPACK, Eigen's threads, the number of code modules, LLVM's
optimization levels, and kernels without fusion emitters (0.47 on chains of elementwise ops). On
three programs only were tried, without a gain: the preset for a fast run time, LLVM's unrolling and
SLP vectorizer, and the threshold of small loops.
"""


ABORTING = frozenset({"xla_cpu_use_multi_output_fusion"})
"""Options with which XLA may end the process: a candidate is compiled in a child process first.

A check of the maps of fused indices fails in the attention of a graph network (jaxlib 0.10.2).
"""


def knobs(target: str) -> list[Knob]:
    """The rows of `KNOBS` for a target: "cpu", "gpu" or "tpu"."""
    return [each for each in KNOBS if target in each.targets]


WORKAROUNDS = "workarounds"
"""The pass that all candidates keep: without it XLA may end the process, or be wrong."""

BASES = (Candidate(PLAIN, WORKAROUNDS), Candidate(DEFAULT, DEFAULT))
"""The candidates that are tried first, whatever the time budget."""


def smaller_pipelines(report: PipelineReport) -> Iterator[Candidate]:
    """O1, and O2 without each of its families that does something, the most active first.

    Args:
        report: of O2 on the program.
    """
    fired = rules_by_family(report)
    if fired:
        yield Candidate("O1", "O1")
    for family in sorted(fired, key=lambda name: -sum(fired[name].values())):
        yield without({family: ()})


def rules_by_family(report: PipelineReport) -> dict[str, dict[str, int]]:
    """The rules that were applied and can be left out, with their rewrites, by family."""
    found: dict[str, dict[str, int]] = {}
    for step in report.steps:
        if step.name == WORKAROUNDS:
            continue
        hits = {rule.name: rule.hits for rule in step.rules if rule.hits}
        if hits:
            found.setdefault(step.name, {}).update(hits)
    return found


def without(left_out: Mapping[str, Collection[str]]) -> Candidate:
    """O2 without some families, or without some of their rules.

    Args:
        left_out: for each family the rules to leave out; empty for all of them.
    """
    steps = []
    for step in LEVELS[DEFAULT]:
        family = step.partition("{")[0]
        rules = left_out.get(family)
        if rules is None:
            steps.append(step)
        elif rules:
            steps.append(f"{family}{{disable-patterns={','.join(sorted(rules))}}}")
    names = [rule for family, rules in left_out.items() for rule in (sorted(rules) or [family])]
    return Candidate(f"{DEFAULT} without {', '.join(names)}", ",".join(steps))
