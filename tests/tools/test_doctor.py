"""The linter: planted faults at their lines, nothing in the clean twin, each check both ways."""

from __future__ import annotations

import importlib.util
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import jxc
from jxc.errors import UsageError
from jxc.tools.doctor import Finding, all_checks, examine, measure, program_of
from jxc.tools.doctor.checks import slow

PROGRAMS = Path(__file__).parent / "programs"
HERE = Path(__file__)


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def found(fn: Any, *args: Any, **options: Any) -> list[Finding]:
    """What is found without a compiler, unless it is asked for."""
    return jxc.doctor(fn, *args, **{"compile": False, **options})


def names(fn: Any, *args: Any, **options: Any) -> list[str]:
    return [each.name for each in found(fn, *args, **options)]


def line_of(finding: Finding) -> str:
    """The source line that a finding is at, which is in this file."""
    assert finding.place is not None
    assert finding.place.file == str(HERE)
    return finding.place.text


# The whole


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, PROGRAMS / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planted() -> set[tuple[int, str]]:
    lines = (PROGRAMS / "doctor_faulty.py").read_text().splitlines()
    marks = ((n, re.search("# FAULT (.*)", line)) for n, line in enumerate(lines, 1))
    return {(n, name.strip()) for n, mark in marks if mark for name in mark[1].split(",")}


def test_planted_faults_are_found_at_their_lines_and_nothing_else() -> None:
    program = load("doctor_faulty")
    findings = jxc.doctor(program.step, *program.arguments())
    at = {(each.place.line, each.name) for each in findings if each.place}
    assert len(planted()) == 10
    assert at == planted()
    assert len(findings) == len(at)
    assert all(each.fix.endswith(".") for each in findings)
    assert all(str(each.cost) for each in findings)


def test_the_clean_twin_is_clean() -> None:
    program = load("doctor_clean")
    assert jxc.doctor(program.step, *program.arguments()) == []


def test_every_check_explains_itself() -> None:
    assert len(all_checks()) == 14
    for name, each in all_checks().items():
        assert name == each.name == each.function.__name__.replace("_", "-")
        assert len(each.doc) > 80


def test_names_that_are_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="Did you mean 'weak-type'"):
        found(jnp.sin, f32(4), only=["weak-types"])
    with pytest.raises(UsageError, match="expected a list of names"):
        found(jnp.sin, f32(4), ignore="weak-type")


def test_what_is_not_a_function_is_refused() -> None:
    from jxc.backend.from_module import uncallable_from_module
    from jxc.ir import make_context, read_module

    text = "func.func public @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    lowered = uncallable_from_module(read_module(text.encode(), make_context(), name="-"))
    with pytest.raises(UsageError, match="expected a function"):
        program_of(lowered, "cpu", may_compile=False)


def test_without_a_compiler_what_needs_one_is_skipped() -> None:
    program = program_of(jxc.lower(jnp.sin, f32(4)), "cpu", may_compile=False)
    done = examine(program, list(all_checks().values()))
    assert set(done.skipped) == {c.name for c in all_checks().values() if c.needs_compiler}
    assert "compiled" not in vars(program)


# Silence


def doubled(x: Any) -> Any:
    return x[jnp.arange(0, 512, 2)]


def silenced(x: Any) -> Any:
    return x[  # jxc: ignore[gather-as-slice]
        jnp.arange(0, 512, 2)
    ]


def silenced_for_another(x: Any) -> Any:
    return x[jnp.arange(0, 512, 2)]  # jxc: ignore[weak-type]


def a_text_is_no_comment(x: Any) -> Any:
    return [x[jnp.arange(0, 512, 2)], "# jxc: ignore[gather-as-slice]"][0]


def test_a_comment_on_the_statement_silences_its_finding_alone() -> None:
    assert names(doubled, f32(512, 64)) == ["gather-as-slice"]
    assert names(silenced, f32(512, 64)) == []
    assert names(silenced_for_another, f32(512, 64)) == ["gather-as-slice"]
    assert names(a_text_is_no_comment, f32(512, 64)) == ["gather-as-slice"]
    assert names(doubled, f32(512, 64), ignore=["gather-as-slice"]) == []
    assert names(doubled, f32(512, 64), only=["dead-output"]) == []


