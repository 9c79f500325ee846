"""Functions of libraries that jit themselves, and keep settings in their arguments."""

import jax
import jax.numpy as jnp

import jxc
from jxc.frontend.specs import describe


class FilterJit:
    """Traces arrays, and keeps other leaves, as `equinox.filter_jit` does."""

    def __init__(self, function):
        self.function = function
        self.__name__ = function.__name__

    def __call__(self, module, x):
        return self.function(module, x)

    def lower(self, *args):
        raise AssertionError("jxc traces it itself")


@FilterJit
def project(module, x):
    return x @ module["weights"] + jnp.zeros((module["features"],))


def test_settings_in_arguments_stay_python_values():
    module = {"features": 3, "weights": jnp.ones((2, 3))}
    lowered = jxc.lower(project, module, jax.ShapeDtypeStruct((4, 2), jnp.float32))
    assert "tensor<4x3xf32>" in str(lowered.module)


def test_value_with_a_shape_that_is_no_tuple_is_described_by_its_type():
    class Stream:
        shape = dtype = property(lambda self: self)

    assert describe(Stream()) == "Stream"


def test_function_whose_trace_wraps_that_of_jax_is_lowered():
    inner = jax.jit(lambda x: jnp.sin(x))

    class ModuleJit:
        """As `flax.nnx.jit`: its traced form has JAX's as the attribute `traced`."""

        __name__ = "sine"
        lower = inner.lower

        def __call__(self, x):
            return inner(x)

        def trace(self, *args):
            return type("Traced", (), {"traced": inner.trace(*args)})()

    lowered = jxc.lower(ModuleJit(), jax.ShapeDtypeStruct((4,), jnp.float32))
    assert "stablehlo.sine" in str(lowered.module)
