"""Flops of StableHLO ops, compared with those of HLO instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import jxc
from jxc.cost.flops import total_of
from jxc.hlo import parse_hlo
from jxc.hlo.work import executed, totals_of
from jxc.ir import functions


def image(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def flops_of_stablehlo(lowered: Any) -> int:
    module = lowered.opt("inline").module  # the region does not keep it alive
    return total_of(functions(module)["main"].regions[0]).flops


@pytest.mark.parametrize(
    ("fn", "args"),
    [
        (lambda x, w: jnp.tanh(x @ w), (image(8, 16), image(16, 4))),
        (lambda x: jnp.sum(jnp.exp(x), axis=1), (image(32, 64),)),
        (
            lambda x, k: jax.lax.conv_general_dilated(x, k, (2, 2), "SAME"),
            (image(2, 3, 16, 16), image(8, 3, 3, 3)),
        ),
        (
            lambda x, k: jax.lax.conv_general_dilated(
                x, k, (1, 1), [(1, 1), (1, 1)], lhs_dilation=(2, 2)
            ),
            (image(2, 3, 8, 8), image(8, 3, 3, 3)),
        ),
        (jax.lax.sort, (jax.ShapeDtypeStruct((4, 64), jnp.int32),)),
        (lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (3,), (1,), "SAME"), (image(64),)),
    ],
    ids=[
        "dot_general",
        "reduce",
        "convolution",
        "transposed_convolution",
        "sort",
        "reduce_window",
    ],
)
def test_stablehlo_and_hlo_count_the_same(fn: Callable[..., Any], args: tuple[Any, ...]) -> None:
    lowered = jxc.lower(fn, *args)
    ours = totals_of(executed(parse_hlo(lowered.compile("cpu").as_text("hlo")))).flops
    assert flops_of_stablehlo(lowered) == pytest.approx(ours, rel=0.05)


def test_while_counts_each_iteration() -> None:
    def repeated(x: Any) -> Any:
        return jax.lax.fori_loop(0, 100, lambda _, h: h @ x, x)

    assert flops_of_stablehlo(jxc.lower(repeated, image(16, 16))) == pytest.approx(
        100 * 2 * 16**3, rel=0.01
    )


def test_while_of_unknown_trip_count_is_one_iteration() -> None:
    def repeated(x: Any, n: Any) -> Any:
        return jax.lax.fori_loop(0, n, lambda _, h: h @ x, x)

    found = flops_of_stablehlo(
        jxc.lower(repeated, image(16, 16), jax.ShapeDtypeStruct((), jnp.int32))
    )
    assert found == pytest.approx(2 * 16**3, rel=0.01)
