"""Work around faults of XLA: programs that it computes incorrectly, or that end the process.

The levels O1 to O3 run it after all other passes, so that none of them restores the faulty form.
All rules are exact. `docs/promises.md` lists each fault, with a public report and the jaxlib
versions that have it.

The rules apply on every version of jaxlib: a plugin may bring another XLA than jaxlib.
`store-product-of-sum` and `store-small-dot` materialize a product that XLA would fuse with its sum.
"""
