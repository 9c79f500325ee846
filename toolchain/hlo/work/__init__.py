"""What a compiled program does: which instructions run, how often, and what each costs.

Flops are single additions, multiplications or comparisons on real numbers. Bytes are what passes
through memory between instructions, without the padding of tiles. Both are of one device's share of
the program.
"""

from .execution import Executed, Totals, executed, totals_of
from .flops import (
    COLLECTIVES,
    Flops,
    base_opcode,
    flops_of,
    inner_ops,
    is_control,
    is_free,
    stablehlo_name,
    target_of,
)
from .libraries import is_library
from .reuse import Access, accesses_of
from .traffic import Traffic, produced, reads_of, traffic_of
from .trips import stated_trips

__all__ = [
    "COLLECTIVES",
    "Access",
    "Executed",
    "Flops",
    "Totals",
    "Traffic",
    "accesses_of",
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
