"""The page's parts: what is read of each text, what a line leads to, what changed after a pass."""

import base64
import importlib.util
import json
import re
import zlib

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jxc
from jxc.errors import MissingTargetError
from jxc.tools.explain.records import Compilation, Reason, Texts
from jxc.tools.page import needs, write_page
from jxc.tools.page.align import NEW, align, shortest
from jxc.tools.page.edits import Names, hunks_of
from jxc.tools.page.highlight import RULES, python_lines
from jxc.tools.page.links import Files, Links
from jxc.tools.page.locations import Locations
from jxc.tools.page.overview import show_seconds, ticks, timeline
from jxc.tools.page.payload import describe_programs
from jxc.tools.page.read_hlo import read_hlo
from jxc.tools.page.read_jaxpr import read_jaxpr
from jxc.tools.page.read_stablehlo import read_stablehlo
from jxc.tools.page.text import Stage, shortened
from jxc.tools.page.texts import texts_of

PROGRAM = '''\
import jax
import jax.numpy as jnp


def layer(w, x):
    return jnp.tanh(x @ w)


def model(w, x):
    for _ in range(2):
        x = layer(w, x)
    y = jax.nn.relu(x)
    """A string of
    two lines."""
    return jnp.sin(y) * jnp.arange(200.0).sum()
'''
TANH, RELU, SINE = 6, 12, 15  # the lines above


@pytest.fixture(scope="module")
def user(tmp_path_factory):
    """A module of the user's own, in a folder of its own."""
    file = tmp_path_factory.mktemp("user") / "model_of_user.py"
    file.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("model_of_user", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def texts(user):
    lowered = jxc.lower(user.model, jnp.ones((4, 4)), jnp.ones((2, 4)))
    return texts_of(lowered, "O2", lowered.opt("O2").compile())


@pytest.fixture(scope="module")
def described(texts):
    files = Files()
    return describe_programs([("model", texts)], files), files


def rebuilt(description, program=0):
    """The stages of a program as the page's script makes them: title -> (lines, links, marks)."""
    made = []
    for number, each in enumerate(description["programs"]):
        made.append([])
        for stage in each["stages"]:
            made[number].append(_stage(stage, made))
    titles = [stage["title"] for stage in description["programs"][program]["stages"]]
    return dict(zip(titles, made[program], strict=True))


def _stage(stage, made):
    if "base" not in stage:
        return stage["text"].split("\n"), stage["links"], None
    (lines, links, _), at, found = made[stage["base"][0]][stage["base"][1]], 0, ([], [], [])
    for start, removed, text, new_links, marks in stage["hunks"]:
        for kept, all_of in zip(found, (lines, links, " " * len(lines)), strict=True):
            kept.extend(all_of[at:start])
        new = (text.split("\n") if new_links else [], new_links, marks)
        for kept, added in zip(found, new, strict=True):
            kept.extend(added)
        at = start + removed
    for kept, all_of in zip(found, (lines, links, " " * len(lines)), strict=True):
        kept.extend(all_of[at:])
    return found


def user_lines(description, files, link):
    """The lines of the user's module that a link leads to, innermost first."""
    stacks = [description["stacks"][number] for number in description["links"][link][1]]
    places = [description["places"][place] for stack in stacks for place in stack]
    return [line for file, line, _ in places if files.paths[file].endswith("model_of_user.py")]


OPS = {  # what an op's line says at each stage, and the Python line that it comes from
    "jaxpr": [(r"= tanh ", TANH), (r"= sin ", SINE), (r"= dot_general", TANH), (r"= max ", RELU)],
    "StableHLO": [
        (r"stablehlo.tanh", TANH),
        (r"stablehlo.sine", SINE),
        (r"call @relu", RELU),
        (r"stablehlo.maximum", RELU),  # in the private function @relu
        (r"stablehlo.dot_general", TANH),
    ],
    "optimised HLO": [(r" tanh\(", TANH), (r" sine\(", SINE), (r" maximum\(", RELU)],
}


@pytest.mark.parametrize("title", OPS)
def test_a_line_leads_to_the_python_line_that_it_comes_from(described, title):
    description, files = described
    lines, links, _ = rebuilt(description)[title]
    for pattern, expected in OPS[title]:
        found = [link for line, link in zip(lines, links, strict=True) if re.search(pattern, line)]
        assert found, (pattern, lines)
        assert {user_lines(description, files, link)[0] for link in found} == {expected}, pattern


def test_lines_keep_leading_there_after_every_pass(described):
    description, files = described
    stages = rebuilt(description)
    after = [stage for title, stage in stages.items() if title.startswith("after ")]
    assert len(after) >= 2
    for lines, links, _ in after:
        found = [k for text, k in zip(lines, links, strict=True) if "stablehlo.tanh" in text]
        assert len(found) == 2
        assert {user_lines(description, files, link)[0] for link in found} == {TANH}


def test_a_link_has_the_callers_too(described):
    description, files = described
    lines, links, _ = rebuilt(description)["StableHLO"]
    link = next(k for text, k in zip(lines, links, strict=True) if "stablehlo.tanh" in text)
    assert user_lines(description, files, link)[:2] == [TANH, 11]
    assert not any("/jax/_src/" in files.paths[file] for file, _, _ in description["places"])


def test_what_links_are_made_of_is_not_shown(described):
    for title, (lines, _, _) in rebuilt(described[0]).items():
        shown = "\n".join(lines)
        assert "loc(" not in shown and "#loc" not in shown, title
        assert "metadata=" not in shown and "StackFrames" not in shown, title
        assert "# /" not in shown and not re.search(r"@\d+@", shown), title


def test_stages_after_passes_are_the_texts_but_for_names(described, texts):
    """What the page rebuilds from hunks says what the pass left, values renamed one to one."""
    stages = [s for t, s in rebuilt(described[0]).items() if t.startswith("after ")]
    assert len(stages) == len(texts.passes)
    for (lines, _, _), (name, text) in zip(stages, texts.passes, strict=True):
        plain = read_stablehlo(name, text, Links(Files())).lines
        assert [re.sub(r"%[\w.$-]+", "%", a) for a in lines] == [
            re.sub(r"%[\w.$-]+", "%", b) for b in plain
        ]
        main = [i for i, line in enumerate(plain) if "func.func" in line][:2]
        span = slice(main[0], main[1] if len(main) > 1 else None)
        before = re.findall(r"%[\w.$-]+", "\n".join(plain[span]))
        after = re.findall(r"%[\w.$-]+", "\n".join(lines[span]))
        assert len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))


