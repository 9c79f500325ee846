"""Products and convolutions whose measured time is far above the roofline's.

XLA:CPU calls a library for most of them, which comes close to the roofline. For others it compiles
loops that reach a few percent of it: convolutions over three dimensions, those in loops whose
dimensions are not in the library's order, windows as large as the image. The program runs here
under the profiler; where O2 gains, as `slow-on-target` reports, the program after O2 does. So a
second is part of one finding only.

The remedies are forms of the same computation that were measured to be faster on jaxlib 0.10.2 and
0.12: alone, with their gradients, and in a 3-D U-Net and a ConvLSTM.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod, sqrt
from time import perf_counter
from typing import NamedTuple

import jax

from ....compiled.kernels import Kernel
from ....hlo import Instruction
from ....hlo.work import describe
from ....source import SourceLine
from ..finding import Finding, FindingCost, compiled_check
from ..jaxpr import TracedEquation
from ..kernel_times import TimedKernel, TimedRun, convolution_in, loop_speed
from ..program import ExaminedProgram
from .slow_on_target import gain_of, timeable

_MIN_SHARE = 0.1  # of a run: what all such ops take above the roofline
_MIN_LINE_SHARE = 0.02  # of a run
_MIN_HALF_SHARE = 0.005  # of a run
_WIDE_WINDOW = 900  # elements of a window of one channel, for which FFTs were faster
_WIDE_LINE = 4000  # the same over one dimension; for 1000 elements they were not

_STACKED = (
    "Stack the slices that the window covers along the first dimension as channels, and convolve "
    "over one dimension less: with k of them, jnp.concatenate([x[:, i:i+d] for i in range(k)], "
    "-1), depths as a part of the batch, and the kernel reshaped alike. XLA:CPU's library takes "
    "windows of up to two dimensions. Measured 3 to 20 times as fast, gradients up to 70."
)
_ZEROS = "Insert the zeros of its stride by jax.lax.pad first. "
_BLOCKS = (
    "The stride is the size of the window, so that the results of inputs do not overlap. Write it "
    "as a product, x @ jnp.moveaxis(reversed, -2, 0).reshape(inputs, -1), where reversed is the "
    "kernel with its windows reversed by jnp.flip, and arrange the columns to blocks by a reshape "
    "and a transpose. Measured 2 to 100 times as fast, gradients 9 to 50."
)
_IN_LOOP_FORWARD = (
    "XLA:CPU brings the dimensions of a convolution into its library's order only outside of loops "
    "and branches. Transpose before the loop, and convolve with dimension_numbers=('NHWC', 'HWIO', "
    "'NHWC'). Measured 20 times as fast."
)
_IN_LOOP = (
    "XLA:CPU brings the dimensions of a convolution into its library's order only outside of loops "
    "and branches, and those of a gradient are in another order. If the iterations are few, unroll "
    "all of them: lax.scan(..., unroll=True). Or write a product in the loop, "
    "jnp.concatenate(slices, -1) @ w.reshape(-1, outputs), with a slice of the padded image for "
    "each element of the window. Measured 10 to 40 times as fast with gradients."
)
_FFT = (
    "jax.scipy.signal.fftconvolve computes it by FFTs, up to rounding. Measured 20 to 70 times as "
    "fast for windows of this size."
)
_UNKNOWN = (
    "No faster form of it is known. `jxc tune` measures whether an option of XLA or another "
    "pipeline helps."
)


@compiled_check
def far_below_roofline(program: ExaminedProgram) -> Iterator[Finding]:
    """Products and convolutions that run far below the roofline on this machine's CPU.

    The roofline is the least time: flops at the measured rate of the library, bytes at that of
    memory. XLA:CPU's own loops reach a few percent of it. Reported are kernels nearer to the rate
    of these loops than to the library's, below 15 to 20%, if they take a tenth of a measured run
    above the roofline; those for which no faster form is known, only at the speed of the loops. The
    finding says which half of a gradient they are. Programs with side effects, and those that might
    take much memory or time, are not run.
    """
    run, how = _measured(program)
    if run is None:
        return
    far = [_located(program, each) for each in run.kernels if _is_far(each)]
    if _excess(far) < _MIN_SHARE * run.seconds:
        return
    by_line: dict[tuple[SourceLine | None, str], list[_FarKernel]] = {}
    for each in far:
        by_line.setdefault((each.place, _op_of(each.timed.kernel)), []).append(each)
    for (place, op), group in by_line.items():
        if _excess(group) < _MIN_LINE_SHARE * run.seconds:
            continue
        remedy = _remedy(program, place, group)
        if remedy is None and _is_faster_than_loops(group):
            continue
        yield Finding(
            place,
            f"{_speed(op, group, run)}: {_halves(group, run)}; {_longest(group)}",
            remedy or _UNKNOWN,
            FindingCost(
                seconds=_excess(group), how=f"above the roofline, of {run.seconds:.3g} s {how}"
            ),
        )


def _measured(program: ExaminedProgram) -> tuple[TimedRun | None, str]:
    """The kernels of a run, after O2 if that gains, and a description of the run."""
    target = program.target
    if not (target.is_present and target.kind == "cpu"):
        return None, ""
    gain = gain_of(program)
    level = "O2" if gain and gain.is_reported else "O0"
    found = timeable(program, level)
    if found is None or not any(_op_of(kernel) for kernel in found.kernels):
        return None, ""
    seconds = [_seconds_of(found.run) for _ in range(2)]  # the first run allocates memory
    if level == "O2" and gain:
        seconds.append(gain.after)
    run = found.timed(target.device)
    how = f"a run{' after O2' if level == 'O2' else ''}, {found.how}"
    return run and run.within(min(seconds)), how


def _seconds_of(call: Callable[[], object]) -> float:
    start = perf_counter()
    jax.block_until_ready(call())
    return perf_counter() - start


def _is_far(timed: TimedKernel) -> bool:
    """Whether a product or convolution is nearer to XLA's loops than to the library."""
    kernel = timed.kernel
    if kernel.kind == "library" or not _op_of(kernel) or kernel.flops.unknown or not timed.least:
        return False
    return timed.least < sqrt(loop_speed(kernel)) * timed.seconds


