"""Results as tables: for a terminal of 80 columns, and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from results import SLOWER, Contender, Result, summarise
from rich import box
from rich.table import Table
from rich.text import Text

STYLES = {"WRONG": "bold red", "slower": "yellow", "failed": "dim", "": ""}
MARKS = {"WRONG": " WRONG", "slower": " !", "": "  "}
LEGEND = f"times as fast as plain; ! the whole interval lies below {SLOWER}"


def by_ratio(results: Sequence[Result], name: str) -> list[Result]:
    """Models that a contender ran, the most gained first."""
    ran = [(c.ratio.median, r) for r in results if (c := r.contender(name))]
    return [result for _, result in sorted(ran, key=lambda pair: -pair[0])]


def leading(names: Sequence[str]) -> str:
    """The contender that models are sorted by."""
    return "O2" if "O2" in names else names[-1]


def run_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """Run times: plain's, and how many times as fast each contender is; 80 columns wide at most."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=LEGEND, caption_justify="left")
    table.add_column("model", no_wrap=True)
    table.add_column("plain ms", justify="right")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for result in by_ratio(results, leading(names)):
        contenders = [result.contenders.get(name, Contender("not run")) for name in names]
        cells = [Text(_cell(c), STYLES[c.verdict]) for c in contenders]
        table.add_row(result.model, milliseconds(result.contenders["plain"].run), *cells)
    return table


def _cell(contender: Contender) -> str:
    return "-" if contender.failed else f"{contender.ratio.median:.2f}{MARKS[contender.verdict]}"


def _verdicts(names: Sequence[str], contenders: Sequence[Contender]) -> str:
    told = ((n, c.verdict) for n, c in zip(names, contenders, strict=True))
    return ", ".join(f"{name} {verdict}" for name, verdict in told if verdict)


def _interval(contender: Contender) -> str:
    ratio = contender.ratio
    bounds = f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
    return "-" if contender.failed else bounds


def milliseconds(seconds: float) -> str:
    """Three figures of milliseconds, without an exponent."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def summary_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """What holds over all models, a line for each fact."""
    lines = []
    for name in names:
        told = summarise(results, name)
        if not told.models:
            continue
        worst, by = told.worst
        lines.append(
            f"{name}: {told.ratio:.2f}x over {told.models} models, {told.windows:.2f}x over those "
            "with depthwise or grouped convolutions or pooling (geometric means)"
        )
        lines.append(
            f"{name}: compiles in {told.compile_mean:.2f}x plain's time in the mean, at worst "
            f"{by:.2f}x ({worst})"
        )
        lines += [
            f"{name}: {len(models)} {what}: {', '.join(models) or 'none'}"
            for what, models in (
                (f"with the whole interval below {SLOWER}", told.slower),
                ("WRONG, beyond the program's own sensitivity", told.wrong),
            )
        ]
        lines += [f"{name}: {model} failed: {why}" for model, why in told.failed.items()]
    return lines + against_lines(results) + skipped_lines(results) + process_lines(results)


def process_lines(results: Sequence[Result]) -> list[str]:
    """From how many fresh processes the figures of how many models are."""
    counts = Counter(result.processes for result in results if result.processes)
    return [f"fresh processes for each of {n} models: {each}" for each, n in counts.items()]


def against_lines(results: Sequence[Result]) -> list[str]:
    """O2 against Enzyme-JAX: how often the interval lies on which side of 1."""
    pairs = {r.model: r.against for r in results if r.against}
    if not pairs:
        return []
    ahead = [model for model, ratio in pairs.items() if ratio.low > 1]
    behind = [model for model, ratio in pairs.items() if ratio.high < 1]
    return [
        f"O2 against enzyme on {len(pairs)} models: faster on {len(ahead)}, slower on "
        f"{len(behind)}, the rest within the interval",
        f"enzyme is faster than O2 on: {', '.join(behind) or 'none'}",
    ]


def skipped_lines(results: Sequence[Result]) -> list[str]:
    """How many models were skipped, how many died, and why each."""
    skipped = [f"{result.model}: {result.skipped}" for result in results if result.skipped]
    broken = [f"{result.model}: {result.broken}" for result in results if result.broken]
    return [f"{len(skipped)} skipped", *skipped, f"{len(broken)} broken", *broken]


def not_installed_lines(about: dict[str, Any]) -> list[str]:
    """What pip said about each extra that could not be installed."""
    return [f"not installed: {extra}: {why}" for extra, why in about["not_installed"].items()]


def markdown_runs(results: Sequence[Result], names: Sequence[str]) -> str:
    """The table of run times with intervals, sorted by ratio."""
    first = ["model", "plain, ms", *(f"{name} [95%]" for name in names), ""]
    rows = [first, ["---", *["---:"] * (len(names) + 1), "---"]]
    for result in by_ratio(results, leading(names)):
        contenders = [result.contenders.get(name, Contender("not run")) for name in names]
        plain = milliseconds(result.contenders["plain"].run)
        cells = [_interval(c) for c in contenders]
        verdict = _verdicts(names, contenders)
        mark = f"**{verdict}**" if verdict else ""
        rows.append([result.model, plain, *cells, mark])
    return _markdown(rows)


def markdown_compiles(results: Sequence[Result], name: str) -> str:
    """Ops, compile times, temporaries and errors of one contender beside plain's."""
    first = ["model", "ops", "passes, ms", "XLA, s", "total, s", "compile", "temporaries, MiB"]
    rows = [[*first, "error", "one ulp"], ["---", *["---:"] * 8]]
    for result in by_ratio(results, name):
        plain, ours = result.contenders["plain"], result.contenders[name]
        rows.append(
            [
                result.model,
                f"{plain.ops} -> {ours.ops}",
                milliseconds(ours.passes),
                f"{plain.xla:.2f} -> {ours.xla:.2f}",
                f"{plain.total:.2f} -> {ours.total:.2f}",
                f"{ours.compile_ratio:.2f}x",
                f"{plain.temporaries / 2**20:.1f} -> {ours.temporaries / 2**20:.1f}",
                f"{ours.error:.0e}",
                f"{ours.sensitivity:.0e}",
            ]
        )
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
