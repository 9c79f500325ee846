"""O3: the candidates, and the choice between them."""

import threading

import numpy as np
import pytest
from jaxlib.xla_client import CompileOptions

import jxc
from jxc.backend import tuning as backend_tuning
from jxc.backend.xla_options import with_xla_options
from jxc.errors import JxcError
from jxc.tools.tune import candidates, timed
from jxc.tools.tune.candidates import Alternative
from jxc.tools.tune.choice import choose, choose_by_estimate

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
    x = argument()
    jxc.jit(chain, pipeline="O3")(x)
    tried = done[0].seconds.keys() | done[0].left_out.keys()
    assert {"plain", "plain with multi-output fusion", "plain with serial kernels"} <= tried
    monkeypatch.setattr(candidates, "ALTERNATIVES", ())
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


def with_alternative(monkeypatch, name, xla_options):
    monkeypatch.setattr(candidates, "ALTERNATIVES", (Alternative(name, xla_options),))


def test_failing_candidate_is_left_out(done, monkeypatch):
    with_alternative(monkeypatch, "bad", {"xla_no_such_option": True})
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
    with_alternative(monkeypatch, "slow", {"xla_cpu_use_xnnpack": False})
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
    ("medians", "expected"),
    [
        ({"plain": 2.0, "O2": 1.0, "O1": 0.99}, "O2"),  # within noise
        ({"plain": 2.0, "O2": 1.0, "O1": 0.8}, "O1"),
        ({"plain": 0.9, "O2": 1.0, "O1": 0.985}, "plain"),
        ({"plain": 0.9999, "O2": 1.0}, "O2"),
        ({"plain": 0.975, "O2": 1.0}, "plain"),
        ({"plain": 1.0}, "plain"),
    ],
)
def test_choice_prefers_o2_unless_another_is_faster(medians, expected):
    noise = np.random.default_rng(0)
    seconds = {
        name: [each * noise.uniform(0.998, 1.002) for _ in range(20)]
        for name, each in medians.items()
    }
    assert choose(seconds) == expected


def test_choice_by_estimate_needs_a_gain():
    assert choose_by_estimate({"plain": 1.0, "O2": 0.995}) == "O2"
    assert choose_by_estimate({"plain": 0.99, "O2": 1.0}) == "O2"
    assert choose_by_estimate({"plain": 0.9, "O2": 1.0}) == "plain"
    assert choose_by_estimate({"plain": 0.9}) == "plain"


def test_candidates_leave_out_families_and_rules():
    both = candidates.without({"simplify": ("add-zero", "fold-arithmetic"), "scans": ()})
    assert both.name == "O2 without add-zero, fold-arithmetic, scans"
    assert "simplify{disable-patterns=add-zero,fold-arithmetic}" in both.pipeline
    assert "scans" not in both.pipeline.split(",")
    jxc.opt("module {}", both.pipeline)


def test_choice_that_does_not_win_again_is_not_used(done, monkeypatch):
    answers = iter(["plain", "O2"])
    monkeypatch.setattr(timed, "choose", lambda seconds: next(answers))
    assert_right(jxc.jit(pooled, pipeline="O3")(argument()), argument())
    assert done[0].choice == "O2"
