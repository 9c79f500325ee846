"""Pass time per level, pass and rule, relative to XLA's compile time of the same module.

    python benchmarks/passes.py [--json] [--models NAME,..] [--sizes 100,1000,..] [--rules N]

The first table lists the seconds of O1, of O2, and of XLA's compilation of the module that JAX
lowered. They are medians of alternating measurements in this process. The second table lists
microseconds per op at each level for modules of growing size (consecutive training steps of a
perceptron). It shows whether pass time grows linearly. `--rules` adds the most expensive rules.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections import Counter
from time import perf_counter
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

import jax
from jaxlib.mlir import ir
from models import MODELS
from models.transformers_in_jax import mlp_training
from rich import box
from rich.console import Console
from rich.table import Table

import jxc
from jxc.ir import clone_module, count_ops, make_context, read_module, write_bytecode
from jxc.pipeline import make_pipeline, our_passes, run_pipeline
from jxc.rewrite import PassContext

LEVELS = ("O1", "O2")
SIZES = (100, 1000, 10_000, 100_000)
ROUNDS = 5
QUICK = [name for name, model in MODELS.items() if model.quick]


def passes_seconds(module: ir.Module, level: str) -> tuple[float, Any]:
    """Seconds that a level takes on a copy of a module, with all checks, and its report."""
    copy, pipeline = clone_module(module), make_pipeline(level)
    start = perf_counter()
    report = run_pipeline(copy, pipeline, PassContext())
    return perf_counter() - start, report


def model_row(name: str, rounds: int, rules: Counter[str]) -> dict[str, Any]:
    """The measurements of one model; XLA compiles it once per round."""
    function, args = MODELS[name]()
    lowered = jxc.lower(function, *args)
    seconds: dict[str, list[float]] = {key: [] for key in (*LEVELS, "XLA")}
    for _ in range(rounds):
        for level in LEVELS:
            spent, report = passes_seconds(lowered.module, level)
            seconds[level].append(spent)
        for step in report.steps:
            rules.update({rule.name: rule.seconds / rounds for rule in step.rules})
        start = perf_counter()
        lowered.compile()
        jax.clear_caches()
        seconds["XLA"].append(perf_counter() - start)
    medians = {key: statistics.median(each) for key, each in seconds.items()}
    ratio = statistics.median(p / x for p, x in zip(seconds["O2"], seconds["XLA"], strict=True))
    return {"model": name, "ops": count_ops(lowered.module), **medians, "O2 / XLA": ratio}


def repeated(module: ir.Module, ops: int) -> ir.Module:
    """A module of about `ops` ops: copies of @main's body, each applied to the last results."""
    copy = jxc.opt(read_module(write_bytecode(module), make_context()), "inline{default-pipeline=}")
    main = next(op for op in copy.body.operations if "main" in str(op.attributes["sym_name"]))
    block = main.regions[0].blocks[0]
    *body, end = block.operations
    values_of: dict[ir.Value, ir.Value] = dict(zip(block.arguments, block.arguments, strict=True))
    results = list(end.operands)
    with copy.context, ir.InsertionPoint(end):
        for _ in range(max(0, ops // len(body) - 1)):
            values_of = _matched_by_type(values_of, results)
            values = dict(values_of)
            for op in body:
                clone = op.operation.clone()
                for index, operand in enumerate(op.operands):
                    clone.operands[index] = values.get(operand, operand)
                values.update(zip(op.results, clone.results, strict=True))
            results = [values[value] for value in end.operands]
    for index, result in enumerate(results):
        end.operation.operands[index] = result
    return copy


def _matched_by_type(
    values_of: dict[ir.Value, ir.Value], results: list[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """For each argument an unused result of its type, or its old value if there is none."""
    left = list(results)
    passed = {}
    for argument, value in values_of.items():
        fitting = next((r for r in left if r.type == argument.type), None)
        if fitting is not None:
            left.remove(fitting)
        passed[argument] = value if fitting is None else fitting
    return passed


def size_row(module: ir.Module, ops: int, rounds: int) -> dict[str, Any]:
    large = repeated(module, ops)
    count = count_ops(large)
    row: dict[str, Any] = {"ops": count}
    for level in LEVELS:
        spent = statistics.median(passes_seconds(large, level)[0] for _ in range(rounds))
        row[f"{level}, us per op"] = 1e6 * spent / count
    return row


def shown(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows of measurements as a table."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for key in rows[0]:
        table.add_column(key, justify="left" if key in ("model", "rule") else "right")
    for row in rows:
        table.add_row(*(_cell(key, value) for key, value in row.items()))
    return table


def _cell(key: str, value: Any) -> str:
    if "/" in key:
        return f"{100 * value:.1f}%"
    if "us" in key:
        return f"{value:.0f}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(QUICK), help="names, separated by commas")
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="numbers of ops, separated by commas"
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rules", type=int, default=0, help="number of expensive rules to show")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()

    rules: Counter[str] = Counter()
    wanted = [name for name in options.models.split(",") if name]
    models = [model_row(name, options.rounds, rules) for name in wanted]
    function, args = mlp_training(layers=1)
    module = jxc.lower(function, *args).module
    rounds = min(options.rounds, 3)
    sizes = [size_row(module, int(ops), rounds) for ops in options.sizes.split(",") if ops]
    count = sum(len(found.rules) for found in our_passes())
    median = statistics.median(row["O2 / XLA"] for row in models) if models else float("nan")
    if options.json:
        measured = {"schema_version": 1, "jax": jax.__version__, "rules": count}
        measured |= {"models": models, "sizes": sizes, "median": median}
        print(json.dumps(measured, indent=2))
        return 0
    console = Console(highlight=False)
    console.print(f"jax {jax.__version__}, {os.cpu_count()} cores, {count} rules")
    if models:
        console.print(shown("Seconds of passes and of XLA's compilation", models))
        console.print(f"O2 takes {100 * median:.1f}% of XLA's compile time at the median\n")
    if sizes:
        console.print(shown("Growth with the size of the module", sizes))
    if options.rules:
        costly = [{"rule": name, "s": s} for name, s in rules.most_common(options.rules)]
        console.print(shown("The most expensive rules over all models", costly))
    return 0


if __name__ == "__main__":
    sys.exit(main())
