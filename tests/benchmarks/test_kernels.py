"""The table of the pass `kernels`; no compiler is needed."""

from typing import Any

from kernels import row


def record(**others: Any) -> dict[str, Any]:
    return {"program": "attention", "target": "gpu:h100", "rules": {}} | others


def test_row_has_the_ratios() -> None:
    before = record(peak=300 * 2**20, seconds=4e-3)
    after = record(peak=200 * 2**20, seconds=1e-3, rules={"causal-attention": 1, "attention": 0})
    cells = "attention | gpu:h100 | causal-attention 1 | 300 | 4.00 | 200 | 1.00 | 1.5 | 4.0"
    assert row(before, after) == f"| {cells} |"


def test_row_of_a_program_that_fits_only_with_kernels() -> None:
    found = row(record(failed="out of memory"), record(peak=2**20, seconds=1e-3))
    assert found == "| attention | gpu:h100 | none | does not compile |  | 1 | 1.00 |  |  |"
