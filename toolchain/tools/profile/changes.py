"""What O2 would change: an estimate for each line of the programs that take most of the time.

A program that ran without jxc's passes is rewritten by O2 and compiled again. The cost model
(`report.kernels`) prices the kernels of both versions by line. The ratio is applied to the measured
time of the line, so that errors of the model that are in both versions cancel.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...backend import _private as backend_private
from ...backend.from_module import lowered_from_module
from ...errors import JxcError
from ...ir.module import module_name
from . import _private
from .profile import Profile
from .programs import RecordedProgram

if TYPE_CHECKING:
    from ...backend.targets.target import Device
    from ..explain.recorder import CompileEvent

_MOST = 3  # programs
_MIN_SHARE = 0.05  # of the running time: other programs are left out
_MAX_SECONDS = 30.0  # of XLA for the program: a longer compilation is not repeated
_ALIKE = 0.03  # a smaller change of a line is none
_PIPELINE = "O2"


def with_estimates(
    profile: Profile,
    events: Sequence[CompileEvent],
    device: Device,
    progress: Callable[[str], None] = lambda _: None,
) -> Profile:
    """The profile with the estimated time of each line under O2.

    Args:
        profile: of a program on this machine's CPU.
        events: what was compiled.
        device: for the cost model.
        progress: called with a description of each step.
    """
    ratios: dict[tuple[str, str], float] = {}
    for row in profile.rows("program")[:_MOST]:
        text = profile.trace.modules.get(row.name)
        if text is None or row.share < _MIN_SHARE:
            continue
        hlo = _private.hlo_text(text)
        if (module := RecordedProgram("", hlo, frozenset(), device).module) is None:
            continue
        if module.num_partitions * module.num_replicas > 1:
            continue
        event = event_of(row.name, hlo, events)
        if event is None or event.passes is not None or event.seconds > _MAX_SECONDS:
            continue
        progress(f"estimating what {_PIPELINE} would change in {row.name}")
        after = _hlo_under_o2(event.module)
        if after is not None:
            found = _ratios(_seconds_by_line(hlo, device), _seconds_by_line(after, device))
            ratios |= {(row.name, line): ratio for line, ratio in found.items()}
    changed = any(abs(ratio - 1) > _ALIKE for ratio in ratios.values())
    return profile.with_o2(ratios if changed else {})


def event_of(program: str, hlo: str, events: Sequence[CompileEvent]) -> CompileEvent | None:
    """The compilation of a program: of several with its name, the one with its HLO."""
    name = program.partition("(")[0]
    named = [each for each in events if module_name(each.module) == name]
    if len(named) < 2:
        return named[0] if named else None
    texts = [backend_private.hlo_text(each.executable) for each in named]
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


def _hlo_under_o2(module: Any) -> str | None:
    """The optimized HLO of a module after O2; None if jxc cannot compile it by itself."""
    try:
        executable = lowered_from_module(module).opt(_PIPELINE).compile()
        return str(executable.as_text("hlo"))
    except (JxcError, RuntimeError, ValueError):  # a callback, several devices, memory
        return None


def _seconds_by_line(hlo: str, device: Device) -> dict[str, float]:
    """The estimated seconds of one run of a program by line of Python."""
    program = RecordedProgram("", hlo, frozenset(), device)
    found: Counter[str] = Counter()
    for kernel in program.kernels.values():
        seconds = kernel.roofline(device).seconds * kernel.times
        for origin, fraction in program.cost_of(kernel.name).parts:
            found[str(origin.line)] += seconds * fraction  # type: ignore[assignment]
    return dict(found)


def _ratios(before: dict[str, float], after: dict[str, float]) -> dict[str, float]:
    """The ratio of each line's time; time on lines that are new is spread over all."""
    moved = sum(seconds for line, seconds in after.items() if line not in before)
    total = sum(after.values()) - moved
    more = 1 + moved / total if total else 1.0
    return {
        line: after.get(line, 0.0) * more / seconds for line, seconds in before.items() if seconds
    }
