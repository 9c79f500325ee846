"""Write a section of SURVEY.md from the records of `run.py`, and the plot.

python benchmarks/survey/report.py build/survey.jsonl --results benchmarks/SURVEY.md
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jax
from intervals import geometric_mean
from machine import circumstances
from results_file import write_section

from jxc import passes
from jxc.pipeline import our_passes
from survey.cases import PROGRAMS, Case, surveyed
from survey.run import SLOWER, read_records, rows

FASTER, COMPILES, BEHIND, FAR_BEHIND = 1.05, 1.2, 2.0, 5.0
SHOWN = 20
_GAINED = 1.2
_SHORT = 1e-4  # seconds; what is shorter is mostly the time to call a program

HEAD = f"""\
# The survey of JAX's functions

Written by `make survey`. Do not edit.

Each public function of the modules below is called as a user calls it: forward at the usual size (a
matrix has 512 rows), its gradient by all floating-point arguments, and under `jax.vmap` at a batch
of 8; `benchmarks/survey/calls.toml` has the calls. Plain `jax.jit` and O2 run in alternation in one
process. A ratio is plain's median time divided by O2's; above 1 is faster than plain. *Equal* also
counts programs of which XLA makes the same code as of plain's; their ratio is 1. *Slower* and
*faster* are rows whose 95% interval is entirely below {SLOWER} or above {FASTER}. Rows with the
same StableHLO are measured once. *compile* is the time of passes and XLA divided by plain's.
*Other* is NumPy or SciPy, or torch, where the function of this name returns the same; the faster of
them counts. It is not compared where it returns a view, nor where O2 takes less than 0.1 ms, which
is mostly the time of a call. *Limit* is the least time by the machine's rates: arithmetic, or
arguments and results moved once. **WRONG** marks a result whose error is more than 8 times the
largest change of plain's result when its inputs change by one ulp, and more than twice plain's
error, both against float64."""


@dataclass(frozen=True)
class Row:
    """A measured row.

    Attributes:
        case: what was called.
        record: what `worker.py` printed.
    """

    case: Case
    record: dict[str, Any]

    @property
    def ratio(self) -> float:
        return self.record["ratio"][0] if "ratio" in self.record else 1.0

    @property
    def is_faster(self) -> bool:
        return "ratio" in self.record and self.record["ratio"][1] > FASTER

    @property
    def is_slower(self) -> bool:
        return "ratio" in self.record and self.record["ratio"][2] < SLOWER

    @property
    def is_wrong(self) -> bool:
        """Whether O2 does not agree with plain, and is not nearer to float64."""
        errors = self.record.get("errors", {})
        is_as_near = errors.get("O2", 1.0) <= 2 * errors.get("plain", 0.0)
        return not self.record.get("agrees", True) and not is_as_near

    @property
    def compile_ratio(self) -> float:
        plain, ours = self.record["plain"], self.record["O2"]
        return min(map(sum, zip(ours["passes"], ours["xla"], strict=True))) / min(plain["xla"])

    def seconds(self, name: str) -> float | None:
        """The median time; of "O2" plain's if both are the same program."""
        found = self.record["seconds"]
        if name == "O2" and name not in found:
            name = "plain"
        return statistics.median(found[name]) if name in found else None

    @property
    def other(self) -> tuple[float, str] | None:
        """The seconds and the name of the fastest other library."""
        times = [(s, name) for name in ("numpy", "torch") if (s := self.seconds(name))]
        return min(times) if times else None

    def behind(self, name: str) -> float:
        """How many times as long as the fastest other library; 0 if none, or if both are short."""
        seconds = self.seconds(name)
        if not self.other or not seconds or seconds < _SHORT:
            return 0.0
        return seconds / self.other[0]

    def cells(self, values: str) -> str:
        """A line of a table: the call, its mode, and the values between bars."""
        call = self.case.label.replace("|", "\\|")
        call = f"{call[:87]}..." if len(call) > 90 else call
        kind = f"{self.case.mode}, {self.case.size}" if self.case.size != "vmap" else "vmap"
        kind += f", {self.case.type}" * (self.case.type != "f32")
        return f"| `{call}` | {kind} | {values} |"


