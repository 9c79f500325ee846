"""Prove elementwise rules for every input, on every type that z3 decides within its time limit.

Each lit case that is named after a rule is a program on which the rule fires. The case is also
tried on other element types and with other constants. Where the rule fires, z3 searches for an
input on which the program before and after differ. If there is none, the rewrite is proved for
those types. Rules that move elements are not proved; the test suite checks them. The exit code is
1 if a rule is refuted.
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
os.environ["JXC_RATES"] = "shipped"  # `make rules` keeps which rewrites are proved

from jaxlib.mlir import ir  # noqa: E402

from jxc.check.modules import with_main  # noqa: E402
from jxc.ir import functions, make_context, read_module, write_bytecode  # noqa: E402
from jxc.pipeline import our_passes  # noqa: E402
from jxc.rewrite import Rule  # noqa: E402
from scripts.proof import ProofResult, ProofStatus, prove_rule  # noqa: E402
from tests.lit_cases import FILES, runs  # noqa: E402

_SHOWN = 3  # refuted or undecided rewrites that are printed for each rule
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
    """The results for one rule.

    Attributes:
        verdicts: for each tuple of types, the names of cases and their results.
        seconds: the time for all of them.
    """

    verdicts: dict[str, list[tuple[str, ProofResult]]] = field(default_factory=dict)
    seconds: float = 0.0

    def types(self, outcome: ProofStatus) -> list[str]:
        """The types whose worst outcome this is."""
        worst = {types: _worst(found) for types, found in self.verdicts.items()}
        return [types for types, found in worst.items() if found is outcome]

    @property
    def status(self) -> str:
        """ "proved" if some type is proved, none is refuted and every case is elementwise."""
        if any(self.of(ProofStatus.REFUTED)):
            return "refuted"
        if not any(self.of(ProofStatus.PROVED)):
            return "checked"
        return "in part" if any(self.of(ProofStatus.NOT_SCALAR)) else "proved"

    def of(self, outcome: ProofStatus) -> Iterator[tuple[str, str, ProofResult]]:
        """Case, types and result of each rewrite with this outcome."""
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
    """The results of one case, by types, and the time in seconds. Runs in a child process."""
    start = perf_counter()
    program = read_module(case.program, _context())
    found = list(prove_rule(_rules()[case.rule], program, limit_s))
    return found, perf_counter() - start


def findings(limit_s: float, jobs: int, only: list[str]) -> dict[str, Findings]:
    """The results for every rule of jxc, or for those named in `only`."""
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
    """A line for each rule with proofs, then why other rewrites are not proved."""
    proved = {name: each for name, each in found.items() if each.status != "checked"}
    width = max(map(len, proved), default=0)
    for name, each in proved.items():
        lists = {outcome: each.types(outcome) for outcome in ProofStatus}
        parts = [f"{outcome.value} {_short(types)}" for outcome, types in lists.items() if types]
        head = [] if each.status == "proved" else [each.status]
        yield f"{name:{width}}  {each.seconds:5.1f} s  {'; '.join(head + parts)}"
    for outcome in (ProofStatus.UNDECIDED, ProofStatus.REFUTED):
        for name, each in found.items():
            yield from _examples(name, outcome, list(each.of(outcome)))


def _examples(
    rule: str, outcome: ProofStatus, found: list[tuple[str, str, ProofResult]]
) -> Iterator[str]:
    """The first few rewrites with an outcome."""
    for case, types, verdict in found[:_SHOWN]:
        yield f"{outcome.value.upper()} {rule} on {types}, @{case}: {_why(verdict)}"
    if len(found) > _SHOWN:
        yield f"  and {len(found) - _SHOWN} more"


def _short(types: list[str]) -> str:
    """Single types by name, and the number of combinations."""
    single = [name for name in types if "," not in name]
    mixed = len(types) - len(single)
    return " ".join([*single, *([f"({mixed} combinations)"] if mixed else [])])


def _why(verdict: ProofResult) -> str:
    return "; ".join(filter(None, [verdict.counterexample, verdict.reason]))


def as_json(found: dict[str, Findings]) -> dict[str, dict[str, object]]:
    """For each rule its status and its types by outcome.

    The status is "proved", "in part" (proved, except for cases that move elements), "checked" (no
    proof) or "refuted".
    """
    return {
        name: {"status": each.status, **{o.value: each.types(o) for o in ProofStatus}}
        for name, each in found.items()
    }


def summary(found: dict[str, Findings], seconds: float) -> str:
    """The number of rules with each status."""
    count = Counter(each.status for each in found.values())
    silent = [name for name, each in found.items() if not each.verdicts]
    rewrites = sum(len(v) for each in found.values() for v in each.verdicts.values())
    return (
        f"{count['proved']} rules proved, {count['in part']} in part, {count['refuted']} refuted; "
        f"{count['checked']} checked, not proved, of which {len(silent)} fire in no lit case "
        f"of their own; {rewrites} rewrites in {seconds:.0f} s"
    )


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", help="names of rules; all by default")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for z3 for each rewrite")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes")
    parser.add_argument(
        "--json", type=Path, help="write the types by rule and outcome to this file"
    )
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
