"""The page of `jxc profile --html`: a timeline, a flame graph, tables, and the source with times.

The timeline has a view of the whole run, of the median step and of the longest. Events narrower
than a thousandth of a view are drawn as one bar, so that the size of the page is bounded.
"""

from __future__ import annotations

import bisect
import linecache
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...files import write_output
from ...pages import require_packages, template, ticks
from ...pages.highlight import python_lines
from ...source import SourceLine, short_line, short_path
from ...units import counted, show_seconds
from .flame import FlameNode, bars_of, flame_of
from .presentation import COLUMNS, about_overhead, about_steps, percent
from .profile import PARTS, WARM_UP, Grouping, Profile, ProfileRow
from .tracks import ProfileTracks, Track, TrackEvent

_PIXEL = 1000  # events narrower than this part of a view are drawn together
_COLOURS = 8  # kernels with a colour of their own
_MAX_ROWS = 16  # of tracks in a view
_TABLE_ROWS = 20
_AROUND = 3  # lines of source before and after a measured one
_MIN_SHARE = 0.001  # of the running time: lines with less are not marked in the source
_IN_TIP = 4  # kinds of events that a tooltip lists


def write_profile_page(path: str | Path, profile: Profile) -> None:
    """Write one self-contained HTML file that shows a profile.

    Args:
        path: the file; an existing one is replaced.
        profile: the measured time.

    Raises:
        MissingTargetError: jinja2 or pygments is not installed.
        UsageError: the file cannot be written.
    """
    require_packages()
    sources = list(_sources(profile))
    links = {
        (source.path, line.number): line.anchor
        for source in sources
        for lines in source.blocks
        for line in lines
    }
    drawing = _Drawing(profile, links)
    groupings: tuple[Grouping, ...] = ("line", "layer", "kernel", "program")
    page = template("profile.html.j2", Path(__file__).parent).render(
        title=f"jxc profile: {profile.name}",
        profile=profile,
        parts=[(name, profile.parts.get(name, 0.0), css_of(name)) for name in PARTS],
        warm_up=WARM_UP,
        sentences=list(about_steps(profile.steps)),
        overhead=about_overhead(profile.overhead),
        views=list(drawing.views()),
        kernels=drawing.legend,
        flame=list(drawing.flame()),
        tables={
            by: [row for row in profile.rows(by)[:_TABLE_ROWS] if row.seconds > 0]
            for by in groupings
        },
        anchor=drawing.anchor,
        percent=percent,
        columns_of=_columns_of,
        sources=sources,
        notes=[*profile.notes, *drawing.notes],
    )
    write_output(page, str(path))


def css_of(part: str) -> str:
    """The class of a part of the wall clock."""
    return "p-" + part.lower().replace(" ", "-")


# The timeline


@dataclass(frozen=True)
class Bar:
    """A bar as it is drawn: `left` and `width` in percent."""

    left: float
    width: float
    style: str
    tip: str
    label: str = ""
    anchor: str = ""
    depth: int = 0
    opacity: float = 1.0


@dataclass(frozen=True)
class View:
    """A stretch of time: its rows are a process, a track and bars."""

    title: str
    rows: Sequence[tuple[str, str, Sequence[Bar]]]
    axis: Sequence[tuple[float, str]]


def _columns_of(rows: Sequence[ProfileRow]) -> dict[str, Callable[[ProfileRow], str]]:
    """The columns in which a row has a cell."""
    return {name: cell for name, cell in COLUMNS.items() if any(map(cell, rows))}


