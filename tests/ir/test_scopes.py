"""Named scopes out of the paths that JAX gives its ops."""

from __future__ import annotations

import pytest

from jxc.ir.locations import op_in_scope, scope_of

PATHS = {
    "jit(step)/jvp(conv1_bn)/jit(_var)/div": "conv1_bn",
    "jit(step)/transpose(jvp(conv1_bn))/mul": "gradient of conv1_bn",
    "jit(f)/jvp(Net)/Block_0/Dense_1/dot_general": "Block_0/Dense_1",
    "jit(f)/transpose(jvp(Net))/jvp(Net)/checkpoint/rematted_computation/Block_0/Norm_0/mul": (
        "gradient of Block_0/Norm_0"
    ),
    "jit(f)/vmap(jvp(a/b))/sin": "a/b",
    "jit(f)/jvp(Net)/Block_0/add;jit(f)": "Net/Block_0",
    "jit(f)/jvp()/while/body/closed_call/dot_general": "",
    "jit(f)/cond/branch_1_fun/custom_jvp_call/sin": "",
    "jit(f)/jit(relu)/max": "",
    "reduce_sum": "",
    "weights[3]": "",
    "": "",
}


@pytest.mark.parametrize("path", PATHS)
def test_only_what_somebody_named_is_a_scope(path: str) -> None:
    assert scope_of(path) == PATHS[path]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("jit(step)/jvp(conv1)/add", "add in conv1"),
        ("copy of jit(step)/transpose(jvp(conv1))/add", "copy of add in gradient of conv1"),
        ("copy of params['w']", "copy of params['w']"),
        ("jit(f)/jvp()/while/body/sin", "sin"),
        ("", ""),
    ],
)
def test_an_op_in_words(path: str, words: str) -> None:
    assert op_in_scope(path) == words
