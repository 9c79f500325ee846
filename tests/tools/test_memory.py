"""Memory, on the dumps of XLA's CPU, GPU and TPU compilers: sizes computed by hand.

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

from jxc.compiled.buffers import LiveRange, parse_assignment, parse_live_ranges
from jxc.compiled.fit import Fit, fits, parse_out_of_memory
from jxc.compiled.memory import Memory, measure_memory
from jxc.cost.device import Device
from jxc.hlo import parse_hlo

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
def test_measure_memory_adds_up_the_assignment(kind: str) -> None:
    memory = _measure(kind, kind)
    assert memory.arguments == WEIGHTS + HIDDEN
    assert memory.outputs == WEIGHTS + 4 + 16  # the loss, and a table of two pointers
    assert memory.aliases == WEIGHTS
    assert memory.temporaries == ARENA
    assert memory.peak == WEIGHTS + HIDDEN + 20 + ARENA
    assert memory.gaps == 0


def test_measure_memory_on_tpu_counts_padding_and_not_vector_memory() -> None:
    memory = _measure("tpu", "tpu")
    assert memory.outputs == WEIGHTS + 2 * 512
    # Pointers count in steps of 16 KiB; memory on the core does not count.
    assert ARENA < memory.temporaries < ARENA + MIB
    assert sum(buffer.bytes for buffer in memory.buffers) == memory.peak - memory.gaps
    assert 0 < memory.gaps < MIB


@pytest.mark.parametrize("kind", ["cpu", "gpu", "tpu"])
def test_buffers_at_the_peak_have_names_and_lines(kind: str) -> None:
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


def test_table_of_pointers_is_named_tuple() -> None:
    table = next(each for each in _measure("cpu", "cpu").buffers if each.shape == "tuple")
    assert (table.kind, table.bytes, table.name) == ("output", 16, "tuple of jit(train)/sub")


def test_buffers_updated_in_place_count_once() -> None:
    # XLA lists gemm_fusion_dot_general.5 and loop_add_fusion at its peak, step 9: the second is
    # written over the first. Memory is largest at step 8, because of a product.
    names = {each.instruction for each in _measure("gpu", "gpu").buffers}
    assert {"gemm_fusion_dot_general.5", "gemm_fusion_dot_general.8", "loop_add_fusion.1"} <= names
    assert "loop_add_fusion" not in names


def test_buffers_of_a_loop_are_named_after_its_body() -> None:
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


def test_measure_memory_prefers_the_sizes_that_xla_reports() -> None:
    stats = _stats(argument=1000, output=100, temp=10, alias=1, generated_code=50, peak=1105)
    gpu, tpu = _measure("loop", "gpu", stats), _measure("loop", "tpu", stats)
    assert gpu.peak == tpu.peak == 1109
    assert gpu.needed == 1109 + 4 * 512  # the constants exceed the code size
    assert (gpu.xla_peak, tpu.xla_peak) == (1105, None)
    assert not [
        each for each in tpu.buffers if each.kind == "temporary"
    ]  # no constant fits into 10 bytes


def test_measure_memory_on_gpu_counts_memory_of_collectives() -> None:
    text = "allocation 0: size 64, color 1, preallocated-temp:\n"
    module = parse_hlo((PROGRAMS / "memory_loop" / "hlo.txt").read_text())
    sizes = {kind: measure_memory(text, "", None, module, kind).peak for kind in ("gpu", "tpu")}
    assert sizes == {"gpu": 64, "tpu": 0}


def test_parse_assignment_reads_every_allocation_and_value() -> None:
    text = (PROGRAMS / "memory_tpu" / "buffer-assignment.txt").read_text()
    allocations = parse_assignment(text)
    assert len(allocations) == text.count("allocation ")
    assert sum(len(each.values) for each in allocations) == text.count(" value: ")
    (donated,) = (each for each in allocations if each.is_output and each.kind == "argument")
    assert [(value.instruction, value.index) for value in donated.values] == [
        ("weights.1", ()),
        ("copy-start.2", (0,)),
    ]
    assert parse_assignment("nothing of the kind") == ()


def test_parse_live_ranges_stops_at_the_section_about_the_peak() -> None:
    text = (PROGRAMS / "memory_gpu" / "live-range.txt").read_text()
    ranges = parse_live_ranges(text)
    assert len(ranges) == 13
    assert ranges["gemm_fusion_dot_general.5", ()] == LiveRange(2, 9)
    assert parse_live_ranges("") == {}


def _device(memory_bytes: int, kind: str = "tpu") -> Device:
    return Device("some", kind, "", memory_bytes, 1e12, {}, None, 0.0, "a test", {})


def test_fit_gives_the_missing_bytes_and_advice() -> None:
    memory = _measure("gpu", "gpu")
    fit = fits(memory, _device(1024 * MIB))
    assert (fit.fits, fit.rest) == (False, 1024 * MIB - memory.peak)
    assert str(fit) == "does not fit: needs 1.125 GiB of 1 GiB, 128 MiB too much"
    assert fit.largest[0] == "256 MiB f32[16384,4096] argument (x)"
    named, kept = fit.advice
    assert named.startswith("the largest temporaries at the peak: 256 MiB f32[16384,4096]")
    assert "jvp(" not in named, "the op, without the path to it"
    assert kept.startswith("256 MiB of temporaries are kept for the gradient: `jxc fit`")


def test_fit_advises_donation_of_arguments_shaped_like_outputs() -> None:
    advice = fits(_measure("loop", "tpu"), _device(512 * MIB)).advice
    assert advice[-1] == "donating arguments (donate_argnums) may save up to 256 MiB"


def test_fit_gives_the_free_bytes() -> None:
    fit = fits(_measure("gpu", "gpu"), _device(4096 * MIB))
    assert (fit.fits, fit.advice) == (True, ())
    assert str(fit) == "fits: 1.125 GiB of 4 GiB, 2.875 GiB free"
    assert fits(_measure("gpu", "gpu"), _device(0)).fits is None


def test_fit_warns_above_the_share_of_a_gpu_that_jax_takes() -> None:
    memory = _measure("gpu", "gpu")
    fit = fits(memory, _device(1280 * MIB, "gpu"))
    assert fit.fits and "XLA_PYTHON_CLIENT_MEM_FRACTION" in fit.advice[0]
    assert fits(memory, _device(1280 * MIB, "tpu")).advice == ()


def test_parse_out_of_memory_of_the_tpu_compiler() -> None:
    fit = parse_out_of_memory((PROGRAMS / "memory_tpu" / "refusal.txt").read_text())
    assert fit is not None and fit.fits is False
    assert fit.available == 15.75 * 2**30
    assert -fit.rest == 9.5 * MIB


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
def test_parse_out_of_memory_of_shorter_messages(message: str, words: str) -> None:
    assert str(parse_out_of_memory(message)) == words


def test_fits_explains_a_refusal_by_the_dumps() -> None:
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


def test_parse_out_of_memory_ignores_other_errors() -> None:
    assert parse_out_of_memory("INVALID_ARGUMENT: Ran out of patience") is None


def test_memory_as_json() -> None:
    memory = _measure("gpu", "gpu")
    found = memory.as_json()
    assert found["peak_bytes"] == memory.peak and found["gaps_bytes"] == 0
    first = found["buffers"][1]
    assert (first["file"], first["line"], first["bytes"]) == ("/home/user/train.py", 9, HIDDEN)
    assert Fit(2, 3).as_json()["rest_bytes"] == 1
