"""Models over meshes of devices: communication, memory, time and results, before and after jxc.

    python benchmarks/sharded.py k-means --meshes data=4 --targets cpu,gpu:h100
    python benchmarks/sharded.py k-means --targets cpu --blame

No hardware is needed: targets are compiled for, and CPU targets run on a CPU split into devices.
With --seconds, they are timed there. The mesh data=1 is one device.
`meshes.py` lists the models and their shardings. With --blame, each applied rule is left out in
turn, and those that change a metric by more than 1% are listed.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from accelerators_report import SMALL_PEAK, WORSE_PEAK, WORSE_SECONDS, markdown
from intervals import Interval, median_interval
from machine import circumstances
from meshes import MESHES, SHARDED, TARGETS
from run import printed_record, shown_progress, write_raw

from jxc.backend.targets import find_targets, require
from jxc.errors import JxcError
from jxc.frontend.mesh import environment_of_host
from jxc.ir.shardings import device_count, parse_mesh

HERE = Path(__file__).parent
METHOD = """\
Each model is lowered over a mesh for a target, once without and once with jxc's passes. The
target's compiler compiles both. *Collectives* are those in the optimized HLO, multiplied by trip
counts, and *KB sent* is the sum of their payloads on one device. *Peak* is the memory of one
device. *Time* is the compiler's estimate for one device (TPU) or the roofline of its kernels (GPU,
CPU). *Results* are compared by their shardings, and on CPU also by their values: both programs run
on a CPU split into devices. There they may also be timed: the roofline has no vector instructions,
calls of libraries or cache misses, so a measured time counts in its place. **Worse** is more
collectives, more bytes, a peak above 1.02 that grows by 1 MiB or more, an estimated time above
1.01, a measured time of which the whole 95% interval is above 1.01, another sharding of a result,
or a value that differs by more than rounding. Smaller growths of the peak are listed."""


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("models", nargs="*", default=["*"], help="names or patterns, all by default")
    add("--meshes", nargs="*", default=MESHES, help="such as data=2,model=2")
    add("--targets", default=TARGETS, help="separated by commas, see `jxc targets`")
    add("--level", default="O2", help="the level to compare with plain")
    add("--rules", default="", help="compare the level with itself: --rules=-OFF,+ON")
    add("--blame", action="store_true", help="also compile without each applied rule")
    add("--seconds", type=float, default=0.0, help="also time both on CPU devices, so long a run")
    add("--timeout", type=float, default=900.0, help="time limit of a process in seconds")
    add("--raw", type=Path, help="append the record of each process to this file, as JSON lines")
    add("--read", type=Path, help="run nothing; read the records that --raw wrote to this file")
    add("--results", type=Path, help="write the table to this Markdown file")
    given = parser.parse_args()
    try:
        given.targets = [target.name for target in find_targets(given.targets)]
        given.runs = list(runs_of(given))
        if not given.runs:
            parser.error(f"no model over {' or '.join(given.meshes)} is called {given.models}")
        for target in () if given.read else find_targets(",".join(given.targets)):
            require(target)
    except JxcError as error:
        parser.error(str(error))
    return given


@dataclass(frozen=True)
class Run:
    """A model to compile over a mesh for a target."""

    model: str
    mesh: str
    target: str

    @property
    def about(self) -> dict[str, str]:
        """The beginning of its record."""
        return {"model": self.model, "mesh": self.mesh, "target": self.target}

    def __str__(self) -> str:
        return f"{self.model} over {self.mesh}, {self.target}"


def runs_of(given: argparse.Namespace) -> list[Run]:
    """The runs that the command line names; a mesh counts if the model is split over all of it."""
    axes = {mesh: set(parse_mesh(mesh)) for mesh in given.meshes}
    return [
        Run(name, mesh, target)
        for target in given.targets
        for name, sharded in SHARDED.items()
        for mesh in given.meshes
        if any(fnmatch(name, each) for each in given.models) and axes[mesh] <= sharded.axes
    ]


def run_process(run: Run, given: argparse.Namespace) -> dict[str, Any]:
    """The record of a fresh process."""
    command = [sys.executable, "-W", "ignore", str(HERE / "accelerators_worker.py"), run.model]
    command += [f"--target={run.target}", f"--level={given.level}", f"--rules={given.rules}"]
    command += [f"--mesh={run.mesh}", f"--seconds={given.seconds}"] + ["--each-rule"] * given.blame
    settings = {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}
    settings |= environment_of_host(device_count(parse_mesh(run.mesh)))
    return printed_record(command, settings, given.timeout) | run.about


@dataclass(frozen=True)
class Comparison:
    """The record of a run, with the metrics before and after the passes."""

    record: dict[str, Any]

    @property
    def run(self) -> Run:
        return Run(*(self.record[name] for name in ("model", "mesh", "target")))

    @property
    def reason(self) -> str:
        """Why there are no metrics; empty if there are."""
        if reason := self.record.get("skipped") or self.record.get("broken"):
            return str(reason)
        failed = [f"{x['name']}: {x['failed']}" for x in self.contenders[:2] if "failed" in x]
        return failed[0] if failed else ""

    @property
    def contenders(self) -> list[dict[str, Any]]:
        return list(self.record["contenders"])

    def pair(self, name: str, factor: float = 1.0) -> str:
        """A metric before and after; a single number if both print the same."""
        texts = [f"{factor * each[name]:.4g}" for each in self.contenders[:2]]
        return texts[0] if texts[0] == texts[1] else " -> ".join(texts)

    def ratio(self, name: str) -> float:
        """A metric after the passes divided by the one before; 1 if both are 0."""
        before, after = (each[name] for each in self.contenders[:2])
        return after / before if before else 1.0 + after

    @property
    def moved(self) -> list[str]:
        """The arguments and results whose sharding changed."""
        before, after = self.contenders[:2]
        return [
            f"{kind[:-1]} {at}: {old} -> {new}"
            for kind in ("arguments", "results")
            for at, (old, new) in enumerate(zip(before[kind], after[kind], strict=True))
            if old != new
        ]

    @property
    def values(self) -> str:
        """How the values of the results compare; empty where they were not computed."""
        after = self.contenders[1]
        if "agrees" not in after:
            return ""
        return "agree" if after["agrees"] else f"DIFFER by {after['error']:.2g}"

    @property
    def growth(self) -> int:
        """The increase of peak memory in bytes."""
        before, after = self.contenders[:2]
        return int(after["peak"] - before["peak"])

    @property
    def grew_little(self) -> bool:
        """Whether the peak grew by a ratio that is a loss, but by fewer than `SMALL_PEAK` bytes."""
        return self.ratio("peak") > WORSE_PEAK and self.growth < SMALL_PEAK

    @property
    def timed(self) -> Interval | None:
        """The measured time after the passes divided by the one before; None without one."""
        before, after = self.contenders[:2]
        if "run_seconds" not in after:
            return None
        pairs = zip(before["run_seconds"], after["run_seconds"], strict=True)
        return median_interval([[ours / plain for plain, ours in pairs]])

    @property
    def losses(self) -> list[str]:
        """What got worse, as text."""
        limits = {"collectives": 1.0, "collective_bytes": 1.0}
        limits |= {"peak": WORSE_PEAK} if self.growth >= SMALL_PEAK else {}
        limits |= {"seconds": WORSE_SECONDS} if self.timed is None else {}
        found = [f"{n} {self.ratio(n):.3f}x" for n, most in limits.items() if self.ratio(n) > most]
        if self.timed is not None and self.timed.low > WORSE_SECONDS:
            found.append(f"measured time {self.timed.median:.3f}x")
        found += [f"{len(self.moved)} shardings"] * bool(self.moved)
        return found + [f"values {self.values}"] * self.values.startswith("DIFFER")

    @property
    def blame(self) -> list[str]:
        """The rules without which a metric changes by more than 1%, or a sharding does."""
        _, base, *others = self.contenders
        return [
            f"{each['name']}: {each['collectives']:g} collectives with "
            f"{1e-3 * each['collective_bytes']:.4g} KB, peak "
            f"{each['peak'] / max(base['peak'], 1):.3f}x, time "
            f"{each['seconds'] / base['seconds']:.3f}x"
            for each in others
            if "failed" not in each and _differs(each, base)
        ]


def _differs(one: dict[str, Any], other: dict[str, Any]) -> bool:
    names = ("collectives", "collective_bytes", "peak", "seconds")
    moved = any(abs(one[name] - other[name]) > 0.01 * other[name] for name in names)
    return moved or one["results"] != other["results"]


def lines_of(each: Comparison) -> list[str]:
    """A run, for the terminal."""
    if each.reason:
        return [f"{each.run}: no result: {each.reason}"]
    lines = [f"{each.run}: {'WORSE: ' + ', '.join(each.losses) if each.losses else 'no worse'}"]
    lines += [f"  collectives  {each.pair('collectives')}"]
    lines += [f"  KB sent      {each.pair('collective_bytes', 1e-3)}"]
    lines += [f"  peak, MiB    {each.pair('peak', 2**-20)}, {each.ratio('peak'):.3f}x"]
    lines += [f"  time, us     {each.pair('seconds', 1e6)}, {each.ratio('seconds'):.3f}x"]
    lines += [f"  measured     gain {_measured(each)}"] * (each.timed is not None)
    lines += [f"  shardings    {len(each.moved) or 'none'} changed"]
    lines += [f"    {moved}" for moved in each.moved]
    lines += [f"  values       {each.values}"] * bool(each.values)
    rules = ", ".join(f"{name} {n}" for name, n in each.contenders[1]["rules"].items())
    lines += [f"  rules        {rules or 'none'}"]
    return lines + [f"  {line}" for line in each.blame]


def main() -> int:
    given = options()
    if given.read:
        records = [json.loads(line) for line in given.read.read_text().splitlines()]
    else:
        write_raw(given.raw, {"about": circumstances()})
        records = run_all(given)
    found = latest(records, given.runs)
    if given.results:
        abouts = [each["about"] for each in records if "about" in each]
        write_results(given.results, found, abouts or [circumstances()])
    return int(any(each.reason or each.losses for each in found))


def run_all(given: argparse.Namespace) -> list[dict[str, Any]]:
    """Run each in a process of its own, and print it."""
    records: list[dict[str, Any]] = []
    with shown_progress(len(given.runs)) as show:
        for run in given.runs:
            show(str(run))
            records.append(run_process(run, given))
            write_raw(given.raw, records[-1])
            print(*lines_of(Comparison(records[-1])), sep="\n", flush=True)
    return records


def latest(records: list[dict[str, Any]], runs: list[Run]) -> list[Comparison]:
    """The last record of each run, or a record that it was not run."""
    found = {str(Comparison(each).run): each for each in records if "about" not in each}
    missing = {"skipped": "not run"}
    return [Comparison(found.get(str(run), run.about | missing)) for run in runs]


def write_results(file: Path, found: list[Comparison], abouts: list[dict[str, Any]]) -> None:
    """Replace the file."""
    about = abouts[-1]
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    commits = ", ".join(dict.fromkeys(each["commit"] for each in abouts))
    parts = [
        "# Models over meshes\n\nWritten by benchmarks/sharded.py. Do not edit.",
        f"- {about['date']}, commit {commits}, Python {about['python']}\n- {packages}",
        METHOD,
    ]
    for target in dict.fromkeys(each.run.target for each in found):
        parts += [f"## {target}", table([each for each in found if each.run.target == target])]
    file.write_text("\n\n".join(parts) + "\n")


def table(found: list[Comparison]) -> str:
    """The Markdown table of one target; those that are worse come first."""
    ran = sorted((each for each in found if not each.reason), key=lambda each: not each.losses)
    worse = sum(bool(each.losses) for each in ran)
    names = ["model", "collectives", "KB sent", "peak, MiB", "ratio", "time, us", "gain"]
    names += ["measured gain", ""]
    rows = [names, ["---", *["---:"] * 7, "---"], *map(_row, ran)]
    missing = [f"- no result: {each.run}: {each.reason}" for each in found if each.reason]
    return "\n\n".join([f"{worse} of {len(ran)} are worse.", markdown(rows), *missing])


def _measured(each: Comparison) -> str:
    """The measured time before divided by the one after, with its 95% interval."""
    ratio = each.timed
    return f"{1 / ratio.median:.2f} [{1 / ratio.high:.2f}, {1 / ratio.low:.2f}]" if ratio else ""


def _row(each: Comparison) -> list[str]:
    return [
        f"{each.run.model} over {each.run.mesh}",
        each.pair("collectives"),
        each.pair("collective_bytes", 1e-3),
        each.pair("peak", 2**-20),
        f"{each.ratio('peak'):.3f}",
        each.pair("seconds", 1e6),
        f"{1 / each.ratio('seconds'):.3f}",
        _measured(each),
        _remark(each),
    ]


def _remark(each: Comparison) -> str:
    parts = [f"**worse**: {', '.join(each.losses)}"] * bool(each.losses)
    parts += [f"peak grows by {each.growth / 2**10:.0f} KiB"] * each.grew_little
    return "; ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
