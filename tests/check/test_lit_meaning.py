"""The modules in the lit files of passes have the same results before and after the passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from jaxlib.mlir import ir

from jxc.check import compare_modules
from jxc.check.in_place import check_in_place
from jxc.check.inputs import KINDS, CannotRun
from jxc.check.modules import entry_names, is_dynamic, static_pairs, with_main
from jxc.ir import functions
from jxc.pipeline import make_pipeline

from ..lit_cases import FILES, FOLDER, Rewritten, Run, rewrite, runs

RUNS = [run for file in FILES for run in runs(file)]
ZEROS_KEPT = "recurrences_gradient"
"""The gradient of the first rate is 0. The tree multiplies 0 by rates, which may be infinite."""
checked: Counter[str] = Counter()
in_place: Counter[str] = Counter()  # rewrites
not_run: list[str] = []
through_xla: Counter[str] = Counter()  # why the interpreter did not run them


def _id(run: Run) -> str:
    return f"{run.file.relative_to(FOLDER)} {run.pipeline}"


@pytest.mark.parametrize("run", RUNS, ids=_id)
def test_lit_modules_keep_their_results(run: Run) -> None:
    kinds = ("normal",) if run.context.assumptions else KINDS  # a promise is about the others
    for piece in run.pieces():
        rewritten = rewrite(piece, run)
        for name, before, after in _changed(rewritten):
            where = f"{run.file.relative_to(FOLDER)} @{name}"
            if name == ZEROS_KEPT:
                not_run.append(f"{where}: only on finite arguments, as it multiplies 0 by rates")
            chosen = ("normal",) if name == ZEROS_KEPT else kinds
            _check(where, before, after, rewritten, chosen)


@pytest.mark.parametrize("run", [run for run in RUNS if not run.context.assumptions], ids=_id)
def test_rewrites_of_lit_modules_are_right_in_place(run: Run) -> None:
    for piece in run.pieces():
        before = rewrite(piece, run).before
        for name in entry_names(before):
            program = with_main(before, name)
            if name == ZEROS_KEPT or is_dynamic(program):
                continue
            pipeline = make_pipeline(run.pipeline)
            found = check_in_place(program, pipeline, run.context, 2.5, lambda: False)
            in_place.update({"checked": found.checked, "applied": found.applied})
            assert not found.wrong, f"{run.file.name} @{name}: {found.wrong} {found.report}"


def _changed(rewritten: Rewritten) -> Iterator[tuple[str, ir.Module, ir.Module]]:
    """Each public function that the pipeline changed, as @main."""
    before, after = functions(rewritten.before), functions(rewritten.after)
    for name in entry_names(rewritten.before):
        if str(before[name]) != str(after[name]):
            yield name, with_main(rewritten.before, name), with_main(rewritten.after, name)


def _check(
    where: str, before: ir.Module, after: ir.Module, rewritten: Rewritten, kinds: Sequence[str]
) -> None:
    try:
        pairs = list(static_pairs(before, after))
    except CannotRun as error:
        not_run.append(f"{where}: {error}")
        return
    for pair in pairs:
        report = compare_modules(*pair, contract=rewritten.contract, kinds=kinds)
        if not report.ran:
            not_run.append(f"{where}: {report}")
            continue
        checked.update(set(report.runs.values()))
        if "xla" in report.runs.values():
            through_xla[next(iter(report.reasons.values()), f"contract {report.contract}")] += 1
        assert report.agrees, f"{where}: {report}"


def test_runs_finds_the_lit_files() -> None:
    assert len(RUNS) > 10
    assert Path(FOLDER) in {file.parent for file in FILES}


def test_most_lit_modules_were_compared(capsys: pytest.CaptureFixture[str]) -> None:
    """Print how many modules were compared, and why others were not. Runs last."""
    assert checked, "nothing was compared; run the whole file"
    with capsys.disabled():
        print(f"\nchanged functions compared: {dict(checked)}; not run: {len(not_run)}")
        for line in not_run:
            print(f"  {line}")
        for reason, count in through_xla.items():
            print(f"  {count} through XLA: {reason}")
        print(f"rewrites run in place: {in_place['checked']} of {in_place['applied']}")
    assert in_place["checked"] > in_place["applied"] // 2, "too few rewrites were run in place"
    assert len(not_run) <= sum(checked.values()) // 10, "too many modules cannot be run"


def test_compare_rejects_unranked_arguments() -> None:
    from jxc.check.inputs import specs_of
    from jxc.ir import make_context

    with make_context(), pytest.raises(CannotRun, match="static shapes"):
        specs_of([ir.Type.parse("tensor<?xf32>")])
