"""Merge collectives that XLA does not merge, and move them out of loops.

They occur in the bodies of `jax.shard_map` and `jax.pmap`: an all-reduce is a `psum`, and so is the
gradient of a weight that all devices share, wherever it is used. In programs that XLA partitions
itself, it inserts them after these rules ran.

- `c + psum(x)` in each iteration becomes one `psum` after the loop: the gradients of microbatches
  and of recurrent networks.
- `y[i] = psum(x_i)` for rows of up to 64 KiB becomes one `psum` of all rows: metrics of each step.
- Collectives of loop-invariant values move before the loop, if their results are small.
- `psum(x) + psum(y)` becomes `psum(x + y)`, and the sum of an `all_gather` a `psum` of sums.

Collectives in the optimized HLO of programs for four devices, and KB that one device exchanges, for
jax 0.10.2 without this pass and with it. "=" is no change: XLA does the same itself.

| program | CPU | TPU v5e 2x2 | H100 |
|---|---|---|---|
| 8 microbatches, `psum` of the gradients in each | 8, 12680 -> 1, 1585 | = 1, 1585 | = 1, 1585 |
| the same with `pmean` | 8, 12680 -> 1, 1585 | 8, 12680 -> 1, 1585 | 8, 12680 -> 1, 1585 |
| gradient of a GRU that uses a weight twice | 17, 8389 -> 1, 262 | the same | the same |
| gradient of 16 steps of `tanh(x + h @ w)` | 17, 4194 -> 1, 262 | = 1, 262 | = 1, 262 |
| mean of a metric in each of 16 steps | 16 -> 1 | 16 -> 1 | 16 -> 1 |
| `all_gather` of a weight in each of 8 steps | = 1, 262 | 8, 1049 -> 1, 131 | 8, 2097 -> 1, 262 |
| `psum` of a weight in each of 8 steps | = 1, 1.0 | = 1, 1.0 | 8, 8.2 -> 1, 1.0 |
| `psum(x) + psum(y)` | 1, 33 -> 1, 16 | = 1, 16 | = 1, 16 |
| `psum(x) / 2 - psum(y) / 4` | 1, 33 -> 1, 16 | 1, 33 -> 1, 16 | 1, 33 -> 1, 16 |
| `all_gather(x).sum(0)` | 1, 66 -> 1, 16 | 1, 66 -> 1, 16 | 1, 66 -> 1, 16 |

The estimated time of the GRU on a v5e goes from 99.9 to 32.6 us, without communication.

XLA itself combines the all-reduces of all gradients of a step into one, and merges equal
collectives of one operand, on all three. In programs that it partitions itself, for TPU and GPU, it
turns an all-reduce of which each device needs only a part into a reduce-scatter, and moves the
all-reduce of accumulated gradients out of loops. On CPU it leaves these in the loop: no rewrite of
the program can express a sum that is yet to be reduced over devices. An all-reduce is not split
into a reduce-scatter and an all-gather, which would send the same bytes.
"""