class _Drawing:
    def __init__(self, profile: Profile, links: dict[tuple[str, int], str]) -> None:
        self._profile, self._links = profile, links
        self._tracks = ProfileTracks(profile)
        self.notes: list[str] = []
        totals: Counter[tuple[str, str]] = Counter()
        for piece in profile.pieces:
            if piece.kernel and piece.part == "device work":
                totals[piece.program, piece.kernel.name] += piece.seconds  # type: ignore[assignment]
        largest = totals.most_common(_COLOURS)
        self._colours = {key: f"b{number}" for number, (key, _) in enumerate(largest)}
        self.legend = [
            (self._colours[key], f"{key[0]} {key[1]}", self._what(key), float(seconds))
            for key, seconds in largest
        ]
        if left := len(totals) - len(largest):
            rest = sum(totals.values()) - sum(seconds for _, seconds in largest)
            self.legend.append(("b-other", counted(left, "other"), "", rest))

    def _what(self, key: tuple[str, str]) -> str:
        cost = self._tracks.cost_of(key)
        return cost.what if cost else ""

    def anchor(self, line: SourceLine | None) -> str:
        """The link to a line in the source part of the page; empty if it is not there."""
        return self._links.get((line.file, line.line), "") if line else ""

    def views(self) -> Iterator[View]:
        tracks = self._tracks
        rows = [*tracks.steps, *tracks.kernels]
        if len(rows) >= _MAX_ROWS:
            self.notes.append(
                f"the timeline has {_MAX_ROWS} of {len(rows) + 1} tracks; --perfetto has all"
            )
        if left_out := sum(each.left_out for each in rows):
            kernels = counted(left_out, "kernel")
            self.notes.append(f"not in the timeline: {kernels} that ran beside others")
        shown = [*rows[: _MAX_ROWS - 1], tracks.gaps]
        if tracks.ended > tracks.started:
            yield self._view("whole run", shown, tracks.started, tracks.ended)
        if any(step.is_warm_up for step in self._profile.steps):
            steps = zip(self._profile.steps, self._profile.trace.steps, strict=True)
            warm = max(span.end for step, span in steps if step.is_warm_up)
            yield self._view(
                "after warm-up", shown, self._profile.trace.started + warm, tracks.ended
            )
        for title, start, end in self._stretches():
            yield self._view(title, shown, start, end)

    def _stretches(self) -> Iterator[tuple[str, int, int]]:
        """The median and the longest step, or run of the program with most of the time."""
        warm = {(step.name, step.number) for step in self._profile.steps if not step.is_warm_up}
        base = self._profile.trace.started
        spans = [
            (base + each.start, base + each.end, f"step {each.name} {each.number}")
            for each in self._profile.trace.steps
            if (each.name, each.number) in warm
        ]
        if not spans:
            spans = list(self._runs())
        spans.sort(key=lambda each: each[1] - each[0])
        if spans:
            yield from (
                (f"{which} {name}", start, end)
                for which, (start, end, name) in (
                    ("median", spans[len(spans) // 2]),
                    ("longest", spans[-1]),
                )
            )

    def _runs(self) -> Iterator[tuple[int, int, str]]:
        base = self._profile.trace.started
        totals: Counter[str] = Counter()
        for run in self._profile.trace.runs:
            totals[run.program] += run.end - run.start
        most = totals.most_common(1)
        for run in self._profile.trace.runs:
            if run.program == most[0][0]:
                yield base + run.start, base + run.end, f"run of {run.program}"

    def _view(self, title: str, tracks: Sequence[Track], start: int, end: int) -> View:
        length = max(end - start, 1)
        margin = length // 25 if title.startswith(("median", "longest")) else 0
        start, end = start - margin, end + margin
        length = end - start
        rows = []
        for track in tracks:
            first = bisect.bisect_right(track.events, start, key=lambda each: each.end)
            last = bisect.bisect_left(track.events, end, key=lambda each: each.start)
            if inside := track.events[first:last]:
                bars = [self._bar(group, start, length) for group in _groups(inside, length)]
                rows.append((track.process, track.name, bars))
        return View(title, rows, ticks(length * 1e-9))

    def _bar(self, group: Sequence[TrackEvent], start: int, length: int) -> Bar:
        first, last = max(group[0].start, start), min(group[-1].end, start + length)
        seconds: Counter[object] = Counter()
        examples: dict[object, TrackEvent] = {}
        for each in group:  # there can be millions
            kind = each.key if each.key[1] else each[2:]
            seconds[kind] += each.end - each.start
            examples[kind] = each
        longest = [(examples[kind], time) for kind, time in seconds.most_common(_IN_TIP)]
        most = longest[0][0]
        return Bar(
            round(100 * (first - start) / length, 3),
            round(max(100 * (last - first) / length, 0.05), 3),
            self._colours.get(most.key, "b-other") if most.key[1] else css_of(most.part),
            "\n".join(self._tip(group, longest, len(seconds))),
            most.name if len(group) == 1 else "",
            self.anchor(most.line),
            opacity=_opacity(group),
        )

    def _tip(
        self, group: Sequence[TrackEvent], longest: list[tuple[TrackEvent, int]], kinds: int
    ) -> Iterator[str]:
        if len(group) > 1:
            whole = (group[-1].end - group[0].start) * 1e-9
            busy = sum(each.end - each.start for each in group) * 1e-9
            yield f"{len(group)} events, {percent(busy / whole)} of {show_seconds(whole)}"
        for each, time in longest:
            where = f"  {short_line(each.line)}" if each.line else ""
            program = f"{each.key[0]} " if each.key[0] else ""
            yield f"{show_seconds(time * 1e-9)}  {program}{each.name}{where}"
        if kinds > len(longest):
            yield f"and {kinds - len(longest)} more"
        if len(group) == 1 and (what := self._what(group[0].key)):
            yield what

    # The flame graph

    def flame(self) -> Iterator[Bar]:
        """The bars of the flame graph; their row is `depth`."""
        root = flame_of(self._profile)
        whole = root.seconds or 1.0
        for each in bars_of(root):
            node = each.node
            tip = f"{node.name}\n{show_seconds(node.seconds)}, {percent(node.seconds / whole)}"
            yield Bar(
                round(each.left, 3),
                round(each.width, 3),
                css_of(node.part or "running"),
                f"{tip}\n{node.detail}".rstrip(),
                _flame_label(node),
                self.anchor(node.line),
                each.depth,
            )


def _opacity(group: Sequence[TrackEvent]) -> float:
    """The share of a bar's time in which its events were active, so far as it can be seen."""
    busy = sum(each.end - each.start for each in group)
    return round(max(busy / max(group[-1].end - group[0].start, 1), 0.15), 2)


def _flame_label(node: FlameNode) -> str:
    return short_line(node.name) if "/" in node.name else node.name


def _groups(events: Iterable[TrackEvent], length: int) -> Iterator[list[TrackEvent]]:
    """Events, those that lie within a pixel together."""
    pixel = length // _PIXEL
    group: list[TrackEvent] = []
    for each in events:
        if group and each.end - group[0].start > pixel:
            yield group
            group = []
        group.append(each)
    if group:
        yield group


# The source


@dataclass(frozen=True)
class MarkedLine:
    """A line of source: its HTML, its seconds and their share of the running time."""

    number: int
    html: str
    seconds: float
    share: float
    anchor: str


@dataclass(frozen=True)
class MarkedSource:
    """The measured lines of a file, in blocks with the lines around them."""

    path: str
    name: str
    seconds: float
    blocks: Sequence[Sequence[MarkedLine]]


def _sources(profile: Profile) -> Iterator[MarkedSource]:
    """The files with measured lines, the one with most time first."""
    files: dict[str, Counter[int]] = defaultdict(Counter)
    for piece in profile.pieces:
        line = piece.origin.line
        if line is not None and line.line and piece.part not in WARM_UP:
            files[line.file][line.line] += piece.seconds  # type: ignore[assignment]
    running = profile.running_seconds or 1.0
    ordered = sorted(files.items(), key=lambda item: -sum(item[1].values()))
    for number, (path, seconds) in enumerate(ordered):
        measured = sorted(n for n, each in seconds.items() if each >= _MIN_SHARE * running)
        texts = python_lines("".join(linecache.getlines(path)).rstrip("\n"))
        if not measured or len(texts) < measured[-1]:
            continue
        blocks = [
            [
                MarkedLine(n, texts[n - 1], seconds[n], seconds[n] / running, f"f{number}-{n}")
                for n in block
            ]
            for block in _blocks(measured, len(texts))
        ]
        yield MarkedSource(path, short_path(path), float(sum(seconds.values())), blocks)


def _blocks(lines: Sequence[int], count: int) -> Iterator[range]:
    """Ranges of line numbers around some lines, which are in order."""
    first = last = lines[0]
    for each in [*lines[1:], None]:
        if each is not None and each - last <= 2 * _AROUND + 1:
            last = each
            continue
        yield range(max(first - _AROUND, 1), min(last + _AROUND, count) + 1)
        first = last = each or 0
