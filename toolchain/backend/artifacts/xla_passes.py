"""XLA's passes on a program: the module after each that changed it, and the time of each.

XLA dumps the module after every pass that reports a change, under a file name with the pipeline and
the pass. Only dumps whose text differs are kept, because some passes renumber instructions only.
The time of each pass comes from a metadata file that the compilers of GPUs and TPUs write, and from
the log of the CPU's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jaxlib.mlir import ir

from ...errors import JxcError
from ..targets import Target
from ..targets.build import Build, build

_OPTIONS = {"xla_dump_hlo_pass_re": ".*", "xla_dump_module_metadata": True}
_LOGGING = {"TF_CPP_VMODULE": "hlo_pass_pipeline=1", "TF_CPP_MIN_LOG_LEVEL": "0"}
_FIRST = "before_optimizations.txt"
_START = "pipeline-start"


@dataclass(frozen=True)
class XlaPassChange:
    """A run of one of XLA's passes that changed the module.

    Attributes:
        name: the pass, such as "algsimp".
        pipeline: XLA's pipeline that it ran in.
        text: the module after it; large constants are elided.
    """

    name: str
    pipeline: str
    text: str = field(repr=False)


@dataclass(frozen=True)
class XlaPasses:
    """A compilation, pass by pass.

    Attributes:
        before: the module before the first pass.
        changes: the runs that changed something, in order.
        runs: the number of all runs; None if XLA does not report it.
        seconds: time by pass, the longest first; empty if XLA does not report it.
        build: the result of the compilation.
    """

    before: str = field(repr=False)
    changes: tuple[XlaPassChange, ...]
    runs: int | None
    seconds: Mapping[str, float]
    build: Build

    def files(self) -> dict[str, str]:
        """A file for each change, numbered in order: `0007-algsimp.txt`; 0000 is the input."""
        texts = {"0000-before.txt": self.before}
        for number, change in enumerate(self.changes, 1):
            texts[f"{number:04}-{change.name}.txt"] = change.text
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
        target: the target.
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
        environment=_LOGGING,
        hlo_pass=hlo_pass,
    )
    texts = {n: raw.decode(errors="replace") for n, raw in made.files.items() if n[-4:] == ".txt"}
    firsts = [name for name in texts if name.endswith(_FIRST)]
    if not firsts:
        raise JxcError(f"the compiler of {target.name} dumped no module, so its passes are unknown")
    first = max(firsts, key=lambda name: len(texts[name]))  # XLA also dumps helper programs
    changes = tuple(_changes(texts, first))
    metadata = made.files.get(f"{first.partition('.')[0]}.metadata.textproto", b"").decode()
    times = list(_times_in_metadata(metadata)) or list(_times_in_log(made.log))
    seconds: defaultdict[str, float] = defaultdict(float)
    for name, each in times:
        seconds[name] += each
    longest = dict(sorted(seconds.items(), key=lambda item: -item[1]))
    return XlaPasses(texts[first], changes, len(times) or None, longest, made)


def _changes(texts: Mapping[str, str], first: str) -> Iterator[XlaPassChange]:
    """The dumps of one module whose text differs from the one before, in order."""
    prefix = re.escape(first.removesuffix(_FIRST))
    form = re.compile(rf"{prefix}(\d+)\.(.+?)\.after_(.+?)\.before_(.+)\.txt")
    found = [(match, text) for name, text in texts.items() if (match := form.fullmatch(name))]
    last = _without_numbers(texts[first])
    for match, text in sorted(found, key=lambda row: int(row[0][1])):
        plain = _without_numbers(text)
        if plain != last and match[3] != _START:
            yield XlaPassChange(match[3], match[2], text)
        last = plain


_NAME = re.compile(r"%[\w.-]+")
_FRAMES = re.compile(r"\n(?:FileNames|FunctionNames|FileLocations|StackFrames)\n(?:\d+ .*\n)*")
_FRAME = re.compile(r",? ?stack_frame_id=\d+")


def _without_numbers(text: str) -> str:
    """HLO text with instructions named by their order of appearance, and without stack frames."""
    order: dict[str, str] = {}
    text = _FRAME.sub("", _FRAMES.sub("", text))
    return _NAME.sub(lambda name: order.setdefault(name[0], f"%{len(order)}"), text)


_RUNNING = re.compile(r"Running HLO pass pipeline on module \S+: (.+)$", re.MULTILINE)
_RAN = re.compile(r"HLO pass: (.+) time: .*?\((\d+) us\)")


def _times_in_log(log: str) -> Iterator[tuple[str, float]]:
    """The passes in XLA's log with their seconds; a pipeline inside a pipeline is left out."""
    pipelines = set(_RUNNING.findall(log))
    for name, microseconds in _RAN.findall(log):
        if name not in pipelines:
            yield name, int(microseconds) / 1e6


_BLOCK = re.compile(r"^pass_metadata \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r'^  (\w+): "?(.*?)"?$', re.MULTILINE)


def _times_in_metadata(text: str) -> Iterator[tuple[str, float]]:
    """The passes in `module_0001.metadata.textproto` with their seconds, pipelines left out."""
    blocks = [dict(_FIELD.findall(block)) for block in _BLOCK.findall(text)]
    pipelines = {_START, *(block.get("pipeline_name", "") for block in blocks)}
    for block in blocks:
        if block["pass_name"] not in pipelines:
            start, end = (int(block.get(f"{at}_timestamp_usec", 0)) for at in ("start", "end"))
            yield block["pass_name"], (end - start) / 1e6
