"""Do without indices that are evenly spaced, and without one-hot vectors.

Pays on CPU, where a scatter of columns, as `x.at[:, ::2].set(v)` writes it, takes 7 to 40 ns an
element: spread out by a pad and selected, bit for bit the same, every 2nd column gains 10 to 60
times, every 32nd 2, every 2nd row 2.8. One block, as `x.at[1:-1].add(v)` and
`x.at[jnp.arange(3, 9)].set(v)` write it, is updated in its place: 1 to 3 times. Under the promise
no-nans products with one-hot vectors become gathers and scatters: 64 rows gain 6 to 15 times, 512
gain 30 to 180. Compiles as fast. Best after `simplify`, which makes the indices plain.
"""
