"""Rewrite cumulative sums and the like as loops: each element continues from the one before it.

Only for CPU, where XLA computes each element from windows of 16 or 32 elements, on several levels.
`cumsum`, `cumprod`, `cummax` and `cummin` run 4 to 25 times faster along a dimension that is not
the last, 1.5 to 7 times along the last one, which the loop reads from a transpose; a row of 100,000
or a million elements, in blocks, 2.5 to 4 times; `cumlogsumexp` 6 to 200 times. One loop takes 0 to
0.1 s more to compile than XLA's windows; several loops, over blocks of elements, 0.1 to 0.3 s.

Only the elements after a NaN or an infinity are affected by it. (A product with a triangular matrix
is 1.5 to 3 times faster than XLA, but does not have this property.) 16-bit floats are summed in
f32. The order of float sums changes where they are computed in blocks.

Left alone: few elements, rows of more than 8 MB in all, products of floats from the last element
on, and `jax.lax.associative_scan`, which JAX unrolls (also in the gradients of all but `cumsum`):
see the pass `recurrences`.
"""
