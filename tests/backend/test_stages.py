"""The stages as values: the text of each, and the public names of the package."""

import jax.numpy as jnp
import pytest

import jxc
from jxc.backend.targets import find_target


def wave(x, y):
    return jnp.sin(x) * y + jnp.sum(x)


@pytest.fixture(scope="module")
def lowered_wave():
    return jxc.lower(wave, jnp.ones(64), jnp.ones(64))


def test_repr_of_every_stage_is_one_short_line(lowered_wave, tmp_path):
    executable = lowered_wave.opt("O2").compile()
    header = jxc.save(executable, tmp_path / "wave.jxc")
    loaded = jxc.load(tmp_path / "wave.jxc")
    values = [
        lowered_wave,
        lowered_wave.opt("O2"),
        executable,
        header,
        loaded,
        find_target("cpu"),
        jxc.jit(wave),
    ]
    values += [find_target("tpu:v5e:2x2"), jxc.use("O2"), lowered_wave.opt("locate-nans").compile()]
    for value in values:
        assert "\n" not in repr(value) and len(repr(value)) < 200, repr(value)
        assert repr(value).startswith("<jxc"), repr(value)
    assert "jit_wave" in repr(lowered_wave) and "ops for cpu" in repr(lowered_wave)
    assert "flops" in repr(executable) and "for this machine" in repr(executable)
    assert "jit_wave for cpu: 2 argument arrays, 1 result arrays" in repr(loaded)


def test_print_of_an_executable_is_a_table_of_xlas_counts(lowered_wave):
    lines = str(lowered_wave.compile()).splitlines()
    assert [line.split()[0] for line in lines] == ["program", "target", "flops", "bytes", "memory"]


def test_load_returns_what_save_wrote(lowered_wave, tmp_path):
    x = jnp.arange(64.0)
    jxc.save(lowered_wave.compile(), tmp_path / "wave.jxc")
    assert (jxc.load(tmp_path / "wave.jxc")(x, x) == lowered_wave.compile()(x, x)).all()


def test_jxc_has_exactly_its_public_names():
    assert all(hasattr(jxc, name) for name in jxc.__all__)
    hooks = {name for name in jxc._HOME if name.endswith("ipython_extension")}  # for IPython alone
    assert set(jxc.__all__) == {*jxc._HOME, "ir"} - hooks
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        jxc.no_such_name  # noqa: B018


def test_lower_reads_string_arguments_as_specs(lowered_wave):
    assert jxc.lower(wave, "f32[64]", "f32[64]").as_text() == lowered_wave.as_text()
