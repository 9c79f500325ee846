"""Move work out of the loops that JAX makes of `scan`, `fori_loop` and their gradients.

A loop qualifies if its trip count is a constant; so does the backward loop of a gradient.

- Products of the rows of an input with a weight, `x[i] @ w`, become one product before the loop, if
  `w` has few columns for each row of it. Not on TPU, where a GRU took 1.5 times longer.
- The products that a backward loop adds to the gradients of weights, and the sums for biases,
  become one product of all rows after the loop. On CPU for up to 16 rows in an iteration.
- Products that a loop only writes, `y[i] = h @ w`, are computed after it. Only on GPU.

The rows of all iterations are kept in memory: up to 64 MiB, or as much as the loop holds anyway.
"""
