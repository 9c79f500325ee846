"""What passes cost: per level, pass and rule, against XLA's compile time of the same module.

    python benchmarks/passes.py [--json] [--models NAME,..] [--sizes 100,1000,..] [--rules N]

Two tables. Models: seconds of O1 and O2 beside XLA's compile time of the module as JAX lowered it,
measured in turn in this process; medians. Sizes: microseconds an op at each level for modules of
growing size (training steps of a perceptron, one after the other), to see that growth is linear.
`--rules` adds the costliest rules over all models.
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
    """Seconds of everything that a level does to a copy of a module, checks included."""
    copy, pipeline = clone_module(module), make_pipeline(level)
    start = perf_counter()
    report = run_pipeline(copy, pipeline, PassContext())
    return perf_counter() - start, report


def model_row(name: str, rounds: int, rules: Counter[str]) -> dict[str, Any]:
    """One model's figures; XLA compiles it as often as the levels run, in turn."""
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
    """A module of about `ops` ops: @main's body again and again, each on what the last one gave."""
    copy = jxc.opt(read_module(write_bytecode(module), make_context()), "inline{default-pipeline=}")
    main = next(op for op in copy.body.operations if "main" in str(op.attributes["sym_name"]))
    block = main.regions[0].blocks[0]
    *body, end = block.operations
    given: dict[ir.Value, ir.Value] = dict(zip(block.arguments, block.arguments, strict=True))
    results = list(end.operands)
    with copy.context, ir.InsertionPoint(end):
        for _ in range(max(0, ops // len(body) - 1)):
            given = _passed_on(given, results)
            values = dict(given)
            for op in body:
                clone = op.operation.clone()
                for index, operand in enumerate(op.operands):
                    clone.operands[index] = values.get(operand, operand)
                values.update(zip(op.results, clone.results, strict=True))
            results = [values[value] for value in end.operands]
    for index, result in enumerate(results):
        end.operation.operands[index] = result
    return copy


def _passed_on(
    given: dict[ir.Value, ir.Value], results: list[ir.Value]
) -> dict[ir.Value, ir.Value]:
    """For each argument a result of its type, each once; what it was where there is none."""
    left = list(results)
    passed = {}
    for argument, value in given.items():
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
        row[f"{level}, us an op"] = 1e6 * spent / count
    return row


def shown(title: str, rows: list[dict[str, Any]]) -> Table:
    """Rows of figures as a table, seconds to the millisecond."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for key in rows[0]:
        table.add_column(key, justify="left" if key in ("model", "rule") else "right")
    for row in rows:
        table.add_row(*(_figure(key, value) for key, value in row.items()))
    return table


def _figure(key: str, value: Any) -> str:
    if "/" in key:
        return f"{100 * value:.1f}%"
    if "us" in key:
        return f"{value:.0f}"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(QUICK), help="names, after commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="ops, after commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rules", type=int, default=0, help="how many of the costliest to show")
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
        told = {"schema_version": 1, "jax": jax.__version__, "rules": count}
        told |= {"models": models, "sizes": sizes, "median": median}
        print(json.dumps(told, indent=2))
        return 0
    console = Console(highlight=False)
    console.print(f"jax {jax.__version__}, {os.cpu_count()} cores, {count} rules")
    if models:
        console.print(shown("Seconds of passes, and of XLA's compilation", models))
        console.print(f"O2 takes {100 * median:.1f}% of XLA's compile time at the median\n")
    if sizes:
        console.print(shown("Growth with the size of the module", sizes))
    if options.rules:
        costly = [{"rule": name, "s": s} for name, s in rules.most_common(options.rules)]
        console.print(shown("The costliest rules over all models", costly))
    return 0


if __name__ == "__main__":
    sys.exit(main())
