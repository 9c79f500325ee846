"""XLA's options in jaxlib's compile options, with those that only XLA:CPU's own map holds.

The numbers of protobuf fields are those of `xla/pjrt/proto/compile_options.proto` and `xla.proto`.
Checked on jaxlib 0.10.2 to 0.12.0.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jaxlib.mlir import ir

from ..ir import clone_module
from ..ir.xla_options import XLA_OPTIONS, xla_options_of

BACKEND_OPTIONS = frozenset({"xla_cpu_use_multi_output_fusion", "xla_cpu_disable_loop_unrolling"})
"""Options that XLA:CPU reads from the map `DebugOptions.xla_backend_extra_options`, which cannot be
set by name: XLA rejects them in `env_option_overrides`. Each counts as set whatever its value."""


_DISABLED_PASSES = "xla_disable_hlo_passes"


def with_xla_options(options: Any, more: Mapping[str, Any]) -> Any:
    """A copy of jaxlib's compile options with more of XLA's options, `BACKEND_OPTIONS` too."""
    if not more:
        return options
    copy_ = type(options).ParseFromString(options.SerializeAsString())
    given = dict(copy_.env_option_overrides)
    if disabled := more.get(_DISABLED_PASSES):  # the last list counts alone
        flags = copy_.executable_build_options.debug_options.xla_disable_hlo_passes
        lists = [given.get(_DISABLED_PASSES, flags), disabled]
        more = {**more, _DISABLED_PASSES: ",".join(filter(None, lists))}
    copy_.env_option_overrides = list({**given, **more}.items())
    return with_backend_options(copy_)


def without_attribute(module: ir.Module, options: Any) -> tuple[ir.Module, Any]:
    """What XLA compiles of a module that names options itself: a copy without, and the options.

    Options that are set already are not changed.
    """
    if XLA_OPTIONS not in module.operation.attributes:
        return module, options
    given = dict(options.env_option_overrides)
    more = {n: value for n, value in xla_options_of(module).items() if n not in given}
    copy_ = clone_module(module)
    del copy_.operation.attributes[XLA_OPTIONS]
    return copy_, with_xla_options(options, more)


def with_backend_options(options: Any) -> Any:
    """jaxlib's compile options with `BACKEND_OPTIONS` where XLA reads them."""
    given = options.env_option_overrides
    entries = b"".join(
        _message(500, _message(1, name.encode()), _message(2, str(value).lower().encode()))
        for name, value in given
        if name in BACKEND_OPTIONS and value is not False
    )
    if not BACKEND_OPTIONS.intersection(name for name, _ in given):
        return options
    # CompileOptionsProto.executable_build_options.debug_options: protobuf merges repeated messages
    data = options.SerializeAsString() + _message(3, _message(3, entries))
    copy_ = type(options).ParseFromString(data)
    copy_.env_option_overrides = [each for each in given if each[0] not in BACKEND_OPTIONS]
    return copy_


def _message(number: int, *parts: bytes) -> bytes:
    """A field of a protobuf message that holds bytes."""
    data = b"".join(parts)
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    head = b""
    while number > 0x7F:
        head += bytes([number & 0x7F | 0x80])
        number >>= 7
    return head + bytes([number])
