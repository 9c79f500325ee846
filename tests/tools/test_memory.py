"""Memory, on the dumps of XLA's CPU, GPU and TPU compilers: figures worked out by hand.

`memory_cpu`, `memory_gpu` and `memory_tpu` are one program:

    def train(weights, x):                                # f32[4096,4096], f32[16384,4096]
        def loss(weights):
            hidden = jnp.tanh(x @ weights)                # line 9
            hidden = jnp.tanh(hidden @ weights)           # line 10
            return hidden.sum()                           # line 11
        value, gradient = jax.value_and_grad(loss)(weights)
        return weights - 0.1 * gradient, value            # `weights` is donated

`memory_loop` is `jax.lax.fori_loop(0, 3, lambda i, y: jnp.tanh(y @ x), x)` for f32[8192,8192].
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jxc.backend.targets import Device
from jxc.hlo import parse_hlo
from jxc.tools.report.buffers import LiveRange, parse_assignment, parse_live_ranges
from jxc.tools.report.fit import Fit, fits, parse_out_of_memory
from jxc.tools.report.memory import Memory, measure_memory

PROGRAMS = Path(__file__).parent / "programs"
MIB = 2**20
WEIGHTS, HIDDEN = 64 * MIB, 256 * MIB
ARENA = 3 * HIDDEN + WEIGHTS


def _measure(name: str, kind: str, stats: dict[str, int] | None = None) -> Memory:
    folder = PROGRAMS / f"memory_{name}"
    texts = [(folder / f"{part}.txt").read_text() for part in ("buffer-assignment", "live-range")]
    return measure_memory(*texts, stats, parse_hlo((folder / "hlo.txt").read_text()), kind)


def _stats(**given: int) -> dict[str, int]:
    names = ("argument", "output", "temp", "alias", "generated_code")
    sizes = {f"{name}_size_in_bytes": given.get(name, 0) for name in names}
    return {**sizes, "peak_memory_in_bytes": given.get("peak", 0)}


@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_the_figures_are_those_of_the_assignment(kind: str) -> None:
    memory = _measure(kind, kind)
    assert memory.arguments == WEIGHTS + HIDDEN
    assert memory.outputs == WEIGHTS + 4 + 16  # the loss, and a table of two pointers
    assert memory.aliases == WEIGHTS
    assert memory.temporaries == ARENA
    assert memory.peak == WEIGHTS + HIDDEN + 20 + ARENA
    assert memory.gaps == 0


def test_on_tpu_every_allocation_is_padded_and_the_vector_memory_is_not_counted() -> None:
    memory = _measure("tpu", "tpu")
    assert memory.outputs == WEIGHTS + 2 * 512
    # Pointers and the memory on the core: the first in steps of 16 KiB, the second not at all.
    assert ARENA < memory.temporaries < ARENA + MIB
    assert sum(buffer.bytes for buffer in memory.buffers) == memory.peak - memory.gaps
    assert 0 < memory.gaps < MIB


@pytest.mark.parametrize("kind", ["cpu", "gpu", "tpu"])
def test_what_is_live_at_the_peak_has_names_and_lines(kind: str) -> None:
    buffers = [each for each in _measure(kind, kind).buffers if each.bytes >= WEIGHTS]
    arguments = {each.name: each for each in buffers if each.kind == "argument"}
    assert {name: each.bytes for name, each in arguments.items()} == {
        "x": HIDDEN,
        "weights": WEIGHTS,
    }
    assert arguments["weights"].is_donated and not arguments["x"].is_donated
    assert len(arguments["weights"].shared_with) == 1
    temporaries = [each for each in buffers if each.kind == "temporary"]
    assert sorted(each.bytes for each in temporaries) == [WEIGHTS, HIDDEN, HIDDEN, HIDDEN]
    assert {each.place.line for each in temporaries if each.place} <= {9, 10}
    assert all(each.place and each.place.file == "/home/user/train.py" for each in temporaries)
    assert len(buffers) == 6


def test_a_table_of_pointers_is_a_tuple() -> None:
    table = next(each for each in _measure("cpu", "cpu").buffers if each.shape == "tuple")
    assert (table.kind, table.bytes, table.name) == ("output", 16, "tuple of jit(train)/sub")


def test_what_is_updated_in_place_is_counted_once() -> None:
    # XLA lists gemm_fusion_dot_general.5 and loop_add_fusion at its peak, step 9: the second is
    # written over the first. The most is needed at step 8, where a product has joined them.
    names = {each.instruction for each in _measure("gpu", "gpu").buffers}
    assert {"gemm_fusion_dot_general.5", "gemm_fusion_dot_general.8", "loop_add_fusion.1"} <= names
    assert "loop_add_fusion" not in names


def test_what_a_loop_carries_was_written_by_its_body() -> None:
    memory = _measure("loop", "tpu")
    argument, output, copy, rounded = memory.buffers[:4]
    assert (argument.name, argument.bytes) == ("x", HIDDEN)
    assert (output.kind, output.instruction) == ("output", "convolution_tanh_fusion.2")
    assert output.shared_with == ("copy.9",)  # the loop starts in the same memory
    assert copy.name == "copy of jit(powers)/while/body/closed_call/dot_general"
    assert copy.place is not None and copy.place.line == 18
    assert (rounded.shape, rounded.bytes) == ("bf16[8192,8192]", HIDDEN // 2)
    assert (rounded.name, rounded.place) == ("convert of x", None)
    assert memory.constants == 4 * 512
    assert all(each.kind == "constant" for each in memory.constant_buffers)


def test_the_figures_of_xla_go_before_our_sums() -> None:
    stats = _stats(argument=1000, output=100, temp=10, alias=1, generated_code=50, peak=1105)
    gpu, tpu = _measure("loop", "gpu", stats), _measure("loop", "tpu", stats)
    assert gpu.peak == tpu.peak == 1109
    assert gpu.needed == 1109 + 4 * 512  # more constants than code
    assert (gpu.xla_peak, tpu.xla_peak) == (1105, None)
    assert not [each for each in tpu.buffers if each.kind == "temporary"]  # none fits into 10


def test_on_gpu_the_memory_of_collectives_is_main_memory() -> None:
    text = "allocation 0: size 64, color 1, preallocated-temp:\n"
    module = parse_hlo((PROGRAMS / "memory_loop" / "hlo.txt").read_text())
    sizes = {kind: measure_memory(text, "", None, module, kind).peak for kind in ("gpu", "tpu")}
    assert sizes == {"gpu": 64, "tpu": 0}


def test_the_assignment_is_read_whole() -> None:
    text = (PROGRAMS / "memory_tpu" / "buffer-assignment.txt").read_text()
    allocations = parse_assignment(text)
    assert len(allocations) == text.count("allocation ")
    assert sum(len(each.values) for each in allocations) == text.count(" value: ")
    donated = next(each for each in allocations if each.parameter == (0, ()))
    assert donated.is_output and donated.kind == "argument"
    assert [(value.instruction, value.index) for value in donated.values] == [
        ("weights.1", ()),
        ("copy-start.2", (0,)),
    ]
    assert parse_assignment("nothing of the kind") == ()


def test_the_ranges_end_where_the_peak_is_told() -> None:
    text = (PROGRAMS / "memory_gpu" / "live-range.txt").read_text()
    ranges = parse_live_ranges(text)
    assert len(ranges) == 13
    assert ranges["gemm_fusion_dot_general.5", ()] == LiveRange(2, 9)
    assert parse_live_ranges("") == {}


def _device(memory_bytes: int, kind: str = "tpu") -> Device:
    return Device("some", kind, "", memory_bytes, 1e12, {}, None, 0.0, "a test", {})


def test_what_does_not_fit_says_by_how_much_and_what_would_help() -> None:
    memory = _measure("gpu", "gpu")
    fit = fits(memory, _device(1024 * MIB))
    assert (fit.fits, fit.rest) == (False, 1024 * MIB - memory.peak)
    assert str(fit) == "does not fit: needs 1.125 GiB of 1 GiB, 128 MiB too much"
    assert fit.largest[0] == "256 MiB f32[16384,4096] argument (x)"
    named, kept = fit.advice
    assert named.startswith("the largest temporaries at the peak: 256 MiB f32[16384,4096]")
    assert kept.startswith("256 MiB of temporaries are kept for the gradient: jax.checkpoint")


def test_donating_is_advised_where_an_output_has_the_shape_of_an_argument() -> None:
    advice = fits(_measure("loop", "tpu"), _device(512 * MIB)).advice
    assert advice[-1] == "donating arguments (donate_argnums) may save up to 256 MiB"


def test_what_fits_says_what_is_left() -> None:
    fit = fits(_measure("gpu", "gpu"), _device(4096 * MIB))
    assert (fit.fits, fit.advice) == (True, ())
    assert str(fit) == "fits: 1.125 GiB of 4 GiB, 2.875 GiB free"
    assert fits(_measure("gpu", "gpu"), _device(0)).fits is None


def test_jax_leaves_a_quarter_of_a_gpu() -> None:
    memory = _measure("gpu", "gpu")
    fit = fits(memory, _device(1280 * MIB, "gpu"))
    assert fit.fits and "XLA_PYTHON_CLIENT_MEM_FRACTION" in fit.advice[0]
    assert fits(memory, _device(1280 * MIB, "tpu")).advice == ()


def test_a_refusal_of_the_tpu_compiler_gives_the_same_verdict() -> None:
    fit = parse_out_of_memory((PROGRAMS / "memory_tpu" / "refusal.txt").read_text())
    assert fit is not None and fit.fits is False
    assert fit.available == 15.75 * 2**30
    assert -fit.rest == 9.5 * MIB
    assert fit.largest == (
        "5.25 GiB s32[1409000000] HLO temp (iota)",
        "5.25 GiB f32[1409000000] (Argument 0 index {})",
        "9.74 MiB overlays (overlays)",
        "512 B (f32[1409000000], s32[1409000000]) HLO temp at /home/user/order.py:7 "
        "(jit(order)/jit(sort)/sort)",
    )


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (
            "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total "
            "memory required for HLO temporaries (48.00G) exceeds available HBM (15.75G). HLO "
            "module: jit_f.",
            "does not fit: needs 48 GiB of 15.75 GiB, 32.25 GiB too much",
        ),
        (
            "Ran out of memory on HBM, the total memory required for HLO temporaries (15.75G) "
            "exceeds available HBM (15.75G)",
            "does not fit: needs 15.75 GiB of 15.75 GiB",
        ),
        (
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 68719476736 bytes.",
            "does not fit: needs 64 GiB; the device's memory is not known",
        ),
    ],
)
def test_shorter_refusals(message: str, words: str) -> None:
    assert str(parse_out_of_memory(message)) == words


def test_a_refusal_is_explained_by_what_the_compiler_had_written() -> None:
    said = parse_out_of_memory((PROGRAMS / "memory_tpu" / "refusal.txt").read_text())
    memory = _measure("tpu", "tpu")
    fit = fits(memory, _device(2**40), said)
    assert said is not None and (fit.fits, fit.needed, fit.rest) == (False, said.needed, said.rest)
    assert fit.largest[0] == "256 MiB f32[16384,4096] argument (x)"
    named, kept = fit.advice
    assert "512 B" not in named
    assert kept.startswith("512 MiB of temporaries are kept for the gradient")
    unknown = fits(memory, _device(MIB), parse_out_of_memory("Out of memory allocating 9 bytes"))
    assert (unknown.needed, unknown.available) == (memory.needed, MIB)


def test_other_errors_are_no_refusal() -> None:
    assert parse_out_of_memory("INVALID_ARGUMENT: Ran out of patience") is None


def test_json_has_every_figure() -> None:
    memory = _measure("gpu", "gpu")
    told = memory.as_json()
    assert told["peak_bytes"] == memory.peak and told["gaps_bytes"] == 0
    first = told["buffers"][1]
    assert (first["file"], first["line"], first["bytes"]) == ("/home/user/train.py", 9, HIDDEN)
    assert Fit(2, 3).as_json()["rest_bytes"] == 1
