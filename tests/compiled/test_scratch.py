"""Memory that libraries of XLA:CPU take beside the buffers."""

import math

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.backend.targets import find_target
from jxc.compiled import scratch
from jxc.compiled.program import compile_module
from jxc.compiled.scratch import scratch_bytes
from jxc.hlo.parse import parse_hlo

HLO = """HloModule convolutions

%body (a: f32[8,16,16,32], b: f32[3,3,32,64]) -> f32[8,16,16,64] {
  %a = f32[8,16,16,32]{3,2,1,0} parameter(0)
  %b = f32[3,3,32,64]{3,2,1,0} parameter(1)
  ROOT %c = f32[8,16,16,64]{3,2,1,0} convolution(%a, %b), window={size=3x3 pad=1_1x1_1}, \
dim_labels=b01f_01io->b01f
}

ENTRY %main (x: f32[8,16,16,32], k: f32[3,3,32,64]) -> f32[8,16,16,64] {
  %x = f32[8,16,16,32]{3,2,1,0} parameter(0)
  %k = f32[3,3,32,64]{3,2,1,0} parameter(1)
  ROOT %f = f32[8,16,16,64]{3,2,1,0} fusion(%x, %k), kind=kCustom, calls=%body, \
backend_config={"fusion_config":{"kind":"KIND"}}
}
"""


@pytest.mark.parametrize(
    ("kind", "first", "expected"),
    [
        ("__ynn_fusion", 0, 4 * (8 * 16 * 16 * 32 + 9 * 32 * 64)),
        ("__ynn_fusion", 1, 4 * 9 * 32 * 64),
        ("__other_fusion", 0, 0),
    ],
)
def test_convolution_of_the_library_takes_copies_of_its_operands(
    kind, first, expected, monkeypatch
):
    monkeypatch.setattr(scratch, "_FIRST", first)
    module = parse_hlo(HLO.replace("KIND", kind))
    assert scratch_bytes(module.entry.instructions) == expected


def test_scratch_of_a_compiled_program():
    def convolved(x, kernel):
        numbers = ("NHWC", "HWIO", "NHWC")
        return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=numbers)

    shapes = (8, 64, 64, 32), (3, 3, 32, 32)
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in shapes]
    found = compile_module(jxc.lower(convolved, *given).module, find_target("cpu"), {}, {})
    copied = 4 * sum(math.prod(shape) for shape in shapes[scratch._FIRST :])
    assert found.scratch_bytes == (copied if "__ynn_fusion" in found.build.hlo else 0)


PRODUCT = """HloModule product

%body (a: f32[LEFT], b: f32[RIGHT]) -> f32[256,128] {
  %a = f32[LEFT]{1,0} parameter(0)
  %b = f32[RIGHT]{1,0} parameter(1)
  ROOT %c = f32[256,128]{1,0} dot(%a, %b), lhs_contracting_dims={SUMMED}, rhs_contracting_dims={0}
}

ENTRY %main (x: f32[LEFT], k: f32[RIGHT]) -> f32[256,128] {
  %x = f32[LEFT]{1,0} parameter(0)
  %k = f32[RIGHT]{1,0} parameter(1)
  ROOT %f = f32[256,128]{1,0} CALLED
}
"""
DOT = "dot(%x, %k), lhs_contracting_dims={SUMMED}, rhs_contracting_dims={0}"
FUSION = """fusion(%x, %k), kind=kCustom, calls=%body, \
backend_config={"fusion_config":{"kind":"__ynn_fusion"}}"""


@pytest.mark.parametrize(
    ("called", "summed", "expected"),
    [
        (DOT, 100, 4 * (128 + 128) * 100),  # all columns, and as many rows
        (DOT, 2000, 4 * (128 + 128) * scratch._DEPTH),
        (FUSION, 2000, 0),
        (FUSION, 8192, 4 * 256 * 128 * 8192 // 256),  # a result for each 256 summed elements
    ],
)
def test_products_take_packed_blocks_or_sums_of_parts(called, summed, expected):
    text = PRODUCT.replace("CALLED", called).replace("SUMMED", "1")
    text = text.replace("LEFT", f"256,{summed}").replace("RIGHT", f"{summed},128")
    assert scratch_bytes(parse_hlo(text).entry.instructions) == expected


@pytest.mark.parametrize(
    ("batch", "labels", "expected"),
    [
        (8, "b01f_01io->b01f", 4 * 8 * 16 * 16 * 9 * 32),
        (16, "b01f_01io->b01f", 0),
        (8, "b01f_01oi->b01f", 0),  # XLA's own loops
    ],
)
def test_convolutions_of_eigen_take_their_patches(batch, labels, expected):
    own = HLO[: HLO.index("%body")] + HLO[HLO.index("ENTRY") :]
    window = f"window={{size=3x3 pad=1_1x1_1}}, dim_labels={labels}"
    own = f"{own[: own.index('fusion(%x')]}convolution(%x, %k), {window}\n}}"
    module = parse_hlo(own.replace("[8,16", f"[{batch},16"))
    assert scratch_bytes(module.entry.instructions) == expected


SUM = """HloModule sum

%plus (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %c = f32[] add(%a, %b)
}

%body (x: f32[SHAPE], y: f32[SHAPE]) -> f32[KEPT] {
  %x = f32[SHAPE] parameter(0)
  %y = f32[SHAPE] parameter(1)
  %s = f32[SHAPE] OP(%x, %y)
  %z = f32[] constant(0)
  ROOT %r = f32[KEPT] reduce(%s, %z), dimensions={OVER}, to_apply=%plus
}

ENTRY %main (x: f32[SHAPE], y: f32[SHAPE]) -> f32[KEPT] {
  %x = f32[SHAPE] parameter(0)
  %y = f32[SHAPE] parameter(1)
  ROOT %f = f32[KEPT] fusion(%x, %y), kind=kCustom, calls=%body, \
backend_config={"fusion_config":{"kind":"__ynn_fusion"}}
}
"""


@pytest.mark.parametrize(
    ("op", "shape", "over", "expected"),
    [
        ("add", (64, 4096), 0, 4 * 64 * 4096 // 8),  # rows of an eighth of `_WIDE`
        ("add", (8, 2**16), 0, 4 * 8 * 2**16),
        ("add", (4, 8, 2**15), 1, 2 * 4 * 8 * 2**15),  # on each core
        ("add", (64, 4096), 1, 0),
        ("multiply", (1, 64, 4096), 2, 5 * 4 * 64 * 4096),
        ("multiply", (2, 64, 4096), 2, 0),
    ],
)
@pytest.mark.parametrize("is_copied", [True, False])
def test_sums_take_copies_in_older_versions(op, shape, over, expected, is_copied, monkeypatch):
    monkeypatch.setattr(scratch, "_ARE_SUMS_COPIED", is_copied)
    text = SUM.replace("SHAPE", ",".join(map(str, shape))).replace("OP", op)
    kept = ",".join(str(size) for dim, size in enumerate(shape) if dim != over)
    module = parse_hlo(text.replace("OVER", str(over)).replace("KEPT", kept))
    assert scratch_bytes(module.entry.instructions) == (expected if is_copied else 0)


def test_verdict_on_memory_counts_what_libraries_take():
    image, kernel = ((2, 8, 8, 16), (3, 3, 16, 16))
    given = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (image, kernel)]
    dims = ("NHWC", "HWIO", "NHWC")

    def convolved(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=dims)

    found = compile_module(jxc.lower(convolved, *given).module, find_target("cpu"), {})
    assert found.scratch_bytes > 0
    assert found.fit.needed == found.memory.needed + found.scratch_bytes
