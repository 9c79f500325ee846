"""Shardings that `jxc fit` finds, compared with all that are usually written by hand.

    python benchmarks/fit/meshes.py --raw meshes.jsonl --results benchmarks/FIT_MESH.md

A program is compiled for a target with each sharding of the grid over each mesh of two axes, and
the time of its step is that of `jxc report`: the compiler's estimate and the model of the network.
`jxc.fit` gets the program without any of these. Runs that are in the raw file are not repeated;
rows of the page of results without a run in the raw file stay as they are.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import jax
import jax.numpy as jnp
from accelerators_report import cells_of_line, markdown
from machine import circumstances

import jxc
from fit.programs import PROGRAMS
from jxc.backend.targets import find_target
from jxc.compiled.program import Refused, compile_module
from jxc.errors import JxcError

Case = tuple[Callable[..., Any], tuple[Any, ...]]
Rules = Mapping[str, str]

_LANGUAGE = {"width": 256, "heads": 8, "length": 256, "words": 2048, "rate": 0.0}
_LANGUAGE |= {"layers": 2, "batch": 64, "dtype": "bfloat16"}
_EXPERTS = {"layers": 2, "width": 256, "heads": 8, "experts_count": 16, "length": 256}
_EXPERTS |= {"words": 4096, "batch": 32, "dtype": "bfloat16"}


def mlp(rows: int) -> Case:
    """A step of a perceptron of four layers, of 4096 features."""

    def loss(params: Any, x: Any, y: Any) -> Any:
        for each in params:
            x = x + jax.nn.relu(x @ each["up"]) @ each["down"]
        return jnp.mean((x - y).astype(jnp.float32) ** 2)

    def step(params: Any, x: Any, y: Any) -> Any:
        slopes = jax.grad(loss)(params, x, y)
        return jax.tree.map(lambda p, slope: p - 0.1 * slope, params, slopes)

    bf16 = lambda *shape: jax.ShapeDtypeStruct(shape, jnp.bfloat16)  # noqa: E731
    params = [{"up": bf16(1024, 4096), "down": bf16(4096, 1024)}] * 2
    return step, (params, bf16(rows, 1024), bf16(rows, 1024))


def trained(name: str, sizes: Mapping[str, Any]) -> Case:
    """A training step of a program of the benchmark."""
    step, args = PROGRAMS[name].step("plain", sizes)
    return step, args


CASES: dict[str, Callable[[], Case]] = {
    "mlp, 512 rows": partial(mlp, 512),
    "mlp, 16384 rows": partial(mlp, 16384),
    "gpt2": partial(trained, "gpt2-small", _LANGUAGE),
    "gpt2, scanned": partial(trained, "gpt2-small-scan", {**_LANGUAGE, "layers": 4}),
    "gpt2, small batch": partial(
        trained, "gpt2-small-scan", {**_LANGUAGE, "layers": 4, "batch": 4}
    ),
    "experts": partial(trained, "mixture-of-experts", _EXPERTS),
}

_INPUTS = {"mlp": ("x", "y"), "gpt2": ("batch",), "experts": ("batch",)}
_TENSOR = {"up": "None,m", "down": "m,None", "qkv": "None,m", "out": "m,None"}
_BOTH = {"up": "d,m", "down": "m,d", "qkv": "d,m", "out": "m,d", "embed": "m,d"}
_FULL = {"up": "d", "down": "d", "qkv": "d", "out": "d", "embed": "d"}
_OF_EXPERTS = {"up": "m", "down": "m"}
_FULL_EXPERTS = {"up": "m,d", "down": "m,d", "qkv": "d", "out": "d", "embed": "d"}


def grid(case: str, devices: int) -> Iterator[tuple[str, dict[str, int], Rules]]:
    """The name, the mesh, and the split of arguments by name, of each sharding written by hand."""
    kind = case.partition(",")[0]
    batch = dict.fromkeys(_INPUTS[kind], "d")
    whole = dict.fromkeys(_INPUTS[kind], "d+m")
    length = dict.fromkeys(_INPUTS[kind], "d,m")
    alone = {"d": devices}
    yield "data", alone, batch
    yield "full", alone, batch | _FULL
    yield "tensor", {"m": devices}, _TENSOR
    for size in (n for n in range(2, devices) if devices % n == 0):
        mesh = {"d": size, "m": devices // size}
        yield "data, tensor", mesh, batch | _TENSOR
        yield "full, tensor", mesh, batch | _BOTH
        yield "data, full over a part", mesh, whole | _FULL
        if kind != "mlp":
            yield "data, tensor, words", mesh, batch | _TENSOR | {"embed": "m"}
            yield "data, length", mesh, length
            yield "full, length", mesh, length | _FULL
        if kind == "experts":
            yield "data, experts", mesh, batch | _OF_EXPERTS
            yield "data over both, experts", mesh, whole | _OF_EXPERTS
            yield "full, experts", mesh, whole | _FULL_EXPERTS


def rules_of(mesh: Mapping[str, int], split: Rules, rank: Callable[[str], int]) -> str:
    """The rules of `annotate-sharding` for one sharding of the grid."""
    lines = [f"mesh {' '.join(f'{axis}={size}' for axis, size in mesh.items())}"]
    for name, spec in split.items():
        spec = ",".join(["None"] * (rank(name) - 2) + [spec]) if rank(name) > 2 else spec
        lines += [
            f"**['{name}'] -> {spec} ?",
            f"{name} -> {spec} ?",
            f"result**['{name}'] -> {spec} ?",
        ]
    return "\n".join(lines) + "\n"


def by_hand(case: str, target: str, mesh: dict[str, int], split: Rules, folder: Path) -> Any:
    """The time of a step in seconds, and the bytes of a device, of one sharding of the grid."""
    step, args = CASES[case]()
    is_stacked = "scan" in case or "small batch" in case
    kept = {name: len(leaf.shape) for name, leaf in _named(args)}

    def rank(name: str) -> int:
        found = kept.get(name, 2)
        return 3 if is_stacked and found == 3 else 2

    path = folder / "hand.rules"
    path.write_text(rules_of(mesh, split, rank))
    lowered = jxc.lower(step, *args).for_target(target)
    made = lowered.opt(f"annotate-sharding{{rules={path}}},O2", target=target)
    found = compile_module(made.module, find_target(target), {}, mesh)
    if isinstance(found, Refused):
        return None, found.fit.needed if found.fit else 0
    return found.step.seconds, found.fit.needed


def _named(args: Any) -> Iterator[tuple[str, Any]]:
    for path, leaf in jax.tree_util.tree_flatten_with_path(args)[0]:
        yield str(getattr(path[-1], "key", "")), leaf


def run(case: str, target: str, devices: int, raw: Path, parts: str) -> None:
    """Compile the grid and fit, and write a line for each to the raw file."""
    done = {(r["case"], r["target"], r["devices"], r["name"], r["mesh"]) for r in read(raw)}
    about = {"case": case, "target": target, "devices": devices}

    def write(name: str, mesh: str, **found: Any) -> None:
        record = {**about, "name": name, "mesh": mesh, **found}
        with raw.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(record, flush=True)

    runs = [*grid(case, devices)] if "grid" in parts else []
    runs += [("fit", {}, {})] if "fit" in parts else []
    for name, mesh, split in runs:
        text = ",".join(f"{axis}={size}" for axis, size in mesh.items())
        if (case, target, devices, name, text) in done:
            continue
        start = perf_counter()
        if name == "fit":
            step, args = CASES[case]()
            fitted = jxc.fit(step, *args, target=target, devices=devices)
            assert fitted.chosen is not None
            split = fitted.chosen.as_json()
            found = fitted.chosen.seconds, fitted.chosen.needed
            more = {"split": f"{split['mesh']} {split['name']}", "rules": fitted.chosen.rules}
            more |= {"compilations": len(fitted.trials), "commit": circumstances()["commit"]}
            write(name, text, step=found[0], needed=found[1], took=perf_counter() - start, **more)
            continue
        try:
            seconds, needed = by_hand(case, target, mesh, split, raw.parent)
        except JxcError as error:
            write(name, text, step=None, needed=0, error=str(error)[:200])
            continue
        write(name, text, step=seconds, needed=needed, took=perf_counter() - start)


def read(raw: Path) -> list[dict[str, Any]]:
    """The records of a raw file."""
    return [json.loads(line) for line in raw.read_text().splitlines()] if raw.exists() else []


HEADS = ["program", "target", "devices", "by hand", "best by hand", "fit", "ratio", "seconds"]
HEADS += ["compilations", "commit"]

Row = dict[str, str]


def read_rows(file: Path) -> dict[tuple[str, ...], Row]:
    """The rows of a page of results by program, target and devices; none without a file."""
    lines = file.read_text().splitlines() if file.exists() else []
    cells = map(cells_of_line, lines)
    rows = [each for each in cells if len(each) == len(HEADS) and each[0] not in ("---", HEADS[0])]
    return {tuple(each[:3]): dict(zip(HEADS, each, strict=True)) for each in rows}


def updated(row: Row, records: list[dict[str, Any]]) -> Row:
    """The row of a program on its devices after more records; it has what was measured so far."""
    ran = [r for r in records if r["name"] != "fit" and r["step"]]
    fits = [r for r in records if r["name"] == "fit"]
    row = {head: row.get(head, "") for head in HEADS}
    if ran:
        best = min(ran, key=lambda r: r["step"])
        name = f"{best['name']} ({best['mesh']}) {best['step'] * 1e6:.0f} us"
        row |= {"by hand": str(len(ran)), "best by hand": name}
    if fits:
        row |= {"fit": f"{fits[-1]['step'] * 1e6:.0f} us", "seconds": f"{fits[-1]['took']:.0f}"}
        row |= {each: str(fits[-1][each]) for each in ("compilations", "commit")}
    if row["fit"] and row["best by hand"]:
        made, hand = (float(row[each].split()[-2]) for each in ("fit", "best by hand"))
        row["ratio"] = f"{made / hand:.3f}"
    return row


def results(rows: dict[tuple[str, ...], Row]) -> str:
    """The page of results."""
    about = circumstances()
    packages = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    table = [HEADS, ["---", "---", *["---:"] * 2, "---", *["---:"] * 4, "---"]]
    table += [[row[head] for head in HEADS] for row in rows.values() if row["ratio"]]
    text = "# Shardings found by `jxc fit`\n\nWritten by benchmarks/fit/meshes.py. Do not edit.\n\n"
    text += (
        f"- {about['date']}, commit {about['commit']}, Python {about['python']}\n- {packages}\n\n"
    )
    text += (
        "Each program is compiled with every sharding of a grid that is written by hand, over all\n"
        "meshes of one and two axes, and `jxc fit` searches without it. Times are those of\n"
        "`jxc report`: the compiler's estimate, or the roofline on GPUs, and the model of the\n"
        "network. *Ratio* is the time of the sharding found over the best by hand; *seconds* is\n"
        "how long the search took on two cores that other processes shared, *commit* the version\n"
        "of jxc that searched.\n\n"
    )
    return text + markdown(table) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="of " + "; ".join(CASES))
    parser.add_argument("--targets", default="tpu:v5e,gpu:h100")
    parser.add_argument("--devices", default="4,16")
    parser.add_argument("--parts", default="grid,fit")
    parser.add_argument("--raw", type=Path, required=True)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    topologies = {4: ":2x2", 16: ":4x4", 64: ":8x8"}
    for count in map(int, given.devices.split(",")):
        for target in given.targets.split(","):
            name = target + topologies[count] if target.startswith("tpu") else target
            for case in given.cases or CASES:
                run(case, name, count, given.raw, given.parts)
    if given.results:
        rows, records = read_rows(given.results), read(given.raw)
        for key in dict.fromkeys((r["case"], r["target"], str(r["devices"])) for r in records):
            own = [r for r in records if (r["case"], r["target"], str(r["devices"])) == key]
            rows[key] = updated(rows.get(key, dict(zip(HEADS, key, strict=False))), own)
        given.results.write_text(results(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
