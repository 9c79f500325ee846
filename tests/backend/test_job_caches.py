"""A job of several processes: how jxc is switched on, and caches that differ between processes."""

import ast
import sys

import pytest

from .jobs import WORKER, run_both, run_two

SHOW = """
from jxc.backend import job
def show(log):
    "Print what this process compiled, and the verdicts of the processes."
    verdicts = [each["agreed"] for each in job.session().verdicts.values()]
    hits = events.count("/jax/compilation_cache/cache_hits")
    found = [(each.pipeline, each.from_cache) for each in log.compilations]
    print(repr((found, log.hits.total(), verdicts, hits)))
"""

LISTEN = """
events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
"""


def shown(outputs):
    """What `show` printed in each process: programs, rewrites, verdicts and hits of JAX's cache."""
    return [ast.literal_eval(each.splitlines()[-1]) for each in outputs]


def run_shown(code, **settings):
    out, errors = run_two(LISTEN + SHOW + code, **settings)
    return shown(out), errors


# Each way to switch jxc on

ENABLED = """
from jxc.backend.hook import start_log
log = start_log()
jxc.enable({pipeline})
check(jax.jit(f)(x))
show(log)
"""

ONLY_ENVIRONMENT = WORKER.replace("import jxc\n", "").replace("plain = ", "found = ") + (
    LISTEN
    + "import sys\nassert ('jxc.backend.hook' in sys.modules) == bool(os.environ['JXC_PIPELINE'])\n"
    "reference = float(np.maximum.accumulate(values, axis=1).sum(dtype=np.float64))\n"
    "assert abs(found - reference) < 1e-3 * abs(reference), (found, reference)\n"
    "text = jax.jit(f).lower(x).compile().as_text()\n"
    "print([text.count(each) for each in (' = ', ' while(', ' transpose(', ' reduce-window(')])\n"
)


def test_enable_agrees():
    found, errors = run_shown(ENABLED.format(pipeline="'O2'"))
    assert found[0] == found[1]
    assert found[0][0] == [("O2", False)]
    assert found[0][1] > 0
    assert found[0][2] == [True]
    assert not any("do not agree" in each for each in errors)


def test_enable_with_different_pipelines_makes_all_compile_plainly():
    found, errors = run_shown(ENABLED.format(pipeline="'O2' if number else 'O1'"))
    assert [each[1:3] for each in found] == [(0, [False])] * 2
    assert all("process 1: pipeline 'O2', not 'O1'" in each for each in errors)


def instructions(*own, **environment):
    """Counts of instructions of a program without jxc, in each process; and the errors."""
    command = [sys.executable, "-c", ONLY_ENVIRONMENT]
    out, errors = run_both(command, own=own, **environment)
    return [each.splitlines()[-1] for each in out], errors


def test_jxc_pipeline_agrees_and_is_ignored_if_one_process_lacks_it():
    on, off = {"JXC_PIPELINE": "O2"}, {"JXC_PIPELINE": ""}
    plain, _ = instructions(off, off)
    rewritten, errors = instructions(on, on)
    assert rewritten[0] == rewritten[1] != plain[0] == plain[1]
    assert not any("do not agree" in each for each in errors)
    for one, own in enumerate([(off, on), (on, off)]):
        found, errors = instructions(*own, JXC_AGREE_SECONDS="3")  # the process with jxc waits
        assert found == plain
        assert f"do not agree:\n  process {one}: no sign of jxc for 3 s" in errors[1 - one]


# Caches

USED = """
with jxc.use("O2") as log:
    check(jax.jit(f)(x))
show(log)
"""


def cache(folder):
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }


def assert_agreed(found, errors, from_cache):
    """Check that both processes compiled the same rewritten program, and where it came from."""
    assert [each[0] for each in found] == [[("O2", kept)] for kept in from_cache]
    assert found[0][1] == found[1][1] > 0
    assert [each[2] for each in found] == [[True]] * 2
    assert not any("JxcWarning" in each for each in errors), errors


def test_the_second_job_hits_a_shared_cache(tmp_path):
    assert_agreed(*run_shown(USED, **cache(tmp_path)), [False, False])
    found, errors = run_shown(USED, **cache(tmp_path))
    assert_agreed(found, errors, [True, True])
    # JAX writes the executables of process 0 alone; on the CPU the others have other keys.
    assert found[0][3] == 1


@pytest.mark.parametrize("warm", [0, 1])
def test_one_warm_and_one_cold_cache_agree(tmp_path, warm):
    run_shown(USED, **cache(tmp_path / "warm"))
    own = [cache(tmp_path / ("warm" if number == warm else "cold")) for number in range(2)]
    found, errors = run_shown(USED, own=own)
    assert_agreed(found, errors, [number == warm for number in range(2)])


@pytest.mark.parametrize("one", [0, 1])
def test_a_cache_that_cannot_be_used_in_one_process_is_harmless(tmp_path, one):
    """The folder is a file there: permissions do not stop a test that runs as root."""
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "jxc").write_text("not a folder")
    own = [cache(tmp_path / ("bad" if number == one else "good")) for number in range(2)]
    for is_second in (False, True):
        found, errors = run_shown(USED, own=own)
        assert_agreed(found, errors, [is_second and number != one for number in range(2)])


def test_incomplete_files_in_a_shared_cache_are_compiled_again(tmp_path):
    run_shown(USED, **cache(tmp_path))
    for file in [*tmp_path.glob("*-cache"), *tmp_path.glob("jxc/*.entry")]:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert_agreed(*run_shown(USED, **cache(tmp_path)), [False, False])


# O3

STORE = """
from jxc.backend.verdicts import TuneVerdict, keep_verdict, key_of, local_device
lowered = jxc.lower(f, x)
device = local_device("cpu", jax.devices()[0].device_kind)
choice = ["O1", "cse", ""][int(os.environ["CHOICE"])]
if choice:
    verdict = TuneVerdict(lowered.name, device, choice, choice)
    keep_verdict(key_of(lowered.module, device), verdict)
"""

TUNED = (
    STORE
    + """
with jxc.use("O3") as log:
    check(jax.jit(f)(x))
explicit = lowered.opt("O3").compile()
check(explicit(x))
assert explicit.lowered.pipeline == lowered.opt("O2").pipeline, explicit.lowered.pipeline
own = jax.jit(lambda x: jax.lax.cummax(jnp.tanh(x) * 2, axis=0).sum())
with jxc.use("O3") as local:
    own(values)
assert local.compilations[0].pipeline.startswith("O3: O2, not tuned"), local
show(log)
"""
)


@pytest.mark.parametrize("choices", ["02", "20", "01"])
def test_o3_runs_o2_in_a_job_whatever_the_verdicts(tmp_path, choices):
    own = [
        {"CHOICE": choice, "JXC_CACHE_DIR": str(tmp_path / str(number))}
        for number, choice in enumerate(choices)
    ]
    found, errors = run_shown(TUNED, own=own)
    assert found[0] == found[1]
    assert found[0][0][0][0] == "O3: O2, not tuned: this process is one of a job"
    assert found[0][1] > 0
    assert found[0][2] == [True, True]
    for each in errors:
        assert each.count("O3 runs the passes of O2 in this job of 2 processes") == 1
        assert "do not agree" not in each
