"""`jxc.report` on programs that are compiled for this machine's CPU."""

from __future__ import annotations

import json

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.backend.targets import find_target
from jxc.compiled.program import Compiled, Refused
from jxc.errors import UsageError
from jxc.tools.report import sections

SQUARE = jax.ShapeDtypeStruct((256, 256), jnp.float32)


def wave(x, y, z):
    return jnp.sin(x) * y + z


def repeated(x, w):
    return jax.lax.fori_loop(0, 10, lambda _, h: jnp.tanh(h @ w), x)


@pytest.fixture(scope="module")
def of_wave():
    return jxc.report(jxc.lower(wave, SQUARE, SQUARE, SQUARE), "cpu", "O2")


def test_report_measures_with_and_without_passes(of_wave):
    assert isinstance(of_wave.plain, Compiled) and isinstance(of_wave.optimised, Compiled)
    assert of_wave.plain.ops == 3 < of_wave.optimised.ops
    assert of_wave.rules == {"sine-to-polynomial": 1}
    assert of_wave.plain.totals.flops == 12 * 256 * 256, "a sine counts as ten flops"
    assert set(of_wave.seconds) == {"trace", "lower", "passes"}


def test_report_has_one_kernel_for_three_fused_ops(of_wave):
    (kernel,) = of_wave.plain.kernels
    assert dict(kernel.ops) == {"sine": 1, "multiply": 1, "add": 1}
    assert kernel.traffic.read + kernel.traffic.written == 4 * 4 * 256 * 256
    assert [place.line for place in kernel.lines] == [wave.__code__.co_firstlineno + 1]


def test_report_peak_memory_is_arguments_and_outputs(of_wave):
    memory = of_wave.plain.memory
    assert memory.peak == 4 * 4 * 256 * 256
    assert {buffer.kind for buffer in memory.buffers} == {"argument", "output"}
    assert {buffer.name for buffer in memory.buffers} >= {"x", "y", "z"}
    assert of_wave.fit.fits


def test_report_counts_each_iteration_of_a_loop():
    made = jxc.report(jxc.lower(repeated, SQUARE, SQUARE), find_target("cpu"), "O0").optimised
    assert made.totals.flops == pytest.approx(10 * (2 * 256**3 + 10 * 256**2), rel=1e-3)
    assert not made.totals.assumed


def test_report_compiles_an_unchanged_program_once():
    found = jxc.report(jxc.lower(jnp.matmul, SQUARE, SQUARE), find_target("cpu"), "O2")
    assert found.plain is found.optimised


def test_report_as_json(of_wave):
    found = json.loads(json.dumps(of_wave.as_json()))
    assert found["target"] == "cpu"
    assert found["after"]["memory"]["peak_bytes"] == 4 * 4 * 256 * 256
    assert found["before"]["kernels"][0]["ops"] == {"sine": 1, "multiply": 1, "add": 1}


def test_report_of_a_rejected_program_has_the_message():
    low = jxc.lower(wave, SQUARE, SQUARE, SQUARE)
    found = jxc.report(
        low, find_target("cpu"), "O0", xla_options={"xla_no_such": 1}, with_plain=False
    )
    assert isinstance(found.optimised, Refused)
    assert "xla_no_such" in found.optimised.message and found.fit is None
    assert found.as_json()["after"]["refused"]


def test_report_takes_a_function_with_its_arguments():
    found = jxc.report(wave, *["f32[64,64]"] * 3, target="cpu", pipeline="O0", with_plain=False)
    assert found.optimised.totals.flops == 12 * 64 * 64


def test_report_rejects_arguments_that_are_no_program():
    with pytest.raises(UsageError, match="expected a function with its arguments"):
        jxc.report(3)
    low = jxc.lower(wave, SQUARE, SQUARE, SQUARE)
    with pytest.raises(UsageError, match="a lowered program has its arguments"):
        jxc.report(low, SQUARE, SQUARE, SQUARE, target="cpu")


def test_report_repr_is_one_line_and_print_gives_the_tables(of_wave):
    assert repr(of_wave).startswith(
        "Report(Compiled(cpu: 1 kernel, 786.4K flops, 1 MiB at the peak"
    )
    assert "\n" not in repr(of_wave) and "\n" not in repr(of_wave.optimised)
    assert "memory at peak" in str(of_wave) and "kernels, by time (roofline)" in str(of_wave)
    assert "<td>memory at peak</td>" in of_wave._repr_html_()


@pytest.mark.parametrize(
    ("scope", "shown"),
    [("layer_12", "layer_*"), ("conv2d_1/bias", "conv2d_*/bias"), ("block3", "block*")],
)
def test_scopes_lose_the_numbers_of_layers_only(scope, shown):
    assert sections._in_scope("", scope) == shown


@pytest.mark.parametrize("room", [20, 40, 60, 100])
def test_columns_of_text_shrink_without_breaking_words(room):
    columns = [
        ("kernel: ops", "loop: iota add broadcast_in_dim subtract", "loop: reduce"),
        ("line", "folder/a_long_name_of_a_file.py:123", ""),
    ]
    widths = sections._widths(columns, room)
    natural = [max(map(len, cells)) for cells in columns]
    assert sum(widths) == min(room, sum(natural))
    if room >= 40:
        assert widths[0] >= len("broadcast_in_dim")
