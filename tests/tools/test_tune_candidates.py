"""O3: the candidates, and the choice between them."""

import re
import threading

import numpy as np
import pytest
from jaxlib.xla_client import CompileOptions

import jxc
from jxc.backend import tuning as backend_tuning
from jxc.backend.verdicts import TuneVerdict
from jxc.backend.xla_options import with_xla_options
from jxc.errors import JxcError
from jxc.tools.tune import candidates, timed
from jxc.tools.tune.candidates import Candidate, Knob
from jxc.tools.tune.choice import Choice, choose, choose_by_estimate
from jxc.tools.tune.show import as_table
from jxc.tools.tune.trials import Trials

from .tuning import (  # noqa: F401
    MULTI_OUTPUT,
    argument,
    assert_right,
    cache_fixture,
    chain,
    done_fixture,
    fusions,
    pooled,
)


def test_program_to_which_no_rule_applies_is_tuned_if_there_are_options(done, monkeypatch):
    x = argument(3)  # O2 leaves the loops over rows of 3 unrolled
    jxc.jit(chain, pipeline="O3")(x)
    tried = done[0].seconds.keys() | done[0].left_out.keys()
    assert {"plain", "plain with multi-output fusion", "plain with serial kernels"} <= tried
    monkeypatch.setattr(candidates, "KNOBS", ())
    jxc.jit(lambda x: chain(x)[0], pipeline="O3")(x)
    assert done[1:] == ["no rule applies to it"]


