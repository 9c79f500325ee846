"""Random programs with random pipelines, each of which must keep the results."""

from __future__ import annotations

import hashlib
import math
import random
import traceback
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

import numpy as np
from jaxlib.mlir import ir

from jxc.check import CannotRun, Interpreter, compare_modules
from jxc.check.bisect import bisect
from jxc.check.compare import Comparison
from jxc.check.verify import contract_of
from jxc.errors import JxcError
from jxc.ir import clone_module, count_ops, make_context, read_module, write_text
from jxc.pipeline import run_pipeline
from jxc.rewrite import Contract, PassContext, exact

from .pipelines import LEVELS, choose, pipeline, rules
from .program import random_program


class CachingInterpreter(Interpreter):
    """An interpreter that runs each module once on the same arguments."""

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[bytes, list[np.ndarray] | CannotRun] = {}

    def run(self, module: ir.Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Like `Interpreter.run`; errors are cached too."""
        digest = hashlib.sha1(write_text(module).encode())
        for array in inputs:
            digest.update(array.tobytes())
        key = digest.digest()
        if key not in self._answers:
            try:
                self._answers[key] = super().run(module, inputs)
            except CannotRun as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, CannotRun):
            raise answer
        return answer

    def clear(self) -> None:
        """Empty the cache."""
        self._answers.clear()


@dataclass
class Found:
    """A program whose results a pipeline changes, or on which a pipeline fails."""

    seed: str
    pipeline: str
    what: str
    culprit: str = ""


@dataclass
class Tally:
    """The results of a campaign so far."""

    programs: int = 0
    ops: int = 0
    comparisons: int = 0
    unchanged: int = 0
    left_out: int = 0
    hits: Counter[str] = field(default_factory=Counter)
    by: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    finds: list[Found] = field(default_factory=list)


@dataclass
class Campaign:
    """Programs from one seed, each with several pipelines.

    Attributes:
        seed: determines every choice.
        most_ops: the approximate maximum size of a program.
        draws: the number of sets of arguments of each kind.
        few: whether to run fewer pipelines for each program.
        most_on_xla: the maximum number of comparisons of a program on XLA; each compiles two.
        about: the rule whose cases all programs consist of; None for any rules.
        out: a folder for failing programs; none are saved if None.
        text: the current program as text.
        on_xla: the number of comparisons of it on XLA so far.
        is_interpreted: whether the interpreter has run it so far.
    """

    seed: int
    most_ops: int
    draws: int = 2
    few: bool = False
    most_on_xla: int = 2
    about: str | None = None
    out: Path | None = None
    tally: Tally = field(default_factory=Tally)
    interpreter: CachingInterpreter = field(default_factory=CachingInterpreter)
    text: str = ""
    on_xla: int = 0
    is_interpreted: bool = True

    def run(self, count: int, seconds: float, most_finds: float = math.inf) -> Tally:
        """Check `count` programs, or as many as fit into the time, or until so many finds."""
        end = perf_counter() + seconds
        for number in range(count):
            if perf_counter() > end or len(self.tally.finds) >= most_finds:
                break
            self.check(f"{self.seed}/{number}")
        self.interpreter.close()
        return self.tally

    def check(self, seed: str) -> None:
        """Check one program."""
        self.interpreter.clear()
        text = random_program(seed, self.most_ops, about=self.about)
        before = read_module(text, make_context(), name=seed)
        self.text, self.on_xla, self.is_interpreted = text, 0, True
        self.tally.programs += 1
        self.tally.ops += count_ops(before)
        seen = {write_text(before)}
        fired: set[str] = set()
        for chosen in LEVELS:
            fired |= self._through(seed, before, chosen, seen)
        for chosen in choose(random.Random(f"{seed}/pipelines"), fired, self.few):
            self._through(seed, before, chosen, seen)

    def _through(self, seed: str, before: ir.Module, chosen: str, seen: set[str]) -> set[str]:
        """Check one pipeline; returns the rules that fired."""
        steps, after = pipeline(chosen), clone_module(before)
        try:
            report = run_pipeline(after, steps, PassContext(), name=seed)
        except Exception as error:
            self._found(seed, chosen, before, _error_text(error))
            return set()
        self.tally.hits.update(report.hits)
        text = write_text(after)
        if text in seen:
            self.tally.unchanged += 1
            return set(report.hits)
        seen.add(text)
        contract = contract_of(steps, report)
        if self.on_xla >= self.most_on_xla and (contract != exact or not self.is_interpreted):
            self.tally.left_out += 1
            return set(report.hits)
        what = self._compare(before, after, contract, tally=True)
        if what is not None:
            self._found(seed, chosen, before, what, contract)
        return set(report.hits)

    def _compare(
        self, before: ir.Module, after: ir.Module, contract: Contract, *, tally: bool = False
    ) -> str | None:
        """The difference between two modules; None if there is none, or if they cannot run."""
        for draw in range(self.draws):
            try:
                report = compare_modules(
                    before, after, contract=contract, seed=draw, interpreter=self.interpreter
                )
            except ValueError as error:
                return str(error)
            if tally:
                self.tally.by.update(report.runs.values())
                self._note_xla(report, contract)
                self.tally.not_run.update(_short(each) for each in report.reasons.values())
            if report.difference is not None:
                return str(report)
        self.tally.comparisons += tally
        return None

    def _note_xla(self, report: Comparison, contract: Contract) -> None:
        if "xla" in report.runs.values():
            self.on_xla += 1
            self.is_interpreted &= contract != exact

    def _found(
        self,
        seed: str,
        chosen: str,
        before: ir.Module,
        what: str,
        contract: Contract | None = None,
    ) -> None:
        found = Found(seed, chosen, what)
        if contract is not None:
            found.culprit = self._blame(before, chosen, contract)
        self.tally.finds.append(found)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            name = f"{seed.replace('/', '-')}-{len(self.tally.finds)}.mlir"
            header = "".join(f"// {line}\n" for line in (chosen, found.culprit, *what.splitlines()))
            (self.out / name).write_text(header + self.text)

    def _blame(self, before: ir.Module, chosen: str, contract: Contract) -> str:
        def is_wrong(after: ir.Module) -> bool:
            return self._compare(before, after, contract) is not None

        try:
            return str(bisect(before, pipeline(chosen), PassContext(), is_wrong))
        except JxcError as error:
            return f"bisection failed: {error}"


def _error_text(error: Exception) -> str:
    notes = getattr(error, "__notes__", ())
    if isinstance(error, JxcError):
        return "\n".join([str(error), *notes])
    return "".join(traceback.format_exception(error))


def _short(reason: str) -> str:
    """A reason without numbers and names that are specific to one program."""
    words = [word for word in reason.split() if not any(c.isdigit() or c in "%<" for c in word)]
    return " ".join(words)[:90]


def idle_rules(tally: Tally) -> list[str]:
    """The rules that never fired."""
    return sorted(set(rules()) - tally.hits.keys())
