"""What XLA's passes did to a program: which ran, which changed something, how long each took.

XLA dumps the module after each pass that says it changed something. The compilers of GPUs and TPUs
write what ran, and when, into a file beside it; that of CPUs says so in its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from jaxlib.mlir import ir

from ...errors import JxcError
from ..targets import Target
from ..targets.build import Build, build

_OPTIONS = {"xla_dump_hlo_pass_re": ".*", "xla_dump_module_metadata": True}
_TALKING = {"TF_CPP_VMODULE": "hlo_pass_pipeline=1", "TF_CPP_MIN_LOG_LEVEL": "0"}
_FIRST = "before_optimizations.txt"
_START, _END = "pipeline-start", "pipeline-end"


@dataclass(frozen=True)
class PassRun:
    """One run of one of XLA's passes.

    Attributes:
        name: the pass, such as "algsimp".
        pipeline: of XLA's, that it ran in.
        seconds: how long it took; None where XLA does not say.
        text: the module after it, where it changed something; large constants left out.
    """

    name: str
    pipeline: str
    seconds: float | None = None
    text: str | None = None


@dataclass(frozen=True)
class XlaPasses:
    """A compilation, pass by pass.

    Attributes:
        before: the module before the first.
        runs: every run in order; only those that changed something where XLA does not say more.
        build: what came of it.
    """

    before: str
    runs: tuple[PassRun, ...]
    build: Build

    @property
    def changes(self) -> list[PassRun]:
        """The runs that changed something."""
        return [run for run in self.runs if run.text is not None]

    def seconds(self) -> dict[str, float]:
        """By the name of the pass, the longest first; empty where XLA does not say."""
        total: dict[str, float] = {}
        for run in self.runs:
            if run.seconds is not None:
                total[run.name] = total.get(run.name, 0.0) + run.seconds
        return dict(sorted(total.items(), key=lambda item: -item[1]))

    def files(self) -> dict[str, str]:
        """A file for each change, numbered in order: `0007-algsimp.txt`; 0000 is what came in."""
        texts = {"0000-before.txt": self.before}
        for number, run in enumerate(self.changes, 1):
            texts[f"{number:04}-{_spelled(run.name)}.txt"] = run.text or ""
        return texts


def trace_passes(
    module: ir.Module,
    target: Target,
    *,
    xla_options: Mapping[str, Any] | None = None,
    hlo_pass: str | None = None,
) -> XlaPasses:
    """Compile a module, and keep it after every pass of XLA's that changed it.

    Args:
        module: as for `build`.
        target: what for.
        xla_options: XLA's options by name.
        hlo_pass: "file.py:fn", a pass on HLO.

    Raises:
        JxcError: as `build`; or XLA wrote no dump.
    """
    made = build(
        module,
        target,
        xla_options={**_OPTIONS, **(xla_options or {})},
        files=["*.txt", "*.metadata.textproto"],
        environment=_TALKING,
        hlo_pass=hlo_pass,
    )
    texts = {n: raw.decode(errors="replace") for n, raw in made.files.items() if n[-4:] == ".txt"}
    firsts = [name for name in texts if name.endswith(_FIRST)]
    if not firsts:
        raise JxcError(
            f"the compiler of {target.name} wrote no dump: it says nothing of its passes"
        )
    first = max(firsts, key=lambda name: len(texts[name]))  # it compiles helpers of its own, too
    dumps = _changing(_dumps(texts, first.removesuffix(_FIRST)), texts[first])
    events = _of_metadata(made.files, first) or _of_log(made.log)
    return XlaPasses(texts[first], tuple(_joined(events, dumps)), made)


# What XLA dumped


@dataclass(frozen=True)
class _Dump:
    pipeline: str
    name: str
    following: str
    file: str
    text: str
    changed: bool = True


def _dumps(texts: Mapping[str, str], prefix: str) -> list[_Dump]:
    """In order; what is no whole pass, such as a step within one, is left out."""
    form = re.compile(rf"{re.escape(prefix)}(\d+)\.(.+?)\.after_(.+?)\.before_(.+)\.txt")
    found = [(form.fullmatch(name), text) for name, text in texts.items()]
    rows = [(int(m[1]), _Dump(m[2], m[3], m[4], m[0], text)) for m, text in found if m]
    return [dump for _, dump in sorted(rows, key=lambda row: row[0])]


def _changing(dumps: Sequence[_Dump], before: str) -> list[_Dump]:
    """Each with whether it differs from the one before it, apart from XLA's numbers."""
    marked = []
    last = _without_numbers(before)
    for dump in dumps:
        text = _without_numbers(dump.text)
        marked.append(replace(dump, changed=text != last and dump.name != _START))
        last = text
    return marked


