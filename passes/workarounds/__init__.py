"""Work around faults of XLA: programs that it computes incorrectly, or that end the process.

In O1 to O3, after all other passes, so that none of them restores the faulty form. All rules are
exact. `faults` lists each fault, with a public report and the jaxlib versions on which it was seen.

The rules apply on every version of jaxlib: a plugin may bring another XLA than jaxlib. They cost no
time that was measurable, except for products of rank 7 and more, which are stored before they are
summed.
"""
