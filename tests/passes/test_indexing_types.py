"""Element types and sizes that rules for indices do not expect raise no exception."""

from __future__ import annotations

import pytest

from jxc.errors import JxcError
from jxc.ir import clone_module, make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

INTEGERS = ("i1", "i4", "ui4", "i8", "ui8", "i64", "ui64")
FLOATS = ("f8E5M2", "f8E4M3B11FNUZ", "bf16", "f64")
ELEMENTS = (*INTEGERS, *FLOATS, "complex<f32>")  # contexts of jaxlib read no quantised types
SHAPES = ((2, 4), (0, 4), (1, 1), ("?", 4))

_BODY = (
    "({\n^bb0(%a: tensor<ELEMENT>, %b: tensor<ELEMENT>):\nstablehlo.return %b : tensor<ELEMENT>\n})"
)
_IOTA = "%i = stablehlo.iota dim = 0 : tensor<2x4xELEMENT>"
_GATHER = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], "
    "start_index_map = [0]>, slice_sizes = array<i64: 1, 4>"
)
_SCATTER = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0, 1], "
    "scatter_dims_to_operand_dims = [0]>"
)
OPS = {  # of %x and %y: TYPE, %p: MASK, %s: tensor<INDEX>, %t: tensor<1xINDEX>, %u: tensor<1x4x..>
    "compare": "%r = stablehlo.compare LT, %x, %y : (TYPE, TYPE) -> MASK",
    "compare_equal": "%r = stablehlo.compare EQ, %y, %x : (TYPE, TYPE) -> MASK",
    "compare_iota": (
        f"{_IOTA}\n%r = stablehlo.compare GE, %i, %x : (tensor<2x4xELEMENT>, TYPE) -> MASK"
    ),
    "and_compares": (
        "%c = stablehlo.compare LT, %x, %y : (TYPE, TYPE) -> MASK\n"
        "%d = stablehlo.compare NE, %y, %x : (TYPE, TYPE) -> MASK\n%r = stablehlo.and %c, %d : MASK"
    ),
    "not_widened": (
        "%c = stablehlo.compare EQ, %x, %y : (TYPE, TYPE) -> MASK\n"
        "%r = stablehlo.not %c : (MASK) -> tensor<?x4xi1>"
    ),
    "and_widened": (
        "%c = stablehlo.compare LT, %x, %y : (TYPE, TYPE) -> MASK\n"
        "%d = stablehlo.compare NE, %y, %x : (TYPE, TYPE) -> MASK\n"
        "%r = stablehlo.and %c, %d : (MASK, MASK) -> tensor<?x4xi1>"
    ),
    "and_not": "%c = stablehlo.not %x : TYPE\n%r = stablehlo.and %x, %c : TYPE",
    "or_and": "%c = stablehlo.and %x, %y : TYPE\n%r = stablehlo.or %x, %c : TYPE",
    "select": (
        "%c = stablehlo.compare EQ, %x, %y : (TYPE, TYPE) -> MASK\n"
        "%r = stablehlo.select %c, %x, %y : MASK, TYPE"
    ),
    "select_nested": (
        "%c = stablehlo.select %p, %x, %y : MASK, TYPE\n"
        "%r = stablehlo.select %p, %c, %y : MASK, TYPE"
    ),
    "select_least": (
        "%c = stablehlo.compare LT, %x, %y : (TYPE, TYPE) -> MASK\n"
        "%r = stablehlo.select %c, %x, %y : MASK, TYPE"
    ),
    "clamp": "%r = stablehlo.clamp %x, %y, %x : TYPE",
    "maximum": "%r = stablehlo.maximum %x, %y : TYPE",
    "minimum": f"{_IOTA}\n%r = stablehlo.minimum %x, %i : (TYPE, tensor<2x4xELEMENT>) -> TYPE",
    "remainder": "%c = stablehlo.abs %x : TYPE\n%r = stablehlo.remainder %c, %y : TYPE",
    "divide": "%r = stablehlo.divide %x, %y : TYPE",
    "convert": f"{_IOTA}\n%r = stablehlo.convert %i : (tensor<2x4xELEMENT>) -> tensor<2x4xi16>",
    "convert_to": (
        "%i = stablehlo.iota dim = 1 : tensor<2x300xi16>\n"
        "%r = stablehlo.convert %i : (tensor<2x300xi16>) -> tensor<2x300xELEMENT>"
    ),
    "slice": (
        f"{_IOTA}\n%r = stablehlo.slice %i [0:2, 3:4] : (tensor<2x4xELEMENT>) "
        "-> tensor<2x1xELEMENT>"
    ),
    "reverse": f"{_IOTA}\n%r = stablehlo.reverse %i, dims = [1] : tensor<2x4xELEMENT>",
    "dynamic_slice": (
        "%c = stablehlo.dynamic_update_slice %x, %y, %s, %s : (TYPE, TYPE, tensor<INDEX>, "
        "tensor<INDEX>) -> TYPE\n"
        "%r = stablehlo.dynamic_slice %c, %s, %s, sizes = [1, 4] : (TYPE, tensor<INDEX>, "
        "tensor<INDEX>) -> tensor<1x4xELEMENT>"
    ),
    "dynamic_slice_twice": (
        "%c = stablehlo.dynamic_slice %x, %s, %s, sizes = [1, 4] : (TYPE, tensor<INDEX>, "
        "tensor<INDEX>) -> tensor<1x4xELEMENT>\n"
        "%r = stablehlo.dynamic_slice %c, %s, %s, sizes = [1, 2] : (tensor<1x4xELEMENT>, "
        "tensor<INDEX>, tensor<INDEX>) -> tensor<1x2xELEMENT>"
    ),
    "dynamic_slice_of_iota": (
        f"{_IOTA}\n%r = stablehlo.dynamic_slice %i, %s, %s, sizes = [1, 1] : (tensor<2x4xELEMENT>, "
        "tensor<INDEX>, tensor<INDEX>) -> tensor<1x1xELEMENT>"
    ),
    "update": (
        "%c = stablehlo.dynamic_update_slice %x, %u, %s, %s : (TYPE, tensor<1x4xELEMENT>, "
        "tensor<INDEX>, tensor<INDEX>) -> TYPE\n"
        "%r = stablehlo.dynamic_update_slice %c, %u, %s, %s : (TYPE, tensor<1x4xELEMENT>, "
        "tensor<INDEX>, tensor<INDEX>) -> TYPE"
    ),
    "gather": (
        f'%r = "stablehlo.gather"(%x, %t) <{{{_GATHER}}}> : (TYPE, tensor<1xINDEX>) '
        "-> tensor<4xELEMENT>"
    ),
    "scatter": (
        f'%r = "stablehlo.scatter"(%x, %t, %u) <{{{_SCATTER}}}> {_BODY} : '
        "(TYPE, tensor<1xINDEX>, tensor<1x4xELEMENT>) -> TYPE"
    ),
    "scatter_nothing": (
        f'%r = "stablehlo.scatter"(%u, %t, %x) <{{{_SCATTER}}}> {_BODY} : '
        "(tensor<1x4xELEMENT>, tensor<1xINDEX>, TYPE) -> tensor<1x4xELEMENT>"
    ),
}
_INDICES = {
    "known": (
        "%s = stablehlo.constant dense<1> : tensor<INDEX>\n"
        "%t = stablehlo.constant dense<1> : tensor<1xINDEX>\n"
    ),
    "unknown": "",
}


