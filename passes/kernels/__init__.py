"""Replace attention by kernels that keep no scores in memory.

They are JAX's own Pallas kernels for TPU and GPU, in inference and in training: memory grows with
the length of a sequence and not with its square. They sum in another order, block by block. Name
this pass, as in `pipeline="kernels,O2"`; it is not a part of O2, and O3 tries it. Programs over
several devices keep their attention. `benchmarks/KERNELS.md` has estimates.
"""

from __future__ import annotations

from jxc.patterns import replacement_pass

from . import attention as attention, grouped as grouped

kernels = replacement_pass(
    "kernels",
    __doc__,
    [
        attention.causal_attention,
        grouped.grouped_causal_attention,
        attention.attention,
        grouped.grouped_attention,
    ],
)
