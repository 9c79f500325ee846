"""The written page: entries, texts, size limit, timeline, and the page of a comparison."""

import base64
import json
import re
import sys
import zlib

import pytest
from hypothesis import given, strategies as st

from jxc.backend.log import ProgramTexts, text_to_read
from jxc.errors import MissingTargetError
from jxc.ir import clone_module
from jxc.pages import require_packages, ticks
from jxc.pages.links import Links, PythonFiles
from jxc.pages.stages import read_stablehlo
from jxc.pipeline import make_pipeline, run_pipeline
from jxc.rewrite import PassContext
from jxc.tools.diff import ComparedProgram, DifferenceGroup, GraphDifference, ProgramComparison
from jxc.tools.diff.compare import Metric
from jxc.tools.diff.graph import QuotedLine
from jxc.tools.diff.page import write_comparison_page
from jxc.tools.explain.compilations import Compilation
from jxc.tools.explain.page import timeline, write_page
from jxc.tools.explain.reasons import Reason

from .page_program import lower_program, rebuilt, texts_of


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    return lower_program(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")
def texts(lowered):
    return texts_of(lowered, "O2", compiled=True)


def test_page_contains_entries_and_texts_and_loads_nothing(tmp_path, texts):
    reason = Reason(1, (), "step was compiled again: x was f32[8].", "Pad x.")
    made = [
        Compilation(1, "step", seconds={"trace": 0.5, "compile": 2.0}, texts=texts, ops=7),
        Compilation(2, "<b>step", seconds={"compile": 1.0}, started=3, reason=reason),
    ]
    assert write_page(tmp_path / "page.html", made, "a & b") == ()
    page = (tmp_path / "page.html").read_text()
    assert "a &amp; b" in page and "&lt;b&gt;step" in page and "<b>step" not in page
    assert "step was compiled again: x was f32[8]." in page and "Pad x." in page
    assert "<b>3.5 s</b>" in page  # of both programs
    assert not re.search(r"https?://|(?:src|srcset|action)=|url\(|@import", page)
    packed = re.search(r'id="texts-1">([^<]*)<', page)
    stages = json.loads(zlib.decompress(base64.b64decode(packed[1])))["programs"][0]["stages"]
    assert [stage["kind"] for stage in stages][:2] == ["jaxpr", "stablehlo"]


def test_page_omits_texts_beyond_its_size_limit_and_says_so(tmp_path, texts, monkeypatch):
    monkeypatch.setattr("jxc.pages.rendering.MAX_BYTES", 240_000)
    long = ProgramTexts(stablehlo="\n".join(f"line {i * 7919 % 10007}" for i in range(20_000)))
    made = [
        Compilation(1, "large", seconds={"compile": 2.0}, texts=long),
        Compilation(2, "small", seconds={"compile": 1.0}, texts=texts),
    ]
    (note,) = write_page(tmp_path / "page.html", made, "sizes")
    page = (tmp_path / "page.html").read_text()
    assert len(page) < 240_000
    assert 'id="texts-2"' in page and 'id="texts-1"' not in page
    assert "texts of 1 program are left out" in note and "1 (large)" in note
    assert note in page


def test_page_without_entries(tmp_path):
    write_page(tmp_path / "page.html", [], "nothing")
    assert "Nothing was compiled." in (tmp_path / "page.html").read_text()


def test_comparison_page_stores_the_second_program_as_hunks_of_the_first(tmp_path, lowered):
    after = clone_module(lowered.module)
    run_pipeline(after, make_pipeline("O2"), PassContext("cpu", frozenset()))
    line = QuotedLine("model.py", 3, "", "y = f(x) < 2")
    comparison = ProgramComparison(
        (ComparedProgram("one", lowered.module), ComparedProgram("other", after, pipeline="O2")),
        GraphDifference(False, ({}, {}), [DifferenceGroup("fewer", "stablehlo.add", 12, line)]),
        [Metric("ops", "ops", "", 4, 3)],
        (None, None),
        "stablehlo",
    )
    write_comparison_page(tmp_path / "page.html", comparison)
    page = (tmp_path / "page.html").read_text()
    assert "-25.0%" in page and "#a:model.py:3" in page and "y = f(x) &lt; 2" in page
    assert "only in A" in page and "<b>12</b>" in page
    packed = re.search(r'id="texts-diff">([^<]*)<', page)
    found = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    one, other = found["programs"]
    assert (one["label"], other["label"]) == ("A: one", "B: other O2")
    assert other["stages"][0]["base"] == [0, 0] and other["stages"][0]["hunks"]
    lines = rebuilt(found, 1)["StableHLO"][0]
    plain = read_stablehlo("", text_to_read(after), Links(PythonFiles())).lines
    assert [re.sub(r"%[\w.$-]+", "%", line) for line in lines] == [
        re.sub(r"%[\w.$-]+", "%", line) for line in plain
    ]


def test_page_without_jinja2_names_the_extra_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingTargetError, match=r"pip install 'jxc-compiler\[html\]'") as found:
        write_page(tmp_path / "page.html", [], "nothing")
    assert found.value.exit_code == 3
    with pytest.raises(MissingTargetError):
        require_packages()


@given(st.floats(1e-6, 1e5))
def test_ticks_are_few_and_distinct(end):
    found = ticks(end)
    assert 3 <= len(found) <= 11 and found[0] == (0, "0")
    assert all(0 <= at <= 100.001 for at, _ in found)
    assert len({label for _, label in found}) == len(found)


def test_timeline_puts_overlapping_bars_into_separate_lanes():
    made = [
        Compilation(1, "a", started=0.0, seconds={"compile": 2.0}),
        Compilation(2, "b", started=1.0, seconds={"compile": 2.0}),
        Compilation(3, "c", started=2.5, seconds={"compile": 1.5}),
    ]
    bars, _ = timeline(made)
    assert [bar.lane for bar in bars] == [0, 1, 0]
    assert [bar.left for bar in bars] == [0, 25, 62.5]
