"""The check `far-below-roofline`: measured kernels, halves, remedies, and costs counted once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import jxc
from jxc.backend.targets import find_target
from jxc.tools.doctor import ExaminedProgram, Finding, all_checks, kernel_times, program_of
from jxc.tools.doctor.checks import roofline, slow_on_target
from jxc.tools.doctor.kernel_times import TimedKernel, TimedRun

from .doctoring import f32, source_line

IMAGE = ("NHWC", "HWIO", "NHWC")
VOLUME = ("NDHWC", "DHWIO", "NDHWC")
CHECK = all_checks()["far-below-roofline"]


def examined(fn: Callable[..., Any], *args: Any) -> ExaminedProgram:
    return program_of(jxc.lower(fn, *args), "cpu", may_compile=True)


def findings_at(
    monkeypatch: pytest.MonkeyPatch,
    part: float,
    fn: Callable[..., Any],
    *args: Any,
    gain: slow_on_target.Gain | None = None,
) -> list[Finding]:
    """The findings if each product and convolution runs at a part of its roofline."""

    def timed(self: slow_on_target.Timeable, device: Any) -> TimedRun:
        found = []
        for each in self.kernels:
            least = each.roofline(device).seconds * each.times
            seconds = least / part if roofline._op_of(each) else least
            found.append(TimedKernel(each, seconds, least))
        return TimedRun(sum(each.seconds for each in found), found)

    monkeypatch.setattr(slow_on_target.Timeable, "timed", timed)
    monkeypatch.setattr(roofline, "_seconds_of", lambda call: math.inf)
    program = examined(fn, *args)
    program.kept["gain"] = gain
    return CHECK.run(program)


def volumes(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1, 1), "SAME", dimension_numbers=VOLUME)


def gradients(x: Any, w: Any) -> Any:
    return jax.grad(lambda x, w: (volumes(x, w) ** 2).sum(), (0, 1))(x, w)


def recurrent(x: Any, w: Any) -> Any:
    def loss(w: Any) -> Any:
        def body(h: Any, _: Any) -> Any:
            return jnp.tanh(lax.conv_general_dilated(h, w, (1, 1), "SAME", None, None, IMAGE)), None

        return lax.scan(body, x, None, length=6)[0].sum()

    return jax.grad(loss)(w)


def test_measures_convolutions_over_three_dimensions() -> None:
    program = examined(gradients, f32(1, 16, 16, 16, 8), f32(3, 3, 3, 8, 8))
    program.kept["gain"] = None  # O2's rules mend them
    (each,) = CHECK.run(program)
    assert "conv_general_dilated(x, w" in source_line(each)
    assert "convolutions over 3 dimensions take" in each.message
    assert "backward by the kernel" in each.message
    assert "as channels" in each.fix
    assert each.cost.seconds and 0 < each.cost.seconds < 10


def test_measures_gradients_of_a_convolution_in_a_loop() -> None:
    program = examined(recurrent, f32(4, 16, 16, 16), f32(3, 3, 16, 16))
    program.kept["gain"] = None
    (each,) = CHECK.run(program)
    assert "over 2 dimensions take" in each.message
    assert "backward by the kernel" in each.message
    assert "unroll=True" in each.fix


def test_product_and_image_of_the_library_are_left_alone() -> None:
    assert CHECK.run(examined(lambda x, w: x @ w, f32(1024, 1024), f32(1024, 1024))) == []
    assert CHECK.run(examined(jnp.tanh, f32(1024, 1024))) == []


def test_kernel_is_far_if_it_is_nearer_to_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = f32(1, 8, 8, 8, 4), f32(3, 3, 3, 4, 4)
    assert findings_at(monkeypatch, 0.3, volumes, *sizes) == []
    (each,) = findings_at(monkeypatch, 0.1, volumes, *sizes)
    assert "takes 100% of the time, at 10% of the roofline: forward; kernel " in each.message
    assert "of the roofline" in str(each)


def test_share_below_a_tenth_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def mostly_other(x: Any, w: Any, y: Any) -> Any:
        return volumes(x, w), jnp.exp(y)

    small = f32(1, 4, 4, 4, 2), f32(3, 3, 3, 2, 2)
    assert len(findings_at(monkeypatch, 0.1, mostly_other, *small, f32(8))) == 1
    assert findings_at(monkeypatch, 0.1, mostly_other, *small, f32(4096, 4096)) == []


def test_product_without_known_remedy_needs_the_speed_of_loops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    integers = jax.ShapeDtypeStruct((64, 64), jnp.int32)
    assert findings_at(monkeypatch, 0.1, lambda x, w: x @ w, integers, integers) == []
    (each,) = findings_at(monkeypatch, 0.01, lambda x, w: x @ w, integers, integers)
    assert each.message.startswith("a product takes")
    assert "No faster form of it is known" in each.fix
    floats = f32(1024, 1024), f32(1024, 1024)  # a library's, which other load may delay
    assert findings_at(monkeypatch, 0.01, lambda x, w: x @ w, *floats) == []


def test_halves_of_convolutions() -> None:
    program = examined(recurrent, f32(4, 16, 16, 16), f32(3, 3, 16, 16))
    halves = {
        roofline._half(each, each.op_name)
        for each in program.compiled.kernels
        if roofline._op_of(each) == "convolution over 2 dimensions"
    }
    assert halves == {"forward", "backward by the kernel", "backward by the input"}


def test_halves_of_products() -> None:
    def loss(w: Any, v: Any, x: Any) -> Any:
        return jnp.sin(jnp.sin(x @ w) @ v).sum()

    program = examined(jax.grad(loss, (0, 1, 2)), f32(64, 32), f32(32, 16), f32(128, 64))
    kernels = [each for each in program.compiled.kernels if roofline._op_of(each) == "product"]
    assert {roofline._half(each, each.op_name) for each in kernels} == {
        "forward",
        "backward by the left operand",
        "backward by the right operand",
    }


def test_cost_is_of_the_program_after_o2_where_that_is_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `slow-on-target` says O2 saves, and what remains above the roofline, are disjoint."""
    gain = slow_on_target.Gain(9.0, 4.0, "measured on random arguments")
    integers = jax.ShapeDtypeStruct((64, 64), jnp.int32)  # which O2 leaves as they are
    (each,) = findings_at(monkeypatch, 0.01, lambda x, w: x @ w, integers, integers, gain=gain)
    assert "s a run after O2, measured on random arguments" in str(each.cost)
    assert each.cost.seconds and each.cost.seconds <= 4.0
    nothing = slow_on_target.Gain(4.0, 3.9, "measured on random arguments")
    (each,) = findings_at(monkeypatch, 0.01, lambda x, w: x @ w, integers, integers, gain=nothing)
    assert "after O2" not in str(each.cost)