def _program(op: str, element: str, shape: tuple[int | str, ...], known: bool, index: str) -> str:
    extents = "".join(f"{extent}x" for extent in shape)
    result = OPS[op].rsplit("->" if "->" in OPS[op].rsplit("\n", 1)[-1] else ":", 1)[-1]
    result = result.rsplit(",", 1)[-1].strip()
    start = _INDICES["known"] if known else ""
    arguments = "%x: TYPE, %y: TYPE, %p: MASK, %u: tensor<1x4xELEMENT>"
    if not known:
        arguments += ", %s: tensor<INDEX>, %t: tensor<1xINDEX>"
    text = (
        f"func.func @main({arguments}) -> {result} {{\n{start}{OPS[op]}\nreturn %r : {result}\n}}"
    )
    for name, kind in (
        ("TYPE", f"tensor<{extents}{element}>"),
        ("MASK", f"tensor<{extents}i1>"),
        ("ELEMENT", element),
        ("INDEX", index),
    ):
        text = text.replace(name, kind)
    return text


@pytest.mark.parametrize("element", ELEMENTS)
def test_indexing_rules_do_not_raise_on_any_element_type(element: str) -> None:
    """The dialect decides which programs are valid; most are."""
    valid, context = set(), make_context()
    for op in OPS:
        for shape in SHAPES:
            for known, index in ((True, "i32"), (False, "ui8"), (True, "i4")):
                try:
                    before = read_module(_program(op, element, shape, known, index), context)
                except JxcError:
                    continue
                valid.add((op, shape))
                after = clone_module(before)
                run_pipeline(after, make_pipeline("simplify"), PassContext())
                assert after.operation.verify()
    assert len(valid) > 40, sorted(map(str, valid))
    assert {"gather", "scatter", "dynamic_slice"} <= {op for op, _ in valid}
