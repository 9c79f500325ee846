"""Programs with expected outputs, run as written and after each pipeline.

`conformance_program` reads one program; this file runs a folder of them on XLA, or on the
interpreter where XLA refuses, and counts what passes break.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from jaxlib.mlir import ir

from ..errors import UsageError
from ..ir import ModuleSyntaxError, clone_module, write_text
from ..pipeline import PassError, Pipeline, run_pipeline
from ..rewrite import PassContext
from .conformance_program import ConformanceProgram, read_program
from .inputs import CannotRun
from .run import run_xla, shared_interpreter

BASE = "O0"
"""The level that the others are compared with: the program as written."""


@dataclass(frozen=True)
class ProgramOutcome:
    """The result of one program at one level.

    Attributes:
        status: "passed", "failed" (a wrong result), "unsupported" (neither XLA nor the interpreter
            runs it as written) or "error" (a pass failed, or its result cannot be run
            although the original can).
        reason: why it did not pass, or did not run on XLA; else empty.
        by: the engine that ran it, "xla" or "interpreter"; empty if none did.
        is_ours: whether the passes are to blame.
    """

    status: str
    reason: str = ""
    by: str = ""
    is_ours: bool = False

    @property
    def passed(self) -> bool:
        """Whether every check held."""
        return self.status == "passed"


@dataclass
class Summary:
    """The results of all programs at all levels.

    Attributes:
        levels: the names of the levels, `BASE` first.
        outcomes: for each program, in order, its outcome at each level.
    """

    levels: tuple[str, ...]
    outcomes: dict[str, dict[str, ProgramOutcome]] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether some program ran, and no level breaks one."""
        ran = any(outcomes[BASE].by for outcomes in self.outcomes.values())
        return ran and not self.regressions

    @property
    def regressions(self) -> list[tuple[str, str, ProgramOutcome]]:
        """Program, level and outcome wherever the rewriting is to blame."""
        return [
            (name, level, outcome)
            for name, outcomes in self.outcomes.items()
            for level, outcome in outcomes.items()
            if outcome.is_ours
        ]

    def counts(self, level: str) -> dict[str, int]:
        """How many programs have each status at a level."""
        count = Counter(outcomes[level].status for outcomes in self.outcomes.values())
        return {name: count[name] for name in ("passed", "failed", "unsupported", "error")}

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        width = max(len(level) for level in (*self.levels, "level"))
        yield f"{'level':{width}}  passed  failed  unsupported  error"
        for level in self.levels:
            passed, failed, unsupported, error = self.counts(level).values()
            yield f"{level:{width}}  {passed:6}  {failed:6}  {unsupported:11}  {error:5}"
        bases = {name: outcomes[BASE] for name, outcomes in self.outcomes.items()}
        by = Counter(base.by for base in bases.values())
        if by["interpreter"] or by[""]:
            yield f"on the interpreter {by['interpreter']}, not run {by['']}, because:"
        # Text in parentheses, mostly an op or a constant, is left out.
        reasons = Counter(o.reason.partition(" (")[0] for o in bases.values() if o.by != "xla")
        yield from (f"  {count:4}  {reason}" for reason, count in reasons.most_common())
        if wrong := {name: o for name, o in bases.items() if o.status == "failed"}:
            yield f"wrong at {BASE}, before any pass:"
        yield from (f"  {name} ({o.by}): {o.reason}" for name, o in wrong.items())
        if self.regressions:
            yield "broken by passes:"
        for name, level, outcome in self.regressions:
            yield f"  {name} at {level} ({outcome.by or 'not run'}): {outcome.reason}"
        broken = {name for name, _, _ in self.regressions}
        none_ran = not self.holds and not broken
        end = (
            "none of which could be run"
            if none_ran
            else f"{len(broken) or 'none'} broken by passes"
        )
        yield f"{len(self.outcomes)} programs, {end}"

    def as_object(self) -> dict[str, Any]:
        """The same for `--json`: every outcome that is not a pass through XLA, and the counts."""
        outcomes = [
            {"program": name, "level": level, **vars(outcome)}
            for name, by_level in self.outcomes.items()
            for level, outcome in by_level.items()
            if not outcome.passed or outcome.reason
        ]
        return {
            "schema_version": 1,
            "programs": len(self.outcomes),
            "holds": self.holds,
            "levels": {level: self.counts(level) for level in self.levels},
            "outcomes": outcomes,
        }


