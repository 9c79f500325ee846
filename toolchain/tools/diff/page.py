"""The page of `jxc diff --html`: two programs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...backend.log import ProgramTexts, text_to_read
from ...pages import PackedTexts, require_packages, write
from .output import ComparedProgram, ProgramComparison


def write_comparison_page(path: str | Path, comparison: ProgramComparison) -> tuple[str, ...]:
    """Write one HTML file that shows two programs side by side, and what differs between them.

    Result and errors: as for `write_page`.
    """
    require_packages()
    texts = PackedTexts()
    one, other = map(_texts_of, comparison.programs, comparison.compiled)
    labels = [
        f"{letter}: {' '.join(filter(None, (each.name, each.pipeline, each.target_name)))}"
        for letter, each in zip("AB", comparison.programs, strict=True)
    ]
    texts.add("diff", " and ".join(labels), list(zip(labels, (one, other), strict=True)))
    names = dict.fromkeys(each.name for each in comparison.programs)
    title = f"jxc diff: {' and '.join(names)}"
    write("diff.html.j2", Path(__file__).parent, path, texts, title=title, comparison=comparison)
    return texts.notes


def _texts_of(program: ComparedProgram, compiled: Any) -> ProgramTexts:
    text = text_to_read(program.module) if program.module is not None else ""
    build = getattr(compiled, "build", None)  # a `Refused` has none
    return ProgramTexts(stablehlo=text, hlo=build.hlo if build else program.hlo)
