"""Parsing of HLO text that XLA's compilers for CPU, GPU and TPU print."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jxc.errors import JxcError
from jxc.hlo import Module, Shape, parse_hlo
from jxc.hlo.frames import op_name_of, read_frames
from jxc.hlo.lexer import parse_shape, split_top_level
from jxc.hlo.work import accesses_of, executed

PROGRAMS = Path(__file__).parent / "programs"
TEXTS = sorted([*PROGRAMS.glob("*.hlo"), *PROGRAMS.glob("*/hlo.txt")])

SMALL = (PROGRAMS / "every_form.hlo").read_text()


@pytest.fixture(scope="module")
def small() -> Module:
    return parse_hlo(SMALL)


def test_module_has_the_attributes_of_the_header(small: Module) -> None:
    assert small.name == "jit_f"
    assert (small.num_partitions, small.num_replicas) == (4, 2)
    assert small.aliases == {(0,): 1, (2, 1): 0}
    assert list(small.computations) == ["add", "main"]
    assert small.entry.name == "main"


def test_operands_callees_and_users_refer_to_instructions(small: Module) -> None:
    by_name = {each.name: each for each in small.entry.instructions}
    red = by_name["red"]
    assert red.operands == (by_name["old"], by_name["c"])
    assert red.called == (small.computations["add"],)
    assert red.callee("to_apply") is small.computations["add"]
    assert red.callee("body") is None
    assert by_name["neg"].called == (), "the contents of a quoted string are no attributes"
    assert by_name["old"].users == (red, by_name["out"])
    assert small.entry.root is by_name["out"]
    assert red.attributes["backend_config"] == '{"a":"}{","b":["x, y"]}'
    assert by_name["c"].literal == "-inf"


def test_parameters_are_in_order_of_number_and_instructions_in_order_of_text(small: Module) -> None:
    add = small.computations["add"]
    assert [each.name for each in add.instructions] == ["b", "a", "sum"]
    assert [each.name for each in add.parameters] == ["a", "b"]


def test_source_line_is_the_innermost_of_the_user(small: Module) -> None:
    places = {each.name: each.place for each in small.entry.instructions}
    assert (places["neg"].file, places["neg"].line) == ("/home/user/train.py", 7)
    assert places["neg"].function == "step", "the frames of two libraries are inside it"
    assert (places["old"].file, places["old"].line) == ("/home/user/old.py", 12)
    assert places["p"] is None


def test_source_line_without_user_code_is_that_of_a_library(small: Module) -> None:
    places = {each.name: each.place for each in small.entry.instructions}
    assert (Path(places["flax"].file).name, places["flax"].line) == ("linen.py", 100)
    assert (Path(places["jax"].file).name, places["jax"].line) == ("lax.py", 900)


def test_op_names_are_unescaped(small: Module) -> None:
    names = {each.name: each.op_name for each in small.entry.instructions}
    assert names["p"] == "x['a']"
    assert names["neg"] == "jit(f)/neg, calls=%add }"
    assert names["jax"] == ""


@pytest.mark.parametrize(
    ("text", "shape", "size"),
    [
        ("f32[]", Shape("f32"), 4),
        ("pred[3]{0}", Shape("pred", (3,), layout=(0,)), 3),
        ("s4[3]{0:E(4)}", Shape("s4", (3,), layout=(0,)), 2),
        ("f8e4m3fn[2,2]{1,0}", Shape("f8e4m3fn", (2, 2), layout=(1, 0)), 4),
        ("c128[2]{0}", Shape("c128", (2,), layout=(0,)), 32),
        ("u32[]{:S(2)}", Shape("u32", (), 2), 4),
        (
            "bf16[12,512,8]{2,1,0:T(8,128)(2,1)S(1)}",
            Shape("bf16", (12, 512, 8), 1, layout=(2, 1, 0)),
            98304,
        ),
        ("f32[<=10,2]{1,0}", Shape("f32", (10, 2), layout=(1, 0)), 80),
        ("token[]", Shape("token"), 0),
        ("()", Shape("tuple"), 0),
        (
            "((f32[2]{0}), /*index=1*/u8[0]{0})",
            Shape(
                "tuple",
                parts=(
                    Shape("tuple", parts=(Shape("f32", (2,), layout=(0,)),)),
                    Shape("u8", (0,), layout=(0,)),
                ),
            ),
            8,
        ),
    ],
)
def test_parse_shape(text: str, shape: Shape, size: int) -> None:
    assert parse_shape(text) == shape
    assert shape.bytes == size


def test_shape_prints_without_its_layout() -> None:
    assert str(parse_shape("(f32[2,3]{1,0:T(8,128)}, s32[])")) == "(f32[2,3], s32[])"


def test_split_top_level_ignores_commas_in_brackets_and_quotes() -> None:
    assert split_top_level('a={1,2}, b="x,\\"{", c[3,4]')[0] == ["a={1,2}", 'b="x,\\"{"', "c[3,4]"]
    assert split_top_level("%a, f(%b, %c)), x=1", closed=True) == (["%a", "f(%b, %c)"], 14)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: str(path.relative_to(PROGRAMS)))
def test_parse_hlo_reads_every_instruction(path: Path) -> None:
    text = path.read_text()
    module = parse_hlo(text)
    found = sum(len(each.instructions) for each in module.computations.values())
    lines = [line for line in text.splitlines() if not line.startswith("HloModule")]
    assert found == sum(" = " in line for line in lines)
    assert len(module.computations) == sum(line.endswith("{") for line in lines)
    assert any(each.place for each in module.entry.instructions) or "stack_frame" not in text


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("HloModule jit_f", "module @jit_f", "line 1 of the HLO text cannot be read"),
        ("add(%a, %b)", "add(%a, %z)", "operand '%z' is not defined"),
        ("add(%a, %b)", "add(%a, %b", "a bracket is not closed"),
        ("to_apply=%add", "to_apply=%mul", "computation '%mul' is not defined"),
        ("f32[] parameter(1)", "[] parameter(1)", "'[]' is not a shape"),
        ("f32[] parameter(1)", "f32[] parameter()", "expected a number for a parameter"),
        ("{0} reduce(", "{0} (", "expected an opcode"),
        ("ENTRY %main", "ENTRY [main]", "expected a computation"),
        ('"jit(f)/abs"', '"jit(f)/abs', "a quote is not closed"),
        ("num_partitions=4", "num_partitions=four", "line 1 of the HLO text"),
        ("ENTRY ", "", "without an ENTRY"),
        ("\n}\n\nENTRY", "\n\nENTRY", "expected an instruction"),
    ],
)
def test_a_malformed_text_raises_an_error_with_its_line(before: str, after: str, says: str) -> None:
    assert before in SMALL
    with pytest.raises(JxcError) as error:
        parse_hlo(SMALL.replace(before, after, 1))
    assert says in str(error.value)


def test_a_truncated_text_raises_an_error() -> None:
    with pytest.raises(JxcError, match=r"breaks off after line 28, in %add"):
        parse_hlo(SMALL[: SMALL.index("  ROOT %sum")])
    with pytest.raises(JxcError, match="there is no HLO text"):
        parse_hlo("\n\n")


def test_a_damaged_text_raises_no_other_exception() -> None:
    draw = random.Random(7)
    texts = [SMALL, (PROGRAMS / "branches.gpu.hlo").read_text()]
    for _ in range(400):
        text = list(draw.choice(texts))
        for _ in range(draw.randint(1, 3)):
            at = draw.randrange(len(text))
            text[at : at + draw.randint(0, 3)] = draw.choice(
                ['"', "{", "}", "(", ")", ",", "=", "7", ""]
            )
        try:
            module = parse_hlo("".join(text))
        except JxcError:
            continue
        assert module.entry.parameters is not None


def test_an_operand_may_name_an_element_of_a_tuple():
    text = """HloModule m