def measured_rows(records: dict[str, dict[str, Any]], cases: Sequence[Case]) -> list[Row]:
    by_key = {case.key: case for case in rows(cases, quick=False)}
    return [
        Row(by_key[key], record)
        for key, record in records.items()
        if key in by_key and "seconds" in record
    ]


def section(
    records: dict[str, dict[str, Any]], before: dict[str, dict[str, Any]], picture: str
) -> Iterator[str]:
    """The lines of a section; `before` are the records of an earlier version, or none."""
    cases, skipped = surveyed()
    found = measured_rows(records, cases)
    about = circumstances()
    yield f"- {about['date']}, commit {about['commit']}"
    yield f"- {about['machine']}; rates: {about['rates']}"
    earlier = measured_rows(before, cases)
    yield from (f"- {line}" for line in _summary(found, records))
    if earlier:
        yield "- before:"
        yield from (f"    - {line}" for line in _summary(earlier, before))
    if picture:
        yield f"\n![ratios]({picture})"
    head = "| module | functions | skipped | rows | faster | equal | slower | mean | compile |"
    yield f"\n{head}{' before |' * bool(earlier)}"
    yield f"|---|{'---:|' * (8 + bool(earlier))}"
    for family in dict.fromkeys(_family(case.module) for case in cases):
        of_family = [
            [r for r in each if _family(r.case.module) == family] for each in (found, earlier)
        ]
        line = _module_line(family, cases, skipped, of_family[0])
        mean = f"{geometric_mean(r.ratio for r in of_family[1]):.2f}" if of_family[1] else ""
        yield line + f" {mean} |" * bool(earlier)
    yield from _tables(found, earlier)
    yield f"\nSkipped functions, {len(skipped)}:\n"
    for why, names in _grouped(skipped).items():
        yield f"- {why}: {', '.join(names)}"
    failed = {key: r["failed"] for key, r in records.items() if "failed" in r}
    absent = Counter(why for why in failed.values() if why.startswith("not taken"))
    yield "\nRows that do not exist or that JAX does not run:\n"
    yield from (f"- {count} rows: {why}" for why, count in absent.most_common())
    for why, keys in _grouped({k: w for k, w in failed.items() if w not in absent}).items():
        shown = ", ".join(f"`{key.rpartition(' f(')[0] or key}`" for key in keys[:8])
        yield f"- {len(keys)} rows: {_escaped(why)}: {shown}" + ", ..." * (len(keys) > 8)


def _summary(found: Sequence[Row], records: dict[str, dict[str, Any]]) -> Iterator[str]:
    same = sum("same" in record for record in records.values())
    yield f"{len(found)} rows measured; {same} more have the same program as one of them"
    faster, slower = sum(r.is_faster for r in found), sum(r.is_slower for r in found)
    mean = geometric_mean(r.ratio for r in found)
    changed = [r.ratio for r in found if "ratio" in r.record]
    yield (
        f"O2: {faster} faster, {len(found) - faster - slower} equal, {slower} slower; geometric "
        f"mean {mean:.2f}, {geometric_mean(changed):.2f} of the {len(changed)} that it changes"
    )
    compiles = [r.compile_ratio for r in found]
    above = sum(ratio > COMPILES for ratio in compiles)
    yield f"compile time {geometric_mean(compiles):.2f} in the mean; {above} rows above {COMPILES}"
    compared = [r for r in found if r.other]
    for limit in (BEHIND, FAR_BEHIND):
        plain, ours = (sum(r.behind(n) > limit for r in compared) for n in ("plain", "O2"))
        yield (
            f"more than {limit:.0f} times slower than the other library: {plain} of "
            f"{len(compared)} rows plain, {ours} at O2"
        )
    yield f"wrong: {sum(r.is_wrong for r in found)}"


