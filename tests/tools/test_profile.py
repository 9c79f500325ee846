"""`jxc profile` on small programs: what each part of the wall clock is, and which line it is on."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jxc.source import SourceLine
from jxc.tools.profile import SCHEMA_VERSION
from jxc.tools.profile.presentation import about_steps, as_text
from jxc.tools.profile.profile import Piece, Profile, ProfiledStep
from jxc.tools.profile.programs import Origin

PROGRAM = """
import time
import jax, jax.numpy as jnp, numpy as np

def batches(n):
    for _ in range(n):
        time.sleep(0.02)
        yield np.ones((300, 300), np.float32)

@jax.jit
def step(w, x):
    with jax.named_scope("products"):
        for _ in range(8):
            w = w @ x          # hot
    return jnp.tanh(w)         # cold

w = jnp.ones((300, 300))
start = time.perf_counter()
for i, x in enumerate(batches(12)):
    with jax.profiler.StepTraceAnnotation("train", step_num=i):
        w = step(w, x).block_until_ready()
time.sleep(0.2)                # asleep
print(time.perf_counter() - start)
"""


def profile(tmp_path, text, *options, script="train.py", code=0, platforms="cpu"):
    (tmp_path / script).write_text(text)
    command = [str(Path(sys.executable).parent / "jxc"), "profile", *options, script]
    environment = {**os.environ, "JAX_PLATFORMS": platforms, "COLUMNS": "80"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def line_of(text):
    return PROGRAM.splitlines().index(next(x for x in PROGRAM.splitlines() if text in x)) + 1


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    done = profile(folder, PROGRAM, "--json", "p.json")
    return done, json.loads((folder / "p.json").read_text())


def test_parts_add_up_to_the_wall_clock(measured):
    done, found = measured
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"], rel=1e-6)
    loop = float(done.stdout)
    assert loop < found["seconds"]  # the program also imports
    assert found["running_seconds"] > 0.8 * (loop - found["parts"]["compilation"])


def test_rows_of_each_grouping_add_up_to_the_running_time(measured):
    found = measured[1]
    for rows in found["by"].values():
        total = sum(row["seconds"] for row in rows)
        assert total == pytest.approx(found["running_seconds"], rel=1e-6)
        assert sum(row["share"] for row in rows) == pytest.approx(1)


def test_lines_have_their_time(measured):
    rows = {row["name"]: row for row in measured[1]["by"]["line"] if row["part"] == "device work"}
    hot, cold = rows[f"train.py:{line_of('# hot')}"], rows[f"train.py:{line_of('# cold')}"]
    assert hot["seconds"] > cold["seconds"]
    assert (hot["calls"], hot["flops"]) == (12, 12 * 8 * 2 * 300**3)
    assert hot["roofline"] > 0


def test_host_time_is_named(measured):
    rows = {(row["name"], row["part"]): row["seconds"] for row in measured[1]["by"]["line"]}
    asleep = rows[f"train.py:{line_of('# asleep')}", "Python"]
    assert 0.15 < asleep < 0.6
    assert rows[f"train.py:{line_of('sleep(0.02)')}", "input pipeline"] > 0.15


def test_layers_are_named_scopes(measured):
    names = {row["name"] for row in measured[1]["by"]["layer"]}
    assert {"products", "(no named scope)", "(Python)"} <= names


def test_programs_have_their_caller(measured):
    programs = {each["name"].partition("(")[0]: each for each in measured[1]["programs"]}
    assert programs["jit_step"]["runs"] == 12
    assert programs["jit_step"]["called"].startswith("train.py:")


def test_steps_are_told_apart_and_wait_for_data(measured):
    done, found = measured
    steps = found["steps"]
    assert [step["number"] for step in steps] == [*range(12)]
    assert steps[0]["is_warm_up"] and not steps[-1]["is_warm_up"]
    assert "steps 'train': 11 (without 1 of warm-up)" in done.stderr
    assert "for data: see the input pipeline below" in done.stderr


def test_table_fits_80_columns(measured):
    text = measured[0].stderr
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("jxc profile: train.py ran for ")


def test_json_on_stdout_keeps_the_programs_output_apart(tmp_path):
    done = profile(tmp_path, "import jax\nprint('own output')\njax.jit(abs)(1.0)\n", "--json", "-")
    assert json.loads(done.stdout)["schema_version"] == SCHEMA_VERSION
    assert "own output" in done.stderr


def test_program_keeps_its_error_and_exit_code(tmp_path):
    text = "import jax\njax.jit(abs)(1.0)\nraise ValueError('of the program')\n"
    done = profile(tmp_path, text, code=1)
    assert "ValueError: of the program" in done.stderr and "jxc profile:" in done.stderr
    assert "toolchain" not in done.stderr
    profile(tmp_path, "import jax, sys\nsys.exit(7)\n", code=7)


def test_program_without_jax_or_without_kernels(tmp_path):
    assert "did not import jax" in profile(tmp_path, "print(1)\n").stderr
    done = profile(tmp_path, "import jax, time\ntime.sleep(0.1)\n")
    assert "no kernel ran on a device" in done.stderr


def test_files_are_written_without_jax(tmp_path):
    files = ("--json", "p.json", "-o", "table.txt", "--perfetto", "trace.json")
    done = profile(tmp_path, "import time\ntime.sleep(0.2)\n1 / 0\n", *files, code=1)
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.endswith("jxc profile: the program did not import jax\n")
    found = json.loads((tmp_path / "p.json").read_text())
    assert found["notes"] == ["the program did not import jax"]
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"], rel=1e-6)
    assert found["by"]["line"][0]["name"] == "train.py:2"
    assert "train.py:2" in (tmp_path / "table.txt").read_text()
    json.loads((tmp_path / "trace.json").read_text())


def test_no_file_is_written_where_jax_cannot_be_imported(tmp_path, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "neither")
    done = profile(tmp_path, "import jax\n", "--json", "p.json", code=1)
    assert "no file is written, since jax cannot be imported: " in done.stderr
    assert "internal error" not in done.stderr and not (tmp_path / "p.json").exists()


def test_kernels_have_their_line_in_a_file_whose_name_is_not_ascii(tmp_path):
    text = """
