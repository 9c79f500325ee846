"""Helpers for the tests of `jxc.explain`."""

import numpy as np

import jxc


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def explained(block):
    """The only group of recompilations in `block`."""
    with jxc.explain() as log:
        block()
    [group] = log.groups
    return group