def _family(module: str) -> str:
    """The modules of distributions, and those of optax, are counted together."""
    return next((f for f in ("jax.scipy.stats", "optax") if module.startswith(f)), module)


def _module_line(module: str, cases: Any, skipped: dict[str, str], found: Sequence[Row]) -> str:
    names = {(case.module, case.name) for case in cases if _family(case.module) == module}
    left_out = [name for name in skipped if _family(name.rpartition(".")[0]) == module]
    faster, slower = sum(r.is_faster for r in found), sum(r.is_slower for r in found)
    counts = f"{len(found)} | {faster} | {len(found) - faster - slower} | {slower}"
    means = " |"
    if found:
        compiling = geometric_mean(r.compile_ratio for r in found)
        means = f"{geometric_mean(r.ratio for r in found):.2f} | {compiling:.2f}"
    listed = len(names) + len(left_out)
    return f"| {module} | {listed} | {len(left_out)} | {counts} | {means} |"


def _tables(found: Sequence[Row], earlier: Sequence[Row]) -> Iterator[str]:
    def table(title: str, head: str, chosen: Sequence[Row], line: Callable[[Row], str]) -> Any:
        if chosen:
            columns = head.count("|") + 3
            yield f"\n{title}\n\n| call | row | {head} |\n|---|---|{'---:|' * (columns - 2)}"
            yield from (row.cells(line(row)) for row in chosen)

    yield from table("**WRONG**:", "error", [r for r in found if r.is_wrong], _error)
    slower = sorted((r for r in found if r.is_slower), key=lambda r: r.ratio)
    yield from table("Slower:", _TIMES, slower, _times)
    gains = sorted((r for r in found if r.is_faster), key=lambda r: -r.ratio)[:SHOWN]
    yield from table("Largest ratios:", f"{_TIMES} | rules", gains, _with_rules)
    saved = sorted((r for r in found if r.is_faster), key=_saved, reverse=True)[:SHOWN]
    yield from table("Most time saved:", f"{_TIMES} | rules", saved, _with_rules)
    ratios = {r.case.key: r.ratio for r in earlier}
    gained = [
        r for r in found if r.is_faster and r.ratio > _GAINED * ratios.get(r.case.key, r.ratio)
    ]
    gained.sort(key=lambda r: ratios[r.case.key] / r.ratio)

    def since(row: Row) -> str:
        return f"{ratios[row.case.key]:.2f} | {_with_rules(row)}"

    yield from table(
        "Gained most since:", f"ratio before | {_TIMES} | rules", gained[:SHOWN], since
    )
    programs = [r for r in found if r.case.module == PROGRAMS]
    if earlier:
        yield from table("Whole programs:", f"ratio before | {_TIMES} | rules", programs, since)
    behind = sorted((r for r in found if r.behind("O2") > BEHIND), key=lambda r: -r.behind("O2"))
    yield from table(
        "Behind the other library:", "plain, ms | O2, ms | other, ms | times", behind, _behind
    )
    slow = sorted((r for r in found if r.compile_ratio > COMPILES), key=lambda r: -r.compile_ratio)
    yield from table("Slow to compile:", "plain, s | O2 | passes", slow[: 2 * SHOWN], _compiles)
    far = sorted(found, key=lambda r: r.seconds("O2") - r.record["limit"], reverse=True)[:SHOWN]
    yield from table("Farthest from the limit:", "O2, ms | limit, ms", far, _far)


_TIMES = "plain, ms | O2, ms | ratio"


def _saved(row: Row) -> float:
    return row.seconds("plain") - row.seconds("O2")


def _ms(seconds: float | None) -> str:
    return f"{1e3 * seconds:.3g}" if seconds is not None else ""