def program_files(folder: Path) -> list[Path]:
    """The programs in a folder, by name.

    Raises:
        UsageError: it is not a folder, or holds no `.mlir` file.
    """
    if not folder.is_dir():
        raise UsageError(f"--conformance {folder}: no such folder; expected one of .mlir programs")
    files = sorted(folder.glob("*.mlir"))
    if not files:
        raise UsageError(f"--conformance {folder}: expected .mlir programs in it, found none")
    return files


def run_programs(
    files: Iterable[Path], pipelines: Mapping[str, Pipeline], context: PassContext | None = None
) -> Summary:
    """Run each program as it was written, and after each pipeline.

    XLA runs them; the reference interpreter runs programs that XLA refuses before any pass. A
    program with a wrong result before any pass does not count against a pipeline, unless the
    interpreter's result is right before the pipeline and wrong after it.

    Args:
        files: the programs; the iterable may show progress.
        pipelines: by the name to show.
        context: of the rules.
    """
    summary = Summary((BASE, *(name for name in pipelines if name != BASE)))
    for file in files:
        try:
            program = read_program(file.read_bytes(), file.name)
        except (CannotRun, ModuleSyntaxError) as error:
            outcome = ProgramOutcome("unsupported", str(error).splitlines()[0])
            summary.outcomes[file.name] = dict.fromkeys(summary.levels, outcome)
            continue
        trial = _Trial(program, context or PassContext())
        others = {level: trial.after(pipelines[level]) for level in summary.levels[1:]}
        summary.outcomes[file.name] = {BASE: trial.base, **others}
    return summary


_ENGINES = {"xla": run_xla, "interpreter": lambda *a: shared_interpreter().run(*a)}


@dataclass
class _Trial:
    """One program, its results as written, and its results after pipelines by text."""

    program: ConformanceProgram
    context: PassContext
    known: dict[str, ProgramOutcome] = field(default_factory=dict)

    @cached_property
    def originals(self) -> dict[str, ProgramOutcome]:
        """The result as written on each engine, up to the first that is right."""
        tried: dict[str, ProgramOutcome] = {}
        for engine in _ENGINES:
            tried[engine] = self._on(engine, self.program.module)
            if tried[engine].passed:
                break
        return tried

    @cached_property
    def base(self) -> ProgramOutcome:
        """The outcome on the first engine that runs it."""
        reasons = [o.reason for o in self.originals.values() if o.status == "unsupported"]
        ran = [o for o in self.originals.values() if o.status != "unsupported"]
        if not ran:
            return ProgramOutcome("unsupported", "; ".join(reasons))
        return replace(ran[0], reason="; ".join(filter(None, [*reasons[:1], ran[0].reason])))

    def after(self, pipeline: Pipeline) -> ProgramOutcome:
        """The outcome after a pipeline, computed once for each resulting module."""
        module = clone_module(self.program.module)
        try:
            run_pipeline(module, pipeline, self.context)
        except PassError as error:
            return ProgramOutcome("error", str(error).splitlines()[0], is_ours=True)
        text = write_text(module)
        if text == write_text(self.program.module):
            return self.base
        if text not in self.known:
            self.known[text] = self._rewritten(module)
        return self.known[text]

    def _rewritten(self, module: ir.Module) -> ProgramOutcome:
        """The outcome on the engine that ran the original, or on one whose result was right."""
        if not self.base.by:
            return self.base
        outcome = self._rewritten_on(self.base.by, module)
        right = next((by for by, o in self.originals.items() if o.passed), self.base.by)
        if right != self.base.by and not outcome.is_ours:
            second = self._rewritten_on(right, module)
            return second if second.is_ours else outcome
        return outcome

    def _rewritten_on(self, engine: str, module: ir.Module) -> ProgramOutcome:
        outcome = self._on(engine, module)
        if outcome.status == "unsupported":
            reason = f"cannot be run after the pipeline: {outcome.reason}"
            return replace(outcome, status="error", reason=reason, is_ours=True)
        return replace(outcome, is_ours=self.originals[engine].passed and not outcome.passed)

    def _on(self, engine: str, module: ir.Module) -> ProgramOutcome:
        try:
            complaint = self.program.complaint(module, _ENGINES[engine])
        except CannotRun as error:
            return ProgramOutcome("unsupported", str(error))
        if complaint is None:
            return ProgramOutcome("passed", by=engine)
        return ProgramOutcome("failed", complaint, by=engine)