def test_options_that_jax_rejects_reach_xla():
    x = argument()
    lowered = jxc.lower(chain, x)
    ours, plain = lowered.compile(xla_options=MULTI_OUTPUT), lowered.compile()
    assert fusions(ours) < fusions(plain)
    for one, other in zip(ours(x), plain(x), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    off = lowered.compile(xla_options={"xla_cpu_use_multi_output_fusion": False})
    assert fusions(off) == fusions(plain)


def test_disabled_passes_are_added_to_those_of_the_user():
    name, options = "xla_disable_hlo_passes", CompileOptions()
    options.executable_build_options.debug_options.xla_disable_hlo_passes = "a,b"
    assert dict(with_xla_options(options, {name: "c"}).env_option_overrides) == {name: "a,b,c"}
    options.env_option_overrides = [(name, "d")]
    assert dict(with_xla_options(options, {name: "c"}).env_option_overrides) == {name: "d,c"}


def with_knob(monkeypatch, name, xla_options):
    monkeypatch.setattr(candidates, "KNOBS", (Knob(name, xla_options),))


def test_failing_candidate_is_left_out(done, monkeypatch):
    with_knob(monkeypatch, "bad", {"xla_no_such_option": True})
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    reasons = [why for name, why in done[0].left_out.items() if name.endswith(" with bad")]
    assert reasons  # tried on one pipeline, and on a better one if that is found later
    assert all("xla_no_such_option" in reason for reason in reasons)


def test_options_that_may_end_the_process_are_tried_in_a_child(done, monkeypatch):
    def died(*_, xla_options):
        raise JxcError(f"the compiler died with {sorted(xla_options)}")

    monkeypatch.setattr(timed, "build", died)
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    reasons = {reason for name, reason in done[0].left_out.items() if "multi-output fusion" in name}
    assert reasons == {"the compiler died with ['xla_cpu_use_multi_output_fusion']"}


def test_hanging_candidate_is_abandoned(done, monkeypatch):
    with_knob(monkeypatch, "slow", {"xla_cpu_use_xnnpack": False})
    compile_, ended = backend_tuning.FirstCall.compile, threading.Event()

    def compile_slowly(call, module, xla_options):
        if xla_options:
            ended.wait()
        return compile_(call, module, xla_options)

    monkeypatch.setattr(backend_tuning.FirstCall, "compile", compile_slowly)
    monkeypatch.setattr(timed, "LIMITS", (5.0, 60.0))
    monkeypatch.setattr(timed, "COMPILE_TIMES", 0)
    try:
        assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    finally:
        ended.set()
    assert done[0].choice == "O2"
    reasons = [why for name, why in done[0].left_out.items() if name.endswith(" with slow")]
    assert reasons
    assert all("took more than" in reason for reason in reasons)


def test_candidate_with_other_results_is_left_out(done, monkeypatch):
    def run_wrongly(call, executable, arrays):
        results = run(call, executable, arrays)
        return results if executable is call.base else [each + 1 for each in results]

    run = backend_tuning.FirstCall.run
    monkeypatch.setattr(backend_tuning.FirstCall, "run", run_wrongly)
    with pytest.warns(UserWarning, match="O2 of 'jit_pooled' is not used by O3"):
        jxc.jit(pooled, pipeline="O3")(argument())
    assert "differs from plain JAX" in done[0].left_out["O2"]
    assert done[0].choice != "O2"


@pytest.mark.parametrize(
    ("medians", "expected", "passed_over"),
    [
        ({"plain": 2.0, "O2": 1.0, "O1": 0.8}, "O1", {}),
        ({"plain": 0.9, "O2": 1.0, "O1": 0.985}, "plain", {}),
        ({"plain": 1.0, "O2": 0.99}, "plain", {"O2": ": less than 1.02 times"}),
        ({"plain": 1.0}, "plain", {}),
    ],
)
def test_choice_is_the_fastest_that_is_faster_than_plain(medians, expected, passed_over):
    noise = np.random.default_rng(0)
    seconds = {
        name: [each * noise.uniform(0.998, 1.002) for _ in range(20)]
        for name, each in medians.items()
    }
    choice = choose(seconds, {})
    assert choice.name == expected and choice.passed_over.keys() == passed_over.keys()
    for name, reason in passed_over.items():
        assert reason in choice.passed_over[name]


def test_a_shorter_time_within_noise_is_passed_over_with_the_interval():
    noisy = [1.0, 3.0] * 10
    choice = choose({"plain": [2.1] * 20, "O1": noisy, "O2": [2.2] * 20}, {})
    assert choice.name == "plain"
    assert choice.passed_over == {"O1": "within noise: 0.70 to 2.10 times as fast as plain"}


def test_choice_by_estimate_needs_a_gain():
    assert choose_by_estimate({"plain": 1.0, "O2": 0.9, "O1": 0.89}).name == "O1"
    choice = choose_by_estimate({"plain": 1.0, "O2": 0.995})
    assert choice.name == "plain" and "less than 1.02 times" in choice.passed_over["O2"]
    assert choose_by_estimate({"plain": 0.99, "O2": 1.0}).name == "plain"
    assert choose_by_estimate({"O2": 0.9}).name == "O2"


class Clocked(Trials):
    """Trials of which each takes three seconds of a budget."""

    def __init__(self, budget):
        super().__init__(lambda _: None)
        self.budget, self.spent, self.measured = budget, 0, []

    def has_time(self):
        return self.spent + 3 <= self.budget

    def budget_for(self, more):
        return self.spent + 3 * more

    def attempt(self, candidate):
        self.spent += 3
        self.measured.append(candidate.name)


def test_candidates_without_time_name_a_budget_that_reaches_them():
    names = ["plain", "O2", "a", "b", "c", "d"]
    every = [Candidate(name, "O0") for name in names]
    trials = Clocked(budget=7)
    trials.try_all(every)
    trials.explain_no_time()
    assert trials.measured == ["plain", "O2"]
    assert trials.left_out.keys() == {"a", "b", "c", "d"}
    [reason] = set(trials.left_out.values())
    budget = int(re.search(r"no time; --seconds (\d+)", reason)[1])
    again = Clocked(budget)
    again.try_all(every)
    again.explain_no_time()
    assert again.measured == names and not again.left_out


def test_candidates_leave_out_families_and_rules():
    both = candidates.without({"simplify": ("add-zero", "fold-arithmetic"), "scans": ()})
    assert both.name == "O2 without add-zero, fold-arithmetic, scans"
    assert "simplify{disable-patterns=add-zero,fold-arithmetic}" in both.pipeline
    assert "scans" not in both.pipeline.split(",")
    jxc.opt("module {}", both.pipeline)


def test_choice_that_does_not_win_again_is_not_used(done, monkeypatch):
    def choose_another(seconds, refused):
        others = [name for name in seconds if name not in ("plain", "O2")]
        return Choice("plain", refused) if refused else Choice(others[0], {})

    monkeypatch.setattr(timed, "choose", choose_another)
    monkeypatch.setattr(timed, "SCREENED", 1e9)
    monkeypatch.setattr(timed, "why_not_faster", lambda ratio: "within noise")
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    assert done[0].choice == "plain"
    assert list(done[0].passed_over.values()) == ["compiled again, within noise"]


def test_slow_candidates_are_left_out_with_their_times(done, monkeypatch):
    monkeypatch.setattr(timed, "SCREENED", 0.0)
    jxc.jit(pooled, pipeline="O3")(argument())
    assert done[0].seconds.keys() == {"plain", "O2"}
    assert any(" times the time of " in reason for reason in done[0].left_out.values())


def test_table_says_why_faster_candidates_were_not_chosen():
    seconds = {"plain": 1.0, "O2": 0.9, "O1": 2.0}
    passed_over, slow = {"O2": "within noise: " + "x" * 40 + " y" * 20}, {"a": "slow", "b": "slow"}
    text = as_table(TuneVerdict("jit_f", "cpu", "plain", "O0", {}, seconds, slow, passed_over))
    rows = text.splitlines()
    assert next(row for row in rows if "<- chosen" in row).startswith("plain")
    assert any(row.startswith("not chosen: O2: within noise") for row in rows)
    assert "left out: a; b: slow" in rows and max(map(len, rows)) <= 80
