"""Programs that call back into Python are compared without these calls."""

import jax
import numpy as np
import pytest
from jax.experimental import io_callback

import jxc
from jxc.check.callbacks import without_callbacks
from jxc.check.modules import with_main
from jxc.check.verify import verify_modules
from jxc.ir import op_names

X = np.linspace(-1, 1, 8, dtype=np.float32)


def told(factor):
    def step(x):
        y = x * x
        jax.debug.print("{}", factor * y.sum(), ordered=True)
        same = jax.pure_callback(np.asarray, jax.ShapeDtypeStruct(x.shape, x.dtype), y)
        other = jax.pure_callback(np.int32, jax.ShapeDtypeStruct((), np.int32), y[0])
        io_callback(lambda v: None, None, same, ordered=True)
        return same + x, other

    return step


def in_loop(x):
    def body(carry, row):
        jax.debug.print("{}", carry)
        return carry * row, carry

    return jax.lax.scan(body, x[0], x)


def test_verify_compares_programs_with_callbacks():
    for function in (told(2.0), in_loop):
        found = jxc.verify(function, X)
        assert found.agrees, str(found)
        assert found.draws > 0


def test_what_is_printed_is_compared():
    before, after = (jxc.lower(told(factor), X).module for factor in (2.0, 3.0))
    [found] = verify_modules(before, after)
    assert found.report.ran
    assert found.report.difference is not None


@pytest.mark.parametrize("target", ["cpu", "tpu:v5e", "gpu:h100"])
def test_without_callbacks_has_no_tokens_as_arguments(target):
    lowered = jxc.lower(told(2.0), X).for_target(target)
    program = without_callbacks(with_main(lowered.module, "main"))
    assert program.operation.verify()
    names = op_names(program)
    assert not names & {"stablehlo.custom_call", "stablehlo.send", "stablehlo.recv"}
    main = str(program).partition("@main(")[2].partition("{\n")[0]
    assert "token" not in main


def test_program_without_callbacks_is_not_changed():
    program = with_main(jxc.lower(lambda x: x + 1, X).module, "main")
    text = str(program)
    assert str(without_callbacks(program)) == text