def _times(row: Row) -> str:
    ratio, low, high = row.record["ratio"]
    times = f"{_ms(row.seconds('plain'))} | {_ms(row.seconds('O2'))}"
    return f"{times} | {ratio:.2f} [{low:.2f}, {high:.2f}]"


def _with_rules(row: Row) -> str:
    rules = [name for name in row.record["rules"] if name in _decisive()]
    rules.sort(key=lambda name: -row.record["rules"][name])
    shown = "; ".join(f"{name} ({_decisive()[name]})" for name in rules[:3])
    return f"{_times(row)} | {shown}" + "; ..." * (len(rules) > 3)


@cache
def _decisive() -> dict[str, str]:
    """The rules outside of `simplify`: contract, what decides, and how often they were checked."""
    checked = json.loads((Path(passes.__file__).parent / "checked.json").read_text())["rules"]
    found = {}
    for each in our_passes():
        for rule in each.rules if each.name != "simplify" else ():
            decides = "by price" if rule.priced or rule.by_rates else "always"
            times = checked.get(rule.name, {}).get("checked", 0)
            found[rule.name] = f"{rule.contract}, {decides}, checked {times} times"
    return found


def _behind(row: Row) -> str:
    seconds, name = row.other
    times = f"{_ms(row.seconds('plain'))} | {_ms(row.seconds('O2'))} | {_ms(seconds)} {name}"
    return f"{times} | {row.behind('O2'):.1f}"


def _compiles(row: Row) -> str:
    plain, passes = min(row.record["plain"]["xla"]), min(row.record["O2"]["passes"])
    return f"{plain:.3f} | {row.compile_ratio:.2f} | {passes / plain:.2f}"


def _far(row: Row) -> str:
    return f"{_ms(row.seconds('O2'))} | {_ms(row.record['limit'])}"


def _error(row: Row) -> str:
    return f"{row.record['error']:.2g}"


def _grouped(reasons: dict[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, why in reasons.items():
        found.setdefault(why, []).append(name)
    return dict(sorted(found.items(), key=lambda item: -len(item[1])))


def _escaped(text: str) -> str:
    return re.sub(r"([<>|*_])", r"\\\1", text)


def draw(found: Sequence[Row], file: Path, title: str) -> None:
    """Plot the ratio of each row over plain's time.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "jxc"  # the same results give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8.5, 4.5), layout="constrained")
    for mode, colour in (("forward", "#0072b2"), ("gradient", "#d55e00"), ("vmap", "#009e73")):
        chosen = [r for r in found if r.case.mode == mode]
        if chosen:
            times = [1e3 * r.seconds("plain") for r in chosen]
            label = (
                f"{mode}: {len(chosen)} rows, mean {geometric_mean(r.ratio for r in chosen):.2f}"
            )
            axes.scatter(times, [r.ratio for r in chosen], s=9, color=colour, label=label, lw=0)
    axes.set(
        xscale="log", yscale="log", xlabel="plain, ms", ylabel="times as fast as plain jax.jit"
    )
    axes.axhline(1, color="black", linewidth=0.8)
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path, help="what run.py wrote")
    parser.add_argument("--before", type=Path, metavar="RECORDS", help="of an earlier version")
    parser.add_argument("--results", type=Path, required=True, metavar="SURVEY.md")
    given = parser.parse_args()
    before = read_records(given.before) if given.before else {}
    records = read_records(given.records)
    title = f"jax {jax.__version__}"
    picture = given.results.with_name(f"survey-{jax.__version__}.svg")
    try:
        draw(measured_rows(records, surveyed()[0]), picture, f"O2, {title}")
        shown = picture.name
    except ImportError as error:
        print(f"no plot: {error}")
        shown = ""
    if not given.results.exists():
        given.results.write_text(f"{HEAD}\n")
    write_section(given.results, title, "\n".join(section(records, before, shown)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
