"""The texts of programs as the page's script reads them: each stored once, and passes as hunks."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .changes import ValueNames, hunks_of
from .links import Links, PythonFiles
from .stages import StageText, read_hlo, read_jaxpr, read_stablehlo

if TYPE_CHECKING:
    from ...backend.log import ProgramTexts


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
    names: ValueNames | None = None
    shown: list[list[StageText]] = []  # the stages of each program
    described = []
    for label, texts in programs:
        shown.append([])
        stages = []
        for stage in _read_stages(texts, links):
            if names is None and stage.kind == "stablehlo":
                names = ValueNames(stage)
            content: dict[str, Any]
            if base := _base(stage.kind, shown):
                before = shown[base[0]][base[1]]
                stage, pairs = (names or ValueNames(stage)).keep(before, stage)
                content = {"base": base, "hunks": hunks_of(before, stage, pairs)}
            else:
                content = {"text": "\n".join(stage.lines), "links": stage.links}
            about = {"title": stage.title, "kind": stage.kind, "omitted": stage.omitted}
            stages.append(about | content)
            shown[-1].append(stage)
        described.append({"label": label, "stages": stages})
    return {"programs": described} | links.as_json()


def _read_stages(texts: ProgramTexts, links: Links) -> Iterator[StageText]:
    if texts.jaxpr is not None:
        yield read_jaxpr(texts.jaxpr, links)
    if texts.stablehlo:
        yield read_stablehlo("StableHLO", texts.stablehlo, links)
        for name, text in texts.passes:
            yield read_stablehlo(f"after {name}", text, links)
    if texts.hlo:
        yield read_hlo(texts.hlo, links)


def _base(kind: str, shown: Sequence[Sequence[StageText]]) -> tuple[int, int] | None:
    """The program and stage that the next stage, of this kind, is stored as a difference from.

    This is the module before the pass, or the first stage of the kind in the first program.
    """
    if kind == "stablehlo" and shown[-1] and shown[-1][-1].kind == kind:
        return len(shown) - 1, len(shown[-1]) - 1
    first = [stage.kind for stage in shown[0]] if len(shown) > 1 else []
    return (0, first.index(kind)) if kind in first else None
