"""Compile attention, losses and GPT-2 for TPU and GPU, without and with the pass `kernels`.

No hardware is needed: peak memory is the compiler's, and so is the time on TPU. The time of Pallas
kernels and of all GPU kernels is their roofline, which counts all scores of causal attention.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
TARGETS = ("tpu:v5e", "tpu:v5p", "gpu:h100", "gpu:a100")
FEWER_TARGETS = {
    "gpt-2-training-4096": ("tpu:v5e", "gpu:h100"),  # a compilation takes minutes
    "logsumexp-131072": ("tpu:v5e", "tpu:v5p"),
}
PIPELINES = {"plain": "O0", "kernels": "kernels"}

METHOD = """\
Each program is lowered for the target and compiled by its compiler for one absent device, as it is
and after the pass `kernels`; nothing is run. *Peak* is the compiler's peak memory. *Time* on TPU is
the sum of the compiler's estimates. It has none for Pallas kernels, and none exist on GPU: there
the time is a roofline, the longest of flops, bytes and launch at the device's peaks. The flops of
an attention kernel are those of all scores, although it skips most of those that a causal mask
hides. Kernels do not reach the peak; ratios of times are upper bounds, and peaks are exact."""


# The programs. Each returns a function and its arguments.


def attention(
    shape: Sequence[int], dtype: str, *, keys: int = 0, training: bool = False
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Causal attention as `jax.nn.dot_product_attention` writes it, on [b,s,h,d]."""
    import jax

    b, s, h, d = shape
    query = jax.ShapeDtypeStruct((b, s, h, d), dtype)
    key = jax.ShapeDtypeStruct((b, s, keys or h, d), dtype)

    def forward(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation="xla")

    def step(q: Any, k: Any, v: Any, cotangent: Any) -> Any:
        result, pullback = jax.vjp(forward, q, k, v)
        return result, *pullback(cotangent)

    return (step, (query, key, key, query)) if training else (forward, (query, key, key))


