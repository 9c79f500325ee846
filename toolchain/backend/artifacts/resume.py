"""Compiling optimised HLO further, as `jxc compile --compile-from hlo` does after an edit.

XLA does not accept optimised HLO as input: layout assignment fails on it. So a StableHLO program of
the same name and signature is compiled, and XLA gets the optimised module in its place at the stage
after scheduling.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.extend import xla
from jaxlib.mlir import ir

from ...errors import JxcError, UsageError
from ...ir import clone_module
from ...ir.hlo import hlo_name, hlo_signature, read_hlo, without_entry_layout, without_stack_frames
from ...ir.io import hlo_of_module
from ...pipeline import PipelineLike, make_pipeline
from .. import _private
from ..from_module import calls_lapack, lower_stand_in
from ..lowered import Executable, Lowered, ModuleOrigin
from .hlo_pass import compile_here, registered

_PARTITIONS = re.compile(r"\b(?:num_partitions|replica_count)=(\d+)")
_TARGETS = re.compile(r'custom_call_target="([^"]+)"')


@dataclass(frozen=True, repr=False)
class OptimisedProgram(Lowered):
    """A program that XLA has optimised. It is compiled as it is, for this machine's CPU.

    Attributes:
        proto: the optimised module as a serialised `HloModuleProto`.
        text: the same module as text.
    """

    proto: bytes = b""
    text: str = ""

    def opt(
        self,
        pipeline: PipelineLike = "O0",
        *,
        target: str | None = None,
        assume: str | Sequence[str] = (),
    ) -> Lowered:
        """The same program, if the pipeline is empty.

        Raises:
            UsageError: the pipeline is not empty: passes of jxc run on StableHLO.
        """
        if make_pipeline(pipeline).steps:
            raise UsageError(
                "passes run on StableHLO, and this is optimised HLO: leave the pipeline out, or "
                "use --compile-from stablehlo"
            )
        return super().opt("O0", target=target, assume=assume)

    def compile(
        self, target: str | None = None, *, xla_options: Mapping[str, Any] | None = None
    ) -> Executable:
        """Compile it as it is.

        Raises:
            UsageError: `target` is other hardware.
            JxcError: XLA refuses it.
        """
        if target not in (None, "cpu"):
            raise UsageError(f"--target {target}: optimised HLO can be compiled for cpu only")
        with replaced(self.module, self.proto):
            made = compile_here(self, self.module, dict(xla_options or {}))
        return replace(made, lowered=self)


def replaced(module: ir.Module, proto: bytes) -> AbstractContextManager[None]:
    """Within the block, XLA:CPU generates code from `proto` once it has scheduled `module`."""
    name = hlo_name(hlo_of_module(module))
    return registered(xla.PipelineStage.POST_SCHEDULER, name, lambda _: proto)


def lowered_from_hlo(text: str, name: str = "<stdin>") -> OptimisedProgram:
    """An optimised HLO module, as `jxc compile --compile-to hlo` writes it, as a program.

    Donated arguments stay donated on jaxlib 0.12; jaxlib 0.10 copies them instead.

    Args:
        text: a scheduled module for one device, with large constants printed.
        name: of the file, for messages.

    Raises:
        ModuleSyntaxError: it is malformed, or a large constant was elided.
        JxcError: it is not scheduled, is for several devices, calls back into Python, or has a
            signature that cannot be called from here.
    """
    _check(text, name)
    proto = read_hlo(without_entry_layout(without_stack_frames(text)), name)
    parameters, result = hlo_signature(proto)
    results = list(result.tuple_shapes()) if result.is_tuple() else [result]
    if result.is_tuple() and len(results) == 1:
        raise JxcError(f"{name}: the entry returns a tuple of one: expected the array itself")
    inputs = [_struct(shape, f"{name}: parameter {i}") for i, shape in enumerate(parameters)]
    outputs = [_struct(shape, f"{name}: result {i}") for i, shape in enumerate(results)]
    traced, lowered = lower_stand_in(inputs, outputs)
    module = clone_module(lowered.compiler_ir("stablehlo"))
    with module.context:
        module.operation.attributes["sym_name"] = ir.StringAttr.get(hlo_name(proto))
    if calls_lapack(_TARGETS.findall(text)):
        _private.load_lapack()
    origin = ModuleOrigin(module, traced, lowered)
    return OptimisedProgram(module, "", None, jax.default_backend(), origin, proto=proto, text=text)


def _check(text: str, name: str) -> None:
    header = text.lstrip().partition("\n")[0]
    if "is_scheduled=true" not in header:
        raise JxcError(
            f"{name}: this HLO is not scheduled, so XLA has not optimised it: "
            "`--compile-from hlo-before` takes it through XLA's passes"
        )
    if math.prod(int(count) for count in _PARTITIONS.findall(header)) > 1:
        raise JxcError(f"{name}: this HLO is for several devices: expected one")
    if callbacks := [target for target in _TARGETS.findall(text) if "callback" in target]:
        raise JxcError(
            f"{name}: this HLO calls back into Python ({callbacks[0]}), and the function it calls "
            "lived in the process that made it: compile the Python function itself"
        )


def _struct(shape: Any, where: str) -> jax.ShapeDtypeStruct:
    if not shape.is_array():
        raise JxcError(f"{where} is {shape}: only arrays can be passed from here")
    if list(shape.layout().minor_to_major()) != list(reversed(range(shape.rank()))):
        raise JxcError(f"{where} has the layout {shape}: expected the default one, row-major")
    return jax.ShapeDtypeStruct(shape.dimensions(), shape.numpy_dtype())
