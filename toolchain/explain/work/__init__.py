"""What a compiled program does: which instructions run, how often, and what each costs.

Units: flops are single additions, multiplications or comparisons on real numbers, counted as
`jxc.cost` counts them; bytes are what passes through memory between instructions, dense, without
the padding of tiles. All of one device's share of the program.
"""

from .flops import Flops, flops_of, inner_ops
from .names import COLLECTIVES, base_opcode, is_free, stablehlo_name, target_of
from .schedule import Executed, executed
from .totals import Totals, totals_of
from .traffic import Traffic, bytes_read, produced, traffic_of
from .trips import stated_trips

__all__ = [
    "COLLECTIVES",
    "Executed",
    "Flops",
    "Totals",
    "Traffic",
    "base_opcode",
    "bytes_read",
    "executed",
    "flops_of",
    "inner_ops",
    "is_free",
    "produced",
    "stablehlo_name",
    "stated_trips",
    "target_of",
    "totals_of",
    "traffic_of",
]
