"""Write and call a function exported for two platforms, with symbolic sizes and two gradients.

exporting.py write FILE    export it
exporting.py call FILE     call it and its gradient, and print the versions of their modules
exporting.py simple FILE   call a function of one array
"""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import export


def model(params, x, unused):
    return {"sum": x.sum(), "y": jnp.tanh(x @ params["w"])}


what, file = sys.argv[1], Path(sys.argv[2])
weights = {"w": np.ones((8, 4), np.float32)}
if what == "write":
    (size,) = export.symbolic_shape("b")
    specs = (
        {"w": jax.ShapeDtypeStruct((8, 4), "float32")},
        jax.ShapeDtypeStruct((size, 8), "float32"),
        jax.ShapeDtypeStruct((3,), "int32"),
    )
    exported = export.export(jax.jit(model), platforms=["cpu", "tpu"])(*specs)
    file.write_bytes(exported.serialize(vjp_order=2))
elif what == "call":
    exported = export.deserialize(bytearray(file.read_bytes()))
    rest = np.full((2, 8), 0.1, np.float32), np.ones(3, np.int32)
    gradient = jax.grad(lambda params: exported.call(params, *rest)["y"].sum())(weights)
    print(f"platforms {exported.platforms}")
    for each in (exported, exported.vjp(), exported.vjp().vjp()):
        print(each.mlir_module_serialized[5:22].decode().strip("\0"))
    print(f"sum {exported.call(weights, *rest)['sum']:.3f}, gradient {gradient['w'][0, 0]:.3f}")
else:
    exported = export.deserialize(bytearray(file.read_bytes()))
    print(f"has_vjp {exported.has_vjp()}, {exported.call(np.ones(4, np.float32))}")
