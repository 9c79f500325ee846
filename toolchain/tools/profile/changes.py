"""What recording cost, and what O2 would change: measured on the programs with most of the time.

A program that ran without jxc's passes is compiled again, as it was and after O2. Both versions run
with random arguments. The time of a run without recording is compared with that in the recording of
the user's program: a later recording costs less, since its events are in memory that the process
has by then. Then both versions run under the profiler in turns. A line has changed if all its times
under O2 are below, or above, all its times without.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

from ...backend import jax_state
from ...backend.from_module import lowered_from_module
from ...backend.timing import TimeRatio, interleave, time_ratio
from ...check.fill import fill
from ...check.inputs import MOST_BYTES
from ...errors import JxcError
from ...events import session
from ...ir.module import module_name
from .profile import Profile
from .programs import RecordedProgram

if TYPE_CHECKING:
    from ...compiled.kernels import Kernel
    from ...cost.device import Device
    from ...events.listener import CompileEvent
    from .profile import ProfileRow

_MOST = 3  # programs
_MIN_SHARE = 0.05  # of the running time: other programs are left out
_MAX_SECONDS = 30.0  # a compilation or a recorded run that took longer is not repeated
_BUDGET = 3.0  # seconds of running the two versions of a program
_ROUNDS = 3  # in turns, each with a session of the profiler
_MOST_CALLS = 10  # in a round
_MOST_EVENTS = 600_000  # in all rounds, of both versions: 6 s of reading
_PIPELINE = "O2"

Recorder: TypeAlias = "Callable[[Callable[[], object], int, Any], Profile]"


def with_measurements(
    profile: Profile,
    events: Sequence[CompileEvent],
    device: Device,
    record: Recorder,
    progress: Callable[[str], None] = lambda _: None,
) -> Profile:
    """The profile with the cost of recording, and the time of each line under O2.

    Args:
        profile: of a program on this machine's CPU.
        events: what was compiled.
        device: for the kernels.
        record: records some calls of a function with a module.
        progress: called with a description of each step.
    """
    ratios: dict[tuple[str, str], float] = {}
    overhead: dict[str, float] = {}
    notes: list[str] = []
    for row in profile.rows("program")[:_MOST]:
        text = profile.trace.modules.get(row.name)
        if text is None or row.share < _MIN_SHARE:
            continue
        program = RecordedProgram(row.name, session.hlo_text(text), frozenset(), device)
        event = _measurable(program, events)
        if event is None:
            continue
        runs = _runs_of(profile, row, program.kernels)
        seconds = row.seconds / runs if runs else 0.0
        if seconds > _MAX_SECONDS:
            continue
        progress(f"running {row.name} without recording, and with {_PIPELINE}")
        try:
            versions = _Versions(event.module)
            note, changed = versions.compare(record)
        except (JxcError, RuntimeError, ValueError, MemoryError):  # a callback, several devices
            continue
        if runs > 1 and versions.plain:  # the first run takes longer, with or without recording
            overhead[row.name] = _overhead(seconds + versions.seconds_around, versions.plain)
        if note:
            notes.append(f"with {_PIPELINE}, {row.name} {note}")
        ratios |= {(row.name, line): ratio for line, ratio in changed.items()}
    is_other = any(ratio != 1 for ratio in ratios.values())
    if ratios and not is_other:
        notes.append(f"no line changed beyond noise with {_PIPELINE}")
    profile = replace(profile, notes=[*profile.notes, *notes], overhead=overhead)
    return profile.with_o2(ratios if is_other else {})


def _measurable(program: RecordedProgram, events: Sequence[CompileEvent]) -> CompileEvent | None:
    """The compilation of a program that runs on one device, and ends with any arguments."""
    module = program.module
    if module is None or module.num_partitions * module.num_replicas > 1:
        return None
    if any(kernel.assumed for kernel in program.kernels.values()):  # a loop of unknown length
        return None
    event = event_of(program.name, program.hlo, events)
    if event is None or event.passes is not None or event.seconds > _MAX_SECONDS:
        return None
    return event


def _runs_of(profile: Profile, row: ProfileRow, kernels: Mapping[str, Kernel]) -> float:
    """How often a program ran while it was recorded.

    The first and the last run may be recorded in part: runs are counted by those of the kernels,
    and the median kernel is in no branch, and is one event.

    Returns:
        0 if no kernel is known.
    """
    calls = {p.kernel.name: p.calls for p in profile.pieces if p.kernel and p.program == row.name}
    runs = [calls[name] / kernels[name].times for name in calls if name in kernels]
    return statistics.median(runs) if runs else 0.0


def _overhead(recorded: float, plain: Sequence[float]) -> float:
    """How many times as long a recorded run took; 1 if a run without took at least as long."""
    return 1.0 if recorded <= max(plain) else recorded / statistics.median(plain)


def event_of(program: str, hlo: str, events: Sequence[CompileEvent]) -> CompileEvent | None:
    """The compilation of a program: of several with its name, the one with its HLO."""
    name = program.partition("(")[0]
    named = [each for each in events if module_name(each.module) == name]
    if len(named) < 2:
        return named[0] if named else None
    texts = [jax_state.hlo_text(each.executable) for each in named]
    same = [n for n, text in enumerate(texts) if _without_lines(text) == _without_lines(hlo)]
    lines = set(_LINE.findall(hlo))
    same.sort(key=lambda n: len(lines - {*_LINE.findall(texts[n])}))
    return named[same[0]] if same else None


_LINE = re.compile(r"\{file_name_id=\d+ function_name_id=\d+ (line=.*)\}$", re.MULTILINE)
_FRAME = re.compile(r" ?stack_frame_id=\d+")


def _without_lines(hlo: str) -> str:
    """The computations of an HLO text: a trace leaves out attributes, and lines without an op."""
    start = re.search(r"^(?:%|ENTRY )", hlo, re.MULTILINE)
    return _FRAME.sub("", hlo[start.start() if start else 0 :])


class _Versions:
    """A program as it was, and after O2.

    Args:
        module: as it was lowered.

    Attributes:
        plain: seconds of some calls of the program as it was, without recording; none until
            `compare`.
        seconds_around: of a recorded call, before its first kernel and after its last.
    """

    def __init__(self, module: Any) -> None:
        self.plain: list[float] = []
        self.seconds_around = 0.0
        lowered = lowered_from_module(module)
        self._programs = {"plain": lowered.compile(), _PIPELINE: lowered.opt(_PIPELINE).compile()}

    def compare(self, record: Recorder) -> tuple[str, dict[str, float]]:
        """A sentence on the whole, and the ratio of each line's time.

        Returns:
            An empty sentence if both versions take too long, and no ratio if they have too many
            kernels.
        """
        calls = self._calls()
        if calls is None:
            return "", {}
        first = {name: [call(), call()] for name, call in calls.items()}
        self.plain = first["plain"]
        once = sum(min(each) for each in first.values())  # the first calls may take longer
        count = min(_MOST_CALLS, int(_BUDGET / (once * (2 * _ROUNDS + 1))))  # of both versions
        if count < 1:
            return "", {}
        seconds = interleave(calls, _ROUNDS * count)
        whole = time_ratio(seconds["plain"], seconds[_PIPELINE])
        self.plain = [calls["plain"]() for _ in range(_ROUNDS * count)]
        return f"{_sentence(whole)}, on random arguments", self._by_line(calls, count, record)

    def _by_line(
        self, calls: Mapping[str, Callable[[], float]], count: int, record: Recorder
    ) -> dict[str, float]:
        """The ratio of each line's time, from recorded calls."""
        found: dict[str, list[dict[str, float]]] = {name: [] for name in calls}
        around: list[float] = []

        def recorded(name: str, count: int) -> Profile:
            module = self._programs[name].lowered.module
            taken: list[float] = []
            profile = record(lambda: taken.append(calls[name]()), count, module)
            if name == "plain":
                seconds = min(sum(taken), profile.seconds)  # recording may end at its limit
                around.append((seconds - _seconds_in(profile, module_name(module))) / count)
            return profile

        events = recorded("plain", 1).trace.events
        self.seconds_around = around[0]
        count = min(count, _MOST_EVENTS // (2 * _ROUNDS * max(events, 1)))
        if count < 1:
            return {}
        for _ in range(_ROUNDS):
            for name, lines in found.items():
                lines.append(_seconds_by_line(recorded(name, count), count))
        self.seconds_around = statistics.median(around)
        return _ratios(found["plain"], found[_PIPELINE])

    def _calls(self) -> dict[str, Callable[[], float]] | None:
        """Calls of both versions with the same arguments; None if these are too large.

        A call returns its seconds, without those of copying arguments that it donates.
        """
        import jax

        info = self._programs["plain"].compiled.args_info
        abstract = jax.tree.map(lambda each: jax.ShapeDtypeStruct(each.shape, each.dtype), info)
        leaves = jax.tree.leaves(abstract)
        if sum(leaf.size * leaf.dtype.itemsize for leaf in leaves) > MOST_BYTES:
            return None
        args, kwargs = jax.device_put(fill(abstract, "random"))
        donates = any(program.memory()["alias"] for program in self._programs.values())

        def calling(program: Any) -> Callable[[], float]:
            def call() -> float:
                own = jax.tree.map(jax.numpy.copy, (args, kwargs)) if donates else (args, kwargs)
                jax.block_until_ready(own)
                start = perf_counter()
                jax.block_until_ready(program(*own[0], **own[1]))
                return perf_counter() - start

            return call

        return {name: calling(program) for name, program in self._programs.items()}


def _sentence(ratio: TimeRatio) -> str:
    interval = f"{ratio.low:.2f} to {ratio.high:.2f}"
    if ratio.is_alike:
        return "ran as fast as without"
    if ratio.is_undecided or ratio.is_wide:
        return f"ran {interval} times as fast, too noisy for one number"
    return f"ran {ratio.ratio:.2f} times as fast (95 % interval {interval})"


def _seconds_in(profile: Profile, module: str) -> float:
    """The seconds from the first kernel of each run of a module to its last."""
    return sum(p.seconds for p in profile.pieces if p.program.partition("(")[0] == module)


def _seconds_by_line(profile: Profile, count: int) -> dict[str, float]:
    """The measured seconds of each of some calls, by line of Python."""
    found: Counter[str] = Counter()
    for piece in profile.pieces:
        if piece.kernel is not None:
            found[str(piece.origin.line)] += piece.seconds / count  # type: ignore[assignment]
    return dict(found)


def _ratios(plain: list[dict[str, float]], ours: list[dict[str, float]]) -> dict[str, float]:
    """The ratio of each line's time; time on lines that are new is spread over all.

    A line whose times without and with O2 overlap has not changed.
    """
    before, after = _least(plain), _least(ours)
    moved = sum(seconds for line, seconds in after.items() if line not in before)
    total = sum(after.values()) - moved
    more = 1 + moved / total if total else 1.0
    found = {}
    for line, seconds in before.items():
        one, other = ([each.get(line, 0.0) for each in rounds] for rounds in (plain, ours))
        is_apart = max(other) < min(one) or min(other) > max(one)
        found[line] = after.get(line, 0.0) * more / seconds if is_apart and seconds else 1.0
    return found


def _least(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {line: min(each.get(line, 0.0) for each in rounds) for line in {*rounds[0], *rounds[-1]}}