def _is_faster_than_loops(group: Sequence[_FarKernel]) -> bool:
    least = sum(each.timed.least for each in group)
    return least > loop_speed(group[0].timed.kernel) * sum(each.timed.seconds for each in group)


def _excess(group: Sequence[_FarKernel]) -> float:
    """The seconds above the roofline."""
    return sum(max(each.timed.seconds - each.timed.least, 0.0) for each in group)


def _op_of(kernel: Kernel) -> str:
    """What a kernel computes, if that is a product or a convolution; else empty."""
    convolution = convolution_in(kernel)
    if convolution is not None:
        rank = len(describe(convolution).window)
        return f"convolution over {rank} dimension{'s' * (rank != 1)}"
    return "product" if "dot_general" in kernel.ops else ""


class _FarKernel(NamedTuple):
    """A kernel far below the roofline.

    Attributes:
        timed: with its times.
        place: the user's line.
        half: of a gradient, see `_half`.
    """

    timed: TimedKernel
    place: SourceLine | None
    half: str


def _located(program: ExaminedProgram, timed: TimedKernel) -> _FarKernel:
    """A kernel with its line and half; XLA makes some that have no name of JAX's.

    Such a kernel is that of the equations of its shape, if these are on one line.
    """
    instruction = timed.kernel.instruction
    place, name = instruction.place, instruction.op_name
    if not name:
        alike = [each for each in program.equations if _is_alike(each, instruction)]
        if len({each.place for each in alike}) == 1:
            place, name = place or alike[0].place, _stack_of(alike[0])
    return _FarKernel(timed, place, _half(timed.kernel, name))


def _is_alike(each: TracedEquation, instruction: Instruction) -> bool:
    if each.name not in ("conv_general_dilated", "dot_general"):
        return False
    return sorted(each.results[0].shape) == sorted(instruction.shape.dims)


def _stack_of(each: TracedEquation) -> str:
    """The name scopes and transformations of an equation, such as "transpose(jvp(loss))"."""
    return str(each.equation.source_info.name_stack)


# The text


def _speed(op: str, group: Sequence[_FarKernel], run: TimedRun) -> str:
    what = f"a {op} takes" if len(group) == 1 else f"{op.replace(' over', 's over', 1)} take"
    if op == "product" and len(group) > 1:
        what = "products take"
    return f"{what} {_share(group, run)} of the time, at {_part_of_roofline(group)} of the roofline"


def _share(group: Sequence[_FarKernel], run: TimedRun) -> str:
    return f"{min(sum(each.timed.seconds for each in group) / run.seconds, 1.0):.0%}"