# captured-constants

BIG = np.ones((512, 513), np.float32)
SMALL = np.ones((8, 8), np.float32)


def test_captured_constants() -> None:
    (each,) = found(lambda x: x + BIG, f32(513))
    assert each.name == "captured-constants"
    assert "global BIG" in each.message
    assert each.cost.bytes == BIG.nbytes
    assert "x + BIG" in line_of(each)
    assert names(lambda x: x + SMALL, f32(8)) == []
    assert names(lambda x, big: x + big, f32(513), f32(512, 513)) == []


# f64, implicit-upcast


def widens(x: Any) -> Any:
    grid = jnp.linspace(0.0, 1.0, 65536)
    return x * grid.astype(x.dtype)


def test_f64_that_begins_on_its_own() -> None:
    with jax.enable_x64(True):
        (each,) = found(widens, f32(65536), only=["f64"])
        assert "linspace" in line_of(each)
        assert each.cost.bytes == pytest.approx(65536 * 4, rel=1e-3)
        doubles = jax.ShapeDtypeStruct((65536,), jnp.float64)
        assert names(widens, doubles) == []  # it is what they want
        assert names(lambda x: x * jnp.float64(3.0), f32(8)) == []  # too small to matter
    assert names(widens, f32(65536)) == []


def test_implicit_upcast() -> None:
    (each,) = found(lambda x, gain: x * gain, bf16(256, 512), f32(512))
    assert each.name == "implicit-upcast"
    assert each.message == "bf16[256,512] becomes f32[256,512], because it meets f32[512]"
    assert each.cost.bytes == 256 * 512 * 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x, gain: x.astype(jnp.float32) * gain,  # written out
        lambda x, gain: (x * gain).astype(x.dtype),  # narrowed at once
        lambda x, gain: x.sum() + gain.sum(),  # accumulated in f32 by jnp.sum
        lambda x, gain: x * 2.0 + gain.astype(x.dtype),  # a Python number widens nothing
        lambda x, gain: jnp.mean(x, dtype=jnp.float32) + gain,
        lambda x, gain: jax.nn.softmax(x, axis=-1).sum() + gain.sum(),
    ],
)
def test_conversions_that_are_meant(function: Any) -> None:
    assert "implicit-upcast" not in names(function, bf16(256, 512), f32(512))


# weak-type


def test_weak_type_that_compiles_twice() -> None:
    def step(state: Any) -> Any:
        flag = jnp.where(state["n"] > 3, 1.0, 0.0)
        return {"n": flag, "w": state["w"] * 2}

    state = {"n": jnp.float32(0), "w": jnp.ones(4)}
    (each,) = found(step, state)
    assert each.name == "weak-type"
    assert "jnp.where" in line_of(each)
    jitted = jax.jit(step)
    jitted(jitted(state))
    assert jitted._cache_size() == 2


def test_weak_type_that_stays_as_it_is() -> None:
    def typed(state: Any) -> Any:
        flag = jnp.where(state["n"] > 3, jnp.float32(1), 0.0)
        return {"n": flag, "w": state["w"] * 2}

    state = {"n": jnp.float32(0), "w": jnp.ones(4)}
    assert names(typed, state) == []
    jitted = jax.jit(typed)
    jitted(jitted(state))
    assert jitted._cache_size() == 1
    assert names(lambda x, y: jnp.where(x.sum() > y, 1.0, 0.0), f32(8), f32()) == []  # a loss


# donation


def train(params: Any, x: Any) -> Any:
    grads = jax.grad(lambda p: (jnp.tanh(x @ p["w"]) ** 2).mean() + (p["b"] ** 2).sum())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads), x.sum()


def gradients(params: Any, x: Any) -> Any:
    return jax.grad(lambda p: (jnp.tanh(x @ p["w"]) ** 2).mean() + (p["b"] ** 2).sum())(params)


def put(cache: Any, x: Any, i: Any) -> Any:
    return lax.dynamic_update_slice(cache, x, (i, 0)), x.sum()


def advance(u: Any) -> Any:
    u = jnp.sin(u) + u
    u = u / 2
    return u  # noqa: RET504 - what it is called says that it comes back


