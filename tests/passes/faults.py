"""The faults of XLA that jxc's levels avoid.

`test_xla_faults.py` has a program for each, and fails if this list is wrong for plain XLA of the
installed jaxlib. `docs/promises.md` prints the list.
"""

from __future__ import annotations

from dataclasses import dataclass

CHECKED = ("0.10.2", "0.12.0.1")
"""The versions of jaxlib that were tested for every fault, on CPU."""


@dataclass(frozen=True)
class Fault:
    """A fault of XLA.

    Attributes:
        name: of the program in the test.
        title: the program, and what XLA does with it.
        report: the address of a public report; empty where none is known.
        seen: those of `CHECKED` that have the fault.
        rule: the rule that avoids it, at O1 and above.
        depends_on_cpu: whether other CPUs may not show it: a library chooses kernels by the CPU.
    """

    name: str
    title: str
    report: str
    seen: tuple[str, ...]
    rule: str
    depends_on_cpu: bool = False


_XLA, _JAX = "https://github.com/openxla/xla/issues/", "https://github.com/jax-ml/jax/issues/"

FAULTS = (
    Fault(
        "narrow-scatter-index",
        "a `scatter` whose index type cannot hold the last index loses updates",
        f"{_XLA}48718",
        ("0.10.2",),
        "widen-scatter-index",
    ),
    Fault(
        "narrow-update-index",
        "a `dynamic_update_slice` with such an index writes elsewhere, or out of bounds",
        "",
        ("0.10.2",),
        "widen-update-index",
    ),
    Fault(
        "cropped-window-of-ones",
        "a `reduce_window` of ones with negative padding ends the process (SIGABRT)",
        f"{_XLA}48719",
        CHECKED,
        "pad-before-window-of-ones",
    ),
    Fault(
        "window-of-a-scalar",
        "a `reduce_window` of a scalar ignores its initial value and its body",
        "",
        CHECKED,
        "window-of-scalar-to-body",
    ),
    Fault(
        "crop-before-window",
        "a `pad` that crops, in front of a window that pads, keeps what it should crop",
        f"{_XLA}48715",
        ("0.10.2",),
        "crop-before-pad",
    ),
    Fault(
        "dilated-window",
        "a `reduce_window` ignores `base_dilation` where the window has one element",
        f"{_XLA}48714",
        CHECKED,
        "dilate-after-window",
        depends_on_cpu=True,
    ),
    Fault(
        "sum-of-product-of-rank-7",
        "a sum of products of rank 7 with an extent of 1 ends the process (SIGSEGV)",
        f"{_JAX}40412",
        ("0.10.2",),
        "store-product-of-sum",
        depends_on_cpu=True,
    ),
    Fault(
        "sum-of-product-of-rank-8",
        "a sum of broadcast products of rank 8 ends the process (SIGSEGV), or never ends",
        f"{_JAX}39257",
        ("0.10.2",),
        "store-product-of-sum",
        depends_on_cpu=True,
    ),
    Fault(
        "sum-of-small-products",
        "`vmap` of a small matrix product and a reduction has wrong last elements",
        f"{_JAX}39103",
        ("0.10.2",),
        "store-small-dot",
        depends_on_cpu=True,
    ),
)
