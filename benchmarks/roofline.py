"""Compare the roofline of `jxc report` with measurements on this machine's CPU, as ratios.

    python benchmarks/roofline.py

A ratio of 1 means that a call takes as long as the roofline says. Calling an empty program takes
microseconds in JAX itself; that time is measured and subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jxc
from jxc.backend.timing import interleave


def nbody(pos: Any, vel: Any, mass: Any) -> Any:
    diff = pos[None] - pos[:, None]
    squared = jnp.sum(diff**2, -1) + 1e-3
    force = diff * (mass[None] * squared**-1.5)[..., None]
    vel = vel + 0.01 * jnp.sum(force, 1)
    return pos + 0.01 * vel, vel


def chain(x: Any) -> Any:
    return jax.lax.fori_loop(0, 100, lambda _, h: h * 0.5 + 0.25, x)


def products(x: Any) -> Any:
    for _ in range(50):
        x = jnp.tanh(x @ x)
    return x


PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "n-body, 128": (nbody, [(128, 3), (128, 3), (128,)]),
    "n-body, 512": (nbody, [(512, 3), (512, 3), (512,)]),
    "elementwise loop, 16 KiB": (chain, [(1 << 12,)]),
    "elementwise loop, 4 MiB": (chain, [(1 << 20,)]),
    "elementwise loop, 256 MiB": (chain, [(1 << 26,)]),
    "sum, 1 MiB": (jnp.sum, [(1 << 18,)]),
    "sum, 256 MiB": (jnp.sum, [(1 << 26,)]),
    "50 products, 8x8": (products, [(8, 8)]),
    "50 products, 64x64": (products, [(64, 64)]),
    "product, 512x512": (jnp.matmul, [(512, 512), (512, 512)]),
}


def main() -> None:
    empty = jax.jit(lambda: None)
    for name, (fn, shapes) in PROGRAMS.items():
        args = [jnp.asarray(np.random.default_rng(0).random(s, np.float32)) for s in shapes]
        lowered = jxc.lower(fn, *args)
        found = {}
        for level in ("O0", "O2"):
            program = lowered.opt(level)
            predicted = jxc.report(program, "cpu", "O0", with_plain=False).optimised.seconds
            call = program.compile()
            times = interleave({"call": partial(call, *args), "empty": empty}, 10)
            measured = np.median(times["call"]) - np.median(times["empty"])
            found[level] = (predicted, measured)
        ratios = "  ".join(f"{level} {m / p:5.2f}" for level, (p, m) in found.items())
        (p0, m0), (p2, m2) = found.values()
        print(f"{name:28}measured / predicted: {ratios}", end="   ")
        print(f"O0 / O2: {p0 / p2:.2f} predicted, {m0 / m2:.2f} measured")


if __name__ == "__main__":
    main()
