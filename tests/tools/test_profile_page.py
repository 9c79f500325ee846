"""`jxc profile --html` and `--perfetto`: their structure, their size, and the page in Chromium."""

import gzip
import itertools
import json
import re
import shutil
import subprocess

import pytest

from jxc.errors import UsageError
from jxc.tools.profile.flame import bars_of, flame_of
from jxc.tools.profile.page import write_profile_page
from jxc.tools.profile.perfetto import write_perfetto
from jxc.tools.profile.tracks import ProfileTracks

from .profiles import MS, made

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), ""
)


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    return made(tmp_path_factory.mktemp("profile"))


def test_gaps_and_kernels_cover_each_moment_once(profile):
    tracks = ProfileTracks(profile)
    events = [*tracks.gaps.events, *(each for track in tracks.kernels for each in track.events)]
    events.sort()
    assert events[0].start == tracks.started and events[-1].end == tracks.ended
    assert all(a.end == b.start for a, b in itertools.pairwise(events))
    parts = {each.part for each in events}
    assert parts == {"compilation", "Python", "dispatch", "device work"}


def test_kernels_that_run_at_once_are_on_two_tracks(tmp_path):
    profile = made(tmp_path, steps=2)
    ops = profile.trace.ops
    first = next(iter(ops))
    ops.append(first._replace(start=first.start + 1, end=first.end + MS // 2))
    first, second = ProfileTracks(profile).kernels
    assert (len(first.events), len(second.events)) == (4, 1)
    assert (first.name, second.name) == ("kernels 1", "kernels 2")


def test_flame_graph_adds_up_from_kernels_to_the_running_time(profile):
    root = flame_of(profile)
    assert root.seconds == pytest.approx(profile.running_seconds)
    work = root.children["device work"]
    line = next(child for name, child in work.children.items() if name.endswith("train.py:2"))
    layer = line.children["encoder"]
    kernel = layer.children["dot"]
    assert line.seconds == layer.seconds == kernel.seconds == pytest.approx(0.04)
    for bar in bars_of(root):
        assert bar.left >= 0 and bar.left + bar.width <= 100.001


def test_trace_events_are_valid_and_carry_line_layer_program_bytes_and_flops(profile, tmp_path):
    write_perfetto(tmp_path / "t.json", profile)
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {"train", "gaps", "programs", "kernels 1"} == set(names.values())
    assert {e["ph"] for e in events} == {"M", "X"}
    ends = {}
    for event in (e for e in events if e["ph"] == "X"):
        thread = event["pid"], event["tid"]
        assert thread in names and event["dur"] > 0
        assert event["ts"] >= ends.get(thread, 0) - 0.002, "events of a thread overlap"
        ends[thread] = event["ts"] + event["dur"]
    assert max(ends.values()) == pytest.approx(profile.seconds * 1e6)
    dot = next(e for e in events if e["name"] == "dot")
    assert dot["args"]["line"].endswith("train.py:2") and dot["dur"] == pytest.approx(4000)
    assert dot["args"]["layer"] == "encoder" and dot["args"]["program"] == "jit_step(1)"
    assert (dot["args"]["flops"], dot["args"]["bytes"]) == (2 * 64**3, 2 * 4 * 64**2)
    python = next(e for e in events if e["name"] == "Python")
    assert python["args"]["line"].endswith("train.py:4")


def test_perfetto_file_is_json_and_compressed_by_its_name(profile, tmp_path):
    plain, packed = tmp_path / "t.json", tmp_path / "t.json.gz"
    write_perfetto(plain, profile)
    write_perfetto(packed, profile)
    with gzip.open(packed, "rt") as file:
        assert json.load(file) == json.loads(plain.read_text())
    with pytest.raises(UsageError, match="cannot write"):
        write_perfetto(tmp_path / "absent" / "t.json", profile)


def test_page_has_views_lines_and_escaped_source(profile, tmp_path):
    write_profile_page(tmp_path / "p.html", profile)
    text = (tmp_path / "p.html").read_text()
    for title in ("whole run", "after warm-up", "median step train", "longest step train"):
        assert f"<h3>{title}" in text
    assert "# &lt;&amp;&gt;" in text and "# <&>" not in text
    assert "http" not in re.sub(r'http-equiv="Content-Security-Policy"', "", text)
    anchors = set(re.findall(r'href="#([^"]+)"', text))
    assert anchors and anchors <= set(re.findall(r'id="([^"]+)"', text))


def test_page_of_a_long_trace_is_bounded(tmp_path):
    profile = made(tmp_path, steps=200, kernels=200)
    assert len(profile.trace.ops) == 80_000
    write_profile_page(tmp_path / "p.html", profile)
    assert (tmp_path / "p.html").stat().st_size < 3_000_000
    assert " events, 100% of " in (tmp_path / "p.html").read_text()


def test_page_without_kernels_or_steps(tmp_path):
    write_profile_page(tmp_path / "p.html", made(tmp_path, steps=0))
    assert "No line of a file" in (tmp_path / "p.html").read_text()


@pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed: apt-get install chromium")
def test_flame_graph_is_enlarged_in_the_browser(profile, tmp_path):
    path = tmp_path / "p.html"
    write_profile_page(path, profile)
    click = (
        "<script>onload = () => { const bar = [...document.querySelectorAll('.flame > *')]"
        ".find((each) => each.dataset.tip.startsWith('device work'));"
        "bar.dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        "document.title = bar.style.width; }</script></body>"
    )
    path.write_text(path.read_text().replace("</body>", click))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
    ]
    done = subprocess.run(
        [*command, "--virtual-time-budget=5000", "--dump-dom", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "<title>100%</title>" in done.stdout
    assert done.stdout.count('class="view open"') == 1
