"""Common mistakes with jit, each with its message. The program does not use jxc."""
# RUN: not env COLUMNS=200 %jxc explain %s 2>&1 >/dev/null | FileCheck %s

# CHECK: jxc explain: 19 programs were compiled in
# CHECK: time times function line trace lower XLA ops peak
# CHECK: s 7 step traps.py:{{[0-9]+}}
# CHECK: Compiled again

import functools

import jax
import jax.numpy as jnp
import numpy as np

losses = []


@jax.jit
def step(x):
    print("one step")
    losses.append(x)
    return (x * x).sum()


for length in (31, 32, 35, 40, 64, 70, 66):
    step(np.ones((length, 8), np.float32))
# CHECK-DAG: step(np.ones((length, 8), np.float32))
# CHECK-DAG: because the first dimension of x varied: 31, 32, 35, 40, 64, 70, ... (7 in all)
# CHECK-DAG: Pad x to 40 or 72: 2 programs instead of 7, with 10% padding. Mask the padding

for _ in range(3):
    jax.jit(lambda x: x * 2)(np.float32(1))
# CHECK-DAG: <lambda> was compiled 3 times, because each time it is a new lambda object (JAX caches
# CHECK-DAG: Create the lambda and its jax.jit once, outside the loop.


for rate in (0.1, 0.2, 0.3):

    def update(x):
        return x - rate * x  # noqa: B023

    jax.jit(update)(np.float32(1))
# CHECK-DAG: update was compiled 3 times, because the captured variable rate varied: 0.1
# CHECK-DAG: Pass rate as an argument, and define the function once, outside the loop.


@functools.partial(jax.jit, static_argnames="n")
def power(x, n):
    return x**n


for n in (2, 3, 4):
    power(np.float32(2), n)
# CHECK-DAG: power was compiled 3 times, because the static argument n varied: 2, 3, 4
# CHECK-DAG: Pass n as a non-static argument if no shape and no Python 'if' depends on it;


@jax.jit
def half(x):
    return x / 2


half(np.float32(1)), half(1.0)
# CHECK-DAG: half was compiled again: x was f32[] and is now a Python float (
# CHECK-DAG: Give x a dtype in every call: jnp.asarray(x, dtype=jnp.float32).

with jax.default_matmul_precision("highest"):
    half(1.0)
# CHECK-DAG: half was compiled again: jax_default_matmul_precision was None and is now 'highest';

# CHECK: At tracing only
# CHECK: print("one step")
# CHECK: print() ran while step was traced (7 times); this is not repeated
# CHECK: Use jax.debug.print to print in each call.
# CHECK: losses.append(x)
# CHECK: losses got new items while step was traced (7 times)


@jax.jit
def relu(x):
    if x > 0:
        return x
    return jnp.zeros_like(x)


relu(np.float32(1))
# CHECK: Not traceable
# CHECK: if x > 0:
# CHECK: 'if' asks whether a traced bool[] is true
# CHECK: It depends on x. While tracing, an array has a shape and a dtype but no value. Use jnp
