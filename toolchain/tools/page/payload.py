"""What the page holds of programs' texts: each once, and after a pass only what it changed."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import Any

from ..explain.records import Texts
from .edits import Names, hunks_of
from .links import Files, Links
from .read_hlo import read_hlo
from .read_jaxpr import read_jaxpr
from .read_stablehlo import read_stablehlo
from .text import Stage

TAKEN = "StableHLO that XLA took"


def pack(value: Any) -> str:
    """A value as JSON, deflated, in base64: what the page's script unpacks."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def describe_programs(programs: Sequence[tuple[str, Texts]], files: Files) -> dict[str, Any]:
    """What the page's script reads of a program, or of two that are compared.

    Args:
        programs: labels and texts. The texts of the second are described by how they differ from
            the first's.
        files: the page's files, which grow.

    Returns:
        The tables of `Links`, shared by all, and "programs": of each the stages in order. A stage
        has a "text" and its "links", or a "base", [program, stage], and the "hunks" that it differs
        by, each [start, removed, text, links, marks].
    """
    links = Links(files)
    writer = _Writer(links)
    for label, texts in programs:
        writer.write(label, texts)
    return {"programs": writer.programs} | links.as_json()


class _Writer:
    """The programs written so far, and their StableHLO and HLO stages."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.programs: list[dict[str, Any]] = []
        self.stages: list[list[Stage]] = []
        self.names: Names | None = None

    def write(self, label: str, texts: Texts) -> None:
        self.programs.append({"label": label, "stages": []})
        self.stages.append([])
        if texts.jaxpr is not None:
            self._whole(read_jaxpr(texts.jaxpr, self.links))
        if texts.stablehlo:
            self._modules(texts)
        if texts.hlo:
            self._against(read_hlo(texts.hlo, self.links), self._in_first("hlo"))

    def _modules(self, texts: Texts) -> None:
        stage = read_stablehlo("StableHLO", texts.stablehlo, self.links)
        last_of_first = self._in_first("stablehlo", last=True)
        self._against(stage, self._in_first("stablehlo"))
        for name, text in texts.passes:
            before = len(self.stages[-1]) - 1
            self._after(read_stablehlo(f"after {name}", text, self.links), before)
        if last_of_first is not None and (texts.passes or last_of_first[1] > 1):
            last = self.stages[-1][-1]
            taken = Stage(TAKEN, last.kind, last.lines, last.links, last.left_out)
            self._against(taken, last_of_first)

    def _in_first(self, kind: str, *, last: bool = False) -> tuple[int, int] | None:
        """The first program's first or last stage of a kind, for a second to be compared with."""
        if len(self.stages) < 2:
            return None
        found = [index for index, stage in enumerate(self.stages[0]) if stage.kind == kind]
        return (0, found[-1 if last else 0]) if found else None

    def _against(self, stage: Stage, base: tuple[int, int] | None) -> None:
        if base is None:
            if stage.kind == "stablehlo" and self.names is None:
                self.names = Names(stage)
            self._whole(stage)
            return
        names = self.names or Names(stage)
        before = self.stages[base[0]][base[1]]
        self._differing(before, *names.keep(before, stage), base)

    def _after(self, stage: Stage, base: int) -> None:
        assert self.names is not None
        before = self.stages[-1][base]
        same, pairs = self.names.keep(before, stage)
        self._differing(before, same, pairs, (len(self.stages) - 1, base))

    def _differing(
        self, before: Stage, stage: Stage, pairs: list[int], base: tuple[int, int]
    ) -> None:
        hunks = [
            [hunk.start, hunk.removed, "\n".join(hunk.lines), hunk.links, hunk.marks]
            for hunk in hunks_of(before, stage, pairs)
        ]
        self._add(stage, {"base": base, "hunks": hunks})

    def _whole(self, stage: Stage) -> None:
        self._add(stage, {"text": "\n".join(stage.lines), "links": stage.links})

    def _add(self, stage: Stage, content: dict[str, Any]) -> None:
        about = {"title": stage.title, "kind": stage.kind, "left": stage.left_out}
        self.programs[-1]["stages"].append(about | content)
        self.stages[-1].append(stage)
