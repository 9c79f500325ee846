"""Optimized HLO that is compiled further, passes on HLO, and traces of XLA's passes."""

import sys
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc
from jxc.backend.artifacts.hlo_pass import HloPass, compile_here, compile_through, compile_with
from jxc.backend.artifacts.resume import lowered_from_hlo
from jxc.backend.artifacts.stages import disassemble, emit
from jxc.backend.artifacts.xla_passes import _without_numbers, trace_passes
from jxc.backend.targets import find_target
from jxc.errors import JxcError, UsageError
from jxc.rewrite import PassContext

CPU = find_target("cpu")

# Compiling a stage further


OFFSETS = np.random.default_rng(0).random(40).astype(np.float32)


def scaled(x):
    return {"sin": jnp.sin(x) * 2.5 + OFFSETS, "sum": jnp.sum(x)}


@pytest.fixture(scope="module")
def optimized():
    """Optimized HLO with its constants."""
    low = jxc.lower(scaled, jnp.ones(40))
    return emit(low, ["hlo"], CPU, whole_constants=True)["hlo"]


def test_optimized_hlo_is_compiled_without_xla_passes(optimized):
    x = jnp.linspace(0, 1, 40)
    expected = jxc.lower(scaled, x).compile()(x)
    same, total = lowered_from_hlo(optimized).compile()(x)
    np.testing.assert_array_equal(same, expected["sin"])
    assert total == expected["sum"]
    edited, _ = lowered_from_hlo(optimized.replace("constant(2.5)", "constant(100)")).compile()(x)
    np.testing.assert_allclose(edited, jnp.sin(x) * 100 + OFFSETS, rtol=1e-5)
    np.testing.assert_array_equal(jxc.lower(scaled, x).compile()(x)["sin"], expected["sin"])


def test_lowered_from_hlo_rejects_an_elided_constant(optimized):
    short = jxc.lower(scaled, jnp.ones(40)).compile().as_text()
    assert "constant({...})" in short
    with pytest.raises(JxcError, match=r"x.txt:\d+: a large constant was elided"):
        lowered_from_hlo(short, "x.txt")
    with pytest.raises(JxcError, match="a large constant was elided"):
        jxc.ir.read_module(short, jxc.ir.make_context())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (", is_scheduled=true", "", "not scheduled"),
        ("is_scheduled=true", "is_scheduled=true, num_partitions=2", "for several devices"),
        ("parameter(0)", "parameter(one)", "malformed HLO"),
    ],
)
def test_lowered_from_hlo_rejects_other_modules(optimized, old, new, says):
    assert old in optimized
    with pytest.raises(JxcError, match=says):
        lowered_from_hlo(optimized.replace(old, new, 1))


def test_xla_rejects_hlo_of_wrong_types(optimized):
    wrong = optimized.replace("f32[40]{0} sine(", "s32[40]{0} sine(")
    assert wrong != optimized
    with pytest.raises(JxcError, match=r"XLA does not compile it: .*shape"):
        compile_with(lowered_from_hlo(wrong), CPU)


def test_lowered_from_hlo_reads_the_signature_of_the_entry(optimized):
    wrong = optimized.replace("->(f32[40]{0}, f32[])", "->(s32[40]{0}, f32[])", 1)
    assert wrong != optimized
    assert lowered_from_hlo(wrong).compile()(jnp.ones(40))[0].dtype == "float32"


COLUMNS = """HloModule m, is_scheduled=true
ENTRY e { ROOT p = f32[4,3]{0,1} parameter(0) }
"""


def test_lowered_from_hlo_rejects_layouts_that_jax_does_not_pass():
    with pytest.raises(JxcError, match=r"parameter 0 has the layout f32\[4,3\]\{0,1\}"):
        lowered_from_hlo(COLUMNS)


# Passes on HLO


def larger(hlo, context):
    assert context.target == "cpu"
    return hlo.replace("constant(2.5)", "constant(100)")


def run_with(hlo_pass, x):
    low = jxc.lower(scaled, x)
    context = PassContext("cpu")
    return compile_through(hlo_pass, low.module, context, lambda module: compile_here(low, module))(
        x
    )


