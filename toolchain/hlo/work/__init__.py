"""What a compiled program does: which instructions run, how often, and what each costs.

Units: flops are single additions, multiplications or comparisons on real numbers, counted as
`jxc.cost` counts them; bytes are what passes through memory between instructions, dense, without
the padding of tiles. All of one device's share of the program.
"""

from .flops import Flops, flops_of, inner_ops
from .libraries import is_library, stablehlo_name
from .names import COLLECTIVES, base_opcode, is_control, is_free, target_of
from .schedule import Executed, executed
from .totals import Totals, totals_of
from .traffic import Traffic, produced, reads_of, traffic_of
from .trips import stated_trips

__all__ = [
    "COLLECTIVES",
    "Executed",
    "Flops",
    "Totals",
    "Traffic",
    "base_opcode",
    "executed",
    "flops_of",
    "inner_ops",
    "is_control",
    "is_free",
    "is_library",
    "produced",
    "reads_of",
    "stablehlo_name",
    "stated_trips",
    "target_of",
    "totals_of",
    "traffic_of",
]
