"""The texts of programs as the page's script reads them: each stored once, and passes as hunks."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .changes import ValueNames, hunks_of
from .content import ProgramTexts
from .links import Links, PythonFiles
from .stages import StageText, read_hlo, read_jaxpr, read_stablehlo

INPUT_OF_XLA = "StableHLO given to XLA"


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
    links = Links(files)
    writer = _PayloadWriter(links)
    for label, texts in programs:
        writer.add(label, texts)
    return {"programs": writer.programs} | links.as_json()


class _PayloadWriter:
    """The programs written so far, and the stages of each."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.programs: list[dict[str, Any]] = []
        self.stages: list[list[StageText]] = []
        self.names: ValueNames | None = None

    def add(self, label: str, texts: ProgramTexts) -> None:
        self.programs.append({"label": label, "stages": []})
        self.stages.append([])
        if texts.jaxpr is not None:
            self._add_whole(read_jaxpr(texts.jaxpr, self.links))
        if texts.stablehlo:
            self._add_modules(texts)
        if texts.hlo:
            self._add(read_hlo(texts.hlo, self.links), self._stage_of_first("hlo"))

    def _add_modules(self, texts: ProgramTexts) -> None:
        stage = read_stablehlo("StableHLO", texts.stablehlo, self.links)
        last_of_first = self._stage_of_first("stablehlo", last=True)
        self._add(stage, self._stage_of_first("stablehlo"))
        program = len(self.stages) - 1
        for name, text in texts.passes:
            before = len(self.stages[-1]) - 1
            self._add(read_stablehlo(f"after {name}", text, self.links), (program, before))
        # Where either program ran passes, what XLA got is compared with what it got of the first.
        if last_of_first is not None and (texts.passes or last_of_first[1] > 1):
            self._add(replace(self.stages[-1][-1], title=INPUT_OF_XLA), last_of_first)

    def _stage_of_first(self, kind: str, *, last: bool = False) -> tuple[int, int] | None:
        """The first or last stage of a kind in the first program; None while that is written."""
        if len(self.stages) < 2:
            return None
        found = [index for index, stage in enumerate(self.stages[0]) if stage.kind == kind]
        return (0, found[-1 if last else 0]) if found else None

    def _add(self, stage: StageText, base: tuple[int, int] | None) -> None:
        """Store a stage as what differs from `base`, [program, stage]; without a base, whole."""
        if base is None:
            if stage.kind == "stablehlo" and self.names is None:
                self.names = ValueNames(stage)
            self._add_whole(stage)
            return
        before = self.stages[base[0]][base[1]]
        stage, pairs = (self.names or ValueNames(stage)).keep(before, stage)
        hunks = [
            [hunk.start, hunk.removed, "\n".join(hunk.lines), hunk.links, hunk.marks]
            for hunk in hunks_of(before, stage, pairs)
        ]
        self._append(stage, {"base": base, "hunks": hunks})

    def _add_whole(self, stage: StageText) -> None:
        self._append(stage, {"text": "\n".join(stage.lines), "links": stage.links})

    def _append(self, stage: StageText, content: dict[str, Any]) -> None:
        about = {"title": stage.title, "kind": stage.kind, "omitted": stage.omitted}
        self.programs[-1]["stages"].append(about | content)
        self.stages[-1].append(stage)