def test_a_value_keeps_its_name_when_an_op_before_it_goes():
    before = _module("%0 = stablehlo.sine %arg0", "%1 = stablehlo.tanh %arg0", "return %1")
    after = _module("%0 = stablehlo.tanh %arg0", "return %0")
    same, pairs = Names(before).keep(before, after)
    assert same.lines[2:4] == ("    %1 = stablehlo.tanh %arg0", "    return %1")
    (hunk,) = hunks_of(before, same, pairs)
    assert (hunk.start, hunk.removed, hunk.lines, hunk.marks) == (2, 1, (), "")


def test_a_new_value_gets_a_number_of_its_own_and_its_reader_is_marked():
    before = _module("%0 = stablehlo.sine %arg0", "%1 = stablehlo.tanh %0", "return %1")
    after = _module("%0 = stablehlo.cosine %arg0", "%1 = stablehlo.tanh %0", "return %1")
    same, pairs = Names(before).keep(before, after)
    (hunk,) = hunks_of(before, same, pairs)
    assert hunk.lines == ("    %2 = stablehlo.cosine %arg0", "    %1 = stablehlo.tanh %2")
    assert hunk.marks == "+~"


def test_names_of_one_function_are_not_given_to_another():
    """An op that was inlined lies among others: the callee's %0 must not become theirs."""
    before = _lines(
        "func.func @main(%arg0: tensor<f32>) {",
        "%0 = stablehlo.sine %arg0",
        "%1 = call @f(%0)",
        "}",
        "func.func @f(%arg0: tensor<f32>) {",
        "%0 = stablehlo.tanh %arg0",
        "}",
    )
    after = _lines(
        "func.func @main(%arg0: tensor<f32>) {",
        "%0 = stablehlo.sine %arg0",
        "%1 = stablehlo.tanh %0",
        "}",
    )
    same, _ = Names(before).keep(before, after)
    assert same.lines[2] == "%2 = stablehlo.tanh %0"


def _module(*body):
    head = ("module @m {", "  func.func public @main(%arg0: tensor<f32>) -> tensor<f32> {")
    return _lines(*head, *(f"    {line}" for line in body), "  }", "}")


def _lines(*lines):
    return Stage("StableHLO", "stablehlo", lines, (0,) * len(lines))


# Which lines are which


@given(st.lists(st.integers(0, 4), max_size=14), st.lists(st.integers(0, 4), max_size=14))
def test_lines_that_are_matched_are_equal_and_in_order(before, after):
    found = align(before, after)
    kept = [i for i in found if i != NEW]
    assert len(found) == len(after) and kept == sorted(set(kept))
    assert all(i == NEW or before[i] == after[j] for j, i in enumerate(found))


