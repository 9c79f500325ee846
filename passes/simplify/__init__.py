"""Remove redundant work; the results have the same bits for every input.

Every rule is exact: for NaN, infinities, signed zeros, denormals and integer wrap-around, on
booleans (where add is OR and multiply is AND), unsigned and complex numbers and small floats.

The rules lead to a normal form, so that they do not undo each other:

- a constant whose elements are all equal is one splat `constant`, not a broadcast of a scalar;
- an op on constants is a constant, if every implementation gives the same bits, and if the new
  constant has no more elements than those it replaces;
- a reduction combines more than one element; a conditional has an unknown predicate; a loop is not
  known to run no or one iteration, and it carries only values that change and are used;
- an op that only adds or drops extents of 1 is a `reshape`, never a `transpose` or
  `broadcast_in_dim`;
- a chain of ops of one kind is one op: reshapes, transposes, broadcasts, slices, reverses, pads
  with one value, lossless converts;
- from an argument to a result the order is: slices, concatenations, elementwise ops, reverses,
  reshapes, transposes, broadcasts. An op moves past another that has no other use, so that fewer
  elements are computed and ops that undo each other meet. A reshape that adds extents of 1 moves
  also if there are other uses;
- a `broadcast_in_dim` comes last: transposes, slices and reverses move to its operand or are merged
  into its dimensions, and so is a reshape before it that only adds extents of 1;
- transposes of the operands of a `dot_general` are merged into its dimension numbers;
- a `negate` or `not` is merged into a constant, or into its user, if that has an inverse op;
- integer constants that are added one after the other are one constant, on the right;
- a comparison has its constant on the right, and the bounds of its operands do not decide it;
- a gather whose indices are arithmetic sequences is a `slice`, one of a single slice is a
  `dynamic_slice`; a scatter of one window that is known to be in range is a
  `dynamic_update_slice`.

Each rule lowers the number of ops between an argument and a result, or moves an op closer to its
place in that order, or replaces an op by one further down in the order transpose,
broadcast_in_dim, reshape, constant: so the rewriting terminates.

The rules in `promised` are exact under an assumption, and tried only if the user promised it.
"""
