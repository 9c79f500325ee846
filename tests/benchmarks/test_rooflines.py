"""The table of predicted and measured times: classes of kernels, means, and one small program."""

import jax
import jax.numpy as jnp
import pytest
import rooflines


@pytest.mark.parametrize(
    ("kind", "ops", "name"),
    [
        ("loop", ["add", "transpose"], "elementwise"),
        ("loop", ["slice", "transpose"], "copy, transpose"),
        ("loop", ["multiply", "reduce"], "reduction"),
        ("loop", ["gather", "add"], "gather, scatter"),
        ("library", ["dot_general", "add", "reduce"], "dot"),
        ("call", ["my_target"], "library call"),
        ("while", [], "loop, call"),
    ],
)
def test_class_of_kernel(kind, ops, name):
    assert rooflines._class_of(kind, ops) == name


def test_table_has_geometric_means_quartiles_and_ratios_of_sums():
    kernels = [
        {"class": "dot", "predicted": 1e-6, "measured": measured, "calls": 2}
        for measured in (1e-6, 2e-6, 4e-6, 8e-6)
    ]
    kernels.append({"class": "sort", "predicted": 2e-6, "measured": 14e-6, "calls": 2})
    rows = list(rooflines.table(kernels, "class"))
    assert rows[2] == "| dot | 4 | 2.83 | 1.75, 3.00, 5.00 | 3.75 | 51.7% |"
    assert rows[3] == "| sort | 1 | 7.00 |  | 7.00 | 48.3% |"
    assert rows[4].startswith("| all | 5 | 3.39 |")


def test_kernels_of_a_profile_have_a_class_and_times():
    from jxc.tools.profile.recording import record_calls

    x = jnp.ones((128, 128))
    call = jax.jit(lambda x: jnp.tanh(x @ x))
    jax.block_until_ready(call(x))
    found = record_calls(lambda: jax.block_until_ready(call(x)), 3)
    kernels = list(rooflines._kernels(found))
    assert "dot" in {each["class"] for each in kernels}
    assert all(each["predicted"] > 0 and each["measured"] > 0 for each in kernels)
    assert all(each["calls"] == 3 for each in kernels)