def loss(
    tokens: int, words: int, *, by_log_softmax: bool
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The value and the gradient of a loss by labels, from features of 768 numbers."""
    import jax
    import jax.numpy as jnp

    def picked(rows: Any, labels: Any) -> Any:
        return jnp.take_along_axis(rows, labels[:, None], axis=-1)[:, 0]

    def value(features: Any, table: Any, labels: Any) -> Any:
        logits = features @ table.T
        if by_log_softmax:
            return -picked(jax.nn.log_softmax(logits), labels).mean()
        return (jax.nn.logsumexp(logits, axis=-1) - picked(logits, labels)).mean()

    arrays = [jax.ShapeDtypeStruct((size, 768), "float32") for size in (tokens, words)]
    labels = jax.ShapeDtypeStruct((tokens,), "int32")
    return jax.value_and_grad(value, argnums=(0, 1)), (*arrays, labels)


def gpt_2(length: int) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A training step of GPT-2 with 124 million parameters, in f32: `examples/transformer.py`."""
    sys.path.insert(0, str(ROOT / "examples"))
    import transformer

    transformer.LENGTH, transformer.WORDS = length, 50304
    return transformer.step, transformer.arguments(batch=1)


PROGRAMS: dict[str, Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "attention-f32": lambda: attention((1, 4096, 12, 64), "float32"),
    "attention-bf16": lambda: attention((1, 4096, 12, 64), "bfloat16"),
    "attention-training-f32": lambda: attention((1, 4096, 12, 64), "float32", training=True),
    "attention-training-bf16": lambda: attention((1, 4096, 12, 64), "bfloat16", training=True),
    "attention-training-1024": lambda: attention((4, 1024, 12, 64), "bfloat16", training=True),
    "grouped-attention-training": lambda: attention(
        (1, 4096, 32, 128), "bfloat16", keys=8, training=True
    ),
    "log-softmax-50257": lambda: loss(4096, 50257, by_log_softmax=True),
    "logsumexp-131072": lambda: loss(4096, 131072, by_log_softmax=False),
    "gpt-2-training-4096": lambda: gpt_2(4096),
}


def measured(name: str, target_name: str) -> list[dict[str, Any]]:
    """The metrics of a program for a target, without and with the pass."""
    import jxc
    from jxc.backend.targets import find_target
    from jxc.compiled.program import Compiled
    from jxc.tools.report.report import report
    from jxc.tools.tune.estimated import estimated_seconds

    target = find_target(target_name)
    function, arguments = PROGRAMS[name]()
    lowered = jxc.lower(function, *arguments).for_target(target_name)
    records = []
    for label, pipeline in PIPELINES.items():
        made = lowered.opt(pipeline, target=target_name)
        found = report(made, target, "O0", with_plain=False).optimised
        record: dict[str, Any] = {"program": name, "target": target_name, "pipeline": label}
        record["rules"] = dict(made.report.hits) if made.report else {}
        if isinstance(found, Compiled):
            record |= {"peak": found.memory.peak, "seconds": estimated_seconds(found)}
        else:
            record["failed"] = str(found.message).strip().partition("\n")[0][:200]
        records.append(record)
    return records


def in_process(name: str, target: str) -> list[dict[str, Any]]:
    """`measured` in a process of its own."""
    settings = os.environ | {"JAX_PLATFORMS": "cpu", "JXC_RATES": "shipped"}
    command = [sys.executable, "-W", "ignore", __file__, "--one", name, target]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{name} for {target}:\n{done.stderr}")
    found: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return found


def row(before: dict[str, Any], after: dict[str, Any]) -> str:
    """A row of the table."""
    rules = ", ".join(f"{rule} {count}" for rule, count in after["rules"].items() if count)
    cells = [before["program"], before["target"], rules or "none"]
    for each in (before, after):
        cells += [_mebibytes(each), _milliseconds(each)]
    if "peak" in before and "peak" in after:
        cells += [f"{before['peak'] / after['peak']:.1f}"]
        cells += [f"{before['seconds'] / after['seconds']:.1f}"]
    else:
        cells += ["", ""]
    return f"| {' | '.join(cells)} |"


def _mebibytes(record: dict[str, Any]) -> str:
    return f"{record['peak'] / 2**20:,.0f}" if "peak" in record else "does not compile"


def _milliseconds(record: dict[str, Any]) -> str:
    return f"{1e3 * record['seconds']:.2f}" if "seconds" in record else ""


HEAD = """\
| program | target | applied | peak, MiB | time, ms | peak with kernels | time with kernels | peak, ratio | time, ratio |
|---|---|---|---:|---:|---:|---:|---:|---:|"""  # noqa: E501


def text_of(records: Sequence[dict[str, Any]], about: str) -> str:
    """The file."""
    pairs = zip(records[::2], records[1::2], strict=True)
    table = "\n".join([HEAD, *(row(*pair) for pair in pairs)])
    title = "# The pass `kernels`\n\nWritten by benchmarks/kernels.py. Do not edit."
    return "\n\n".join([title, about, METHOD, table]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--one", nargs=2, metavar=("PROGRAM", "TARGET"), help="print the metrics as JSON")
    add("--programs", default=",".join(PROGRAMS), help="names separated by commas")
    add("--raw", type=Path, help="append each record to this file, as JSON lines")
    add("--read", type=Path, help="compile nothing; read the records that --raw wrote")
    add("--results", type=Path, help="write the table to this Markdown file")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measured(*given.one)))
        return
    records = []
    if given.read:
        records = [json.loads(line) for line in given.read.read_text().splitlines()]
    else:
        for name in given.programs.split(","):
            for target in FEWER_TARGETS.get(name, TARGETS):
                found = in_process(name, target)
                records += found
                print(row(*found), flush=True)
                if given.raw:
                    with given.raw.open("a") as file:
                        file.writelines(json.dumps(each) + "\n" for each in found)
    if given.results:
        from accelerators import versions
        from machine import circumstances

        about = circumstances()
        lines = f"- {about['date']}, commit {about['commit']}\n- {versions()}"
        given.results.write_text(text_of(records, lines))


if __name__ == "__main__":
    main()
