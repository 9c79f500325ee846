"""Records of the programs that pipelines rewrite inside JAX: for the user, and for `jxc explain`.

`hook` adds each program to the open logs. `with jxc.use(...) as log` opens a `RewriteLog`. The
recorder of `jxc explain` sets the pass observer, which also gets the text after each pass.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from jaxlib.mlir import ir

from ..ir import write_text
from ..pipeline import PipelineReport, PipelineStep, StepReport
from ..units import counted, show_seconds, stated_columns


@dataclass(frozen=True)
class RewrittenProgram:
    """One program that a pipeline rewrote on its way to XLA.

    Attributes:
        name: of the module, such as "jit_step".
        pipeline: the name under which it was lowered.
        report: what each pass did.
        ops_before: ops in the module that JAX lowered.
        ops_after: ops in the module that XLA compiled.
        from_cache: whether the result was kept by an earlier process or call, so that no pass ran;
            `report` has the rewrites of the run that made it, and no times.
    """

    name: str
    pipeline: str
    report: PipelineReport = field(repr=False)
    ops_before: int
    ops_after: int
    from_cache: bool = False


@dataclass(repr=False)
class RewriteLog:
    """The programs that pipelines rewrote on one thread while a block was open, in order.

    `print(log)` shows a line for each: its name, its pipeline, its ops and the rules that fired.

    Attributes:
        compilations: the programs, including those of blocks inside this one.
        skipped: the number of programs that a built-in level skipped because they are tiny.
    """

    compilations: list[RewrittenProgram] = field(default_factory=list)
    skipped: int = 0

    @property
    def hits(self) -> Counter[str]:
        """How often each rule fired, over all programs."""
        return sum((Counter(c.report.hits) for c in self.compilations), Counter())

    def __repr__(self) -> str:
        parts = [f"rewritten programs: {len(self.compilations)}"]
        if self.skipped:
            parts.append(f"skipped as tiny: {self.skipped}")
        if kept := sum(c.from_cache for c in self.compilations):
            parts.append(f"from the cache: {kept}")
        if hits := self.hits:
            (most, _), *others = hits.most_common()
            parts.append(f"rewrites: {hits.total()} by {most}{' and others' if others else ''}")
        return f"<jxc log: {', '.join(parts)}>"

    def __str__(self) -> str:
        if not self.compilations:
            return repr(self)
        rows = [("program", "pipeline", "ops", "rules")]
        for each in self.compilations:
            rules = ", ".join(f"{name} {count}" for name, count in each.report.hits.items())
            ops = f"{each.ops_before} -> {each.ops_after}"
            rules = rules or "none fired"
            rules += " (from the cache)" if each.from_cache else ""
            rows.append((_cut(each.name), _cut(each.pipeline), ops, rules))
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:3]]
        indent = sum(widths) + 2 * len(widths)
        room = max((stated_columns() or _COLUMNS) - indent, _COLUMNS // 4)
        lines = []
        for row in rows:
            head = "  ".join(f"{cell:{n}}" for cell, n in zip(row, widths, strict=False))
            first, *more = textwrap.wrap(row[-1], room, break_on_hyphens=False) or [""]
            lines += [f"{head}  {first}", *(" " * indent + each for each in more)]
        if self.skipped:
            lines.append(f"{self.skipped} tiny programs skipped")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from ..display.fragment import fragment, table

        rows = [
            (
                each.name,
                each.pipeline,
                f"{each.ops_before} \u2192 {each.ops_after}",
                ", ".join(f"{name} {count}" for name, count in each.report.hits.items()) or "none",
                "from the cache" if each.from_cache else show_seconds(each.report.seconds),
            )
            for each in self.compilations
        ]
        facts = [f"{counted(len(rows), 'program')} rewritten"]
        facts += [f"{self.skipped} skipped as tiny"] if self.skipped else []
        header = ("program", "pipeline", "ops", "rules", "passes")
        return fragment("jxc.use", facts, [table(header, rows, right=(2, 4))] if rows else [])


_COLUMNS = 80  # of a printed log, if COLUMNS does not state another number


def _cut(text: str) -> str:
    """A name or a pipeline in a column of a quarter of the width."""
    most = _COLUMNS // 4
    return text if len(text) <= most else f"{text[: most - 1]}…"


def replace_in_logs(
    logs: Iterable[RewriteLog], old: RewrittenProgram, new: RewrittenProgram
) -> None:
    """Replace the entry of a program that was tuned after it had been compiled."""
    for each in logs:
        each.compilations[:] = [new if one is old else one for one in each.compilations]


def text_to_read(module: ir.Module) -> str:
    """A module with its locations; constants of more than 16 elements are left out."""
    return write_text(module, debug_info=True, elide_larger_than=16)


@dataclass(frozen=True)
class ProgramTexts:
    """The text of one program at each stage of its compilation.

    Attributes:
        jaxpr: JAX's own value, or its text and frames from `print_numbered`; None if the program
            was not traced.
        stablehlo: the module that JAX lowered, printed with locations; empty if there is none.
        passes: the name of each jxc pass that changed the module, and the module after it.
        hlo: the optimized HLO, with metadata; empty if the program was not compiled.
        asm: the disassembled kernels; empty if there are none, or they were not requested.
    """

    jaxpr: Any = None
    stablehlo: str = ""
    passes: tuple[tuple[str, str], ...] = ()
    hlo: str = ""
    asm: str = ""


@dataclass
class PassTexts:
    """The passes of one program: their time, and its text after each that changed it.

    Run as an instrument of a pipeline. If a pass fails, it has the texts up to that pass.

    Attributes:
        seconds: time of all passes, copying and verifying the module included.
        texts: the name of each pass that changed the module, and its text after it.
        seconds_writing: time to write these texts; not part of `seconds`.
    """

    seconds: float = 0.0
    texts: list[tuple[str, str]] = field(default_factory=list)
    seconds_writing: float = 0.0
    _last: str = ""

    def before(self, step: PipelineStep, module: ir.Module) -> None:
        if not self._last:
            self._last = self._text(module)

    def after(self, step: PipelineStep, module: ir.Module, report: StepReport) -> None:
        if report.rules and not any(count.hits for count in report.rules):
            return
        text = self._text(module)
        if text != self._last:
            self.texts.append((step.name, text))
            self._last = text

    def _text(self, module: ir.Module) -> str:
        start = perf_counter()
        text = text_to_read(module)
        self.seconds_writing += perf_counter() - start
        return text


@dataclass
class PassObserver:
    """The one observer of passes on any thread.

    Attributes:
        notify: called after the passes of a program, before XLA compiles it; None without observer.
        keep_texts: whether to keep the module's text after each pass.
    """

    notify: Callable[[PassTexts], None] | None = None
    keep_texts: bool = False


pass_observer = PassObserver()
