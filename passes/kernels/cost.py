"""Cost conditions of the pass `kernels`, and the sizes of blocks and parts.

The attention kernels do not keep the scores in memory, and move fewer bytes. This pays only if
there are enough scores: the TPU kernels store the maximum and the sum of each query 128 times, and
the TPU compiler keeps the scores of short sequences on the chip.
"""

from __future__ import annotations

from math import prod
from typing import Any

LEAST_POSITIONS = {"tpu": 1024, "gpu": 512}
"""The fewest positions, of queries and of keys, for which attention is replaced.

Causal attention with its gradient on 4096 tokens in sequences of 256 to 2048, bf16. The peak of
memory and the estimated time, plain and with the kernels, the flops of the kernels included:

    TPU v5e, 12 heads of 64     512: 48 and 144 MiB, 1.09 and 0.73 ms
                               1024: 145 and 145 MiB, 2.16 and 0.91 ms
    TPU v5e, 8 heads of 128     512: 64 and 65 MiB, 0.74 and 0.38 ms
                               1024: 128 and 65 MiB, 1.40 and 0.50 ms
                               2048: 320 and 64 MiB, 3.48 and 0.74 ms
    H100, 12 heads of 64        256: 120 and 72 MiB, 0.12 and 0.08 ms
                                512: 192 and 72 MiB, 0.20 and 0.10 ms

At 256 positions on H100 the roofline gains less than the factor of two by which kernels miss their
roofline.
"""

_BLOCKS_OF_TPU = (512, 256, 128)
"""The sizes of blocks, in positions; the largest that divides the length is used.

JAX's default is 128. Each step of the grid has a constant cost, and with 512 there are 16 times
fewer steps. Blocks of 512 by 512 scores and 256 features are the largest that fit into the memory
on the chip.
"""

_MOST_FEATURES = {"tpu": 256, "gpu": 128}
"""The most features for which the kernels were compiled, with f32."""

LARGEST_MASKED = -1e30
"""The greatest number that may replace masked scores: their weights must be 0."""

_LEAST_FEATURES_OF_GPU = 16
"""Triton multiplies no smaller matrices."""


LEAST_LOGITS = {"tpu": 2**29, "gpu": 2**31}
"""The fewest bytes of logits from which a log-likelihood is computed by parts of the vocabulary.

Value and gradient of `log_softmax` at labels, for f32 features and words of 768 features. The peak
of memory and the estimated time, plain and by parts:

    TPU v5e   2048 tokens, 32,000 words: 700 and 371 MiB, 3.8 and 4.2 ms
              4096 tokens, 50,257 words: 1.85 and 0.53 GiB, 12.9 and 11.1 ms
             4096 tokens, 131,072 words: 4.8 and 1.1 GiB, 34 and 27 ms
    H100      4096 tokens, 50,257 words: 1.85 and 0.50 GiB, 3.7 and 4.4 ms
             4096 tokens, 131,072 words: 4.8 and 0.9 GiB, 9.5 and 11.3 ms

Other sizes, which were not used to choose the limits:

    TPU v5e   4096 tokens, 40,000 words of 1024: 1.56 and 0.63 GiB, 11.4 and 10.7 ms
              8192 tokens, 32,000 words of 512: 2.11 and 0.52 GiB, 14.0 and 10.8 ms
    H100     16384 tokens, 40,000 words of 1024: 5.3 and 1.2 GiB, 13.7 and 14.9 ms

On GPU only memory is saved, so the limit is higher there.
"""

LEAST_LOGITS_OF_NORMALIZER = 2**31
"""The same for a loss with `logsumexp`, on TPU.

XLA keeps fewer arrays of logits for it, so only memory is saved. 4096 tokens and 131,072
words, plain and by parts: TPU v5e 2.8 and 1.1 GiB, 24 and 27 ms; v5p 2.8 and 1.1 GiB, 9.7 and 11.8
ms. Not on GPU: H100 4.8 and 0.9 GiB, but 7.6 and 11.3 ms.
"""

WORDS_IN_PART = 8192
"""The number of words in a part of the vocabulary.

The features of each token are read and written once for each part; parts of this size are large
enough on both targets. Splitting the tokens instead took 1.3 times as long on TPU, because each
part of them adds to the gradient of all words.
"""


def pays_on_tpu(match: Any) -> bool:
    """Whether the kernels for TPU support the lengths of a match, and are faster."""
    rows, keys, features = _sizes(match)
    if not _is_mask(match):
        return False
    if rows % _BLOCKS_OF_TPU[-1] or keys % _BLOCKS_OF_TPU[-1]:
        return False
    return features <= _MOST_FEATURES["tpu"] and min(rows, keys) >= LEAST_POSITIONS["tpu"]


def pays_on_gpu(match: Any) -> bool:
    """Whether the kernels for GPU support the lengths of a match, and are faster.

    They require as many queries as keys.
    """
    rows, keys, features = _sizes(match)
    if not _is_mask(match):
        return False
    if rows != keys or rows % max(gpu_blocks(match.q.dtype.itemsize)):
        return False
    if not _LEAST_FEATURES_OF_GPU <= features <= _MOST_FEATURES["gpu"]:
        return False
    return rows >= LEAST_POSITIONS["gpu"]


def _is_mask(match: Any) -> bool:
    """Whether masked scores get no weight; True without a mask."""
    return getattr(match, "masked", LARGEST_MASKED) <= LARGEST_MASKED


def _sizes(match: Any) -> tuple[int, int, int]:
    """The numbers of queries, of keys and of features."""
    return match.q.shape[-2], match.k.shape[-2], match.q.shape[-1]


def tpu_block(length: int) -> int:
    """The number of positions in a block."""
    return next(block for block in _BLOCKS_OF_TPU if length % block == 0)


def gpu_blocks(itemsize: int) -> tuple[int, int]:
    """The number of positions in a block of the forward kernel, and of the backward kernel.

    These are JAX's defaults, with half as many in the forward kernel for f32.
    """
    return (128, 32) if itemsize == 2 else (64, 32)


def parts_pay(match: Any) -> bool:
    """Whether the logits of a log-likelihood are large enough to compute it by parts."""
    return _logits_in_parts(match) >= LEAST_LOGITS[match.target]


def parts_of_normalizer_pay(match: Any) -> bool:
    """Whether the logits of a loss with `logsumexp` are large enough to compute it by parts."""
    return _logits_in_parts(match) >= LEAST_LOGITS_OF_NORMALIZER


def _logits_in_parts(match: Any) -> int:
    """The bytes of the logits of a loss; -1 if the vocabulary fits into one part."""
    words, tokens = match.w.shape[0], prod(match.t.shape)
    return 4 * tokens * words if words > WORDS_IN_PART else -1
