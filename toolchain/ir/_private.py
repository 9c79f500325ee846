"""Private names of jaxlib used by this room. Checked on jaxlib 0.10.2 to 0.12.0.1."""

from __future__ import annotations

from typing import Any

from jaxlib.mlir import ir
from jaxlib.mlir._mlir_libs import _chlo, _jax_mlir_ext, _mlirHlo, _stablehlo
from jaxlib.mlir.dialects import sdy


def register_jax_dialects(registry: ir.DialectRegistry) -> None:
    """Add the dialects that JAX's own contexts hold (func, arith, math, ...) to a registry."""
    _jax_mlir_ext.register_dialects(registry)


def register_hlo_dialects(context: ir.Context) -> None:
    """Load StableHLO, CHLO, Shardy and MHLO into `context`.

    The extensions are used instead of the public modules of op classes, whose import takes 50 ms.
    Shardy is the exception: on jaxlib 0.12 its extension imports the public module halfway, which
    would leave the module without half of its names, also for JAX.
    """
    for extension in (_stablehlo, _chlo, sdy):
        extension.register_dialect(context)
    _mlirHlo.register_mhlo_dialect(context)


def register_native_passes() -> None:
    """Register StableHLO's and MHLO's passes with MLIR's pipeline parser."""
    _stablehlo.register_stablehlo_passes()
    _mlirHlo.register_mhlo_passes()


def register_inliner(context: ir.Context) -> None:
    """Let the native `inline` pass inline calls in `context`; without this it does nothing."""
    from jaxlib.mlir._mlir_libs import _mosaic_gpu_ext

    _mosaic_gpu_ext.register_inliner_extensions(context)


def hlo_text_to_proto(text: str) -> bytes:
    """The serialised `HloModuleProto` of an HLO module's text."""
    from jaxlib import _hlo

    return bytes(_hlo.hlo_module_from_text(text).as_serialized_hlo_module_proto())


def hlo_proto_to_stablehlo(proto: bytes) -> bytes:
    """The bytecode or text of the StableHLO module of a serialised `HloModuleProto`."""
    from jaxlib import _jax

    return bytes(_jax.mlir.hlo_to_stablehlo(proto))


def stablehlo_to_hlo_proto(code: bytes) -> bytes:
    """The serialised `HloModuleProto` that XLA imports a StableHLO module's bytecode as."""
    from jaxlib import _jax

    computation = _jax.mlir.mlir_module_to_xla_computation(code, False, False)
    return bytes(computation.as_serialized_hlo_module_proto())


def hlo_proto_to_text(proto: bytes) -> str:
    """The text of a serialised `HloModuleProto`, with large constants."""
    from jaxlib import _hlo

    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    return str(_hlo.HloModule.from_serialized_hlo_module_proto(proto).to_string(options))


def hlo_name(proto: bytes) -> str:
    """The module name in a serialised `HloModuleProto`."""
    from jaxlib import _hlo

    return str(_hlo.HloModule.from_serialized_hlo_module_proto(proto).name)


def hlo_signature(proto: bytes) -> tuple[list[Any], Any]:
    """The shapes of the parameters and of the result of a serialised proto, as jaxlib's `Shape`.

    A `Shape` has `is_tuple()`, `tuple_shapes()`, `dimensions()`, `numpy_dtype()` and `layout()`;
    its text includes the layout.
    """
    from jaxlib import _hlo

    shape = _hlo.XlaComputation(proto).program_shape()
    return list(shape.parameter_shapes()), shape.result_shape()
