"""Rules under an assumption: correct wherever it holds, on edge values too."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from jaxlib.mlir import ir

from jxc.check.inputs import make_inputs, specs_of
from jxc.check.modules import entry_names, main_type, with_main
from jxc.check.run import shared_interpreter
from jxc.pipeline import make_pipeline
from jxc.rewrite import exact

from ..lit_cases import FILES, Run, rewrite, runs

RUNS = [run for file in FILES for run in runs(file) if run.context.assumptions]
SEEDS = 40  # of a few elements each


def _pairs(run: Run) -> Iterator[tuple[str, ir.Module, ir.Module]]:
    for piece in run.pieces():
        rewritten = rewrite(piece, run)
        if rewritten.report.hits:
            for name in entry_names(rewritten.before):
                yield name, with_main(rewritten.before, name), with_main(rewritten.after, name)


def _is_exact(run: Run) -> bool:
    """Whether all rules of the pass that need an assumption are exact where it holds."""
    steps = make_pipeline(run.pipeline).steps
    rules = [rule for step in steps if step.python is not None for rule in step.python.rules]
    return all(rule.contract == exact for rule in rules if rule.assumes)


def _is_kept(run: Run, values: list[np.ndarray]) -> np.ndarray:
    """The elements at which no value is NaN if NaNs are excluded; otherwise all elements."""
    kept = np.ones((), bool)
    for value in values if "no-nans" in run.context.assumptions else ():
        if value.dtype.kind == "f":
            kept = kept & ~np.isnan(value)
    return kept


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.file.stem)
def test_rules_with_an_assumption_are_exact_where_it_holds(run: Run) -> None:
    pairs = list(_pairs(run))
    if not _is_exact(run):
        pytest.skip("the pass sums in another order, which its own tests check")
    compared = 0
    for name, before, after in pairs:
        specs = specs_of(main_type(before).inputs)
        for seed in range(SEEDS):
            inputs = make_inputs(specs, "edge", seed)
            expected, found = (shared_interpreter().run(m, inputs) for m in (before, after))
            kept = _is_kept(run, [*inputs, *expected])
            compared += int(kept.sum())
            for a, b in zip(expected, found, strict=True):
                same = (a == b) | ((a != a) & (b != b))
                if a.dtype.kind == "f" and "no-signed-zeros" not in run.context.assumptions:
                    same &= (np.signbit(a) == np.signbit(b)) | (a != a)
                assert (same | ~kept).all(), f"@{name} on {inputs}: {a}, then {b}"
    assert compared > SEEDS


def test_lit_cases_cover_every_assumption() -> None:
    assert {promise for run in RUNS for promise in run.context.assumptions} == {
        "no-nans",
        "no-signed-zeros",
    }
