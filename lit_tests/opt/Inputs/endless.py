"""A pass that never ends."""

import time

import jxc


@jxc.module_pass
def endless(module):
    """Wait."""
    while True:
        time.sleep(1)