ENTRY %main (p: (f32[2], (s32[], f32[3]))) -> f32[3] {
  %p = (f32[2]{0}, (s32[], f32[3]{0})) parameter(0)
  ROOT %r = f32[3]{0} add(%p#1#1, %p#1#1)
}
"""
    root = parse_hlo(text).entry.root
    element = root.operands[0]
    assert (element.opcode, str(element.shape)) == ("get-tuple-element", "f32[3]")
    assert root.operands[1] is element
    assert element.operands[0].attributes["index"] == "1"
    assert element.operands[0].operands[0].name == "p"
    with pytest.raises(JxcError, match="has no element 2"):
        parse_hlo(text.replace("#1#1", "#2"))


def test_arguments_of_an_asynchronous_start_include_those_of_its_update() -> None:
    module = parse_hlo(
        """HloModule m

%inner (a: f32[4], b: f32[4]) -> f32[4] {
  %a = f32[4] parameter(0)
  %b = f32[4] parameter(1)
  ROOT %s = f32[4] add(%a, %b)
}

ENTRY %main (x: f32[4], y: f32[4]) -> f32[4] {
  %x = f32[4] parameter(0)
  %y = f32[4] parameter(1)
  %start = ((), ()) async-start(), calls=%inner
  %update = ((f32[4], f32[4]), f32[4]) async-update(%start, %x, %y)
  ROOT %done = f32[4] async-done(%update)
}
"""
    )
    x, y, start, *_ = module.entry.instructions
    assert start.arguments == (x, y)
    (run,) = accesses_of(executed(module))
    assert sum(each.bytes for each in run) == 3 * 16


def test_names_are_read_without_the_escapes_of_xla() -> None:
    """XLA prints the bytes of "é" in octal, and control characters as C does."""
    name = r"sp ace \303\251 \"\'\\ \t\n"
    text = f'HloModule m\n\nFileNames\n1 "{name}"\n\nFunctionNames\n1 "f"\n\nFileLocations\n'
    text += "1 {file_name_id=1 function_name_id=1 line=3 end_line=3 column=1 end_column=2}\n\n"
    text += "StackFrames\n1 {file_location_id=1 parent_frame_id=1}\n\nENTRY main {\n"
    [line] = read_frames(text).stack_of("{stack_frame_id=1}")
    assert (line.file, line.line) == ("sp ace é \"'\\ \t\n", 3)
    assert op_name_of(r'op_name="jit(f)/\316\273\134x 12\0612"') == "jit(f)/λ\\x 1212"
