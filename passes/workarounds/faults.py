"""The faults of XLA that jxc's levels avoid.

`tests/passes/test_xla_faults.py` has a program for each. It fails if plain XLA of the installed
jaxlib has a fault that this list lacks for it, or lacks one that the list has. `docs/promises.md`
prints the list.
"""

from __future__ import annotations

from dataclasses import dataclass

CHECKED = ("0.10.2", "0.12.0.1")
"""The versions of jaxlib on which every fault was looked for, on CPU."""


@dataclass(frozen=True)
class Fault:
    """A fault of XLA.

    Attributes:
        name: of the program in the test.
        report: the address of a public report; empty where none is known.
        seen: those of `CHECKED` that have the fault.
        rule: the rule that avoids it, at O1 and above.
    """

    name: str
    report: str
    seen: tuple[str, ...]
    rule: str


_XLA, _JAX = "https://github.com/openxla/xla/issues/", "https://github.com/jax-ml/jax/issues/"

FAULTS = (
    Fault("narrow-scatter-index", f"{_XLA}48718", ("0.10.2",), "widen-scatter-index"),
    Fault("narrow-update-index", "", ("0.10.2",), "widen-update-index"),
    Fault("cropped-window-of-ones", f"{_XLA}48719", CHECKED, "crop-before-window"),
    Fault("crop-before-window", f"{_XLA}48715", ("0.10.2",), "crop-before-pad"),
    Fault("dilated-window", f"{_XLA}48714", CHECKED, "dilate-after-window"),
    Fault("sum-of-product-of-rank-7", f"{_JAX}40412", ("0.10.2",), "store-product-of-sum"),
    Fault("sum-of-product-of-rank-8", f"{_JAX}39257", ("0.10.2",), "store-product-of-sum"),
    Fault("sum-of-small-products", f"{_JAX}39103", ("0.10.2",), "store-small-dot"),
)
