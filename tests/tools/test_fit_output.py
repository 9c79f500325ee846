"""What `jxc fit` prints: amounts that add up, names that tell versions apart, early ends."""

import re
from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.ir.labels import Label
from jxc.passes.rematerialize.selectors import Selector
from jxc.tools.fit.changes import _as_compiled, _rows
from jxc.tools.fit.frontier import FitChoice
from jxc.tools.fit.names import with_own_names
from jxc.tools.fit.result import Trial

pytestmark = pytest.mark.usefixtures("untimed")


def recurrent(weights, xs):
    def step(carry, x):
        hidden = jnp.tanh(carry @ weights + x)
        gate = jax.nn.sigmoid(carry + x)
        carry = gate * carry + (1 - gate) * hidden
        return carry, jnp.sin(carry)

    return jax.lax.scan(step, jnp.zeros(xs.shape[1:]), xs)[1].sum()


def fit_recurrent(budget, **options):
    weights, xs = (jax.ShapeDtypeStruct(s, jnp.float32) for s in [(32, 32), (256, 8, 32)])
    return jxc.fit(jax.grad(recurrent), weights, xs, max_memory=budget, **options)


@pytest.fixture(scope="module")
def of_loops():
    found = fit_recurrent("1800KiB", exact=True)
    assert found.plan is not None and len(found.trials) > 1
    return found


def test_lines_of_a_plan_add_up_to_the_model(of_loops):
    plan, choice = of_loops.plan, of_loops.chosen.choice
    assert sum(each.bytes for each in plan.measures) == choice.loops.bytes
    assert sum(each.seconds for each in plan.measures) == pytest.approx(choice.loops.seconds)
    assert sum(each.values for each in plan.measures) == choice.loops.values


def test_lines_of_loops_are_no_equal_shares(of_loops):
    seconds = [each.seconds for each in of_loops.plan.measures]
    assert max(seconds) > min(seconds)


def test_last_line_of_a_plan_is_the_difference_of_the_versions(of_loops):
    chosen, base = of_loops.chosen, of_loops.base
    freed, added = _as_compiled(of_loops.plan)
    assert freed == base.needed - chosen.needed
    assert added == pytest.approx(chosen.seconds - base.seconds)
    names = [str(row[0]) for row in _rows(of_loops.plan)]
    assert names[-2:] == ["what the model leaves out", "in all"]


def test_plan_without_a_known_time_has_no_sum_of_times(of_loops):
    notes = {k: v for k, v in of_loops.plan.made_for.items() if not k.startswith("seconds")}
    assert [*_rows(replace(of_loops.plan, made_for=notes))][-1][-1] == ""
    notes = {k: v for k, v in notes.items() if "without" not in k}
    assert "in all" not in str([*_rows(replace(of_loops.plan, made_for=notes))][-1])


def test_versions_have_names_of_their_own(of_loops):
    names = [trial.name for trial in of_loops.trials]
    assert len(set(names)) == len(names)


def trial(*selectors, name="2 values again"):
    return Trial(name, 1, 1.0, choice=FitChoice(selectors, 0, 0.0))


def at(op, line=7, **amounts):
    return Selector(Label(op, file="deep.py", line=line), **amounts)


@pytest.mark.parametrize(
    ("trials", "names"),
    [
        ([trial(at("exp")), trial(at("tanh"), name="other")], ["2 values again", "other"]),
        ([trial(at("exp"), at("sin")), trial(at("exp"), at("cos"))], ["sin", "cos"]),
        ([trial(at("sin")), trial(at("sin", 8))], ["sin deep.py:7", "sin deep.py:8"]),
        (
            [trial(at("sin", share=0.5)), trial(at("sin", keep_every=2))],
            ["sin deep.py:7 50%", "sin deep.py:7, 1 of 2 kept"],
        ),
        ([trial(at("sin")), trial()], ["sin", "no others"]),
        ([trial(at("sin")), trial(at("sin"))], ["1 of 2", "2 of 2"]),
    ],
)
def test_names_of_versions_have_what_differs(trials, names):
    found = [each.name for each in with_own_names(trials)]
    assert [re.sub(r"^2 values again \((.*)\)$", r"\1", each) for each in found] == names


def test_smallest_version_of_a_search_that_ended_early_is_named_so(of_loops):
    found = replace(of_loops, chosen=None, plan=None)
    assert "the smallest version needs" in str(found)
    said = " ".join(str(replace(found, stopped="the time is over")).split())
    assert "the smallest version that was compiled before the search ended early needs" in said