import jax
f, x = jax.jit(lambda x: x @ x), jax.numpy.ones((300, 300))
for _ in range(20):
    f(x).block_until_ready()
"""
    profile(tmp_path, text, "--json", "p.json", script="sp ace é.py")
    rows = json.loads((tmp_path / "p.json").read_text())["by"]["line"]
    kernels = {row["name"]: row["line"]["text"] for row in rows if row["flops"] > 300**3}
    assert kernels == {"sp ace é.py:3": text.splitlines()[2]}


def test_missing_script_is_a_usage_error(tmp_path):
    command = [str(Path(sys.executable).parent / "jxc"), "profile", "absent.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "Traceback" not in done.stderr


def test_recording_stops_at_the_limit_and_says_so(tmp_path):
    text = (
        "import time, jax, jax.numpy as jnp\nf = jax.jit(jnp.sin)\nstart = time.time()\n"
        "while time.time() < start + 3:\n    f(jnp.ones(8)).block_until_ready()\n"
        "    time.sleep(0.001)\n"  # the number of events is limited too
    )
    done = profile(tmp_path, text, "--seconds", "0.5")
    assert "recorded the first 0.5 s in which JAX ran; --seconds records more" in done.stderr


def test_another_profiler_is_reported(tmp_path):
    text = (
        "import jax\njax.profiler.start_trace('t')\njax.jit(abs)(1.0)\njax.profiler.stop_trace()\n"
    )
    assert "the profiler recorded no kernel: " in profile(tmp_path, text).stderr


def test_program_may_start_its_own_profiler(tmp_path):
    text = (
        "import jax, os\njax.jit(abs)(1.0)\njax.profiler.start_trace('t')\n"
        "jax.jit(abs)(2.0)\njax.profiler.stop_trace()\nprint(os.listdir('t'))\n"
    )
    done = profile(tmp_path, text, "--no-o2")
    assert done.stdout == "['plugins']\n"
    assert "recording ended when the program started a profiler of its own" in done.stderr


CACHED = """
import os
import jax
import jax.numpy as jnp

is_second = os.path.exists("cache")
jax.config.update("jax_compilation_cache_dir", "cache")
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
big, small = jnp.ones((300, 300)), jnp.ones((200, 200))

def loss(x):
    return jnp.sort(jnp.tanh(x @ x), axis=0)  # the slow one

slow = jax.jit(loss)

def loss(x):
    return jnp.sort(jnp.tanh(x @ x), axis=0)  # the fast one

fast = jax.jit(loss)

if is_second:
    for i in range(20):
        fast(small).block_until_ready()
for i in range(10):
    slow(big).block_until_ready()
