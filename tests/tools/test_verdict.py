"""Budgets: how they are parsed, and the messages for a program that exceeds them.

The programs are those of `test_memory` and `test_collectives`.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jxc.compiled.memory import measure_memory
from jxc.errors import UsageError
from jxc.hlo import parse_hlo
from jxc.hlo.work import executed, totals_of
from jxc.ir import make_context, read_module
from jxc.tools.report.budgets import Budgets, Measured, Violation, check
from jxc.units import counted, parse_bytes, parse_count, show_bytes, show_count, show_seconds

PROGRAMS = Path(__file__).parent / "programs"
MIB = 2**20
SIZES = {"argument": 320 * MIB, "output": 64 * MIB + 20, "temp": 832 * MIB, "alias": 64 * MIB}


def _compiled(text: str, assignment: str = "", ranges: str = "") -> Any:
    """A substitute for `Compiled` with the attributes that `check` reads."""
    stats = {f"{key}_size_in_bytes": SIZES.get(key, 0) for key in (*SIZES, "generated_code")}
    module = parse_hlo(text)
    run = executed(module)
    return SimpleNamespace(
        module=module,
        executed=run,
        totals=totals_of(run),
        memory=measure_memory(assignment, ranges, stats, module, "cpu"),
        build=SimpleNamespace(seconds=12.5),
        ops=0,
        collectives=(),
    )


def _read(name: str) -> Any:
    files = ("hlo.txt", "buffer-assignment.txt", "live-range.txt")
    paths = [PROGRAMS / name / file for file in files]
    return _compiled(*(path.read_text() for path in paths if path.exists()))


def _check(name: str, **budgets: Any) -> list[Violation]:
    return check(Budgets.parse(budgets), Measured.of(_read(name)))


def test_check_within_budgets_finds_nothing() -> None:
    generous: dict[str, Any] = {
        "max_memory": "2GiB",
        "max_flops": "1e13",
        "max_compile_seconds": 12.5,
    }
    assert _check("memory_gpu", **generous, forbid="f64,sort,all-gather,collectives") == []
    assert _check("memory_gpu") == []


def test_check_of_memory_names_the_largest_buffer() -> None:
    (found,) = _check("memory_gpu", max_memory="1GiB")
    peak = sum(SIZES.values()) - 2 * SIZES["alias"]
    assert (found.kind, found.found, found.allowed) == ("memory", peak, 2**30)
    assert str(found) == (
        "expected at most 1 GiB of peak memory, found 1.125 GiB; "
        "the largest: 256 MiB f32[16384,4096] argument (x), "
        "256 MiB f32[16384,4096] temporary at /home/user/train.py:9 (jit(train)/jvp()/dot_general)"
    )
    assert found.place is not None and found.place.line == 9  # an argument has no line
    assert _check("memory_gpu", max_memory=str(peak)) == []


def test_check_of_flops_names_the_costliest_kernel() -> None:
    (found,) = _check("memory_gpu", max_flops="1T")
    product = 2 * 16384 * 4096 * 4096
    elementwise = 20 * 16384 * 4096  # tanh and a few sums: less than 1 % of a product
    assert found.found is not None and 5 * product < found.found < 5 * product + 5 * elementwise
    assert found.allowed == 1e12
    assert found.place is not None and found.place.line in (9, 10)
    assert f"expected at most 1T flops, found {show_count(found.found)}; " in str(found)
    assert " at /home/user/train.py:" in str(found)


def test_check_of_compile_seconds() -> None:
    (found,) = _check("memory_gpu", max_compile_seconds=10)
    assert str(found) == "expected at most 10 seconds to compile, found 12.5"


@pytest.mark.parametrize(
    ("name", "words", "counts"),
    [
        (
            "collectives_gpu",
            "all-gather,all-reduce,all-to-all",
            [1, 2, 1],
        ),  # -start and -done count once
        ("collectives_cpu", "collectives", [6]),
        ("collectives_fsdp", "reduce-scatter,bf16", [1, 6]),  # in a fusion of the TPU compiler
        ("collectives_fsdp", "all-reduce", [1]),
        ("memory_gpu", "fusion,tanh", [10, 2]),  # the second inside fusions
        ("memory_loop", "while,sort", [1]),
        ("memory_tpu", "custom-call", []),
        ("memory_tpu", "dot,convolution", [5]),  # on TPU, a product is a convolution
    ],
)
def test_forbid_counts_occurrences(name: str, words: str, counts: list[int]) -> None:
    assert [each.found for each in _check(name, forbid=words)] == counts


def test_forbid_names_the_line() -> None:
    (found,) = _check("collectives_gpu", forbid="all-gather")
    assert str(found).startswith("forbidden all-gather occurs once; the largest: ")
    assert str(found).endswith("at /home/user/main.py:29 (jit(manual)/shard_map/all_gather)")
    as_json = found.as_json()
    assert (as_json["kind"], as_json["found"], as_json["allowed"], as_json["line"]) == (
        "forbid",
        1,
        0,
        29,
    )


@pytest.mark.parametrize(
    ("name", "word", "count"),
    [
        ("batched_product.tpu", "dot", 1),
        ("batched_product.tpu", "convolution", 0),
        ("convolutions.tpu", "dot", 0),
        ("convolutions.tpu", "convolution", 2),
        ("convolutions.gpu", "convolution", 2),  # library calls
        ("product_and_bias.gpu", "dot", 1),
    ],
)
@pytest.mark.parametrize("has_names", [True, False])
def test_forbid_distinguishes_products_and_convolutions(
    name: str, word: str, count: int, has_names: bool
) -> None:
    text = (PROGRAMS / f"{name}.hlo").read_text()
    text = text if has_names else re.sub(r', metadata=\{op_name="[^"]*"[^}]*\}', "", text)
    found = check(Budgets.parse({"forbid": word}), Measured.of(_compiled(text)))
    assert [each.found for each in found] == ([count] if count else [])


SORTING = """
module @m {
  func.func public @main(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = func.call @sorted(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("train.py":7:1)
    return %0 : tensor<8xf32>
  }
  func.func private @sorted(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = "stablehlo.sort"(%x) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<8xf32>) -> tensor<8xf32> loc("sort")
    return %0 : tensor<8xf32>
  }
}
"""


def test_forbid_takes_ops_of_the_program() -> None:
    module = read_module(SORTING, make_context())
    budgets = Budgets.parse({"forbid": "stablehlo.sort,chlo.tan"})
    (found,) = check(budgets, Measured(_read("memory_gpu"), stablehlo=module))
    assert str(found) == (
        "forbidden stablehlo.sort occurs once in the program; the first at train.py:7"
    )
    assert (found.found, found.allowed, found.place and found.place.line) == (1, 0, 7)


def test_forbid_leaves_out_custom_calls_that_only_name_memory() -> None:
    text = (
        "HloModule m\n\nENTRY %e (x: f64[8]) -> f64[8] {\n  %x = f64[8]{0} parameter(0)\n"
        '  %a = f64[8]{0} custom-call(), custom_call_target="AllocateBuffer"\n'
        '  ROOT %b = f64[8]{0} custom-call(%x, %a), custom_call_target="somebody\'s"\n}\n'
    )
    found = check(Budgets.parse({"forbid": "custom-call,f64"}), Measured.of(_compiled(text)))
    assert [each.found for each in found] == [1, 3]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("123", 123),
        ("1.5GiB", 3 * 2**29),
        ("500MB", 500_000_000),
        ("12 gib", 12 * 2**30),
        ("2e9", 2_000_000_000),
        ("4KiB", 4096),
        ("7B", 7),
    ],
)
def test_parse_bytes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(("text", "count"), [("2e12", 2e12), ("3T", 3e12), ("10G", 1e10), ("5", 5)])
def test_parse_count(text: str, count: float) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["", "much", "12GBit", "-1", "1,000", "GiB", "0x10", "nan"])
def test_parse_bytes_and_count_reject_other_texts(text: str) -> None:
    with pytest.raises(UsageError, match="expected a size in bytes, such as 12GiB"):
        parse_bytes(text)
    with pytest.raises(UsageError, match="expected a count, such as 2e12"):
        parse_count(text)


def test_show_bytes_and_count() -> None:
    assert [show_bytes(size) for size in (0, 1023, 1536, 15.75 * 2**30)] == [
        "0 B",
        "1023 B",
        "1.5 KiB",
        "15.75 GiB",
    ]
    assert [show_count(count) for count in (0, 999, 2.5e12)] == ["0", "999", "2.5T"]


def test_forbid_rejects_unknown_words() -> None:
    with pytest.raises(UsageError, match=r"does not know 'allgather'.* Did you mean 'all-gather'"):
        Budgets.parse({"forbid": "f64, allgather"})
    with pytest.raises(UsageError, match="Did you mean 'f64'"):
        Budgets.parse({"forbid": "float64"})
    with pytest.raises(UsageError, match=r"Did you mean 'stablehlo\.dot_general'"):
        Budgets.parse({"forbid": "dot_general"})
    with pytest.raises(UsageError, match=r"'stablehlo.srt'.* Did you mean .*'stablehlo.sort'"):
        Budgets.parse({"forbid": "stablehlo.srt"})
    assert Budgets.parse({"forbid": "f64, sort,,f64"}).forbid == ("f64", "sort")


def test_max_compile_seconds_must_be_positive() -> None:
    with pytest.raises(UsageError, match="more than 0 seconds, found -1"):
        Budgets.parse({"max_compile_seconds": -1})


def test_forbid_checks_element_types_without_our_passes():
    after, before = _read("memory_loop"), _read("memory_gpu")
    words = Budgets.parse({"forbid": "bf16"})
    assert check(words, Measured.of(after))
    assert check(words, Measured.of(after, before)) == []


def test_counted_has_the_plural_of_the_noun():
    found = [counted(1, "program"), counted(0, "program"), counted(2, "child process")]
    assert found == ["1 program", "0 programs", "2 child processes"]
    assert [counted(1.0, "kernel"), counted(1.5, "kernel")] == ["1 kernel", "1.5 kernels"]


def test_show_seconds_has_three_digits():
    shown = [show_seconds(seconds) for seconds in (0, 2.314, 1234.5, 0.0452, 3e-6, 2e-9)]
    assert shown == ["0 s", "2.31 s", "1234 s", "45.2 ms", "3 µs", "2 ns"]
    near = [show_seconds(seconds) for seconds in (0.9996, 999.6, 9.99e-4)]
    assert near == ["1 s", "1000 s", "999 µs"]
