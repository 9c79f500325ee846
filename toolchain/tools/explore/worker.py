"""The child process that runs pipelines, compiles, and makes what the page shows.

It runs no code of the user. One process of it compiles and another does the rest, so that the page
does not wait for XLA.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ...backend.log import ProgramTexts, text_to_read
from ...child import serve
from ...errors import JxcError
from ...ir import make_context, read_module
from ...ir.shardings import module_device_count
from ...pages.highlight import sources_as_json
from ...pages.links import Links, PythonFiles
from ...pages.payload import DescribedPrograms
from ...pages.stages import StageText
from .graph import KINDS, graph_of
from .lowering import LoweredText
from .variant import Variant, VariantRun, run_variant

MAX_ACTIONS = 2000  # listed on the page; all can be stepped to
Shown = tuple[LoweredText, Variant, str]
"""A lowered function, its variant, and the kind of hardware that rules assume."""


@dataclass(frozen=True)
class CompiledText:
    """Optimized HLO and machine code as text; `note` says why there is none."""

    hlo: str = ""
    asm: str = ""
    note: str = ""


def main() -> None:
    """Answer requests until the parent closes the pipe.

    A request is the name of one of the functions below and its arguments; the answer is ("done",
    result) or ("failed", message).
    """
    functions: dict[str, Callable[..., Any]] = {
        each.__name__: each for each in (run, describe, draw, compile_module)
    }

    def answer(request: tuple[str, tuple[Any, ...]]) -> tuple[str, Any]:
        name, arguments = request
        try:
            return "done", functions[name](*arguments)
        except JxcError as error:
            return "failed", "\n".join([str(error), *getattr(error, "__notes__", ())])
        except Exception as error:
            return "failed", f"{type(error).__name__}: {error}"

    serve(answer)


_runs: dict[tuple[str, Variant, str], VariantRun] = {}
_KEPT = 16


def _run(lowered: LoweredText, variant: Variant, kind: str) -> VariantRun:
    digest = hashlib.sha256(lowered.module).hexdigest()
    key = digest, Variant(variant.pipeline, variant.off, variant.step), kind
    if key not in _runs:
        found = run_variant(lowered.module, variant, kind)
        while len(_runs) >= _KEPT:
            del _runs[next(iter(_runs))]
        _runs[key] = found
    return _runs[key]


def run(lowered: LoweredText, variant: Variant, kind: str) -> bytes:
    """The module after a variant's passes, as bytecode."""
    return _run(lowered, variant, kind).module


def describe(shown: Sequence[Shown], compiled: Sequence[CompiledText | None]) -> dict[str, Any]:
    """What the page shows of one program, or of two that are compared.

    Args:
        shown: the programs.
        compiled: for each its compiled text; None if it is not compiled yet.

    Returns:
        "unit" and "sources" as the page's script reads them, and for each of the "sides" its
        passes, its actions, and the note of its compiler.
    """
    files = PythonFiles()
    described = _described(shown, compiled, files)
    links = described.links
    sides = []
    for (lowered, variant, kind), made in zip(shown, compiled, strict=True):
        found = _run(lowered, variant, kind)
        actions = [
            [found.running[each.index], each.rule, each.op, links.of_frames(each.path, each.frames)]
            for each in found.actions[:MAX_ACTIONS]
        ]
        sides.append(
            {
                "passes": [[label, label in found.running] for label in found.labels],
                "actions": actions,
                "total": len(found.actions),
                "compiled": made is not None,
                "note": made.note if made else "",
            }
        )
    texts = {path: text for each in shown for path, text in each[0].sources.items()}
    for path in texts:
        files.number(path)
    unit, sources = described.as_json(), sources_as_json(files, texts)
    for source in sources:
        if source["path"] in texts:  # the same name wherever the folder is, since URLs have it
            source["name"] = os.path.relpath(source["path"], shown[0][0].root)
    return {"unit": unit, "sources": sources, "sides": sides}


def _described(
    shown: Sequence[Shown], compiled: Sequence[CompiledText | None], files: PythonFiles
) -> DescribedPrograms:
    described = DescribedPrograms(Links(files), compares_results=len(shown) > 1)
    for letter, (lowered, variant, kind), made in zip("AB", shown, compiled, strict=False):
        found, stablehlo = _run(lowered, variant, kind), _text_of(lowered.module)
        passes = found.texts
        if len(shown) > 1:  # results are compared: no stages between
            passes = passes[-1:] or (("no pass", stablehlo),)
        texts = ProgramTexts(
            jaxpr=lowered.jaxpr,
            stablehlo=stablehlo,
            passes=passes,
            hlo=made.hlo if made else "",
            asm=made.asm if made else "",
        )
        described.add(f"{letter}: {variant.pipeline}, {variant.target}", texts)
    return described


@functools.lru_cache(maxsize=4)
def _text_of(module: bytes) -> str:
    return text_to_read(read_module(module, make_context()))


def draw(
    shown: Sequence[Shown],
    compiled: Sequence[CompiledText | None],
    stage: tuple[int, int],
    lines: Sequence[int],
    for_model_explorer: bool,
) -> dict[str, Any]:
    """The graph of some lines of a stage, placed for the page or in Model Explorer's format.

    Raises:
        JxcError: the stage has no graph, or the lines no op.
    """
    described = _described(shown, compiled, PythonFiles())
    try:
        text: StageText = described.shown[stage[0]][stage[1]]
    except IndexError:
        raise JxcError("the program has no such stage any more: select the lines again") from None
    if text.kind not in KINDS:
        raise JxcError("graphs are drawn of StableHLO and of optimized HLO: select lines there")
    names = {number: name for number, (name, _) in enumerate(described.links.as_json()["links"])}
    graph = graph_of(text, frozenset(lines), names)
    if not graph.nodes:
        raise JxcError("the selected lines have no op: select lines such as `%1 = ...`")
    if for_model_explorer:
        return graph.for_model_explorer(f"{shown[stage[0]][0].name}, {text.title}")
    return {"title": text.title, **graph.as_json()}


def compile_module(module: bytes, target: str) -> CompiledText:
    """Compile a module.

    Raises:
        JxcError: the compiler refuses it.
    """
    from ...backend.artifacts.stages import disassemble
    from ...backend.targets import find_target, worker as targets_worker
    from ...backend.targets.build import build

    found, read = find_target(target), read_module(module, make_context())
    on_cpu = found.kind == "cpu"
    here = on_cpu and module_device_count(read) == 1  # more devices need an environment
    compiler = targets_worker.main if here else None
    made = build(read, found, files=["*.o"] if on_cpu else ["*.ptx"], compiler=compiler)
    if not made.files:
        return CompiledText(made.hlo)
    if not on_cpu:
        texts = (f"# {name}\n{raw.decode(errors='replace')}" for name, raw in made.files.items())
        return CompiledText(made.hlo, "\n".join(texts))
    try:
        return CompiledText(made.hlo, disassemble(made.files))
    except JxcError as error:
        return CompiledText(made.hlo, note=str(error))
