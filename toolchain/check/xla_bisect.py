"""Find where XLA and the reference interpreter disagree, and the XLA pass that causes it.

Passes are disabled one at a time (`xla_disable_hlo_passes`) until XLA's result is right.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from jaxlib.mlir import ir

from ..ir import converters, read_module, write_bytecode
from ..rewrite import reassociates
from .compare import Comparison, Mismatch, first_mismatch, judges
from .inputs import CannotRun, make_inputs, specs_of
from .modules import entry_names, main_type, static_pairs, with_main
from .reference import Float64Evaluation
from .run import run_xla, shared_interpreter

KINDS = ("normal", "mild", "small")

_AFTER = re.compile(r"\.after_([A-Za-z0-9_-]+)")
_BOUNDARIES = ("pipeline-start", "pipeline-end")


@dataclass(frozen=True)
class XlaVerdict:
    """The result of comparing a function on the interpreter with itself on XLA.

    Attributes:
        function: the function's name, without the @.
        report: the comparison, under the contract `reassociates`.
        culprit: a sentence about the cause of the error; None if XLA is right.
        disable: the XLA pass without which it is right, if there is one.
    """

    function: str
    report: Comparison
    culprit: str | None = None
    disable: str | None = None

    def __str__(self) -> str:
        text = f"@{self.function}, XLA against the interpreter: {self.report}"
        return text if self.culprit is None else f"{text}\n{self.culprit}"

    def as_object(self) -> dict[str, Any]:
        """The verdict as `--json` prints it."""
        difference = self.report.difference
        return {
            "function": self.function,
            "agrees": self.report.agrees,
            "ran": self.report.ran,
            "reasons": self.report.reasons,
            "difference": None if difference is None else str(difference),
            "culprit": self.culprit,
            "disable": self.disable,
        }


def verify_xla(module: ir.Module, *, seeds: int = 3) -> list[XlaVerdict]:
    """Compare each public function on the interpreter with itself on XLA, and name the XLA pass.

    A difference by rounding is allowed, as under `reassociates`: XLA rounds where it likes.

    Args:
        module: the program; dynamic dimensions take several sizes.
        seeds: how many times to draw arguments of each kind.
    """
    return [_verdict(name, with_main(module, name), seeds) for name in entry_names(module)]


def _verdict(name: str, module: ir.Module, seeds: int) -> XlaVerdict:
    report = Comparison(reassociates, {}, {})
    try:
        for static, _ in static_pairs(module, module):
            specs = specs_of(main_type(static).inputs)
            for kind, seed in product(KINDS, range(seeds)):
                inputs = make_inputs(specs, kind, seed)
                expected = shared_interpreter().run(static, inputs)
                found = run_xla(static, inputs)
                report.runs[kind] = "xla"
                difference = _difference(static, kind, inputs, expected, found)
                if difference is not None:
                    return _blamed(name, static, replace(report, difference=difference), expected)
    except CannotRun as error:
        report.reasons["any"] = str(error)
    return XlaVerdict(name, report)


def _difference(
    module: ir.Module,
    kind: str,
    inputs: Sequence[np.ndarray],
    expected: list[np.ndarray],
    found: list[np.ndarray],
) -> Mismatch | None:
    evaluation = Float64Evaluation(module, shared_interpreter())
    return first_mismatch(kind, inputs, expected, found, judges(evaluation, inputs, reassociates))


def _blamed(
    name: str, module: ir.Module, report: Comparison, expected: list[np.ndarray]
) -> XlaVerdict:
    assert report.difference is not None
    kind, inputs = report.difference.kind, report.difference.inputs

    def is_right(found: list[np.ndarray]) -> bool:
        return _difference(module, kind, inputs, expected, found) is None

    if not is_right(shared_interpreter().run(imported(module), inputs)):
        cause = "wrong before any XLA pass: XLA's importer of StableHLO simplifies it wrongly"
        return XlaVerdict(name, report, cause)
    passes = passes_run(module, inputs)
    guilty = guilty_pass(passes, lambda options: is_right(run_xla(module, inputs, options)))
    if guilty is None:
        cause = f"wrong whichever XLA pass is disabled: {', '.join(passes)}"
        return XlaVerdict(name, report, cause)
    cause = f"broken by XLA's pass {guilty!r}: right with xla_disable_hlo_passes={guilty}"
    return XlaVerdict(name, report, cause, guilty)


def guilty_pass(
    names: Sequence[str], is_right_with: Callable[[Mapping[str, str]], bool]
) -> str | None:
    """The first of XLA's passes without which the result is right; None if there is none.

    Args:
        names: of passes.
        is_right_with: whether the result is right under XLA options such as
            {"xla_disable_hlo_passes": "algsimp"}; if XLA refuses to run, that counts as wrong.
    """
    for name in names:
        try:
            if is_right_with({"xla_disable_hlo_passes": name}):
                return name
        except CannotRun:  # some passes are needed for compilation
            continue
    return None


def passes_run(module: ir.Module, inputs: Sequence[np.ndarray]) -> list[str]:
    """XLA's passes that change the program when it is compiled for the CPU, in order."""
    with tempfile.TemporaryDirectory() as folder:
        run_xla(module, inputs, {"xla_dump_to": folder, "xla_dump_hlo_pass_re": ".*"})
        files = sorted(path.name for path in Path(folder).iterdir())
    found = [name for file in files for name in _AFTER.findall(file)]
    return [name for name in dict.fromkeys(found) if name not in _BOUNDARIES]


def imported(module: ir.Module) -> ir.Module:
    """The module as XLA imports it, before any of XLA's passes, converted back to StableHLO."""
    proto = converters.stablehlo_to_hlo_proto(write_bytecode(module))
    return read_module(converters.hlo_proto_to_stablehlo(proto), module.context)