PARAMS = {"w": f32(512, 1024), "b": f32(1024)}


def test_donation_possible() -> None:
    (each,) = found(train, PARAMS, f32(8, 512))
    assert (each.name, each.cost.bytes) == ("donation-possible", 512 * 1024 * 4 + 4096)
    assert "donate_argnames='params'" in each.fix
    assert "def train" in line_of(each)
    (each,) = found(put, f32(1024, 512), f32(1, 512), jnp.int32(0))
    assert "cache, an array of 2 MiB" in each.message
    assert names(advance, f32(1024, 512)) == ["donation-possible"]


def test_donation_that_is_not_for_the_asking() -> None:
    assert names(gradients, PARAMS, f32(8, 512)) == []  # the caller still needs the parameters
    assert names(jax.jit(train, donate_argnums=0), PARAMS, f32(8, 512)) == []
    assert names(lambda x: jnp.tanh(x) * 2, f32(1024, 512)) == []  # a layer, not a state
    small = {"w": f32(8, 16), "b": f32(16)}
    assert names(train, small, f32(8, 8)) == []


def test_donation_unused() -> None:
    def scaled(x: Any, scratch: Any, spare: Any) -> Any:
        return x * scratch.sum()

    donating = jax.jit(scaled, donate_argnums=(0, 1, 2))
    shapes = f32(512, 512), f32(512, 300), f32(400, 400)
    first, second = found(donating, *shapes)
    assert {first.name, second.name} == {"donation-unused"}
    assert "scratch is donated for nothing: no result" in first.message
    assert "spare is donated for nothing: the program does not use it" in second.message
    assert names(jax.jit(scaled, donate_argnums=(0,)), *shapes) == []


# unrolled-layers


def block(x: Any, p: Any) -> Any:
    mean = x.mean(-1, keepdims=True)
    y = (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)
    return x + jnp.tanh(y @ p["w"] + p["b"]) * jax.nn.sigmoid(y @ p["w"])


LAYERS = [{"w": f32(16, 16), "b": f32(16)} for _ in range(12)]


def test_unrolled_layers() -> None:
    def network(layers: Any, x: Any) -> Any:
        for p in layers:
            x = block(x, p)
        return x

    (each,) = found(network, LAYERS, f32(4, 16))
    assert each.name == "unrolled-layers"
    assert "12 times in a row" in each.message
    assert line_of(each) == "for p in layers:"
    gradient = jax.grad(lambda layers, x: network(layers, x).sum())
    assert names(gradient, LAYERS, f32(4, 16)) == ["unrolled-layers"]
    assert names(network, LAYERS[:3], f32(4, 16)) == []


def test_what_repeats_without_being_a_loop() -> None:
    def sparse(layers: Any, x: Any) -> Any:  # each layer reads all before it
        seen = [x]
        for p in layers:
            seen.append(block(sum(seen), p))
        return seen[-1]

    def apart(layers: Any, x: Any) -> Any:  # a vmap, perhaps, but no chain
        return [block(x, p) for p in layers]

    stacked = jax.tree.map(lambda leaf: f32(12, *leaf.shape), LAYERS[0])
    scanned = partial(lax.scan, lambda x, p: (block(x, p), None))
    assert names(sparse, LAYERS, f32(4, 16)) == []
    assert names(apart, LAYERS, f32(4, 16)) == []
    assert names(scanned, f32(4, 16), stacked) == []


# callback-in-loop


def noisy(x: Any, *, every: int = 1) -> Any:
    def body(i: Any, c: Any) -> Any:
        def say() -> None:
            jax.debug.print("{c}", c=c)

        if every == 1:
            say()
        else:
            lax.cond(i % every == 0, say, lambda: None)
        return c * 0.5

    return lax.fori_loop(0, 100, body, x)


def test_callback_in_loop() -> None:
    (each,) = found(noisy, f32(8))
    assert (each.name, each.cost.calls, each.cost.bytes) == ("callback-in-loop", 100, 3200)
    assert "debug.print" in line_of(each)
    assert names(partial(noisy, every=10), f32(8)) == []
    assert names(lambda x: [jax.debug.print("{}", x), x * 2][1], f32(8)) == []


