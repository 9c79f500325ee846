"""Write an addition, exported by jax.export, to the file named on the command line."""

import sys
from pathlib import Path

import jax
from jax import export


def add(x, y):
    return x + y


x = jax.ShapeDtypeStruct((4,), "float32")
Path(sys.argv[1]).write_bytes(export.export(jax.jit(add))(x, x).serialize())