def up(size: int) -> Any:
    def upwards(x: Any, w: Any) -> Any:
        return lax.conv_transpose(x, w, (2, 2, 2), "SAME", dimension_numbers=VOLUME)

    return upwards, f32(1, 6, 6, 6, 4), f32(size, size, size, 4, 4)


def blurred(x: Any, w: Any) -> Any:
    return jax.scipy.signal.convolve2d(x, w)


def in_loop(x: Any, w: Any) -> Any:
    return lax.fori_loop(0, 4, lambda _, h: lax.conv_general_dilated(h, w, (1, 1), "SAME"), x)


@pytest.mark.parametrize(
    ("program", "remedy"),
    [
        (up(2), "reshape(inputs, -1)"),
        (up(3), "Insert the zeros of its stride by jax.lax.pad first. Stack"),
        ((volumes, f32(1, 8, 8, 8, 4), f32(3, 3, 3, 4, 4)), "Stack the slices"),
        ((blurred, f32(64, 64), f32(31, 31)), "fftconvolve"),
        ((in_loop, f32(2, 8, 12, 12), f32(8, 8, 3, 3)), "Transpose before the loop"),
    ],
)
def test_remedies(monkeypatch: pytest.MonkeyPatch, program: Any, remedy: str) -> None:
    (each,) = findings_at(monkeypatch, 0.005, *program)
    assert remedy in each.fix


def test_check_does_not_run_programs_with_side_effects_or_other_targets() -> None:
    def calls_host(x: Any, w: Any) -> Any:
        jax.debug.callback(lambda: None)
        return volumes(x, w)

    sizes = f32(1, 8, 8, 8, 4), f32(3, 3, 3, 4, 4)
    assert CHECK.run(examined(calls_host, *sizes)) == []


def test_time_kernels_measures_a_run() -> None:
    program = examined(lambda x: x @ x @ x, f32(512, 512))
    plain = slow_on_target.timeable(program, "O0")
    assert plain is not None
    plain.run()
    device = find_target("cpu").device
    run = plain.timed(device)
    assert run is not None and {each.kernel.name for each in run.kernels} <= {
        each.name for each in plain.kernels
    }
    assert 0 < sum(each.seconds for each in run.kernels) <= 2 * run.seconds  # medians
    faster = run.within(run.seconds / 2)
    assert faster.kernels[0].seconds == pytest.approx(run.kernels[0].seconds / 2)
    assert run.within(10.0) == run


def test_time_kernels_leaves_out_what_the_profiler_cannot_record(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = examined(lambda x: x @ x, f32(64, 64))
    plain = slow_on_target.timeable(program, "O0")
    assert plain is not None
    device = find_target("cpu").device

    def busy() -> Any:
        raise RuntimeError("another session is open")

    with monkeypatch.context() as patched:
        patched.setattr(kernel_times, "start_session", busy)
        assert plain.timed(device) is None
    monkeypatch.setattr(kernel_times, "_MAX_LAUNCHES", 0)
    assert plain.timed(device) is None
