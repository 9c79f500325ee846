"""How much time the gate's decisions lose: `make regret`.

    python benchmarks/regret.py [--only FAMILY] [--sites N] [--save DIR] [--against DIR]

Each site is a small program that some priced rules can rewrite. It runs at O2 as the gate decides,
with these rules always carried out, and never. Its regret is the time of the first divided by the
time of the fastest. Shapes are drawn at random. Sites of seed 1 were looked at while the prices
were made; other seeds validate them.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import jax
from regret_sites import FAMILIES, Site

import jxc
from jxc.backend.targets import find_target
from jxc.backend.timing import interleave
from jxc.compiled.program import Compiled
from jxc.ir.io import read_module
from jxc.pipeline import make_pipeline, our_passes
from jxc.rewrite import PassContext
from jxc.rewrite.actions import observe_rewrites
from jxc.tools.report.report import report
from jxc.tools.tune.estimated import estimated_seconds

CALLS = PassContext().calls


def _programs(site: Site, target: str) -> dict[str, Any]:
    """The programs of one site: as the gate decides, with priced rules always, and never."""
    _, function, args = site
    lowered = jxc.lower(function, *args).for_target(target)
    steps = make_pipeline("O2")
    found = {
        "decided": lowered._after(steps, PassContext(target)),
        "always": lowered._after(steps, PassContext(target, always=True)),
    }
    priced = {rule.name for each in our_passes() for rule in each.rules if rule.priced}
    with observe_rewrites(lambda rule, _op, _location: rule not in priced):
        found["never"] = lowered._after(steps, PassContext(target))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="families, separated by commas")
    parser.add_argument("--sites", type=int, default=30, help="sites of each family")
    parser.add_argument("--seed", type=int, default=1, help="of the random shapes")
    parser.add_argument("--save", type=Path, help="write O2's programs to this folder; run nothing")
    parser.add_argument("--against", type=Path, help="run the programs in this folder as well")
    parser.add_argument(
        "--target", default="cpu", help="gpu:h100, tpu:v5e, ...: by estimates, without running"
    )
    parser.add_argument(
        "--results", type=Path, help="write the table to a section of this Markdown file"
    )
    options = parser.parse_args()
    table: dict[str, dict[str, list[float]]] = {}
    for family, make in FAMILIES.items():
        if options.only and family not in options.only.split(","):
            continue
        rng = random.Random(f"{family} {options.seed}")
        regrets = table.setdefault(family, {})
        for number in range(options.sites):
            site = make(rng)
            file = f"{family}-{options.seed}-{number}.mlir"
            if options.save:
                options.save.mkdir(exist_ok=True, parents=True)
                (options.save / file).write_text(str(jxc.lower(site[1], *site[2]).opt("O2").module))
                continue
            measure(site, regrets, options.against and options.against / file, options.target)
    print(lines := "\n".join(_table(table)))
    if options.results:
        title = f"{options.target}, jax {jax.__version__}, seed {options.seed}"
        options.results.write_text(_with_section(options.results, title, lines))


def _with_section(file: Path, title: str, lines: str) -> str:
    """The text of a results file with the section of this title, new or in place of the old one."""
    sections = file.read_text().split("\n## ")[1:] if file.exists() else []
    found = dict(section.split("\n\n", 1) for section in sections)
    found[title] = f"{lines}\n"
    return _HEAD + "".join(f"\n## {name}\n\n{text}" for name, text in found.items())


_HEAD = f"""# The regret of the prices

Written by benchmarks/regret.py. Do not edit.

Each site is a small program of random shape that priced rules can rewrite. *Decided* is O2, *never*
O2 without these rules, *always* O2 with all their rewrites. The time of a program is that of a run
and of compiling divided by {CALLS:,} runs; a regret is it divided by the least of the three. The
mean is the geometric one. *Run* is the same without the time to compile.
"""


def _table(table: dict[str, dict[str, list[float]]]) -> list[str]:
    names = ["decided", "never", "always", "decided run", "other"]
    found = [n for n in names if any(n in each for each in table.values())]
    head = [f"| family | sites | {' | '.join(f'{n}: mean, worst' for n in found)} |"]
    head.append(f"|---|---:|{'---:|' * len(found)}")
    for family, regrets in table.items():
        if not regrets:
            continue
        cells = [
            f"{statistics.geometric_mean(regrets[n]):.3f}, {max(regrets[n]):.2f}"
            for n in found
            if regrets.get(n)
        ]
        head.append(f"| {family} | {len(regrets['decided'])} | {' | '.join(cells)} |")
    return head


def measure(site: Site, regrets: dict[str, list[float]], other: Path | None, target: str) -> None:
    """Run one site and add its regrets; `other` is a program of another version of jxc."""
    programs = _programs(site, target)
    if other is not None:
        context = programs["never"].module.context
        module = read_module(other.read_bytes(), context, name=other.name)
        programs["other"] = replace(programs["never"], module=module)
    names = sorted(programs, key=("always", "never", "decided", "other").index)
    texts = {name: _stripped(programs[name]) for name in names}
    if texts["always"] == texts["never"]:
        return
    run_as = {n: next(m for m in names if texts[m] == texts[n]) for n in names}
    measured = {n: programs[n] for n in names if run_as[n] == n}
    times, compiling = _run(measured, site[2]) if target == "cpu" else _estimated(measured, target)
    of = {n: times[m] for n, m in run_as.items()}
    whole = {n: of[n] + compiling[m] / CALLS for n, m in run_as.items()}
    best, least = min(of.values()), min(whole.values())
    for name in ("decided", "other", "never", "always"):
        if name in of:
            regrets.setdefault(name, []).append(whole[name] / least)
            regrets.setdefault(name + " run", []).append(of[name] / best)
    chosen = " ".join(
        f"{n} {of[n] * 1e6:.1f} us, {compiling[m] * 1e3:.0f} ms;" for n, m in run_as.items()
    )
    print(
        f"{site[0]:52} {chosen}  regret {of['decided'] / best:.2f} {whole['decided'] / least:.2f}",
        flush=True,
    )


Times = tuple[dict[str, float], dict[str, float]]


def _run(programs: dict[str, Any], args: Sequence[Any]) -> Times:
    """The seconds of running each program on this machine, and of compiling it."""
    calls: dict[str, Callable[[], Any]] = {}
    compiling: dict[str, float] = {}
    for name, program in programs.items():
        start = perf_counter()
        calls[name] = partial(program.compile(), *args)
        compiling[name] = perf_counter() - start
    rounds = interleave(calls, 9)
    return {name: statistics.median(each) for name, each in rounds.items()}, compiling


def _estimated(programs: dict[str, Any], target: str) -> Times:
    """The seconds that the target's compiler estimates, or else the roofline; see `jxc report`."""
    times: dict[str, float] = {}
    for name, program in programs.items():
        found = report(program, find_target(target), "O0", with_plain=False).optimised
        assert isinstance(found, Compiled), found
        times[name] = estimated_seconds(found) or found.roofline_seconds
    return times, dict.fromkeys(programs, 0.0)


def _stripped(program: Any) -> str:
    return "\n".join(
        line.partition(" loc(")[0] for line in str(program.module).splitlines() if line
    )


if __name__ == "__main__":
    main()
