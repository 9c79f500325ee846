"""`jxc.assert_compiles`: the number of programs that a block compiles, and the error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jxc

X = np.ones(4, np.float32)


def test_assert_compiles_accepts_the_expected_number():
    step = jax.jit(lambda x: x + 1)
    with jxc.assert_compiles(1):
        step(X)
    with jxc.assert_compiles(0) as log:
        step(X)
    assert log.compilations == []
    with jxc.assert_compiles(at_most=1):
        step(X)


def test_assert_compiles_lists_programs_with_reasons():
    step = jax.jit(lambda x: x + 1)
    with pytest.raises(AssertionError) as caught, jxc.assert_compiles(1):
        step(X)
        step(X[:3])
    first, second, third, why = str(caught.value).splitlines()
    assert first == "expected one program to be compiled, found 2"
    assert second.startswith("  1. <lambda>(x: f32[4]) at tests/tools/test_assert_compiles.py:")
    assert third.startswith("  2. <lambda>(x: f32[3]) at ")
    assert "x was f32[4] and is now f32[3]; the most similar earlier call is at tests/tools" in why
    assert why.endswith("Mask the padding, or use jxc.bucket if no row depends on other rows.")
    assert len(caught.value.log.compilations) == 2


def test_assert_compiles_decorates_a_function():
    step = jax.jit(lambda x: x + 1)

    @jxc.assert_compiles(at_most=1)
    def run(*lengths):
        for length in lengths:
            step(X[:length])

    run(2)
    run(2, 3)
    with pytest.raises(AssertionError, match="at most one program"):
        run(1, 4)


def test_assert_compiles_passes_on_an_exception_of_the_block():
    with pytest.raises(ZeroDivisionError), jxc.assert_compiles(3):
        raise ZeroDivisionError


def test_assert_compiles_exactly_rejects_too_few_and_at_most_does_not():
    with pytest.raises(AssertionError, match="2 programs to be compiled, found 0"):  # noqa: SIM117
        with jxc.assert_compiles(2):
            pass
    with jxc.assert_compiles(at_most=2):
        pass
    with pytest.raises(AssertionError, match="at most one program to be compiled, found 2"):  # noqa: SIM117
        with jxc.assert_compiles(at_most=1):
            jax.jit(lambda x: x)(X)
            jax.jit(lambda x: x)(X)


def test_assert_compiles_can_ignore_operations_outside_jit():
    with jxc.assert_compiles(0, eager=False) as log:
        jnp.cumsum(jnp.arange(7)) * 3
    assert log.compilations


@pytest.mark.parametrize(("numbers", "named"), [((), {}), ((1,), {"at_most": 1})])
def test_assert_compiles_requires_one_number(numbers, named):
    with pytest.raises(jxc.JxcError, match=r"expected assert_compiles\(N\) or"):  # noqa: SIM117
        with jxc.assert_compiles(*numbers, **named):
            pass