def test_callback_in_a_loop_of_unknown_length() -> None:
    def body(c: Any) -> Any:
        jax.debug.print("{}", c)
        return c * 0.5

    (each,) = found(lambda x: lax.while_loop(lambda c: c > 1e-3, body, x), f32())
    assert each.cost.calls is None
    assert "in each turn" in each.message


# gather-as-slice


def test_gather_as_slice() -> None:
    (each,) = found(lambda x: jnp.take(x, np.arange(5, 300), axis=1), f32(512, 512))
    assert each.name == "gather-as-slice"
    assert "jnp.take" in line_of(each)
    uneven = np.array([1, 2, 4, 8] * 64)
    assert names(lambda x: x[uneven], f32(512, 512)) == []
    assert names(lambda x, i: x[i], f32(512, 512), jnp.arange(256)) == []
    assert names(lambda x: x[jnp.arange(4)], f32(512, 16)) == []  # too small to matter


# dead-output


def test_dead_output() -> None:
    def step(x: Any, w: Any) -> Any:
        y = x * 2
        return y, y, w, jnp.zeros((256, 256)), x.sum()

    findings = found(step, f32(256, 256), f32(256, 256))
    assert {each.name for each in findings} == {"dead-output"}
    kinds = ("result[3] depends on no", "result[1] is equal to", "result[2] is an argument")
    assert [each.message.startswith(kinds) for each in findings] == [True] * 3
    assert line_of(findings[0]).startswith("return y, y, w")
    donated = jax.jit(step, donate_argnums=1)
    assert len(found(donated, f32(256, 256), f32(256, 256))) == 2


def test_outputs_that_live() -> None:
    halve = jax.jit(lambda x: x / 2)
    assert names(lambda x, y: (halve(x), halve(y)), f32(256, 256), f32(256, 256)) == []
    assert names(lambda: {"w": jnp.zeros((256, 256)), "b": jnp.ones((256, 256))}) == []  # a state
    assert names(lambda x: (x * 2, jnp.zeros((4,)), x.sum()), f32(256, 256)) == []


# slow-on-target; what else the compiler tells is in the planted faults and in their twin


def pooled(x: Any) -> Any:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME").sum()


def test_slow_on_target_where_our_passes_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    program = program_of(jxc.lower(pooled, f32(8, 64, 64, 32)), "cpu", may_compile=True)
    monkeypatch.setattr(measure, "_times", lambda plain, ours: ([4e-3, 5e-3], [1e-3, 1e-3]))
    (each,) = all_checks()["slow-on-target"].run(program)
    assert "reduce_window" in each.message
    assert each.cost.seconds == pytest.approx(3.5e-3)
    assert "lax.reduce_window" in line_of(each)
    monkeypatch.setattr(measure, "_times", lambda plain, ours: ([4e-3, 5e-3], [1e-3, 4.9e-3]))
    assert all_checks()["slow-on-target"].run(program) == []  # not in every round
    monkeypatch.setattr(measure, "_times", lambda plain, ours: ([4e-3, 5e-3], [1e-3, 1e-3]))
    monkeypatch.setattr(measure, "_free_memory", lambda: 1 << 16)
    assert all_checks()["slow-on-target"].run(program) == []  # it would take what is left


def test_f64_is_slow_where_there_are_no_units_for_it() -> None:
    def twice(x: Any) -> Any:
        return x * 2

    def on(kind: str, peaks: dict[str, float]) -> list[Finding]:
        device = SimpleNamespace(peak_flops=peaks)
        target = SimpleNamespace(kind=kind, name=kind, device=device)
        with jax.enable_x64(True):
            lowered = jxc.lower(twice, jax.ShapeDtypeStruct((65536,), jnp.float64))
        program = program_of(lowered, "cpu", may_compile=False)
        object.__setattr__(program, "target", target)
        return list(slow._doubles(program))

    (each,) = on("tpu", {"bf16": 1e14, "f32": 1e14})
    assert "by software" in each.message
    assert line_of(each) == "return x * 2"
    (each,) = on("gpu", {"f64": 1e12, "f32": 64e12})
    assert "0.016 of f32's rate" in each.message
    assert on("gpu", {"f64": 33e12, "f32": 67e12}) == []
    assert on("cpu", {"f32": 1e11}) == []
