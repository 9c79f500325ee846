"""Element types and sizes that rules for moving ops do not expect raise no exception."""

from __future__ import annotations

import itertools
import random

import pytest

from jxc.errors import JxcError
from jxc.ir import make_context, read_module
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext

ELEMENTS = (
    *("i1", "i2", "ui4", "i8", "ui64", "f4E2M1FN", "f8E4M3FN", "f8E4M3FNUZ", "f8E8M0FNU"),
    *("bf16", "f64", "complex<f32>"),
)
SHAPES = ("2x4x", "0x4x", "1x1x", "?x4x", "?x?x")
_PROMISES = frozenset({"no-nans", "no-infs", "no-signed-zeros"})

# Each step takes %a: TYPE, defines %r, and ends with the type of %r.
_BINARY = ("add", "subtract", "multiply", "divide", "maximum", "power", "xor", "remainder")
STEPS = {
    **{op: f"stablehlo.{op} %a : TYPE" for op in ("negate", "abs", "not", "exponential", "sign")},
    **{op: f"stablehlo.{op} %a, %x : TYPE" for op in (*_BINARY, "shift_left")},
    **{f"{op}_same": f"stablehlo.{op} %a, %a : TYPE" for op in ("subtract", "divide", "multiply")},
    **{f"{op}_one": f"stablehlo.{op} %a, %one : (TYPE, ONES) -> TYPE" for op in _BINARY},
    **{f"{op}_of_one": f"stablehlo.{op} %one, %a : (ONES, TYPE) -> TYPE" for op in _BINARY},
    "shift_by_one": "stablehlo.shift_right_logical %a, %one : (TYPE, ONES) -> TYPE",
    "clamp": "stablehlo.clamp %x, %a, %x : TYPE",
    "clamp_one": "stablehlo.clamp %one, %a, %one : (ONES, TYPE, ONES) -> TYPE",
    "select": "stablehlo.select %p, %a, %one : (tensor<i1>, TYPE, ONES) -> TYPE",
    "convert": "stablehlo.convert %a : (TYPE) -> TYPE",
    "reverse": "stablehlo.reverse %a, dims = [1] : TYPE",
    "transpose": "stablehlo.transpose %a, dims = [1, 0] : (TYPE) -> FLIPPED",
    "reshape": "stablehlo.reshape %a : (TYPE) -> tensor<4x2xELEMENT>",
    "reshape_one": "stablehlo.reshape %a : (TYPE) -> tensor<2x1x4xELEMENT>",
    "broadcast": "stablehlo.broadcast_in_dim %a, dims = [1, 2] : (TYPE) -> tensor<3x2x4xELEMENT>",
    "slice": "stablehlo.slice %a [0:1, 1:3] : (TYPE) -> tensor<1x2xELEMENT>",
    "pad": (
        "stablehlo.pad %a, %s, low = [1, 0], high = [0, -1], interior = [0, 1] : "
        "(TYPE, tensor<ELEMENT>) -> tensor<?x?xELEMENT>"
    ),
    "concatenate": "stablehlo.concatenate %a, %a, dim = 0 : (TYPE, TYPE) -> tensor<?x4xELEMENT>",
    "concatenate_one": (
        "stablehlo.concatenate %one, %a, dim = 0 : (ONES, TYPE) -> tensor<?x4xELEMENT>"
    ),
    "dot": (
        "stablehlo.dot_general %a, %x, contracting_dims = [1] x [1] : "
        "(TYPE, TYPE) -> tensor<?x?xELEMENT>"
    ),
    "bitcast": "stablehlo.bitcast_convert %a : (TYPE) -> TYPE",
    "real": "stablehlo.real %a : TYPE",
    "imag": "stablehlo.imag %a : TYPE",
}


def _program(first: str, second: str, element: str, shape: str) -> str | None:
    """The second step after the first if that keeps the type, otherwise after itself."""
    kind = f"tensor<{shape}{element}>"
    flipped = f"tensor<{'x'.join(reversed(shape[:-1].split('x')))}x{element}>"
    lines, value, of = [], "%x", kind
    for i, step in enumerate((first, second)):
        if step == "transpose" and of == flipped:
            kind, flipped = flipped, kind
        elif of != kind:
            return None
        line = STEPS[step].replace("%a", value)
        lines.append(f"%r{i} = {line}".replace("TYPE", kind).replace("FLIPPED", flipped))
        value = f"%r{i}"
        of = lines[-1].rsplit("->" if "->" in lines[-1] else ":", 1)[-1].strip()
        of = of.replace("ELEMENT", element)
    number = "(1.0, 0.0)" if element.startswith("complex") else "true" if element == "i1" else "1"
    if element.startswith(("f", "bf")):
        number += ".0"
    arguments = "%x: KIND, %s: tensor<ELEMENT>, %p: tensor<i1>".replace("KIND", lines and kind)
    body = "\n".join([f"%one = stablehlo.constant dense<{number}> : ONES", *lines])
    text = f"func.func @main({arguments}) -> {of} {{\n{body}\nreturn {value} : {of}\n}}"
    return text.replace("ONES", f"tensor<2x4x{element}>").replace("ELEMENT", element)


@pytest.mark.parametrize("element", ELEMENTS)
def test_motion_rules_do_not_raise_on_any_element_type(element: str) -> None:
    """The dialect decides which programs are valid; most are."""
    valid, context, pipeline = set(), make_context(), make_pipeline("simplify")
    generator = random.Random(element)
    pairs = list(itertools.product(STEPS, repeat=2))
    for first, second in generator.sample(pairs, len(pairs) // 3):
        text = _program(first, second, element, generator.choice(SHAPES))
        try:
            module = read_module(text, context) if text else None
        except JxcError:
            continue
        if module is not None:
            valid.add((first, second))
            run_pipeline(module, pipeline, PassContext(assumptions=_PROMISES))
            assert module.operation.verify()
    assert len(valid) > 50, len(valid)
