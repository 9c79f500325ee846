"""Write running sums and the like as loops, in which each element goes on from the one before.

Pays on CPU, where XLA computes each element from a window of 16 or 32, on several levels:
`cumsum`, `cumprod`, `cummax` and `cummin` 4 to 25 times faster where the dimension is not the last,
1.2 to 5 times along the last one, `cumlogsumexp` 6 to 200 times. A loop takes 0 to 0.1 s more to
compile than XLA's windows; several, where blocks of elements or groups of rows are taken at a time,
0.1 to 0.3 s. NaN and infinities reach what follows them and nothing else, which a product with a
triangular matrix, 1.5 to 3 times faster than XLA, would not give. 16-bit floats are summed in f32.
Left alone: few elements, single long rows of sums, rows a multiple of 4096 bytes apart, products of
floats from the last one on, and `jax.lax.associative_scan`, which JAX spells out (the gradients of
all but `cumsum` among it).
"""
