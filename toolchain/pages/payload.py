"""The texts of programs as the page's script reads them: each stored once, and passes as hunks."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .changes import ValueNames, hunks_of
from .links import Links, PythonFiles
from .stages import StageText, read_assembly, read_hlo, read_jaxpr, read_stablehlo

if TYPE_CHECKING:
    from ..backend.log import ProgramTexts


def pack(value: Any) -> str:
    """A value as JSON, deflated, in base64; the page's script unpacks it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def describe_programs(
    programs: Sequence[tuple[str, ProgramTexts]], files: PythonFiles
) -> dict[str, Any]:
    """The JSON object for one program, or for two that are compared.

    Args:
        programs: labels and texts. The second program is stored as what differs from the first.
        files: the Python files of the page; new ones are added.

    Returns:
        The tables of `Links`, shared by all, and "programs": for each its stages in order. A stage
        has "text" and "links"; or "base", [program, stage], and the "hunks" that it differs by,
        each [start, removed, text, links, marks].
    """
    described = DescribedPrograms(Links(files))
    for label, texts in programs:
        described.add(label, texts)
    return described.as_json()


@dataclass
class DescribedPrograms:
    """The programs of one unit of the page, added one by one.

    Attributes:
        links: the origins of all lines.
        compares_results: whether the module after the passes of the second program is stored as
            what differs from that of the first; each program then has one module after passes.
        shown: the stages of each program, with values named as the page names them.
    """

    links: Links
    compares_results: bool = False
    shown: list[list[StageText]] = field(default_factory=list)
    _described: list[dict[str, Any]] = field(default_factory=list)
    _names: ValueNames | None = None

    def add(self, label: str, texts: ProgramTexts) -> None:
        """Add a program; the second one is stored as what differs from the first."""
        self.shown.append([])
        stages = [self._described_stage(stage) for stage in _read_stages(texts, self.links)]
        self._described.append({"label": label, "stages": stages})

    def _described_stage(self, stage: StageText) -> dict[str, Any]:
        if self._names is None and stage.kind == "stablehlo":
            self._names = ValueNames(stage)
        about = {"title": stage.title, "kind": stage.kind, "omitted": stage.omitted}
        content: dict[str, Any] = {}
        if base := _base(stage.kind, self.shown, results=self.compares_results):
            before = self.shown[base[0]][base[1]]
            stage, pairs = (self._names or ValueNames(stage)).keep(before, stage)
            if not self.compares_results or base[0] < len(self.shown) - 1:
                content = {"base": base, "hunks": hunks_of(before, stage, pairs)}
        self.shown[-1].append(stage)
        return about | (content or {"text": "\n".join(stage.lines), "links": stage.links})

    def as_json(self) -> dict[str, Any]:
        """The object that `describe_programs` returns."""
        return {"programs": self._described} | self.links.as_json()


def _read_stages(texts: ProgramTexts, links: Links) -> Iterator[StageText]:
    if texts.jaxpr is not None:
        yield read_jaxpr(texts.jaxpr, links)
    if texts.stablehlo:
        yield read_stablehlo("StableHLO", texts.stablehlo, links)
        for name, text in texts.passes:
            yield read_stablehlo(f"after {name}", text, links)
    if texts.hlo:
        hlo = read_hlo(texts.hlo, links)
        yield hlo
        if texts.asm:
            yield read_assembly(texts.asm, hlo, links)


def _base(
    kind: str, shown: Sequence[Sequence[StageText]], *, results: bool = False
) -> tuple[int, int] | None:
    """The program and stage that the next stage, of this kind, is stored as a difference from.

    This is the module before the pass, or the first stage of the kind in the first program. With
    `results`, it is the stage of the first program after as many stages of the kind, if there is a
    first program.
    """
    found = [index for index, stage in enumerate(shown[-1]) if stage.kind == kind]
    first = [index for index, stage in enumerate(shown[0]) if stage.kind == kind]
    is_second = len(shown) > 1
    if results and is_second and len(found) < len(first):
        return 0, first[len(found)]
    if kind == "stablehlo" and found:
        return len(shown) - 1, found[-1]
    return (0, first[0]) if is_second and first else None