@given(st.lists(st.integers(0, 2), max_size=12), st.lists(st.integers(0, 2), max_size=12))
def test_as_many_lines_are_matched_as_can_be(before, after):
    longest = [[0] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i, one in enumerate(before):
        for j, other in enumerate(after):
            best = max(longest[i][j + 1], longest[i + 1][j])
            longest[i + 1][j + 1] = longest[i][j] + 1 if one == other else best
    assert len(shortest(before, after)) == longest[-1][-1]


def test_long_texts_that_have_little_in_common_are_matched_in_time():
    before = [i % 7 for i in range(6000)]
    after = [(i * i) % 11 for i in range(6000)]
    found = align(before, after)
    assert sum(i != NEW for i in found) > 1000


# Reading


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
        ("#loc99", "", []),
        ("#loc4", "", []),  # leads round in a circle
        ('"not closed', "", []),
        ("rubbish", "", []),
    ],
)
def test_locations_as_mlir_writes_them(text, name, lines):
    table = [
        '#loc1 = loc("f"("a.py":3:1))',
        '#loc2 = loc("<module>"("b.py":9:1 to :5))',
        "#loc3 = loc(callsite(#loc1 at #loc2))",
        "#loc4 = loc(callsite(#loc4 at #loc4))",
    ]
    found, frames = Locations(table).resolve(text)
    assert (found, [(f.file, f.line, f.function) for f in frames]) == (name, lines)


def test_a_text_without_locations_is_shown_all_the_same():
    text = jax.jit(jnp.sin).lower(1.0).as_text()
    stage = read_stablehlo("StableHLO", text, Links(Files()))
    assert any("stablehlo.sine" in line for line in stage.lines)
    assert len(stage.lines) == len(stage.links)


def test_hlo_that_is_no_hlo_is_shown_as_it_is():
    stage = read_hlo("a text\nof two lines", Links(Files()))
    assert stage.lines == ("a text", "of two lines") and stage.links == (0, 0)


def test_printing_a_jaxpr_leaves_jax_as_it_was():
    closed = jax.make_jaxpr(jnp.sin)(1.0)
    before = closed.pretty_print(source_info=True)
    stage = read_jaxpr(closed, Links(Files()))
    assert closed.pretty_print(source_info=True) == before
    assert "\n".join(stage.lines) == closed.pretty_print(source_info=False)


def test_long_lines_are_cut_and_the_gap_is_counted():
    numbers = ", ".join(["1.5"] * 400)
    shown = shortened(f"%cst = stablehlo.constant dense<[{numbers}]> : tensor<400xf32>")
    assert len(shown) < 120 and shown.endswith("> : tensor<400xf32>")
    gap = len(numbers) + 2 - 24
    assert f"\u2026{gap} characters\u2026" in shown
    assert len(shortened("x" * 10_000)) < 600


def test_python_lines_stay_lines_in_a_string_of_several():
    lines = python_lines(PROGRAM)
    assert len(lines) == len(PROGRAM.split("\n"))
    plain = [re.sub(r"<[^>]*>", "", line) for line in lines]
    assert plain[RELU - 1].strip() == "y = jax.nn.relu(x)"
    assert "<i class=s>" in lines[RELU] and "<i class=s>" in lines[RELU + 1]
    assert python_lines("a < b & '<i>'\n")[0].count("<i ") == 1  # a string; the rest is escaped


def test_rules_of_highlighting_know_each_language():
    examples = {
        "jaxpr": ("b:f32[4] = sin a", "t", "f32[4]"),
        "stablehlo": ("%0 = stablehlo.sine %arg0 : tensor<f32>", "o", "stablehlo.sine"),
        "hlo": ("ROOT %s.1 = f32[8]{0} sine(%p), metadata={}", "o", "sine"),
    }
    assert examples.keys() == RULES.keys()
    for kind, (line, colour, word) in examples.items():
        pattern = "|".join(f"({source})" for _, source in RULES[kind])
        found = {m[0]: RULES[kind][m.lastindex - 1][0] for m in re.finditer(pattern, line)}
        assert found[word] == colour, kind


# The page


def test_a_page_holds_what_was_recorded_and_asks_for_nothing(tmp_path, texts):
    reason = Reason(1, (), "step was compiled again: x was f32[8].", "Pad x.")
    made = [
        Compilation(1, "step", seconds={"trace": 0.5, "compile": 2.0}, texts=texts, ops=7),
        Compilation(2, "<b>step", seconds={"compile": 1.0}, started=3, reason=reason),
    ]
    written = write_page(tmp_path / "page.html", made, title="a & b")
    page = written.path.read_text()
    assert written.bytes == written.path.stat().st_size and written.notes == ()
    assert "a &amp; b" in page and "&lt;b&gt;step" in page and "<b>step" not in page
    assert "step was compiled again: x was f32[8]." in page and "Pad x." in page
    assert "<b>3.5 s</b>" in page  # of both
    assert not re.search(r"https?://|(?:src|srcset|action)=|url\(|@import", page)
    packed = re.search(r'id="texts-1">([^<]*)<', page)
    stages = json.loads(zlib.decompress(base64.b64decode(packed[1])))["programs"][0]["stages"]
    assert [stage["kind"] for stage in stages][:2] == ["jaxpr", "stablehlo"]


