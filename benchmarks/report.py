"""Results as tables, for a terminal of 80 columns and in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from results import NOT_RUN, SLOWER, Contender, Result, summarise
from rich import box
from rich.table import Table
from rich.text import Text

STYLES = {"WRONG": "bold red", "slower": "yellow", "failed": "dim", "": ""}
MARKS = {"WRONG": " WRONG", "slower": " !", "": "  "}
LEGEND = f"speed-up over plain; ! the whole interval is below {SLOWER}"


def by_ratio(results: Sequence[Result], name: str) -> list[Result]:
    """The results of models that a contender ran, largest speed-up first."""
    ran = [(c.ratio.median, r) for r in results if (c := r.contender(name))]
    return [result for _, result in sorted(ran, key=lambda pair: -pair[0])]


def by_ratio_then_failed(results: Sequence[Result], name: str) -> list[Result]:
    """The same, and after them the models that the contender failed on."""
    return by_ratio(results, name) + [
        r for r in results if (c := r.contenders.get(name)) and c.failed
    ]


def leading(names: Sequence[str]) -> str:
    """The contender whose speed-up sorts the models."""
    return "O2" if "O2" in names else names[-1]


def run_table(results: Sequence[Result], names: Sequence[str]) -> Table:
    """A table of plain run times and speed-ups; at most 80 columns wide."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=LEGEND, caption_justify="left")
    table.add_column("model", no_wrap=True)
    table.add_column("plain ms", justify="right")
    for name in names:
        table.add_column(name, justify="right", no_wrap=True)
    for result in by_ratio_then_failed(results, leading(names)):
        contenders = [result.contenders.get(name, NOT_RUN) for name in names]
        cells = [Text(_cell(c), STYLES[c.verdict]) for c in contenders]
        table.add_row(result.model, milliseconds(result.contenders["plain"].run), *cells)
    return table


def _cell(contender: Contender) -> str:
    return "-" if contender.failed else f"{contender.ratio.median:.2f}{MARKS[contender.verdict]}"


def _verdicts(names: Sequence[str], contenders: Sequence[Contender]) -> str:
    summary = ((n, c.verdict) for n, c in zip(names, contenders, strict=True))
    return ", ".join(f"{name} {verdict}" for name, verdict in summary if verdict)


def _interval(contender: Contender) -> str:
    ratio = contender.ratio
    bounds = f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
    return "-" if contender.failed else bounds


def milliseconds(seconds: float) -> str:
    """Milliseconds with three significant digits and no exponent."""
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def summary_lines(results: Sequence[Result], names: Sequence[str]) -> list[str]:
    """Summary lines over all models, one fact per line."""
    lines = []
    for name in names:
        summary = summarise(results, name)
        lines += [f"{name}: {model} failed: {why}" for model, why in summary.failed.items()]
        if not summary.models:
            continue
        worst, by = summary.worst
        lines.append(
            f"{name}: {summary.ratio:.2f}x over {summary.models} models, {summary.windows:.2f}x "
            "over those with depthwise or grouped convolutions or pooling (geometric means)"
        )
        lines.append(
            f"{name}: compile time {summary.compile_mean:.2f}x that of plain (geometric mean), at "
            f"worst {by:.2f}x ({worst}); passes take {summary.passes:.1%} of plain's XLA "
            "time at the median"
        )
        lines += size_lines(results, name)
        lines += [
            f"{name}: {len(models)} {what}: {', '.join(models) or 'none'}"
            for what, models in (
                (f"with the whole interval below {SLOWER}", summary.slower),
                ("WRONG, beyond the program's own sensitivity", summary.wrong),
            )
        ]
    return lines + against_lines(results) + skipped_lines(results) + process_lines(results)


def size_lines(results: Sequence[Result], name: str) -> list[str]:
    """The speed-up and the compile time at each size, if there are several."""
    sizes = list(dict.fromkeys(result.size for result in results))
    found = {size: summarise([r for r in results if r.size == size], name) for size in sizes}
    return [
        f"{name}, {size}: {each.ratio:.2f}x over {each.models} models, compile time "
        f"{each.compile_mean:.2f}x"
        for size, each in found.items()
        if len(sizes) > 1 and each.models
    ]


def process_lines(results: Sequence[Result]) -> list[str]:
    """The number of fresh processes behind the measurements."""
    counts = Counter(result.processes for result in results if result.processes)
    return [f"fresh processes for each of {n} models: {each}" for each, n in counts.items()]


def against_lines(results: Sequence[Result]) -> list[str]:
    """O2 compared with Enzyme-JAX: the number of models on which each is faster."""
    pairs = {r.model: r.against for r in results if r.against}
    if not pairs:
        return []
    ahead = [model for model, ratio in pairs.items() if ratio.low > 1]
    behind = [model for model, ratio in pairs.items() if ratio.high < 1]
    return [
        f"O2 against enzyme on {len(pairs)} models: faster on {len(ahead)}, slower on "
        f"{len(behind)}, no significant difference on the rest",
        f"enzyme is faster than O2 on: {', '.join(behind) or 'none'}",
    ]


def skipped_lines(results: Sequence[Result]) -> list[str]:
    """The number of models that were skipped or failed, with the reason for each."""
    skipped = [f"{result.model}: {result.skipped}" for result in results if result.skipped]
    broken = [f"{result.model}: {result.broken}" for result in results if result.broken]
    return [f"{len(skipped)} skipped", *skipped, f"{len(broken)} broken", *broken]


def not_installed_lines(about: dict[str, Any]) -> list[str]:
    """pip's error for each extra that could not be installed."""
    return [f"not installed: {extra}: {why}" for extra, why in about["not_installed"].items()]


def markdown_runs(results: Sequence[Result], names: Sequence[str]) -> str:
    """The Markdown table of run times with intervals, sorted by speed-up."""
    first = ["model", "plain, ms", *(f"{name} [95%]" for name in names), ""]
    rows = [first, ["---", *["---:"] * (len(names) + 1), "---"]]
    for result in by_ratio_then_failed(results, leading(names)):
        contenders = [result.contenders.get(name, NOT_RUN) for name in names]
        plain = milliseconds(result.contenders["plain"].run)
        cells = [_interval(c) for c in contenders]
        verdict = _verdicts(names, contenders)
        mark = f"**{verdict}**" if verdict else ""
        rows.append([result.model, plain, *cells, mark])
    return _markdown(rows)


def markdown_compiles(results: Sequence[Result], name: str) -> str:
    """A Markdown table: ops, compile times, temporaries, errors of plain and a contender."""
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


def markdown_tuning(results: Sequence[Result]) -> str:
    """A Markdown table: what O3 chose, how long that took, and its speed-up beside that of O2."""
    rows = [["model", "candidate", "tuning, s", "O3 [95%]", "O2 [95%]"]]
    rows.append(["---", "---", *["---:"] * 3])
    for result in by_ratio(results, "O3"):
        ours, default = result.contenders["O3"], result.contenders.get("O2", NOT_RUN)
        seconds = f"{ours.tuning:.1f}"
        rows.append([result.model, ours.choice, seconds, _interval(ours), _interval(default)])
    return _markdown(rows)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)
