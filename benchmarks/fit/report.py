"""Write FIT.md from the records of `fit.run`; rows without a record stay as FIT.md has them.

PYTHONPATH=benchmarks python -m fit.report [FILE ...] [--results benchmarks/FIT.md]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from accelerators_report import markdown

from fit.programs import PROGRAMS, Program
from fit.records import Record, cells_of, key_of, read_records, read_table, size, time
from fit.worker import EQUAL, FITTED, fastest_by_hand
from jxc.backend.targets import find_target
from jxc.cost.device import Device

HEAD = """\
# Programs that need much memory

Written by `python -m fit.report`. Do not edit.

Each program is a training step: the loss, its gradient and gradient descent, without donation. It
is written in the variants of a user who needs less memory. *block* puts each layer or block under
`jax.checkpoint`, *whole* the whole loss; a policy of `jax.checkpoint_policies` follows. *parts*
splits the batch and adds the gradients. *nested* splits a long loop into chunks of about the square
root of its length, under `jax.checkpoint`. *fitted* is the plain program under the plan that jxc
makes for the device's memory, and *fitted:equal* for the peak of the fastest variant by hand that
fits. Counts of *fitted* are over the programs whose plain version does not fit. A program has only
the variants that are right for it: batch norm excludes *parts*, and a Keras model has no blocks
that a user can wrap.

No accelerator is needed: the target's compiler gives the bytes at the peak, and its own estimate of
the time on TPU; on GPU the time is the roofline of the kernels. The TPU compiler refuses what does
not fit, and rematerializes by itself before it does: such a peak is that of its message, and has no
time. GPU and CPU compilers refuse nothing. On the CPU the sizes are small, the budget is half of
plain's peak, and the time is the median of calls in alternation. *Error* is the largest difference
of a result from that of plain; dropout over parts of a batch draws other numbers. XLA's CPU
compiler of jax 0.10 drops optimization barriers, so that `jax.checkpoint` of straight-line code
saves no memory there; that of 0.12 keeps them. *Versions* is how many a search compiled, and
*commit* the version of jxc; *older* is one before 695d6bf1."""


def rows_of(program: Program, label: str, records: dict[str, Record]) -> dict[str, Record]:
    """The records of a program's variants for the target of a label, plain first."""
    names = [*program.variants, FITTED, EQUAL]
    keys = {each: key_of(program.name, each, label) for each in names}
    return {name: records[key] for name, key in keys.items() if key in records}


def _by_hand(rows: dict[str, Record]) -> dict[str, Record]:
    return {name: each for name, each in rows.items() if name not in (FITTED, EQUAL)}


def _fastest(rows: dict[str, Record]) -> str | None:
    """The fastest variant by hand that fits."""
    fit = {name: each for name, each in rows.items() if each.get("fits", True)}
    return fastest_by_hand(fit, sys.maxsize)


def summary(label: str, records: dict[str, Record]) -> str:
    """A row for each program: plain, the best variants by hand, and the fitted plans."""
    table = [["program", "plain", "ms", "fastest by hand that fits", "peak", "ms"]]
    table[0] += ["least by hand", "peak", "ms", FITTED, "ms", EQUAL, "ms"]
    table += [["---", *["---:"] * 2, "---", *["---:"] * 2, "---", *["---:"] * 6]]
    for program in PROGRAMS.values():
        rows = rows_of(program, label, records)
        if "plain" not in rows:
            continue
        sized = [name for name, each in _by_hand(rows).items() if "peak" in each]
        least = min(sized, key=lambda name: rows[name]["peak"], default="")
        cells = [program.name, size(rows["plain"]), time(rows["plain"])]
        for name in (_fastest(rows) or "", least):
            cells += [name or "none", size(rows.get(name)), time(rows.get(name))]
        for name in (FITTED, EQUAL):
            cells += [size(rows.get(name)), time(rows.get(name))]
        table.append(cells)
    return markdown(table)


def details(label: str, records: dict[str, Record]) -> str:
    """A row for each variant of each program."""
    rows = {p.name: rows_of(p, label, records) for p in PROGRAMS.values()}
    cells = [
        {"program": program, "variant": name} | cells_of(each)
        for program, its in rows.items()
        for name, each in its.items()
    ]
    heads = [head for head in cells[0] if any(each[head] for each in cells)]
    ruler = ["---" if head in ("program", "variant", "jax", "commit") else "---:" for head in heads]
    return markdown([heads, ruler, *([each[head] for head in heads] for each in cells)])


def counts(device: Device, label: str, records: dict[str, Record]) -> Iterator[str]:
    """Sentences on which programs fit."""
    found = {p.name: rows_of(p, label, records) for p in PROGRAMS.values()}
    found = {name: rows for name, rows in found.items() if "plain" in rows}
    large = [name for name, rows in found.items() if not rows["plain"].get("fits", True)]
    if device.kind != "cpu":
        yield f"The device has {device.memory_bytes / 2**30:.2f} GiB. Bold peaks do not fit."
        yield f"Plain does not fit for {len(large)} of {len(found)} programs."
        partial = [n for n, rows in found.items() if set(PROGRAMS[n].variants) - set(rows)]
        none = [name for name in large if not _fastest(found[name]) and name not in partial]
        if partial:
            yield f"Some variants are not measured: {', '.join(partial)}."
        if none:
            yield f"No variant by hand fits: {', '.join(none)}."
    made = [found[name][FITTED] for name in large if FITTED in found[name]]
    good = sum(each.get("fits", False) for each in made)
    yield f"The fitted plan fits for {good} of {len(made)}." if made else "There are no plans yet."
    yield from _against_hand(FITTED, 1.05, "at most 1.05 of the time", [found[n] for n in large])
    all_rows = list(found.values())
    yield from _against_hand(EQUAL, 1.0, "less time in at most the memory", all_rows)
    searched = [r for rows in found.values() for r in rows.values() if "search_seconds" in r]
    if searched:
        most = max(each["compilations"] for each in searched)
        longest = max(each["search_seconds"] for each in searched)
        yield f"Searches of known commits compiled at most {most} versions in {longest:.0f} s."


def _against_hand(
    name: str, most: float, words: str, programs: Sequence[dict[str, Record]]
) -> Iterator[str]:
    """How the times of plans compare with those of the fastest variants by hand that fit."""
    both = [
        (rows[name], rows[best]) for rows in programs if name in rows and (best := _fastest(rows))
    ]
    good = sum(made.get("seconds", 1e9) < most * hand["seconds"] for made, hand in both)
    if both:
        yield f"*{name}* takes {words} of the fastest by hand for {good} of {len(both)}."


def section(label: str, records: dict[str, Record]) -> str:
    """The section of a target."""
    device = find_target(label.partition(",")[0]).device
    parts = [f"## {label}", " ".join(counts(device, label, records))]
    return "\n\n".join([*parts, summary(label, records), details(label, records)])


def labels_of(records: Sequence[str]) -> list[str]:
    """The labels of targets in the keys of records, in order of their first row."""
    return list(dict.fromkeys(key.rsplit("/", 1)[1] for key in records))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, default=[Path("build/fit.jsonl")])
    parser.add_argument("--results", type=Path, default=Path("benchmarks/FIT.md"))
    given = parser.parse_args()
    records = read_table(given.results)
    for file in given.files:
        records |= read_records(file)
    sections = [section(label, records) for label in labels_of(list(records))]
    given.results.write_text("\n\n".join([HEAD, *sections]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
