"""From what the sides name to the programs that are compared, in one context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from ...errors import UsageError
from ...files import input_name
from ...ir import make_context, read_module
from ...pipeline import Library, make_pipeline, run_pipeline
from ...rewrite import PassContext, promises
from . import Program
from .lowering import Source
from .sides import Side


def programs_of(
    sides: tuple[Side, Side], sources: Sequence[Source], flags: Mapping[str, Any]
) -> list[Program]:
    """Read both sides, and run on each the passes that are asked for.

    Raises:
        JxcError: one is no module, or a pass fails.
    """
    library = Library.of_files(flags["load_pass"])
    context = make_context()
    found = [
        _program(side, source, flags, library, context)
        for side, source in zip(sides, sources, strict=True)
    ]
    modules = [program for program in found if program.module is not None]
    if len(modules) == 1 and flags["stage"] == "stablehlo":
        raise UsageError(
            f"{modules[0].name} is StableHLO, and the other is HLO that a compiler has optimised: "
            "compare the HLO of both, --stage hlo"
        )
    return found


def _program(
    side: Side, source: Source, flags: Mapping[str, Any], library: Any, context: Any
) -> Program:
    target = None if flags["no_compile"] else side.target
    text = source.data[:4096].lstrip()
    if text.startswith(b"HloModule") and b"is_scheduled=true" in text.partition(b"\n")[0]:
        if side.pipeline:
            raise UsageError(f"{side.source} is optimised HLO, past our passes: leave out -O, -p")
        return Program(_name(side), None, source.data.decode(errors="replace"), target=side.target)
    module = read_module(source.data, context, name=input_name(side.source))
    start = perf_counter()
    pass_context = PassContext(side.target.kind, promises(flags["assume"]))
    pipeline = make_pipeline(side.pipeline, library)
    report = run_pipeline(module, pipeline, pass_context, name=input_name(side.source))
    return Program(
        _name(side),
        module,
        pipeline=side.pipeline,
        target=target,
        root=source.root,
        home=source.home,
        rules=report.hits,
        seconds={**source.seconds, "passes": perf_counter() - start},
    )


def _name(side: Side) -> str:
    return "<stdin>" if side.source == "-" else side.spelling
