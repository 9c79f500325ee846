"""Remove what a program does for nothing: bit for bit the same, for every input.

Every rule is exact: NaN, infinities, signed zeros, denormals and integer wrap-around included, on
booleans (where add is OR and multiply is AND), unsigned numbers, complex numbers and small floats.

The normal form, which keeps rules from chasing each other:

- a constant whose elements are all equal is one splat `constant`, not a broadcast of a scalar;
- an op on constants is a constant, where every implementation gives the same bits, and where that
  writes out no more elements than it takes away;
- a reduction has something to reduce, a branch is not known beforehand, a loop takes no known turn
  but several, and it carries what changes and is used;
- an op that only adds or drops extents of 1 is a `reshape`, never a `transpose` or
  `broadcast_in_dim`;
- of a chain of ops of one kind one is left: reshapes, transposes, broadcasts, slices, reverses,
  pads with one value, lossless converts;
- from an argument to a result the order is: slices, concatenations, what works element by element,
  reverses, reshapes, transposes, broadcasts. An op moves to its place where nothing else uses what
  it passes, so that as few elements as can be are computed, and moves meet that undo each other;
  a reshape that adds extents of 1 moves even so;
- a `broadcast_in_dim` comes last: transposes, slices and reverses move to its operand or vanish
  into its dimensions, and it takes up a reshape before it that only adds extents of 1;
- a `dot_general` takes up transposes into its dimension numbers;
- a `negate` or `not` is absorbed by a constant, or by the op it feeds, if that has an inverse;
- integer constants that are added one after the other are one, on the right;
- a comparison has its constant on the right, and none of it is decided by the ranges of integers;
- a gather of evenly spaced slices is a `slice`, of one slice a `dynamic_slice`; a scatter of one
  window, known to be in range, is a `dynamic_update_slice`; each is taken from as early a value as
  it can be, and with starts that are constant, or clamped by nothing else.

So every rule lowers the number of ops between an argument and a result, or moves an op one op
closer to its place in that order, or replaces an op by one further down in the order transpose,
broadcast_in_dim, reshape, constant: none of these can go on for ever.

The rules in `promised` are exact where what they assume was promised, and not tried elsewhere.
"""
