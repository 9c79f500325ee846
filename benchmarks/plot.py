"""Plot speed-up ratios: one line per model, one dot with its interval per contender, log axis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from report import by_ratio, leading
from results import Result

COLOURS = {"O2": "#0072b2", "enzyme": "#e69f00", "O1": "#999999", "O3": "#009e73"}
MARKERS = {"O2": "o", "enzyme": "D", "O1": "s", "O3": "^"}
TICKS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30)


def draw(results: Sequence[Result], names: Sequence[str], file: Path, title: str) -> None:
    """Write the plot as SVG or PNG, by the file's suffix.

    Raises:
        ImportError: matplotlib is not installed.
    """
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "jxc"  # the same results give the same file
    matplotlib.rcParams["svg.fonttype"] = "none"  # text, a third of the size of glyphs
    from matplotlib import pyplot

    ranked = by_ratio(results, leading(names))[::-1]
    figure, axes = pyplot.subplots(figsize=(8.5, 1.6 + 0.21 * len(ranked)), layout="constrained")
    for index, name in enumerate(names):
        shift = 0.18 * (index - (len(names) - 1) / 2)
        _draw_contender(axes, ranked, name, -shift)
    axes.set_yticks(range(len(ranked)), [result.model for result in ranked], fontsize=8)
    axes.set_ylim(-0.7, len(ranked) - 0.3)
    _draw_scale(axes)
    axes.set_title(title, fontsize=10, loc="left")
    axes.legend(loc="lower right", fontsize=8, frameon=False)
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=110)
    pyplot.close(figure)


def _draw_contender(axes, ranked: Sequence[Result], name: str, shift: float) -> None:
    found = [(y, c.ratio) for y, result in enumerate(ranked) if (c := result.contender(name))]
    medians = [ratio.median for _, ratio in found]
    below = [max(0.0, ratio.median - ratio.low) for _, ratio in found]
    above = [max(0.0, ratio.high - ratio.median) for _, ratio in found]
    axes.errorbar(
        medians,
        [y + shift for y, _ in found],
        xerr=[below, above],
        fmt=MARKERS.get(name, "o"),
        color=COLOURS.get(name, "#555555"),
        markersize=4,
        linewidth=1,
        label=name,
    )


def _draw_scale(axes) -> None:
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    shown = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick:g}x" for tick in shown], fontsize=8)
    axes.set_xticks([], minor=True)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.grid(axis="both", color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("times as fast as plain jax.jit: median, 95% interval", fontsize=9)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
