"""Other errors of programs: JAX's message, with the user's line and the arguments."""


# RUN: not %jxc lower %s:mismatch f32[8,3] f32[4] 2>&1 | FileCheck %s --check-prefix=SHAPES
# RUN: not %jxc lower %s:mismatch f32[8,3] 2>&1 | FileCheck %s --check-prefix=COUNT
# RUN: not %jxc lower %s:mismatch f32[3] f32[3] bais=f32[3] 2>&1 | FileCheck %s --check-prefix=NAME
# RUN: not %jxc lower %s:Model.apply f32[8] 2>&1 | FileCheck %s --check-prefix=SELF
# RUN: not %jxc lower %s:mismatch f32[3] '"three"' 2>&1 | FileCheck %s --check-prefix=STRING
# RUN: not %jxc lower %s:text f32[3] 2>&1 | FileCheck %s --check-prefix=TEXT
# RUN: not %jxc lower %s:carry f32[3] 2>&1 | FileCheck %s --check-prefix=CARRY
# RUN: not %jxc lower %s:lookup '{"w": f32[3]}' 2>&1 | FileCheck %s --check-prefix=LOOKUP
# RUN: not %jxc lower %s:over_axis f32[3] 2>&1 | FileCheck %s --check-prefix=AXIS
# RUN: not %jxc lower %s:mismatch --args %s:lookup 2>&1 | FileCheck %s --check-prefix=ARGS
# RUN: not %jxc lower %s:compare f32[n] 2>&1 | FileCheck %s --check-prefix=SYMBOLIC

import jax
import jax.numpy as jnp


def mismatch(x, bias):
    return x + bias


# SHAPES: jxc: error: {{.*}}program_errors.py:{{[0-9]+}}: {{.*}}ncompatible shapes
# SHAPES-NEXT: |   return x + bias
# SHAPES-NEXT: while tracing mismatch(f32[8,3], f32[4])
# SHAPES-NOT: {{.}}

# COUNT: program_errors.py:{{[0-9]+}}: mismatch(x, bias) does not take these arguments: missing
# COUNT-NEXT: found mismatch(f32[8,3])
# COUNT-NEXT: Give each argument a spec, in order or as name=SPEC, e.g. f32[8,128]

# NAME: got an unexpected keyword argument 'bais'. Did you mean 'bias'?
# NAME-NEXT: found mismatch(f32[3], f32[3], bais=f32[3])

# STRING: argument bias is of type str, which cannot be traced
# STRING: Fix its value while tracing: --static bias=VALUE


class Model:
    def apply(self, x):
        return x


# SELF: apply(self, x) does not take these arguments: missing a required argument: 'x'
# SELF: It is a method: name an instance of its class, as in file.py:model.method


def text(x):
    return {"result": "done"}


# TEXT: the result of text at ['result'] is of type str, which is no array
# TEXT: Return arrays and numbers, or dicts, lists and tuples of them.


def carry(x):
    return jax.lax.scan(lambda c, _: (c.astype(jnp.int32), None), x, None, length=3)


# CARRY: program_errors.py:{{[0-9]+}}: TypeError: scan body function carry input and carry output
# CARRY: float32[3] but the corresponding output carry component has type int32[3]


def lookup(params):
    return params["b"]


# LOOKUP: program_errors.py:{{[0-9]+}}: KeyError: 'b'
# LOOKUP: while tracing lookup({'w': f32[3]})

# The function given with --args is called without arguments.
# ARGS: lookup(params) does not take these arguments: missing a required argument: 'params'


def over_axis(x):
    return jax.lax.psum(x, "i")


# AXIS: NameError: {{.*}}unbound axis name: i
# AXIS: Name the axis: --transform "vmap(axis_name='i')", or pmap for devices.


def compare(x):
    return x if x.shape[0] > 5 else -x


# SYMBOLIC: InconclusiveDimensionOperation
# SYMBOLIC: |   return x if x.shape[0] > 5 else -x
# SYMBOLIC: Write a number in place of the dimension's name.