@pytest.mark.parametrize("stage", ["before", "pre-scheduler", "post-scheduler"])
def test_hlo_pass_runs_on_one_compilation_only(stage):
    x = jnp.linspace(0, 1, 40)
    plain = jxc.lower(scaled, x).compile()(x)["sin"]
    changed = run_with(HloPass("larger", larger, stage), x)["sin"]
    np.testing.assert_allclose(changed, jnp.sin(x) * 100 + OFFSETS, rtol=1e-5)
    np.testing.assert_array_equal(jxc.lower(scaled, x).compile()(x)["sin"], plain)


def test_hlo_pass_bypasses_the_persistent_cache(tmp_path):
    from jax.experimental.compilation_cache import compilation_cache as cache

    x = jnp.linspace(0, 1, 40)
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
        "jax_enable_compilation_cache": True,
    }
    before = {name: getattr(jax.config, name) for name in options}
    try:
        for name, value in options.items():
            jax.config.update(name, value)
        cache.reset_cache()
        run_with(HloPass("larger", larger, "pre-scheduler"), x)
        assert not [file for file in tmp_path.iterdir() if "scaled" in file.name]
        jxc.lower(scaled, x).compile()
        assert [file for file in tmp_path.iterdir() if "scaled" in file.name]
    finally:
        for name, value in before.items():
            jax.config.update(name, value)
        cache.reset_cache()


NOTHING = """HloModule m, is_scheduled=true
ENTRY e { x = f32[40]{0} parameter(0) ROOT y = (f32[40]{0}) tuple(x) }
"""


def test_hlo_pass_errors_name_the_users_line():
    x = jnp.ones(40)
    wrong = {
        "raised ZeroDivisionError": lambda hlo, context: 1 / 0,
        "raised SystemExit": lambda hlo, context: sys.exit(1),
        "returned HLO that does not parse": lambda hlo, context: "no HLO",
        "returned int: expected HLO text": lambda hlo, context: 3,
        "changed the parameters or results": lambda hlo, context: NOTHING,
    }
    for says, function in wrong.items():
        for stage in ("before", "post-scheduler"):
            with pytest.raises(JxcError, match=says) as caught:
                run_with(HloPass("wrong", function, stage), x)
            assert "test_hlo_stages.py:" in str(caught.value)
    assert run_with(HloPass("none", lambda hlo, context: None, "pre-scheduler"), x)["sum"] == 40
    with pytest.raises(UsageError, match="expected one of before, pre-scheduler"):
        HloPass("late", larger, "late")


# XLA's passes


def test_trace_passes_gives_a_file_for_each_change():
    low = jxc.lower(jax.grad(lambda x: jnp.sum(jnp.tanh(x @ x) * 2.0)), jnp.ones((8, 8)))
    found = trace_passes(low.module, CPU)
    files = found.files()
    assert next(iter(files)) == "0000-before.txt" and found.runs > len(found.changes) > 2
    assert "0001-" in list(files)[1] and any("fusion" in name for name in files)
    texts = [_without_numbers(text) for text in files.values()]
    assert all(one != other for one, other in pairwise(texts))
    assert 0 < sum(found.seconds.values()) < found.build.seconds
    assert all(change.pipeline for change in found.changes)


def test_trace_passes_ignores_renumbered_instructions():
    one = '%a.1 = f32[] add(%b.2, %c.3), metadata={op_name="f" stack_frame_id=4}'
    numbered = one.replace(".1", ".7").replace("id=4", "id=9")
    swapped = one.replace("%b.2, %c.3", "%c.3, %b.2")
    assert _without_numbers(one) == _without_numbers(numbered)
    twice = "%b.2 = f32[] parameter(0)\n%c.3 = f32[] parameter(1)\n"
    assert _without_numbers(twice + one) != _without_numbers(twice + swapped)


def test_disassemble_names_the_missing_tools(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(JxcError, match="neither objdump nor llvm-objdump is on the path"):
        disassemble({"kernel.o": b""})
