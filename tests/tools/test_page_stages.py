"""Reading jaxprs, StableHLO and HLO for a page, and highlighting them and Python."""

import re

import jax
import jax.numpy as jnp
import pytest

from jxc.display.syntax import RULES
from jxc.pages.highlight import python_lines
from jxc.pages.links import Links, PythonFiles
from jxc.pages.stages import read_assembly, read_hlo, read_jaxpr, read_stablehlo, shortened

from .page_program import PROGRAM, RELU


@pytest.mark.parametrize(
    "text, name, lines",
    [
        ('"jit(f)/sin"(#loc3)', "jit(f)/sin", [("a.py", 3, "f"), ("b.py", 9, "<module>")]),
        ('callsite("a"("f.py":1:2) at "b"("g.py":3:4))', "", [("f.py", 1, "a"), ("g.py", 3, "b")]),
        ('"a.py":7:1 to 8:2', "", [("a.py", 7, "")]),
        ('"a.py":7:1 to :2', "", [("a.py", 7, "")]),
        ('fused<"tag">[unknown, #loc1]', "", [("a.py", 3, "f")]),
        ('"a \\" b"', 'a " b', []),
        ("unknown", "", []),
    ],
)
def test_read_stablehlo_understands_every_form_of_location(text, name, lines):
    aliases = [
        '#loc1 = loc("f"("a.py":3:1))',
        '#loc2 = loc("<module>"("b.py":9:1 to :5))',
        "#loc3 = loc(callsite(#loc1 at #loc2))",
    ]
    files = PythonFiles()
    links = Links(files)
    stage = read_stablehlo("StableHLO", "\n".join([f"an op loc({text})", *aliases]), links)
    found, tables = stage.links[0], links.as_json()
    op_name, stacks = tables["links"][found]
    frames = [tables["frames"][frame] for stack in stacks for frame in tables["stacks"][stack]]
    assert stage.lines == ("an op",) and op_name == name
    assert [(files.paths[file], line, function) for file, line, function in frames] == lines


@pytest.mark.parametrize("location", ["#loc99", '"not closed', "not a location"])
def test_read_stablehlo_shows_a_text_with_invalid_locations_without_links(location):
    links = Links(PythonFiles())
    stage = read_stablehlo("StableHLO", f'op 1 loc("a.py":1:1)\nop 2 loc({location})', links)
    assert stage.lines == ("op 1", "op 2") and stage.links == (0, 0)


def test_read_stablehlo_without_locations():
    text = jax.jit(jnp.sin).lower(1.0).as_text()
    stage = read_stablehlo("StableHLO", text, Links(PythonFiles()))
    assert any("stablehlo.sine" in line for line in stage.lines)
    assert len(stage.lines) == len(stage.links)


def test_read_hlo_returns_other_texts_unchanged():
    stage = read_hlo("a text\nof two lines", Links(PythonFiles()))
    assert stage.lines == ("a text", "of two lines") and stage.links == (0, 0)


def test_read_jaxpr_does_not_change_how_jax_prints():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    before = closed.pretty_print(source_info=True)
    stage = read_jaxpr(closed, Links(PythonFiles()))
    assert closed.pretty_print(source_info=True) == before
    assert "\n".join(stage.lines) == closed.pretty_print(source_info=False)


def test_shortened_elides_constants_and_long_lines_and_counts_characters():
    numbers = ", ".join(["1.5"] * 400)
    shown = shortened(f"%cst = stablehlo.constant dense<[{numbers}]> : tensor<400xf32>")
    assert len(shown) < 120 and shown.endswith("> : tensor<400xf32>")
    gap = len(numbers) + 2 - 24
    assert f"\u2026{gap} characters\u2026" in shown
    assert len(shortened("x" * 10_000)) < 600


def test_python_lines_keep_the_lines_of_a_multiline_string():
    lines = python_lines(PROGRAM)
    assert len(lines) == len(PROGRAM.split("\n"))
    plain = [re.sub(r"<[^>]*>", "", line) for line in lines]
    assert plain[RELU - 1].strip() == "y = jax.nn.relu(x)"
    assert "<i class=s>" in lines[RELU] and "<i class=s>" in lines[RELU + 1]
    assert python_lines("a < b & '<i>'\n")[0].count("<i ") == 1  # a string; the rest is escaped


def test_highlighting_rules_cover_each_kind_of_text():
    examples = {
        "jaxpr": ("b:f32[4] = sin a", "t", "f32[4]"),
        "stablehlo": ("%0 = stablehlo.sine %arg0 : tensor<f32>", "o", "stablehlo.sine"),
        "hlo": ("ROOT %s.1 = f32[8]{0} sine(%p), metadata={}", "o", "sine"),
        "asm": ("   0:\tpush   %rbp", "v", "%rbp"),
    }
    assert examples.keys() == RULES.keys()
    for kind, (line, colour, word) in examples.items():
        pattern = "|".join(f"({source})" for _, source in RULES[kind])
        found = {m[0]: RULES[kind][m.lastindex - 1][0] for m in re.finditer(pattern, line)}
        assert found[word] == colour, kind


HLO = """\
HloModule f, is_scheduled=true

%fused (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %s = f32[8]{0} sine(%p), metadata={op_name="sin" source_file="model.py" source_line=3}
  ROOT %t = f32[8]{0} tanh(%s), metadata={op_name="tanh" source_file="model.py" source_line=4}
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %f.1 = f32[8]{0} fusion(%a), kind=kLoop, calls=%fused, metadata={op_name="tanh" \
source_file="model.py" source_line=4}
}
"""


@pytest.mark.parametrize(
    "text", ["# f.1\n\n0000 <f.1>:\n   0:\tret", ".visible .entry f_1(\n\tret;"]
)
def test_read_assembly_links_a_kernel_to_all_lines_of_its_fusion(text):
    links = Links(PythonFiles())
    stage = read_assembly(text, read_hlo(HLO, links), links)
    tables = links.as_json()
    stacks = tables["links"][stage.links[-1]][1]
    assert {tables["frames"][frame][1] for s in stacks for frame in tables["stacks"][s]} == {3, 4}
    other = read_assembly("0000 <unknown>:\n   0:\tret", read_hlo(HLO, links), links)
    assert set(other.links) == {0}
