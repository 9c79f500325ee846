"""The modules in the lit files of passes, with the pipelines that their RUN lines give them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from jaxlib.mlir import ir

from jxc.ir import clone_module, make_context, read_module
from jxc.pipeline import PipelineReport, make_pipeline, run_pipeline
from jxc.rewrite import Contract, PassContext, exact

FOLDER = Path(__file__).parent.parent / "lit_tests" / "passes"
FILES = sorted(FOLDER.rglob("*.mlir"))


@dataclass(frozen=True)
class Run:
    """One RUN line of a lit file: the options that it gives to `jxc opt`."""

    file: Path
    pipeline: str
    context: PassContext

    def pieces(self) -> Iterator[str]:
        """The modules in the file."""
        for piece in re.split(r"^// -----.*$", self.file.read_text(), flags=re.MULTILINE):
            if re.search(r"^[^/\n]*\S", piece, flags=re.MULTILINE):
                yield piece


@dataclass(frozen=True)
class Rewritten:
    """A module before and after a pipeline.

    Attributes:
        contract: the weakest of the rules that fired.
    """

    before: ir.Module
    after: ir.Module
    report: PipelineReport
    contract: Contract


def runs(file: Path) -> list[Run]:
    """The RUN lines of a file that expect success, each pipeline once."""
    found = {}
    for line in re.findall(r"^// RUN:(.*)$", file.read_text(), flags=re.MULTILINE):
        words = shlex.split(line.split("|")[0])
        if "not" not in words and (
            pipeline := _option(words, ("-p", "--passes", "--pass-pipeline"))
        ):
            assumptions = _option(words, ("--assume",))
            context = PassContext(
                _option(words, ("--target",)) or "cpu",
                frozenset(assumptions.split(",")) if assumptions else frozenset(),
            )
            found[pipeline, context] = Run(file, pipeline, context)
    return list(found.values())


def _option(words: list[str], names: tuple[str, ...]) -> str:
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if word in names:
            return following
        if word.startswith(tuple(f"{name}=" for name in names if name.startswith("--"))):
            return word.partition("=")[2]
    return ""


def rewrite(piece: str, run: Run) -> Rewritten:
    """The result of a run on one module."""
    before = read_module(piece, make_context(), name=str(run.file))
    after = clone_module(before)
    pipeline = make_pipeline(run.pipeline)
    report = run_pipeline(after, pipeline, run.context)
    rules = {
        rule.name: rule for step in pipeline.steps if step.python for rule in step.python.rules
    }
    contracts = {rules[name].contract for name in report.hits}
    contracts |= {step.contract for step in report.steps}
    contracts -= {exact}
    return Rewritten(before, after, report, next(iter(contracts), exact))
