"""Programs built again with other sizes, as `jxc verify` and `jxc reduce` do."""

import numpy as np
import pytest

from jxc.check.rebuild import NotValid, rebuild
from jxc.check.rebuild_types import Change
from jxc.ir import functions, make_context, read_module
from jxc.ir.constants import array_of
from jxc.ir.values import shape_of

CONSTANT = """
func.func @main() -> tensor<3xTYPE> {
  %c = stablehlo.constant dense<ELEMENTS> : tensor<3xTYPE>
  return %c : tensor<3xTYPE>
}"""
ELEMENTS = {
    **dict.fromkeys(["i4", "ui4", "i8", "ui64"], "[1, 2, 3]"),
    **dict.fromkeys(["f8E4M3FN", "bf16", "f16", "f64"], "[1.0, -0.0, 3.0]"),
    "i1": "[true, false, true]",
    "complex<f32>": "[(1.0, 2.0), (-0.0, 1.0), (3.0, 0.0)]",
}


def constant_of(module):
    return functions(module)["main"].regions[0].blocks[0].operations[0].result


@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("size", [0, 2, 7])
def test_rebuild_repeats_or_cuts_constants(kind, size):
    text = CONSTANT.replace("TYPE", kind).replace("ELEMENTS", ELEMENTS[kind])
    module = read_module(text, make_context())
    resized = rebuild(module, Change(extents={3: size}))
    own, found = (array_of(constant_of(each)) for each in (module, resized))
    assert found.tobytes() == np.resize(own, size).tobytes()


def test_rebuild_keeps_a_constant_that_cannot_be_read():
    text = CONSTANT.replace("TYPE", "f4E2M1FN").replace("ELEMENTS", "[1.0, 2.0, 3.0]")
    module = read_module(text, make_context())
    assert "dense<[1.000000e+00, 2.0" in str(rebuild(module, Change()))
    with pytest.raises(NotValid, match="cannot be read"):
        rebuild(module, Change(extents={3: 2}))


def test_rebuild_keeps_a_mesh():
    """The mesh is an op next to the functions of the module."""
    text = """sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      return %x : tensor<4xf32>
    }"""
    found = str(rebuild(read_module(text, make_context()), Change(extents={4: 2})))
    assert "sdy.mesh @mesh" in found
    assert "tensor<2xf32>" in found


def test_rebuild_slices_the_same_fraction():
    text = """func.func @main(%x: tensor<16xf32>) -> tensor<10xf32> {
      %r = stablehlo.slice %x [2:12] : (tensor<16xf32>) -> tensor<10xf32>
      return %r : tensor<10xf32>
    }"""
    found = rebuild(read_module(text, make_context()), Change(extents={16: 8}))
    (sliced,) = functions(found)["main"].regions[0].blocks[0].operations[-1].operands
    assert (list(sliced.owner.start_indices), shape_of(sliced)) == ([1], (5,))
