"""Random JAX programs over four devices, under jxc and under plain JAX, compared shard by shard.

A program has a mesh of explicit, automatic or manual axes, or of manual and automatic ones. Its
arguments are split in random ways, with values that are not reduced yet (`unreduced`) and values
whose cotangents are not (`reduced`). A step that JAX refuses is left out, in both traces alike.
Programs run in a child process, since a fault of native code ends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("explicit", "unreduced", "auto", "manual", "partly manual")
PIPELINES = (
    "O1",
    "inline{default-pipeline=},symbol-dce,O2",  # a list: programs of a few ops are rewritten too
    "redundant-constraints,simplify",  # with calls
)

_STEPS = 8
_EXTENTS = (4, 8)  # divisible by each axis and by the whole mesh
_SECONDS = 120.0  # for one program: it is compiled three times, on a loaded machine
_RTOL, _ATOL = 1e-4, 1e-4  # of sums in another order; values are near 1


@dataclass
class Tally:
    """What was run: programs, comparisons, programs that plain JAX refuses, and what was found."""

    programs: int = 0
    compared: int = 0
    refused: int = 0
    hits: int = 0
    finds: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        head = (
            f"{self.programs} programs over 4 devices, {self.compared} comparisons, "
            f"{self.hits} rewrites, {self.refused} refused by plain JAX"
        )
        return "\n".join([head, *self.finds, f"found: {len(self.finds)}"])


def run(kinds: Sequence[str], seeds: Sequence[int], is_over: Callable[[], bool]) -> Tally:
    """Run programs in child processes, another one after each crash."""
    left = [(kind, seed) for seed in seeds for kind in kinds]
    tally = Tally()
    while left and not is_over():
        left = _run_some(left, tally, is_over)
    return tally


def _run_some(
    left: Sequence[tuple[str, int]], tally: Tally, is_over: Callable[[], bool]
) -> list[tuple[str, int]]:
    """Run programs in one child until it dies or all are done; return those that are left."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "XLA_FLAGS": "--xla_force_host_platform_device_count=4",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "scripts")]),
    }
    code = "from fuzzing.sharded import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        assert child.stdin is not None and child.stdout is not None
        for number, (kind, seed) in enumerate(left):
            if is_over():
                child.stdin.close()
                return []
            tally.programs += 1
            child.stdin.write(json.dumps([kind, seed]) + "\n")
            child.stdin.flush()
            line = child.stdout.readline()
            if not line:
                tally.finds.append(f"FOUND {kind}, seed {seed}: the process died: {child.wait()}")
                return list(left[number + 1 :])
            found = json.loads(line)
            tally.compared += found["compared"]
            tally.hits += found["hits"]
            tally.refused += found["refused"]
            tally.finds += [f"FOUND {kind}, seed {seed}: {each}" for each in found["finds"]]
        child.stdin.close()
    return []


# Inside the child


