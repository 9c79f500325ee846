"""Which line a kernel without metadata is charged to: that of the op, or none; never a reader's."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from jxc.backend.targets import find_target
from jxc.source import SourceLine
from jxc.tools.profile.presentation import as_text
from jxc.tools.profile.profile import Piece, Profile
from jxc.tools.profile.programs import KernelCost, RecordedProgram
from jxc.tools.profile.unlabelled import Origin

X, W, V = jnp.ones((1, 1, 4096)), jnp.ones((1, 1, 129)), jnp.ones((1, 1, 129))
INDEX = (jnp.arange(4096) * 7) % 4096
LAYOUT = ("NCW", "OIW", "NCW")


def gathered(x, w, i):
    y = lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=LAYOUT)  # convolution
    return y[0, 0][i]


def numpy_like(x, w, i):
    y = jnp.convolve(x[0, 0], w[0, 0], mode="same")  # convolution
    return y[i]


def kernel_gradient(x, w, i):
    def loss(w):
        y = lax.conv_general_dilated(x, w, (2,), "SAME", dimension_numbers=LAYOUT)  # convolution
        return jnp.sum(jnp.tanh(y[0, 0]) * i[:2048])

    return jax.grad(loss)(w)


def cumulative(x, w, i):
    s = jnp.cumsum(x[0, 0])  # reduce-window add
    p = jnp.cumprod(x[0, 0])  # reduce-window multiply
    return s[i] + p[i]


def pooled(x, w, i):
    def loss(x):
        y = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3), (1, 1, 2), "SAME")  # reduce-window
        return jnp.sum(jnp.tanh(y))

    return jax.grad(loss)(x)[0, 0][i]


def parallel(x, w, i, v):
    a = lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=LAYOUT)  # argument 1
    b = lax.conv_general_dilated(x, v, (1,), "SAME", dimension_numbers=LAYOUT)  # argument 3
    return (a + b)[0, 0][i]


def alike(x, w, i):
    a = lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=LAYOUT)
    b = lax.conv_general_dilated(jnp.sin(x), jnp.sin(w), (1,), "SAME", dimension_numbers=LAYOUT)
    c = lax.conv_general_dilated(jnp.cos(x), jnp.cos(w), (1,), "SAME", dimension_numbers=LAYOUT)
    return a[0, 0][i] * b[0, 0][i] * c[0, 0][i]


def chained(x, w, i):
    y = lax.conv_general_dilated(x, w, (1,), "SAME", dimension_numbers=LAYOUT)  # first
    y = lax.conv_general_dilated(y, w, (1,), "SAME", dimension_numbers=LAYOUT)  # second
    y = lax.conv_general_dilated(y, w, (1,), "SAME", dimension_numbers=LAYOUT)  # third
    return y[0, 0][i]


def program_of(fn, *args):
    lowered = jax.jit(fn).lower(*args)
    text = lowered.compile().as_text()
    module = lowered.compiler_ir()
    device = find_target("cpu").device
    return RecordedProgram("jit_f(1)", text, frozenset(), device, lambda: module)


def charged(program, opcode):
    """The texts of the lines that kernels with this opcode, and without metadata, are charged to.

    `opcode` may be followed by the opcode at the root of its region.
    """
    name, _, body = opcode.partition(" ")
    for kernel in program.kernels.values():
        fused = kernel.instruction.fused
        ops = fused.instructions if fused else [kernel.instruction]
        found = [op for op in ops if op.opcode == name]
        regions = [op.callee("to_apply") for op in found]
        if not found or (body and all(each.root.opcode != body for each in regions)):
            continue
        for origin, _ in program.cost_of(kernel.name).parts:
            yield origin.line.text if origin.line else ""


@pytest.mark.parametrize(
    ("fn", "opcode", "mark"),
    [
        (gathered, "convolution", "# convolution"),
        (numpy_like, "convolution", "# convolution"),
        (kernel_gradient, "convolution", "# convolution"),
        (cumulative, "reduce-window add", "# reduce-window add"),
        (cumulative, "reduce-window multiply", "# reduce-window multiply"),
        (pooled, "reduce-window", "# reduce-window"),
    ],
)
def test_kernel_without_metadata_has_the_line_of_its_op(fn, opcode, mark):
    program = program_of(fn, X, W, INDEX)
    lines = [*charged(program, opcode)]
    assert lines and all(line.endswith(mark) for line in lines), lines


def test_arguments_tell_ops_of_the_same_shape_apart():
    lines = [*charged(program_of(parallel, X, W, INDEX, V), "convolution")]
    assert sorted(line.rpartition("# ")[2] for line in lines) == ["argument 1", "argument 3"]


def test_line_is_unknown_where_several_ops_fit():
    lines = [*charged(program_of(alike, X, W, INDEX), "convolution")]
    assert "" in lines and all("lax.conv" in line for line in filter(None, lines))


def test_op_is_not_taken_for_a_part_of_the_op_before_it():
    lines = [*charged(program_of(chained, X, W, INDEX), "convolution")]
    assert [line.rpartition("# ")[2] for line in lines] == ["first", "", ""]


def test_line_is_unknown_without_the_lowered_module():
    program = program_of(gathered, X, W, INDEX)
    alone = RecordedProgram("jit_f(1)", program.hlo, frozenset(), find_target("cpu").device)
    assert [*charged(alone, "convolution")] == [""]


def test_calls_of_several_programs_are_added_up_and_divide_the_time():
    line = Origin(SourceLine("/a.py", 1), "", ())
    pieces = [
        Piece("device work", line, 2.0, 2.0, program, _kernel(name), calls=20)
        for program in ("jit_f(1)", "jit_f(2)")
        for name in ("dot", "add")
    ]
    profile = Profile("a.py", 8.0, {"device work": 8.0}, pieces)
    assert [row.calls for row in profile.rows("line")] == [40]
    text = as_text(profile, plain=True)
    assert "calls    each" in text and "40  200 ms" in text


def test_kernels_without_a_line_are_named_by_what_they_do():
    nowhere = Origin(None, "", ())
    pieces = [Piece("device work", nowhere, 1.0, 1.0, "jit_f(1)", _kernel("copy"), calls=1)]
    rows = Profile("a.py", 1.0, {"device work": 1.0}, pieces).rows("line")
    assert [(row.name, row.detail) for row in rows] == [("(unknown)", "copy")]


def _kernel(name):
    return KernelCost(name, "loop", f"loop: {name}", 1.0, 1.0, None, ())
