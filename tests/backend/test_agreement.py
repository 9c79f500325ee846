"""Programs that span processes: all of them compile the same module, and none waits for ever."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax._src import distributed

import jxc
from jxc.backend import _private, exchange, job
from jxc.backend.exchange import Exchange, OfferedModule
from jxc.backend.job import JobSession, JobStore
from jxc.errors import UsageError
from jxc.source import JxcWarning

from .jobs import LIMIT, run_two

EXAMPLE = Path(__file__).parents[2] / "examples" / "cluster.py"


def example(case, *options, **environment):
    """The lines that the processes of the example print, its messages, and its exit code."""
    command = [sys.executable, str(EXAMPLE), "--case", case, "--limit", str(LIMIT - 20), *options]
    env = {**os.environ, "JAX_PLATFORMS": "cpu", **environment}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=LIMIT)
    lines = [line for line in done.stdout.splitlines() if line.startswith("process ")]
    assert "not finished after" not in done.stderr, done.stderr
    return sorted(lines), done.stderr, done.returncode


def rewrites(lines):
    return [int(found[1]) if (found := re.search(r"(\d+) rewrites", x)) else None for x in lines]


@pytest.mark.parametrize("processes", [2, 4])
@pytest.mark.parametrize("case", ["equal", "rates"])
def test_hosts_agree_on_the_rewritten_program(case, processes):
    lines, errors, code = example(case, "--processes", str(processes))
    assert code == 0, errors
    assert len(lines) == processes
    assert len(set(rewrites(lines))) == 1
    assert rewrites(lines)[0] > 0
    assert "do not agree" not in errors


@pytest.mark.parametrize("processes", [2, 4])
def test_a_pass_that_fails_on_one_host_makes_all_compile_plainly(processes):
    lines, errors, code = example("pass", "--processes", str(processes))
    assert code == 0, errors
    assert rewrites(lines) == [0] * processes
    assert errors.count("JxcWarning: pass 'check-machine' failed") == 1
    others = "do not agree:\n  process 1: PassError: pass 'check-machine'"
    assert errors.count(others) == processes - 1


@pytest.mark.parametrize("other", ["0", "1"])
def test_jxc_off_on_one_host_makes_all_compile_plainly(other):
    lines, errors, code = example("off", "--other", other, JXC_AGREE_SECONDS="2")
    assert code == 0, errors
    assert sorted(rewrites(lines), key=str) == [0, None]
    assert f"do not agree:\n  process {other}: no sign of jxc for 2 s" in errors


def test_a_killed_host_ends_the_job_with_an_error():
    lines, errors, code = example("killed", "--processes", "4")
    assert code == 1
    assert not lines
    codes = json.loads(re.search(r"exit codes of the processes: (.*)", errors)[1])
    assert codes[1] == -9
    assert all(codes)


def test_different_pipelines_make_all_compile_plainly():
    _, errors = run_two("""
        with jxc.use("O2" if number else "O1") as log:
            check(jax.jit(f)(x))
        assert log.compilations[0].pipeline.endswith("not used, the processes do not agree")
        assert not log.hits
    """)
    assert all("process 1: pipeline 'O2', not 'O1'" in each for each in errors)


def test_programs_that_differ_are_compiled_as_plain_jax_would():
    out, errors = run_two("""
        import time
        constant, start = float(number + 1), time.monotonic()
        def g(x):
            return jax.lax.cummax(x * constant, axis=1).sum()
        with jxc.use("O2"):
            jax.jit(g)(x).block_until_ready()
        print(time.monotonic() - start < 100)
    """)
    assert all("True" in each for each in out)
    assert all("compiles another program 'jit_g'" in each for each in errors)


def test_explicit_stages_agree_too():
    _, errors = run_two("""
        lowered = jxc.lower(f, x)
        same = lowered.opt("O2").compile()
        check(same(x))
        assert same.lowered.pipeline
        check(lowered.compile()(x))
        lowered = jxc.lower(lambda x: f(x) + 0, x)
        other = lowered.opt("cse" if number else "O2").compile()
        check(other(x))
        assert number or not other.lowered.pipeline  # process 1 changes nothing
    """)
    assert "do not agree:\n  process 1: pipeline 'cse', not 'inline" in errors[0]


def test_a_strict_pipeline_raises_where_hosts_do_not_agree():
    run_two("""
        try:
            with jxc.use("O2" if number else "O1", strict=True):
                jax.jit(f)(x)
        except jxc.JxcError as error:
            assert "do not agree" in str(error), error
        else:
            raise AssertionError("expected an error")
    """)


def test_a_program_that_xla_refuses_everywhere_is_compiled_plainly():
    _, errors = run_two("""
        from jaxlib.mlir.dialects import stablehlo
        from jaxlib.mlir.ir import Operation, RankedTensorType, InsertionPoint, Location
        from jxc.ir import walk
        @jxc.module_pass
        def breaks(module: Operation) -> None:
            "Call a function that XLA does not know."
            for op in list(walk(module)):
                if op.operation.name == "func.return":
                    with Location.unknown(module.context), InsertionPoint(op):
                        value = op.operands[0]
                        made = stablehlo.CustomCallOp([value.type], [value], "no_such_call")
                    op.operands[0] = made.results[0]
                    break
        with jxc.use([breaks]):
            check(jax.jit(f)(x))
    """)
    assert all("XLA does not compile what the pipeline made" in each for each in errors)


def test_local_programs_of_a_job_take_no_part():
    run_two("""
        from jxc.backend import agreement
        def refuse(*args, **kwargs): raise AssertionError("exchanged")
        agreement.Group.agree = refuse
        with jxc.use("O2") as log:
            jax.jit(lambda x: jax.lax.cummax(jnp.tanh(x), axis=0).sum())(values)
        assert len(log.compilations) == 1
    """)


def test_one_process_never_uses_the_store(monkeypatch):
    class Client:
        def __getattr__(self, name):
            raise AssertionError(f"{name} was called")

    with jxc.use("O2") as log:
        jax.jit(lambda x: jax.lax.cummax(jnp.sin(x) + 1) @ x)(jnp.ones((9, 9)))
    assert log.compilations
    assert _private.processes_of(jax.devices()[0].client, jax.devices()) == ()
    assert job.session() is None
    assert distributed.global_state.client is None


class Client:
    """The store of a job in one process, as `jax.distributed` has it."""

    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def key_value_set(self, key, value, allow_overwrite=False):
        with self.changed:
            if key in self.values and not allow_overwrite:
                raise _private.RuntimeFailure(f"ALREADY_EXISTS: key {key} already exists.")
            self.values[key] = value
            self.changed.notify_all()

    def key_value_try_get(self, key):
        if key not in self.values:
            raise _private.RuntimeFailure(f"NOT_FOUND: Config key {key} not found.")
        return self.values[key]

    def blocking_key_value_get(self, key, milliseconds):
        with self.changed:
            if not self.changed.wait_for(lambda: key in self.values, min(milliseconds, 50) / 1e3):
                raise _private.RuntimeFailure("DEADLINE_EXCEEDED: timed out")
            return self.values[key]

    def key_value_dir_get(self, key):
        return [each for each in self.values.items() if each[0].startswith(key)]


def verdicts(offers, delays=(), announce=()):
    """The verdicts of processes that make these offers after these delays in seconds."""
    client, found = Client(), {}

    def take_part(number, offer):
        time.sleep(dict(delays).get(number, 0))
        session = JobSession(JobStore(client))
        processes = tuple(range(len(offers)))
        found[number] = Exchange(
            session, number, processes, "jit_f", "group/module/0", "plain", offer
        ).verdict()

    for number in announce:
        client.values[f"jxc/on/{number}"] = json.dumps({})
    threads = [
        threading.Thread(target=take_part, args=(number, offer))
        for number, offer in enumerate(offers)
        if offer is not None
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    return found


@pytest.mark.parametrize("late", [0, 1, 2])
def test_all_processes_obey_the_first_verdict_when_one_is_late(late, monkeypatch):
    monkeypatch.setattr(exchange, "SLICE_MS", 20)
    monkeypatch.setenv("JXC_AGREE_SECONDS", "0.3")
    for delay in (0.0, 0.2, 0.3, 0.35, 0.6, 1.0):  # around the limit, either verdict may come
        found = verdicts([OfferedModule("new", "O2")] * 3, {late: delay}, announce=range(3))
        assert len(found) == 3
        assert len({each.agreed for each in found.values()}) == 1
    assert not found[0].agreed
    assert f"process {late}: did not compile it within" in found[0].why


def test_a_process_without_jxc_is_waited_for_less_long(monkeypatch):
    monkeypatch.setattr(job, "UNSEEN_SECONDS", 0.2)
    monkeypatch.setattr(exchange, "_NOTICE_SECONDS", 0.1)
    start = time.monotonic()
    with pytest.warns(JxcWarning, match="waits for process 1 to compile"):
        found = verdicts(
            [OfferedModule("new", "O2"), None, OfferedModule("new", "O2")], announce=[0, 2]
        )
    assert time.monotonic() - start < 100 < job.DEFAULT_SECONDS
    assert [each.agreed for each in found.values()] == [False, False]
    assert "process 1: no sign of jxc" in found[0].why


def test_a_store_that_does_not_answer_is_an_error():
    class Gone(Client):
        def key_value_set(self, *args):
            raise _private.RuntimeFailure("UNAVAILABLE: failed to connect\ntrace")

    with pytest.raises(jxc.JxcError, match=r"does not answer \(UNAVAILABLE: failed to connect\)"):
        JobStore(Gone()).put_once("key", "value")


def test_limit_must_be_a_number(monkeypatch):
    monkeypatch.setenv("JXC_AGREE_SECONDS", "soon")
    with pytest.raises(UsageError, match="JXC_AGREE_SECONDS='soon': expected a number"):
        job.limit_seconds()