def _part_of_roofline(group: Sequence[_FarKernel]) -> str:
    least = sum(each.timed.least for each in group)
    return f"{100 * least / sum(each.timed.seconds for each in group):.2g}%"


def _halves(group: Sequence[_FarKernel], run: TimedRun) -> str:
    """The halves of the group, with the share and the speed of each if there are several."""
    halves: dict[str, list[_FarKernel]] = {}
    for each in sorted(group, key=lambda each: -each.timed.seconds):
        halves.setdefault(each.half, []).append(each)
    shown = [
        f"{half} {_share(own, run)} (at {_part_of_roofline(own)})"
        for half, own in halves.items()
        if _excess(own) >= _MIN_HALF_SHARE * run.seconds
    ]
    return ", ".join(shown) if len(halves) > 1 else next(iter(halves))


def _longest(group: Sequence[_FarKernel]) -> str:
    name = max(group, key=lambda each: each.timed.seconds).timed.kernel.name
    return f"the longest of {len(group)} kernels is {name}" if len(group) > 1 else f"kernel {name}"


def _half(kernel: Kernel, name: str) -> str:
    """Which half of a gradient a kernel is part of.

    JAX names the ops of the backward half "transpose(jvp(...))". The gradient by the kernel has the
    gradient of the result as its window, and few positions. That of a product by its right operand
    is transposed; of a batch of products, the one by the left operand may be transposed, too.
    """
    if "transpose(" not in name:
        return "forward"
    if "rematted_computation" in name:
        return "recomputed forward"
    convolution = convolution_in(kernel)
    if convolution is None:
        if kernel.instruction.attributes.get("lhs_batch_dims"):
            return "backward"
        is_right = name.endswith("/transpose")
        return f"backward by the {'right' if is_right else 'left'} operand"
    found = describe(convolution)
    assert found.convolution is not None
    positions = prod(found.results[0].dims[dim] for dim in found.convolution.output_spatial)
    is_wide = prod(each.size for each in found.window) > positions
    return f"backward by the {'kernel' if is_wide else 'input'}"


# The remedies


def _remedy(
    program: ExaminedProgram, place: SourceLine | None, group: Sequence[_FarKernel]
) -> str | None:
    """What to write instead, by the convolutions of the user's on the line; None if not known."""
    longest = max(group, key=lambda each: each.timed.seconds).timed.kernel
    convolution = convolution_in(longest)
    if convolution is None:
        return None
    written = [each for each in program.equations if _is_written_at(each, place)]
    if any(each.equation.params["feature_group_count"] > 1 for each in written):
        return None
    if any(map(_makes_blocks, written)):
        return _BLOCKS
    if len(describe(convolution).window) > 2:
        return _ZEROS + _STACKED if any(map(_is_transposed, written)) else _STACKED
    if any(map(_has_wide_window, written)):
        return _FFT
    if not longest.instruction.computation.is_entry:
        is_forward = all(each.half == "forward" for each in group)
        return _IN_LOOP_FORWARD if is_forward else _IN_LOOP
    return None


def _is_written_at(each: TracedEquation, place: SourceLine | None) -> bool:
    """Whether an equation is a convolution of the user's on a line, not a gradient of one."""
    if each.name != "conv_general_dilated" or place is None or each.place is None:
        return False
    is_there = (each.place.file, each.place.line) == (place.file, place.line)
    return is_there and "transpose(" not in _stack_of(each)


def _window_of(each: TracedEquation) -> list[int]:
    dims = each.equation.params["dimension_numbers"].rhs_spec[2:]
    return [each.equation.invars[1].aval.shape[dim] for dim in dims]


def _is_transposed(each: TracedEquation) -> bool:
    return any(stride > 1 for stride in each.equation.params["lhs_dilation"])


def _makes_blocks(each: TracedEquation) -> bool:
    """Whether it is a transposed convolution whose stride is the size of its window."""
    strides = list(each.equation.params["lhs_dilation"])
    return _is_transposed(each) and bool(strides == _window_of(each))


def _has_wide_window(each: TracedEquation) -> bool:
    """Whether it is of one channel, with a window for which FFTs were measured to be faster."""
    window, kernel = _window_of(each), each.equation.invars[1].aval.shape
    least = _WIDE_WINDOW if len(window) > 1 else _WIDE_LINE
    return bool(least <= prod(window) == prod(kernel))
