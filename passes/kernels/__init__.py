"""Replace attention, and losses over large vocabularies, by kernels without large intermediates.

Attention becomes JAX's own Pallas kernels for TPU and GPU, in inference and in training. They keep
no scores in memory: memory grows with the length of a sequence and not with its square. A loss by
class labels is computed by parts of the vocabulary, without all logits. Both sum in another order.
Name this pass, as in `pipeline="kernels,O2"`; it is not a part of O2, and O3 tries it. Programs
over several devices are left as they are. `benchmarks/KERNELS.md` has estimates.
"""

from __future__ import annotations

from jxc.patterns import replacement_pass

from . import attention as attention, grouped as grouped, losses as losses

kernels = replacement_pass(
    "kernels",
    __doc__,
    [
        attention.causal_attention,
        grouped.grouped_causal_attention,
        attention.attention,
        grouped.grouped_attention,
        losses.log_likelihood,
        losses.log_likelihood_of_rows,
        losses.normalizer_and_logit,
        losses.normalizer_and_logit_of_rows,
    ],
)
