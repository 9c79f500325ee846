"""Prove the scalar rules: for every input, on every type where z3 manages within its time.

Each lit case that is named after a rule is a program on which the rule fires. It is tried on other
element types and with other constants too, and wherever the rule fires z3 is asked for an input on
which the program before and after differ: none, and the rewrite is proved for that type. A rule
that moves elements about is checked by the suite, and not proved. Exit code 1 where a rule is
refuted.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from jaxlib.mlir import ir  # noqa: E402

from jxc.check.modules import with_main  # noqa: E402
from jxc.ir import functions, make_context, read_module, write_bytecode  # noqa: E402
from jxc.pipeline import our_passes  # noqa: E402
from jxc.rewrite import Rule  # noqa: E402
from scripts.proof import ProofResult, ProofStatus, prove_rule  # noqa: E402
from tests.lit_cases import FILES, runs  # noqa: E402

_SHOWN = 3  # of what is refuted or undecided, of one rule
_WORST_FIRST = (
    ProofStatus.REFUTED,
    ProofStatus.UNDECIDED,
    ProofStatus.UNMODELLED,
    ProofStatus.NOT_SCALAR,
    ProofStatus.PROVED,
)


@dataclass(frozen=True)
class Case:
    """A function of a lit file that is named after a rule, as @main of a module in bytecode."""

    rule: str
    name: str
    program: bytes


@dataclass
class Findings:
    """What is known of one rule.

    Attributes:
        verdicts: of each tuple of types, with the case that it comes from.
        seconds: how long it took.
    """

    verdicts: dict[str, list[tuple[str, ProofResult]]] = field(default_factory=dict)
    seconds: float = 0.0

    def types(self, outcome: ProofStatus) -> list[str]:
        """The types of which this is the worst that came up."""
        worst = {types: _worst(found) for types, found in self.verdicts.items()}
        return [types for types, found in worst.items() if found is outcome]

    @property
    def status(self) -> str:
        """ "proved" where some type is, none is refuted and every case is scalar."""
        if any(self.of(ProofStatus.REFUTED)):
            return "refuted"
        if not any(self.of(ProofStatus.PROVED)):
            return "checked"
        return "in part" if any(self.of(ProofStatus.NOT_SCALAR)) else "proved"

    def of(self, outcome: ProofStatus) -> Iterator[tuple[str, str, ProofResult]]:
        """Case, types and verdict, where this came up."""
        for types, found in self.verdicts.items():
            yield from ((case, types, each) for case, each in found if each.outcome is outcome)


def _worst(found: Iterable[tuple[str, ProofResult]]) -> ProofStatus:
    outcomes = {verdict.outcome for _, verdict in found}
    return next(outcome for outcome in _WORST_FIRST if outcome in outcomes)


@cache
def _rules() -> dict[str, Rule]:
    return {rule.name: rule for found in our_passes() for rule in found.rules}


@cache
def _context() -> ir.Context:
    return make_context()


def cases() -> Iterator[Case]:
    """The functions in the lit files of passes that are named after a rule."""
    stems = sorted((name.replace("-", "_") for name in _rules()), key=len, reverse=True)
    for run in (run for file in FILES for run in runs(file)):
        for piece in run.pieces():
            module = read_module(piece, _context(), name=str(run.file))
            for name in functions(module):
                stem = next((s for s in stems if f"{name}_".startswith(f"{s}_")), None)
                if stem is not None:
                    program = write_bytecode(with_main(module, name))
                    yield Case(stem.replace("_", "-"), name, program)


def examine(case: Case, limit_s: float) -> tuple[list[tuple[str, ProofResult]], float]:
    """What comes of one case, by types, and how long it took. Runs in a child process."""
    start = perf_counter()
    program = read_module(case.program, _context())
    found = list(prove_rule(_rules()[case.rule], program, limit_s))
    return found, perf_counter() - start


def findings(limit_s: float, jobs: int, only: list[str]) -> dict[str, Findings]:
    """Every rule of ours, or those named in `only`."""
    chosen = {name: Findings() for name in _rules() if not only or name in only}
    wanted = list(dict.fromkeys(case for case in cases() if case.rule in chosen))
    for case, verdicts, seconds in _examined(wanted, limit_s, jobs):
        chosen[case.rule].seconds += seconds
        for types, verdict in verdicts:
            chosen[case.rule].verdicts.setdefault(types, []).append((case.name, verdict))
    return chosen


def _examined(
    wanted: list[Case], limit_s: float, jobs: int
) -> Iterator[tuple[Case, list[tuple[str, ProofResult]], float]]:
    spawn = multiprocessing.get_context("spawn")  # MLIR's threads do not survive a fork
    with ProcessPoolExecutor(jobs, mp_context=spawn) as pool:
        futures = [pool.submit(examine, case, limit_s) for case in wanted]
        for place, (case, future) in enumerate(zip(wanted, futures, strict=True)):
            try:
                verdicts, seconds = future.result()
            except BrokenProcessPool:
                suspects = ", ".join(f"@{each.name}" for each in wanted[place : place + jobs])
                sys.exit(f"prove.py: a process died on one of {suspects}; try their rules alone")
            yield case, verdicts, seconds


def table(found: dict[str, Findings]) -> Iterator[str]:
    """A line for each rule that was not only checked, then why others are not proved."""
    asked = {name: each for name, each in found.items() if each.status != "checked"}
    width = max(map(len, asked), default=0)
    for name, each in asked.items():
        lists = {outcome: each.types(outcome) for outcome in ProofStatus}
        told = [f"{outcome.value} {_short(types)}" for outcome, types in lists.items() if types]
        head = [] if each.status == "proved" else [each.status]
        yield f"{name:{width}}  {each.seconds:5.1f} s  {'; '.join(head + told)}"
    for outcome in (ProofStatus.UNDECIDED, ProofStatus.REFUTED):
        for name, each in found.items():
            yield from _told(name, outcome, list(each.of(outcome)))


def _told(
    rule: str, outcome: ProofStatus, found: list[tuple[str, str, ProofResult]]
) -> Iterator[str]:
    """The first few of what came up."""
    for case, types, verdict in found[:_SHOWN]:
        yield f"{outcome.value.upper()} {rule} on {types}, @{case}: {_why(verdict)}"
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN} times more"


def _short(types: list[str]) -> str:
    """Single types in full, and how many mixtures."""
    single = [name for name in types if "," not in name]
    mixed = len(types) - len(single)
    return " ".join([*single, *([f"({mixed} mixtures)"] if mixed else [])])


def _why(verdict: ProofResult) -> str:
    return "; ".join(filter(None, [verdict.counterexample, verdict.reason]))


def as_json(found: dict[str, Findings]) -> dict[str, dict[str, object]]:
    """For each rule its status and its types by outcome.

    The status is "proved", "in part" (proved, but for the cases in which elements move), "checked"
    or "refuted".
    """
    return {
        name: {"status": each.status, **{o.value: each.types(o) for o in ProofStatus}}
        for name, each in found.items()
    }


def summary(found: dict[str, Findings], seconds: float) -> str:
    """How many rules are what."""
    count = Counter(each.status for each in found.values())
    silent = [name for name, each in found.items() if not each.verdicts]
    rewrites = sum(len(v) for each in found.values() for v in each.verdicts.values())
    return (
        f"{count['proved']} rules proved, {count['in part']} in part, {count['refuted']} refuted; "
        f"{count['checked']} checked, not proved, of which {len(silent)} fire alone in no lit "
        f"case of theirs; {rewrites} rewrites in {seconds:.0f} s"
    )


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="only these; all when none is named")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for z3, per rewrite")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once")
    parser.add_argument("--json", type=Path, help="a file for the types by rule and outcome")
    options = parser.parse_args()
    if unknown := sorted(set(options.rules) - set(_rules())):
        parser.error(f"no rule {unknown[0]!r}; `jxc opt --help-pass simplify` lists them")
    start = perf_counter()
    found = findings(options.limit, options.jobs, options.rules)
    print(*table(found), summary(found, perf_counter() - start), sep="\n")
    if options.json:
        options.json.write_text(json.dumps(as_json(found), indent=1) + "\n")
    return int(any(each.types(ProofStatus.REFUTED) for each in found.values()))


if __name__ == "__main__":
    sys.exit(main())
