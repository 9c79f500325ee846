"""JAX's flash attention for TPU and GPU, with block sizes for a length.

For the gradient, both keep queries, keys, values, the result, and one or two numbers a query.
"""

from __future__ import annotations

import warnings
from typing import Any

from . import cost


def on_tpu(q: Any, k: Any, v: Any, scale: float, *, causal: bool) -> Any:
    """Attention of [b,h,s,d] to [b,h,t,d], by `jax.experimental.pallas.ops.tpu`."""
    from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, flash_attention

    rows, columns = cost.tpu_block(q.shape[2]), cost.tpu_block(k.shape[2])
    blocks = BlockSizes(
        block_q=rows,
        block_k_major=columns,
        block_k=columns,
        block_b=1,
        block_q_major_dkv=rows,
        block_k_major_dkv=columns,
        block_k_dkv=columns,
        block_q_dkv=rows,
        block_k_major_dq=columns,
        block_k_dq=columns,
        block_q_dq=rows,
    )
    return flash_attention(q, k, v, causal=causal, sm_scale=scale, block_sizes=blocks)


def on_gpu(q: Any, k: Any, v: Any, scale: float, *, causal: bool, interpret: bool = False) -> Any:
    """Attention of [b,h,s,d] to as many keys, by `jax.experimental.pallas.ops.gpu`."""
    with warnings.catch_warnings():  # jax 0.12 recommends another package
        warnings.simplefilter("ignore", DeprecationWarning)
        from jax.experimental.pallas.ops.gpu.attention import BlockSizes, mha

    forward, backward = cost.gpu_blocks(q.dtype.itemsize)
    blocks = BlockSizes(
        block_q=forward,
        block_k=forward,
        block_q_dkv=backward,
        block_kv_dkv=backward,
        block_q_dq=backward,
        block_kv_dq=backward,
    )
    q, k, v = (each.swapaxes(1, 2) for each in (q, k, v))
    found = mha(
        q, k, v, None, sm_scale=scale, causal=causal, block_sizes=blocks, interpret=interpret
    )
    return found.swapaxes(1, 2)
