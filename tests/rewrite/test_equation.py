"""`@equation`: rules whose docstrings are what they do."""

import pytest
from jaxlib.mlir import ir

from jxc import equation, exact
from jxc.ir import make_context, read_module
from jxc.ir.values import is_float, is_integer
from jxc.rewrite import PassContext, apply_rules


@equation(exact, on=is_integer)
def add_of_difference() -> None:
    """(x - y) + y -> x, on integers: floats round."""


@equation(exact)
def two_equations() -> None:
    """x & (x | y) -> x, max(x, least) -> x."""


@equation(exact, on=is_float)
def multiply_of_negates() -> None:
    """-x * -y -> x * y."""


@equation(exact)
def zero_minus() -> None:
    """-0 - x -> -x."""


def rewritten(rule, body, element="i32"):
    text = f"""
    func.func @main(%x: tensor<3x{element}>, %y: tensor<3x{element}>) -> tensor<3x{element}> {{
      {body}
      return %r : tensor<3x{element}>
    }}"""
    module = read_module(text.replace("T", f"tensor<3x{element}>"), make_context())
    apply_rules(module.operation, [rule], PassContext())
    ops = list(module.body.operations[0].regions[0].blocks[0].operations)
    returned = ops[-1].operands[0]
    number = returned.arg_number if isinstance(returned, ir.BlockArgument) else None
    return [op.operation.name.removeprefix("stablehlo.") for op in ops[:-1]], number


@pytest.mark.parametrize("order", ["%d, %y", "%y, %d"])
def test_equation_matches_commutative_operands_in_both_orders(order):
    body = f"%d = stablehlo.subtract %x, %y : T\n %r = stablehlo.add {order} : T"
    assert rewritten(add_of_difference, body) == ([], 0)


def test_equation_requires_equal_letters_to_be_one_value():
    body = "%d = stablehlo.subtract %x, %y : T\n %r = stablehlo.add %d, %x : T"
    assert rewritten(add_of_difference, body)[0] == ["subtract", "add"]


def test_equation_applies_only_to_results_that_its_predicate_accepts():
    body = "%d = stablehlo.subtract %x, %y : T\n %r = stablehlo.add %d, %y : T"
    assert rewritten(add_of_difference, body, "f32")[0] == ["subtract", "add"]


def test_docstring_may_state_several_equations():
    assert two_equations.roots == ("stablehlo.and", "stablehlo.maximum")
    body = "%d = stablehlo.or %y, %x : T\n %r = stablehlo.and %d, %x : T"
    assert rewritten(two_equations, body)[0] == []
    body = "%c = stablehlo.constant dense<-2147483648> : T\n %r = stablehlo.maximum %c, %x : T"
    assert rewritten(two_equations, body)[0] == []


def test_equation_builds_the_ops_of_its_right_side():
    body = "%a = stablehlo.negate %x : T\n %b = stablehlo.negate %y : T\n"
    names, _ = rewritten(multiply_of_negates, body + "%r = stablehlo.multiply %a, %b : T", "f32")
    assert names == ["multiply"]


@pytest.mark.parametrize(
    ("element", "zero", "expected"),
    [
        ("f32", "-0.0", ["negate"]),
        ("f32", "0.0", ["constant", "subtract"]),
        ("i32", "0", ["negate"]),
    ],
)
def test_minus_zero_is_another_float_than_zero(element, zero, expected):
    body = f"%c = stablehlo.constant dense<{zero}> : T\n %r = stablehlo.subtract %c, %x : T"
    assert rewritten(zero_minus, body, element)[0] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Doubles x.", "expected a docstring such as"),
        ("x + 0 -> y", "y is not on the left side"),
        ("f(x) -> x", "f(x) is no operator and none of abs, clamp"),
        ("x + -> x", "cannot read 'x + -> x'"),
        ("x + 0 -> least", "least is not on the left side"),
    ],
)
def test_wrong_equations_are_refused(text, message):
    def wrong() -> None:
        pass

    wrong.__doc__ = text
    with pytest.raises(TypeError) as error:
        equation(exact)(wrong)
    assert message in str(error.value) and "'wrong'" in str(error.value)


@equation(exact)
def add_minus_zero() -> None:
    """x + -0 -> x."""


@equation(exact)
def max_of_least() -> None:
    """max(x, least) -> x."""


@pytest.mark.parametrize(
    "body,element,tries",
    [
        ("%c = stablehlo.constant dense<-0.0> : T\n %r = stablehlo.add %x, %c : T", "f32", 1),
        ("%c = stablehlo.constant dense<0.0> : T\n %r = stablehlo.add %x, %c : T", "f32", 0),
        ("%c = stablehlo.constant dense<0> : T\n %r = stablehlo.add %c, %x : T", "i32", 1),
        ("%c = stablehlo.constant dense<7> : T\n %r = stablehlo.add %c, %x : T", "i32", 0),
        ("%c = stablehlo.constant dense<[0, 0, 7]> : T\n %r = stablehlo.add %x, %c : T", "i32", 0),
        ("%r = stablehlo.add %x, %y : T", "i32", 0),
        ("%c = stablehlo.constant dense<7> : T\n %r = stablehlo.maximum %x, %c : T", "i32", 1),
        ("%r = stablehlo.maximum %x, %y : T", "i32", 0),
    ],
)
def test_equations_with_a_constant_are_tried_on_ops_with_that_constant(body, element, tries):
    text = f"""
    func.func @main(%x: T, %y: T) -> T {{
      {body}
      return %r : T
    }}"""
    module = read_module(text.replace("T", f"tensor<3x{element}>"), make_context())
    counts = apply_rules(module.operation, [add_minus_zero, max_of_least], PassContext())
    assert sum(count.tries for count in counts) == tries