def main() -> None:
    """Answer programs with what they show until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(check(*json.loads(line))), file=answers, flush=True)


def check(kind: str, seed: int) -> dict[str, Any]:
    """Compare a program under each pipeline with plain JAX."""
    import jax

    import jxc
    from tests.devices import assert_same_on_devices

    found: dict[str, Any] = {"compared": 0, "hits": 0, "refused": 0, "finds": []}
    with jax.set_mesh(_mesh(kind, seed)):
        function, args = program(kind, seed)
        try:
            expected = jax.block_until_ready(jax.jit(function)(*args))
        except Exception:
            found["refused"] = 1
            return found
        for pipeline in PIPELINES:
            jax.clear_caches()
            try:
                with jxc.use(pipeline, strict=True) as log:
                    ours = jax.block_until_ready(jax.jit(function)(*args))
                assert_same_on_devices(ours, expected, rtol=_RTOL, atol=_ATOL)
            except Exception as error:
                text = " ".join(str(error).split())[:300]
                found["finds"].append(f"{pipeline}: {type(error).__name__}: {text}")
                continue
            found["compared"] += 1
            found["hits"] += sum(sum(each.report.hits.values()) for each in log.compilations)
    return found


def _mesh(kind: str, seed: int) -> Any:
    import jax
    from jax.sharding import AxisType

    is_explicit = kind in ("explicit", "unreduced") or (kind == "manual" and seed % 3)
    axis = AxisType.Explicit if is_explicit else AxisType.Auto
    shape, names = ((4,), ("x",)) if seed % 2 and kind != "partly manual" else ((2, 2), ("x", "y"))
    return jax.make_mesh(shape, names, axis_types=(axis,) * len(shape))


def program(kind: str, seed: int) -> tuple[Callable[..., Any], list[Any]]:
    """A function and its arguments, placed on the devices of the mesh in scope."""
    import jax
    import numpy as np
    from jax.sharding import NamedSharding, PartitionSpec as P

    mesh = jax.sharding.get_mesh()
    random = np.random.default_rng([KINDS.index(kind), seed])
    shape = tuple(int(random.choice(_EXTENTS)) for _ in range(int(random.integers(1, 3))))
    specs = [_spec(random, mesh.axis_names, len(shape), kind) for _ in range(3)]
    whole = [random.standard_normal(shape).astype(np.float32) for _ in specs]
    split = [P(*spec.partitions) if _is_partial(spec) else spec for spec in specs]
    args = [jax.device_put(x, NamedSharding(mesh, s)) for x, s in zip(whole, split, strict=True)]
    steps = [
        (int(random.integers(1 << 30)), random.integers(1 << 30, size=6)) for _ in range(_STEPS)
    ]
    own = _own_specs(random, mesh.axis_names, kind)

    def body(*values: Any) -> list[Any]:
        if kind == "unreduced":
            values = tuple(jax.reshard(v, s) for v, s in zip(values, specs, strict=True))
        found = _apply(list(values), steps, own, kind)
        whole = [jax.reshard(v, P()) for v in found] if kind == "unreduced" else []
        return [*found, *whole]

    if "manual" not in kind:
        return body, args
    manual = {"x"} if kind == "partly manual" else set(mesh.axis_names)
    only = [P(*("x" if "x" in str(axis) else None for axis in spec)) for spec in specs]
    mapped = jax.shard_map(
        lambda *v: body(*v)[-1].reshape(-1),
        mesh=mesh,
        in_specs=tuple(only),
        out_specs=P(tuple(sorted(manual))),
        axis_names=manual,
        check_vma=bool(seed % 2),
    )
    return jax.value_and_grad(lambda *v: (mapped(*v) ** 2).sum(), argnums=(0, 1)), args


def _spec(random: Any, axes: Sequence[str], rank: int, kind: str) -> Any:
    """A random way to split an array of a rank."""
    from jax.sharding import PartitionSpec as P

    parts: list[Any] = [None] * rank
    used = random.permutation(list(axes))[: int(random.integers(0, len(axes) + 1))]
    for axis in used if kind != "unreduced" else used[:1]:
        parts[int(random.integers(rank))] = str(axis)
    if kind != "unreduced":
        return P(*parts)
    parts = [None if axis == "x" else axis for axis in parts]
    name = "unreduced" if random.integers(4) else "reduced"
    return P(*parts, **{name: {"x"}})


def _is_partial(spec: Any) -> bool:
    return bool(spec.unreduced or spec.reduced)


def _own_specs(random: Any, axes: Sequence[str], kind: str) -> list[Any]:
    """Ways to split arrays of one and two dimensions in the middle of a program."""
    inner = "unreduced" if kind == "unreduced" and random.integers(2) else "explicit"
    return [_spec(random, axes, rank, inner) for rank in (1, 2)]


def _apply(values: list[Any], steps: Sequence[Any], own: Sequence[Any], kind: str) -> list[Any]:
    """The last values after the steps; those that JAX refuses are left out."""
    for number, draws in steps:
        names = list(_table(kind))
        step = _table(kind)[names[number % len(names)]]
        picked = [values[int(d) % len(values)] for d in draws[:2]]
        try:
            made = step(*picked, own, [int(d) for d in draws[2:]])
        except Exception:
            continue
        values.append(made)
    return values[-3:]


def _table(kind: str) -> dict[str, Callable[..., Any]]:
    """The steps, by name: of two values, the specs in the middle, and random numbers."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    def split(a: Any, _: Any, own: Any, __: Any) -> Any:
        place = jax.reshard if kind in ("explicit", "unreduced") else lax.with_sharding_constraint
        return place(a, own[a.ndim - 1])

    def scanned(a: Any, b: Any, _: Any, n: Any) -> Any:
        return lax.scan(lambda carry, _: (carry + b, None), a, None, length=2 + n[0] % 3)[0]

    def accumulated(a: Any, b: Any, own: Any, n: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            total, x = carry
            return (total + split(x, b, own, n), x + b), None

        return lax.scan(body, (split(a, b, own, n), a), None, length=2)[0][0]

    def called(a: Any, b: Any, own: Any, n: Any) -> Any:
        made, pull = jax.vjp(jax.jit(lambda a, b: a + split(b, a, own, n)), a, b)
        return (made, *pull(made))[n[0] % 3]

    def dot(a: Any, b: Any, own: Any, _: Any) -> Any:
        given = {"out_sharding": own[1]} if kind in ("explicit", "unreduced") else {}
        return jnp.einsum("ij,kj->ik", a, b, **given) / 8

    def total(a: Any, _: Any, own: Any, n: Any) -> Any:
        given = {"out_sharding": own[0]} if kind == "unreduced" else {}
        return lax.reduce_sum(a, axes=(n[0] % a.ndim,), **given)

    linear = {
        "add": lambda a, b, *_: a + b,
        "subtract": lambda a, b, *_: a - b,
        "twice": lambda a, *_: a + a,
        "concatenate": lambda a, b, _, n: jnp.concatenate([a, b], n[0] % a.ndim),
        "slice": lambda a, _, __, n: lax.slice_in_dim(
            a, 0, a.shape[n[0] % a.ndim] // 2, axis=n[0] % a.ndim
        ),
        "select": lambda a, b, _, n: jnp.where(n[0] % 2 == 0, a, b),
        "pad": lambda a, *_: jnp.pad(a, [(0, size) for size in a.shape]),
        "transpose": lambda a, *_: a.T,
        "reshape": lambda a, *_: a.reshape(a.size) if a.ndim == 2 else a.reshape(4, a.size // 4),
        "broadcast": lambda a, *_: jnp.broadcast_to(a, (4, *a.shape)).sum(0),
        "scan": scanned,
        "accumulate": accumulated,
        "split": split,
        "call": called,
        "dot": dot,
        "total": total,
        "product": lambda a, b, *_: a * b,
    }
    if kind == "unreduced":
        return linear
    others = {
        "one": lambda a, *_: 1 * a + 0,
        "sine": lambda a, *_: jnp.sin(a),
        "tanh": lambda a, *_: jnp.tanh(0 - jnp.negative(a)),
        "cumsum": lambda a, _, __, n: jnp.cumsum(a, n[0] % a.ndim) / 4,
        "sort": lambda a, _, __, n: jnp.sort(a, n[0] % a.ndim)[::-1],
        "max": lambda a, b, *_: jnp.maximum(a, b),
        "mean": lambda a, _, __, n: a - a.mean(n[0] % a.ndim, keepdims=True),
        "gather": lambda a, _, __, n: a[jnp.arange(4) % a.shape[0]],
        "window": lambda a, *_: (
            lax.reduce_window(a, 0.0, lax.add, (2,) * a.ndim, (1,) * a.ndim, "SAME") / 4
        ),
        "gradient": lambda a, *_: jax.grad(lambda v: (jnp.tanh(v) ** 2).sum())(a),
    }
    if "manual" not in kind:
        return linear | others
    sent = {
        "psum": lambda a, *_: lax.psum(a, "x") / 4,
        "pmean": lambda a, *_: lax.pmean(a, "x"),
        "gathered": lambda a, *_: lax.all_gather(a, "x", tiled=True),
        "scattered": lambda a, *_: lax.psum_scatter(a, "x", tiled=True),
        "permuted": lambda a, *_: lax.ppermute(a, "x", [(0, 1), (1, 0)]),
        "index": lambda a, *_: a + lax.axis_index("x"),
    }
    return linear | others | sent
