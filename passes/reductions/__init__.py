"""Rewrite reductions: few elements as slices, argmax as two reductions, sums of products as dots.

Only for CPU. Speed against XLA, and compile time added:

- Reductions over up to eight neighbors, which XLA runs in a scalar loop, become slices: sums and
  maxima of floats 2 to 5 times faster, distances of points in space 3 to 14, normalization and
  softmax over three or four elements 2 to 3, over eight 1.2; over a leading axis of up to eight
  rows 10 to 26 on jaxlib 0.10.2, 1 to 2 on 0.12. 0.02 to 0.05 s, softmax 0.1, the gradient of a
  normalization 0.3. Alternating normalizations of 4x4 matrices gave 0.8 and 2.5. Integers, products
  and booleans gained nothing: XLA vectorizes those.
- On jaxlib 0.10.2 so do reductions over a leading axis of up to 63 rows of more than 16,384
  elements: sums, variances, normalizations and softmax 4 to 90 times faster.
- Argmax and argmin of f32 over 32 elements or more become two reductions: 1.3 to 7 times faster,
  `categorical` 2.5 to 4, nearest neighbors among 64 points in space 2 to 6, a Viterbi scan 7. About
  0.05 s. They need 4 to 8 bytes of temporaries for each element, so only tensors of up to 2**20
  elements are rewritten: at most 8 MiB.
- Sums of a matrix in memory times a broadcast vector become matrix-vector products: 1.3 to 7 times
  faster from 8,192 elements on; the solver of mujoco_mjx 1.4.
- Sums of products of two f32 tensors, of which a dimension of extent 1 remains, lose that dimension
  on jaxlib 0.10.2, where XLA computes matrix products with one row: 3 to 45 times faster from
  32,768 elements on, and 1 to 2 below. The gradient of softmax for a batch of one 3, of attention
  1.6.
- An [n, 2] to [n, 8] tensor that is summed over all elements is materialized first: 1.1 to 10 times
  faster. So are operands of weight gradients, which XLA transposes: training of transformers 1.1.
"""
