"""The written page: entries, texts, size limit, timeline, and the page of a comparison."""

import base64
import json
import re
import sys
import zlib

import pytest
from hypothesis import given, strategies as st

from jxc.errors import MissingTargetError
from jxc.tools.page import (
    ComparedNumber,
    ComparedSide,
    DifferingLine,
    PageComparison,
    PageEntry,
    ProgramTexts,
    require_packages,
    write_comparison_page,
    write_page,
)
from jxc.tools.page.write import ticks, timeline

from .page_program import lower_program, rebuilt, texts_of


@pytest.fixture(scope="module")
def lowered(tmp_path_factory):
    return lower_program(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")
def texts(lowered):
    return texts_of(lowered, "O2", compiled=True)


def test_page_contains_entries_and_texts_and_loads_nothing(tmp_path, texts):
    reason = "step was compiled again: x was f32[8]."
    made = [
        PageEntry(1, "step", seconds={"trace": 0.5, "compile": 2.0}, texts=texts, ops=7),
        PageEntry(2, "<b>step", seconds={"compile": 1.0}, started=3, reason=reason, fix="Pad x."),
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


def test_page_omits_texts_beyond_its_size_limit_and_says_so(tmp_path, texts):
    long = ProgramTexts(stablehlo="\n".join(f"line {i * 7919 % 10007}" for i in range(20_000)))
    made = [
        PageEntry(1, "large", seconds={"compile": 2.0}, texts=long),
        PageEntry(2, "small", seconds={"compile": 1.0}, texts=texts),
    ]
    written = write_page(tmp_path / "page.html", made, max_bytes=240_000)
    page = written.path.read_text()
    assert written.bytes < 240_000
    assert 'id="texts-2"' in page and 'id="texts-1"' not in page
    (note,) = written.notes
    assert "texts of 1 program are left out" in note and "1 (large)" in note
    assert note in page


def test_page_without_entries(tmp_path):
    page = write_page(tmp_path / "page.html", []).path.read_text()
    assert "Nothing was compiled." in page


def test_comparison_page_stores_the_second_program_as_hunks_of_the_first(tmp_path, lowered, texts):
    item = ("fewer", "only in A", 12, "stablehlo.add")
    comparison = PageComparison(
        before=ComparedSide("one", "", "cpu", "", texts_of(lowered)),
        after=ComparedSide("other", "", "cpu", "", texts),
        numbers=(ComparedNumber("ops", "4", "3", "-25.0%", True),),
        lines=(DifferingLine("a", "model.py:3", "y = f(x) < 2", (item,)),),
        is_same=False,
    )
    page = write_comparison_page(tmp_path / "page.html", comparison, "diff").path.read_text()
    assert "-25.0%" in page and "model.py:3" in page and "y = f(x) &lt; 2" in page
    assert "only in A" in page and "<b>12</b>" in page
    packed = re.search(r'id="texts-diff">([^<]*)<', page)
    found = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    one, other = found["programs"]
    assert [stage["title"] for stage in one["stages"]] == ["jaxpr", "StableHLO"]
    assert other["stages"][1]["base"] == [0, 1] and other["stages"][1]["hunks"] == []
    taken = rebuilt(found, 1)["StableHLO given to XLA"]
    last = [stage for title, stage in rebuilt(found, 1).items() if title.startswith("after ")][-1]
    plain = [[re.sub(r"%[\w.$-]+", "%", line) for line in lines] for lines, _, _ in (taken, last)]
    assert plain[0] == plain[1]


def test_page_without_jinja2_names_the_extra_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingTargetError, match=r"pip install 'jxc\[html\]'") as found:
        write_page(tmp_path / "page.html", [])
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
        PageEntry(1, "a", started=0.0, seconds={"compile": 2.0}),
        PageEntry(2, "b", started=1.0, seconds={"compile": 2.0}),
        PageEntry(3, "c", started=2.5, seconds={"compile": 1.5}),
    ]
    bars, _ = timeline(made)
    assert [bar.lane for bar in bars] == [0, 1, 0]
    assert [bar.left for bar in bars] == [0, 25, 62.5]