def test_a_page_has_a_bound_and_says_what_it_left_out(tmp_path, texts):
    long = Texts(stablehlo="\n".join(f"line {i * 7919 % 10007}" for i in range(20_000)))
    made = [
        Compilation(1, "large", seconds={"compile": 2.0}, texts=long),
        Compilation(2, "small", seconds={"compile": 1.0}, texts=texts),
    ]
    written = write_page(tmp_path / "page.html", made, most_bytes=240_000)
    page = written.path.read_text()
    assert written.bytes < 240_000
    assert 'id="texts-2"' in page and 'id="texts-1"' not in page
    (note,) = written.notes
    assert "texts of 1 compilation were left out" in note and "1 (large)" in note
    assert note in page


def test_a_page_of_nothing(tmp_path):
    page = write_page(tmp_path / "page.html", []).path.read_text()
    assert "Nothing was compiled." in page


class _Diff:
    """What `write_page` reads of a comparison."""

    def as_json(self):
        site = {"file": "model.py", "line": 3, "function": "f", "text": "y = f(x) < 2"}
        group = {"kind": "fewer", "op": "stablehlo.add", "count": 12, "site": site, "before": None}
        figure = {"unit": "", "before": 4, "after": 3}
        side = {"pipeline": "", "target": "cpu", "refused": None}
        return {
            "before": {"name": "one", **side},
            "after": {"name": "other", **side},
            "figures": {"ops": figure, "flops": figure | {"before": None, "after": None}},
            "difference": {"same": False, "groups": [{**group, "changes": [], "example": ""}]},
        }


def test_the_page_of_a_comparison_has_both_programs_as_one(tmp_path, user, texts):
    lowered = jxc.lower(user.model, jnp.ones((4, 4)), jnp.ones((2, 4)))
    other = texts_of(lowered)
    made = [Compilation(1, "one", texts=other), Compilation(2, "other", texts=texts)]
    page = write_page(tmp_path / "page.html", made, diff=_Diff()).path.read_text()
    assert "-25.0%" in page and "model.py:3" in page and "y = f(x) &lt; 2" in page
    assert "only in A" in page and "<b>12</b>" in page
    packed = re.search(r'id="texts-diff">([^<]*)<', page)
    found = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    one, other = found["programs"]
    assert [stage["title"] for stage in one["stages"]] == ["jaxpr", "StableHLO"]
    assert other["stages"][1]["base"] == [0, 1] and other["stages"][1]["hunks"] == []
    taken = rebuilt(found, 1)["StableHLO that XLA took"]
    last = [stage for title, stage in rebuilt(found, 1).items() if title.startswith("after ")][-1]
    plain = [[re.sub(r"%[\w.$-]+", "%", line) for line in lines] for lines, _, _ in (taken, last)]
    assert plain[0] == plain[1]


def test_without_its_packages_a_page_says_what_to_install(monkeypatch, tmp_path):
    import sys

    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingTargetError, match=r"pip install 'jxc\[html\]'") as found:
        write_page(tmp_path / "page.html", [])
    assert found.value.exit_code == 3
    with pytest.raises(MissingTargetError):
        needs.require()


@given(st.floats(1e-6, 1e5))
def test_ticks_are_round_and_not_many(end):
    found = ticks(end)
    assert 3 <= len(found) <= 11 and found[0] == (0, "0")
    assert all(0 <= at <= 100.001 for at, _ in found)
    assert len({label for _, label in found}) == len(found)


def test_bars_that_overlap_lie_in_lanes_of_their_own():
    made = [
        Compilation(1, "a", started=0.0, seconds={"compile": 2.0}),
        Compilation(2, "b", started=1.0, seconds={"compile": 2.0}),
        Compilation(3, "c", started=2.5, seconds={"compile": 1.5}),
    ]
    bars, _ = timeline(made)
    assert [bar.lane for bar in bars] == [0, 1, 0]
    assert [bar.left for bar in bars] == [0, 25, 62.5]
    assert (show_seconds(2.314), show_seconds(0.0452), show_seconds(3e-6)) == (
        "2.31 s",
        "45.2 ms",
        "3 \u00b5s",
    )
