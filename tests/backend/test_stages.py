"""The stages as values: the text of each, and the public names of the package."""

import jax.numpy as jnp
import pytest

import jxc
from jxc.backend.targets import find_target


def wave(x, y):
    return jnp.sin(x) * y + jnp.sum(x)


@pytest.fixture(scope="module")
def low():
    return jxc.lower(wave, jnp.ones(64), jnp.ones(64))


def test_repr_of_every_stage_is_one_short_line(low, tmp_path):
    executable = low.opt("O2").compile()
    header = jxc.save(executable, tmp_path / "wave.jxc")
    loaded = jxc.load(tmp_path / "wave.jxc")
    values = [low, low.opt("O2"), executable, header, loaded, find_target("cpu"), jxc.jit(wave)]
    values += [find_target("tpu:v5e:2x2"), jxc.use("O2"), low.opt("locate-nans").compile()]
    for value in values:
        assert "\n" not in repr(value) and len(repr(value)) < 200, repr(value)
        assert repr(value).startswith("<jxc"), repr(value)
    assert "jit_wave" in repr(low) and "ops for cpu" in repr(low)
    assert "flops" in repr(executable) and "for this machine" in repr(executable)
    assert "jit_wave for cpu: 2 argument arrays, 1 result arrays" in repr(loaded)


def test_print_of_an_executable_is_a_table_of_xlas_counts(low):
    lines = str(low.compile()).splitlines()
    assert [line.split()[0] for line in lines] == ["program", "target", "flops", "bytes", "memory"]


def test_load_returns_what_save_wrote(low, tmp_path):
    x = jnp.arange(64.0)
    jxc.save(low.compile(), tmp_path / "wave.jxc")
    assert (jxc.load(tmp_path / "wave.jxc")(x, x) == low.compile()(x, x)).all()


def test_every_public_name_exists_and_no_other_does():
    assert all(hasattr(jxc, name) for name in jxc.__all__)
    assert set(jxc.__all__) == set(jxc._HOME)
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        jxc.no_such_name  # noqa: B018


def test_a_string_among_the_arguments_is_a_spec(low):
    assert jxc.lower(wave, "f32[64]", "f32[64]").as_text() == low.as_text()
