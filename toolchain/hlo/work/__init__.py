"""What a compiled program does: which instructions run, how often, and what each costs.

Flops are single additions, multiplications or comparisons on real numbers. Bytes are what passes
through memory between instructions, without the padding of tiles. Both are of one device's share of
the program.
"""

from .execution import (
    Executed as Executed,
    Totals as Totals,
    executed as executed,
    totals_of as totals_of,
)
from .flops import Flops as Flops, flops_of as flops_of
from .ops import (
    COLLECTIVES as COLLECTIVES,
    describe as describe,
    inner_ops as inner_ops,
    is_control as is_control,
    is_free as is_free,
    is_library as is_library,
    stablehlo_name as stablehlo_name,
)
from .reuse import Access as Access, accesses_of as accesses_of
from .traffic import (
    Traffic as Traffic,
    produced as produced,
    reads_of as reads_of,
    traffic_of as traffic_of,
)
from .trips import stated_trips as stated_trips