"""


def test_programs_from_the_cache_have_their_own_lines(tmp_path):
    for _ in range(2):
        profile(tmp_path, CACHED, "--no-o2", "--json", "p.json")
    found = json.loads((tmp_path / "p.json").read_text())
    lines = [row for row in found["by"]["line"] if row["line"] and row["part"] == "device work"]
    slow, fast = (
        next(row for row in lines if f"the {which} one" in row["line"]["text"])
        for which in ("slow", "fast")
    )
    assert (slow["calls"], fast["calls"]) == (10, 20)
    assert slow["flops"] / 10 > 2 * fast["flops"] / 20
    runs = [each["runs"] for each in found["programs"] if each["name"].startswith("jit_loss(")]
    assert sorted(runs) == [10, 20]


def test_work_that_is_queued_when_the_program_ends_is_recorded(tmp_path):
    text = (
        "import jax, jax.numpy as jnp\nf = jax.jit(lambda x: jnp.tanh(x @ x))\n"
        "x = jnp.ones((400, 400))\nfor _ in range(60):\n    x = f(x)\n"
    )
    profile(tmp_path, text, "--no-o2", "--json", "p.json")
    programs = json.loads((tmp_path / "p.json").read_text())["programs"]
    assert {each["name"].partition("(")[0]: each["runs"] for each in programs}["jit__lambda"] == 60


def test_loops_callbacks_and_threads(tmp_path):
    text = """
import threading, time
import jax, jax.numpy as jnp, numpy as np

def slow(x):
    time.sleep(0.05)
    return np.asarray(x)

@jax.jit
def f(x):
    x = jax.lax.fori_loop(0, 50, lambda i, a: jnp.sin(a) @ a, x)    # loop
    return jax.pure_callback(slow, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

def run():
    for _ in range(3):
        f(jnp.ones((64, 64))).block_until_ready()

thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    profile(tmp_path, text, "--json", "p.json")
    found = json.loads((tmp_path / "p.json").read_text())
    assert 0.15 < found["parts"]["callbacks"] < 0.6
    (loop,) = (r for r in found["by"]["line"] if r["name"] == "train.py:11" and r["flops"])
    assert loop["calls"] == 150
    assert sum(found["parts"].values()) == pytest.approx(found["seconds"], rel=1e-6)


def test_o2_is_measured(tmp_path):
    text = """
import jax, jax.numpy as jnp

@jax.jit
def f(a, b, v):
    return ((a @ b) @ v,             # O2: a @ (b @ v)
            jnp.tanh(a))

a = jnp.ones((512, 512))
for _ in range(10):
    jax.block_until_ready(f(a, a, a[0]))
"""
    done = profile(tmp_path, text, "--json", "p.json")
    rows = json.loads((tmp_path / "p.json").read_text())["by"]["line"]
    measured = {row["name"]: row for row in rows if row["o2_seconds"] is not None}
    product = measured["train.py:6"]
    assert product["o2_seconds"] < product["seconds"]  # a tenth of the flops
    said = " ".join(done.stderr.split())
    assert "with O2, jit_f(" in said and "on random arguments" in said


def test_program_without_a_backend_keeps_its_error(tmp_path):
    text = "import jax\njax.config.update('jax_platforms', 'absent')\njax.jit(abs)(1.0)\n"
    done = profile(tmp_path, text, code=1)
    assert "no kernel ran on a device" in done.stderr
    assert "internal error" not in done.stderr


def test_libtpu_without_a_tpu_does_not_end_the_program(tmp_path):
    pytest.importorskip("libtpu", reason="libtpu is not installed")
    text = "import jax.numpy as jnp\nx = jnp.ones((500, 500))\nprint((x @ x).sum())\n"
    done = profile(tmp_path, text, platforms="")
    assert "device work" in done.stderr


def test_sentences_on_one_row_and_one_step():
    lines = [Origin(SourceLine("/a.py", number), "", ()) for number in (1, 2, 3)]
    pieces = [Piece("Python", each, 1.0) for each in lines]
    found = as_text(Profile("a.py", 3.0, {"Python": 3.0}, pieces), most=2, plain=True)
    assert "1 more row: 1 s; --top all prints it\n" in found
    found = as_text(Profile("a.py", 3.0, {"Python": 3.0}, pieces), most=1, plain=True)
    assert "2 more rows: 2 s; --top all prints them\n" in found
    warm_up = ProfiledStep("train", 0, 1.0, 0.0, True)
    assert [*about_steps([warm_up])] == ["steps 'train': 1, which compiled something"]
    assert [*about_steps([warm_up] * 2)] == ["steps 'train': 2, all of which compiled something"]


def test_column_of_o2_is_left_out_where_no_row_changed():
    origin = Origin(SourceLine("/a.py", 1), "", ())
    same = Profile("a.py", 3.0, {"Python": 3.0}, [Piece("Python", origin, 3.0)])
    key = (same.pieces[0].program, str(origin.line))
    text = as_text(same.with_o2({key: 1.0}), plain=True)
    assert "none of these rows changed beyond noise with O2\n" in text
    assert "with O2" not in text.partition("roofline")[2].partition("\n")[0]
    text = as_text(same.with_o2({key: 0.5}), plain=True)
    assert "with O2" in text.partition("roofline")[2].partition("\n")[0]
    assert "beyond noise" not in text
