"""A captured array of more than 1 MiB is in the module, with a warning on stderr."""

# RUN: %jxc-process lower %s:outer f32[3,600] --mlir-elide-elementsattrs-if-larger 16 2>&1 \
# RUN:   | FileCheck %s
# RUN: %jxc lower %s:small f32[4] 2>&1 | FileCheck %s --check-prefix=SMALL

import jax
import jax.numpy as jnp
import numpy as np

WEIGHTS = {"w": np.ones((600, 1000), np.float32)}


def make():
    table = jnp.zeros((1000, 500))

    def apply(x):
        return jax.jit(lambda y: y @ table)(x)

    return apply


inner = make()


def outer(x):
    made_here = np.ones((512, 512), np.int32)
    return inner(x @ WEIGHTS["w"]), jnp.asarray(made_here) + 1


# CHECK: jxc: warning: {{.*}}constants.py:28: a captured f32[600,1000] of 2.3 MiB becomes
# CHECK-NEXT: 28 |   return inner(x @ WEIGHTS["w"]), jnp.asarray(made_here) + 1
# CHECK-NEXT: It is the global WEIGHTS['w']. Pass it as an argument: one copy then serves every
# CHECK: jxc: warning: {{.*}}constants.py:18: a captured f32[1000,500] of 1.9 MiB becomes
# CHECK-NEXT: 18 |   return jax.jit(lambda y: y @ table)(x)
# CHECK-NEXT: It is the enclosing function's table. Pass it as an argument:
# A constant of exactly 1 MiB is not above the limit.
# CHECK-NOT: warning
# CHECK: module @jit_outer

FEW = np.ones(4, np.float32)


def small(x):
    return x + FEW


# SMALL-NOT: warning
# SMALL: module @jit_small
