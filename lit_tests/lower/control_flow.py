"""Python code that needs the value of a traced array: the message has the line and a fix.

No message shows a line of JAX or a traceback.
"""

# RUN: not %jxc lower %s:branch f32[] 2>&1 | FileCheck %s --check-prefix=BRANCH
# RUN: not %jxc lower %s:loop f32[8] 2>&1 | FileCheck %s --check-prefix=LOOP
# RUN: not %jxc lower %s:check f32[8] 2>&1 | FileCheck %s --check-prefix=CHECK-TRUE
# RUN: not %jxc lower %s:count f32[8] i32[] 2>&1 | FileCheck %s --check-prefix=COUNT
# RUN: not %jxc lower %s:shape f32[8] 2>&1 | FileCheck %s --check-prefix=SHAPE
# RUN: not %jxc lower %s:convert f32[8] 2>&1 | FileCheck %s --check-prefix=CONVERT
# RUN: not %jxc lower %s:numpy_call f32[8] 2>&1 | FileCheck %s --check-prefix=NUMPY
# RUN: not %jxc lower %s:mask f32[8] 2>&1 | FileCheck %s --check-prefix=MASK
# RUN: not %jxc lower %s:nonzero f32[8] 2>&1 | FileCheck %s --check-prefix=NONZERO
# RUN: %jxc lower %s:count f32[8] --static n=3 | FileCheck %s --check-prefix=REMEDY
# RUN: not %jxc lower %s:leak f32[8] 2>&1 | FileCheck %s --check-prefix=LEAK

import jax
import jax.numpy as jnp
import numpy as np


def branch(x):
    if x > 0:
        return x
    return -x


# BRANCH: jxc: error: {{.*}}control_flow.py:{{[0-9]+}}: 'if' asks whether a traced bool[] is true
# BRANCH-NEXT: |   if x > 0:
# BRANCH-NEXT: It depends on x. While tracing, an array has a shape and a dtype but no value.
# BRANCH-NEXT: Use jnp.where or jax.lax.cond in place of 'if'.
# BRANCH-NEXT: Or fix it, if it is a setting rather than data: --static x=VALUE
# BRANCH-NEXT: while tracing branch(f32[])
# BRANCH-NOT: {{.}}


def loop(x):
    while jnp.sum(x) > 1:
        x = x / 2
    return x


# LOOP: 'while' asks whether a traced bool[] is true
# LOOP: Use jax.lax.while_loop in place of 'while'.
# The fix suggests no static argument for an array of eight elements: it is data.
# LOOP-NOT: --static


def check(x):
    assert jnp.all(x > 0)
    return x


# CHECK-TRUE: 'assert' asks whether a traced bool[] is true
# CHECK-TRUE: Use jax.experimental.checkify.check in place of 'assert', or leave it out.


def count(x, n):
    for _ in range(n):
        x = x * x
    return x


# COUNT: Python needs a traced i32[] as an integer
# COUNT: |   for _ in range(n):
# COUNT: Use jax.lax.fori_loop or jax.lax.scan in place of 'for'.
# COUNT: --static n=VALUE

# The suggested fix works: the loop is unrolled into three products.
# REMEDY-COUNT-3: stablehlo.multiply


def shape(x):
    return jnp.zeros(x[0].astype(int))


# SHAPE: a shape depends on the value of a traced array
# SHAPE: It depends on x.
# SHAPE: Compute shapes from x.shape.


def convert(x):
    return x * float(x[0])


# CONVERT: float() needs the value of a traced f32[]
# CONVERT: Keep it an array: x.astype(dtype) converts, jax.debug.print prints.


def numpy_call(x):
    return np.sin(x)


# NUMPY: numpy needs the value of a traced f32[8]
# NUMPY: Use jax.numpy in place of numpy; jax.pure_callback where it has no such function.


def mask(x):
    return x[x > 0]


# MASK: the shape of the result depends on the values of the index, a traced bool[8]
# MASK: Use jnp.where(mask, x, other), or index with jnp.nonzero(mask, size=N).


def nonzero(x):
    return jnp.nonzero(x)


# NONZERO: the number of results of jnp.nonzero depends on a traced i32[]
# NONZERO: State an upper bound with size=N, or use jnp.where(mask, x, other).

KEPT = []


def leak(x):
    jax.jit(lambda y: KEPT.append(y * 2))(x)
    return KEPT[0] + 1


# LEAK: control_flow.py:{{[0-9]+}}: a traced value left the function that made it
# LEAK: |   return KEPT[0] + 1
# LEAK: Return it from the function instead.
