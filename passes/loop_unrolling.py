"""Compile a program without LLVM's loop unrolling where that pays."""

from __future__ import annotations

from jaxlib.mlir import ir

from jxc.cost.cpu import COMPILE_KERNEL
from jxc.cost.prices import prices_of_unrolling
from jxc.ir.xla_options import XLA_OPTIONS, set_xla_option
from jxc.rewrite import PassContext, is_collecting, module_pass, remark
from jxc.rewrite.gate import RewritePrices

_OPTION = "xla_cpu_disable_loop_unrolling"


@module_pass(changes=(XLA_OPTIONS,))
def loop_unrolling(module: ir.Operation, context: PassContext) -> None:
    """Set `xla_cpu_disable_loop_unrolling` where that pays. Contract: exact.

    LLVM unrolls loops over up to 37 elements, and then often vectorizes nothing: on shapes such as
    (3750, 16) or (1250, 6, 8), elementwise kernels take 3 to 10 times as long as on flat arrays.
    Without unrolling they are vectorized, and every program compiles 15 % faster; but loops over
    2 to 7 elements are slower, and transposes, such as those of attention's operands. The prices
    of the kernels whose time changes decide for the program. Results differ only where LLVM fuses
    multiplications and additions, and so rounds, in another way.
    """
    if context.target != "cpu":
        return
    unrolled, rolled = prices_of_unrolling(module, context.device, context.rates)
    prices = RewritePrices(unrolled, rolled, context.device.name)
    is_slower = rolled.seconds > unrolled.seconds
    compiling = (unrolled.compile_seconds - rolled.compile_seconds) * 1e9
    saves_a_kernel = compiling >= context.rates[COMPILE_KERNEL]  # less is within the error
    pays = prices.is_faster or (saves_a_kernel and not is_slower)
    if pays:
        set_xla_option(module, _OPTION)
    if is_collecting():
        kind, what = ("passed", f"set {_OPTION}") if pays else ("missed", "declined")
        remark("loop-unrolling", kind, module.location, f"{what}: {prices}")
