"""The public names of `jxc.ir`: the example of each, and what they refuse."""

import doctest
import re

import jaxlib.mlir.dialects.chlo as chlo
import numpy as np
import pytest
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo

import jxc.ir
from jxc.ir import broadcast, broadcast_dims, constant, convert, elementwise_op, is_finite


@pytest.fixture
def values():
    """Names for examples: arguments of a function, at whose end ops are built."""
    types = {"x": "2x3xf32", "n": "4xi32", "scalar": "f32", "z": "4xcomplex<f32>", "p": "2x3xi1"}
    types |= {"h": "4xf16", "big": "4xi64", "dynamic": "?xf32", "row": "1x3xf32"}
    with jxc.ir.make_context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            parsed = [ir.Type.parse(f"tensor<{each}>") for each in types.values()]
            main = func.FuncOp("main", (parsed, []))
        with ir.InsertionPoint(main.add_entry_block()):
            yield dict(zip(types, main.arguments, strict=True))


@pytest.mark.parametrize("name", jxc.ir.__all__)
def test_example_in_the_docstring_runs(name, values):
    names = {each: getattr(jxc.ir, each) for each in jxc.ir.__all__}
    names |= {"np": np, "stablehlo": stablehlo, **values}
    example = doctest.DocTestParser().get_doctest(
        getattr(jxc.ir, name).__doc__, names, name, None, None
    )
    assert example.examples or name == "make_context"
    stablehlo.abs(values["x"])  # a user of x, in every example
    failures = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(example, out=failures.append, clear_globs=False)
    assert not failures, "".join(failures)


def test_constant_has_the_bits_of_every_element_type(values):
    assert (
        jxc.ir.array_of(constant(-0.0, values["h"])).tobytes() == np.full(4, -0.0, "f2").tobytes()
    )
    assert jxc.ir.array_of(constant(1 + 2j, values["z"]))[3] == 1 + 2j
    assert jxc.ir.array_of(constant([True], values["p"])).all()
    assert jxc.ir.array_of(constant(2**62, values["big"]))[0] == 2**62


@pytest.mark.parametrize(
    ("data", "like", "message"),
    [
        (1, "dynamic", "expected a type of static shape with numbers, found tensor<?xf32>"),
        (np.zeros(3), "n", "an array of shape (3,) for tensor<4xi32>"),
    ],
)
def test_constant_refuses(values, data, like, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        constant(data, values[like])


def test_elementwise_op_broadcasts_scalars_and_converts_numbers(values):
    chosen = elementwise_op("select", values["p"], values["x"], values["scalar"])
    assert str(chosen.type) == "tensor<2x3xf32>"
    assert str(elementwise_op("add", 1, values["scalar"]).type) == "tensor<f32>"


@pytest.mark.parametrize(
    ("name", "operands", "message"),
    [
        ("plus", "x", "'plus': expected an elementwise op, one of add, subtract"),
        ("add", "xn", "add: operands of the shapes (2, 3), (4,)"),
        ("add", "x", "add: cannot take operands of the types tensor<2x3xf32>"),
        ("add", "nh", "add: cannot take operands of the types tensor<4xi32>, tensor<4xf16>"),
        ("sine", "n", "sine: cannot take operands of the types tensor<4xi32>"),
        ("add", "", "add: expected a value among the operands"),
    ],
)
def test_elementwise_op_refuses(values, name, operands, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        elementwise_op(name, *(values[each] for each in operands))


def test_broadcast_dims_has_added_and_expanded_dimensions(values):
    assert broadcast_dims(broadcast(values["row"], [5, 2, 3], [1, 2])) == (0, 1)


def test_finite_values(values):
    f16, f32, f64 = ir.F16Type.get(), ir.F32Type.get(), ir.F64Type.get()
    sine = stablehlo.sine(constant(1, values["x"]))
    assert is_finite(stablehlo.select(values["p"], sine, constant(0, values["x"])))
    assert is_finite(convert(values["n"], f32))
    assert is_finite(convert(sine, f64))
    assert is_finite(stablehlo.iota(ir.RankedTensorType.get([65504], f16), 0))
    assert is_finite(constant(1, ir.RankedTensorType.get([1 << 40], f32)))  # one element is read


def test_values_that_may_not_be_finite(values):
    f16 = ir.F16Type.get()
    one = constant(1, values["x"])
    assert not is_finite(convert(values["n"], f16))  # 2 ** 31 is infinite
    assert not is_finite(convert(stablehlo.sine(one), f16))  # from a wider type
    assert not is_finite(stablehlo.iota(ir.RankedTensorType.get([70000], f16), 0))
    assert not is_finite(stablehlo.add(one, one))
    assert not is_finite(stablehlo.select(values["p"], values["x"], one))
    assert not is_finite(stablehlo.sine(values["x"]))
    assert not is_finite(constant([np.nan, 0, 0], values["row"]))
    assert not is_finite(chlo.square(one))
    large = constant(
        3e38 + 3e38j, ir.RankedTensorType.get([], ir.ComplexType.get(ir.F32Type.get()))
    )
    assert not is_finite(stablehlo.abs(large))  # the square root of twice its square