_NAME = re.compile(r"%[\w.-]+")
_FRAMES = re.compile(r"\n(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ .*\n)*")
_FRAME = re.compile(r",? ?stack_frame_id=\d+")


def _without_numbers(text: str) -> str:
    """The text with names replaced by the order that they appear in, and no tables of places."""
    order: dict[str, str] = {}
    text = _FRAME.sub("", _FRAMES.sub("", text))
    return _NAME.sub(lambda name: order.setdefault(name[0], f"%{len(order)}"), text)


# What XLA says of the passes that ran


@dataclass(frozen=True)
class _Event:
    """A pass that ran, or the start of a pipeline; a pipeline in a pipeline is a pass as well."""

    pipeline: str
    name: str
    seconds: float | None = None
    file: str = ""  # of its dump, where XLA says so


_RUNNING = re.compile(r"Running HLO pass pipeline on module \S+: (.+)$")
_RAN = re.compile(r"HLO pass: (.+) time: .*?\((\d+) us\)")


def _of_log(log: str) -> list[_Event]:
    events: list[_Event] = []
    running: list[str] = []
    for line in log.splitlines():
        if found := _RUNNING.search(line):
            running.append(found[1])
            events.append(_Event(found[1], _START))
        elif found := _RAN.search(line):
            while running and running[-1] == found[1]:  # a pipeline, perhaps until nothing changed
                running.pop()
            pipeline = running[-1] if running else ""
            events.append(_Event(pipeline, found[1], int(found[2]) / 1e6))
    return events


_BLOCK = re.compile(r"^pass_metadata \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^  (\w+): "?(.*?)"?$', re.MULTILINE)


def _of_metadata(files: Mapping[str, bytes], first: str) -> list[_Event]:
    """From `module_0001.metadata.textproto`, where there is one for the module."""
    raw = files.get(f"{first.partition('.')[0]}.metadata.textproto", b"")
    return [_event(dict(_FIELD.findall(block))) for block in _BLOCK.findall(raw.decode())]


def _event(told: Mapping[str, str]) -> _Event:
    began, ended = (int(told.get(f"{end}_timestamp_usec", 0)) for end in ("start", "end"))
    file = told.get("dump_filenames", "").rpartition("/")[2]
    return _Event(told.get("pipeline_name", ""), told["pass_name"], (ended - began) / 1e6, file)


# Both together


def _joined(events: Sequence[_Event], dumps: Sequence[_Dump]) -> Iterator[PassRun]:
    """Every pass that ran, with the text of those that changed something."""
    of_event = _by_file(events, dumps) or _in_step(events, dumps)
    pipelines = {event.pipeline for event in events}
    for at, event in enumerate(events):
        dump = of_event.get(at)
        text = dump.text if dump and dump.changed else None
        if event.name != _START and (event.name not in pipelines or text is not None):
            yield PassRun(event.name, event.pipeline, event.seconds, text)
    told = {dump.file for dump in of_event.values()}
    for dump in dumps:  # what XLA says nothing of: on GPUs, passes after scheduling
        if dump.changed and dump.file not in told:
            yield PassRun(dump.name, dump.pipeline, None, dump.text)


def _by_file(events: Sequence[_Event], dumps: Sequence[_Dump]) -> dict[int, _Dump]:
    files = {dump.file: dump for dump in dumps}
    return {at: files[event.file] for at, event in enumerate(events) if event.file in files}


def _in_step(events: Sequence[_Event], dumps: Sequence[_Dump]) -> dict[int, _Dump]:
    """The dump of each event, both being in the order of time."""
    found: dict[int, _Dump] = {}
    waiting = iter(dumps)
    dump = next(waiting, None)
    for at in range(len(events)):
        if dump is not None and _is_of(dump, events, at):
            found[at], dump = dump, next(waiting, None)
    return found


def _is_of(dump: _Dump, events: Sequence[_Event], at: int) -> bool:
    event = events[at]
    if (dump.pipeline, dump.name) != (_spelled(event.pipeline), _spelled(event.name)):
        return False
    return dump.name == _START or dump.following == _spelled(_following(events, at))


def _following(events: Sequence[_Event], at: int) -> str:
    """The pass that comes next in the same pipeline."""
    pipeline = events[at].pipeline
    for event in events[at + 1 :]:
        if event.pipeline == pipeline:
            return _END if event.name == _START else event.name
    return _END


def _spelled(name: str) -> str:
    """A name as XLA puts it into the name of a file."""
    return re.sub(r"[^\w.-]", "_", name)
