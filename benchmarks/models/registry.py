"""The registry of benchmark programs: a function that builds each, and its properties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function to jit and its concrete arguments, which are pytrees of arrays including weights."""

SIZES = ("small", "usual", "large")
"""Sizes of a model. The usual one is small enough for two cores and large enough to be measured."""

MODELS: dict[str, Model] = {}
"""All models by name, in the order of the files; at other sizes as "NAME@small"."""


@dataclass(frozen=True)
class Model:
    """One benchmark program. Calling it builds the program.

    Attributes:
        name: kebab-case, starting with the family: "keras-xception", "keras-xception@small".
        build: builds the program; raises ImportError if its package is missing.
        windows: whether it contains depthwise or grouped convolutions or pooling.
        quick: whether `--quick` runs it.
        size: one of `SIZES`.
    """

    name: str
    build: Callable[[], Program]
    windows: bool
    quick: bool
    size: str = "usual"

    def __call__(self) -> Program:
        return self.build()


def add_model(
    name: str,
    build: Callable[..., Program],
    *,
    small: Mapping[str, Any],
    large: Mapping[str, Any],
    windows: bool = False,
    quick: bool = False,
) -> None:
    """Register a model at three sizes.

    Args:
        name: its name.
        build: builds it; its defaults are the usual size.
        small: the arguments of `build` for a small program, such as a batch of one.
        large: the arguments for one that takes four to ten times as long as the usual one.
        windows: see `Model`.
        quick: see `Model`; of the usual size.

    Raises:
        ValueError: the name is taken.
    """
    if name in MODELS:
        raise ValueError(f"two models are called {name!r}")
    MODELS[name] = Model(name, build, windows, quick)
    for size, arguments in (("small", small), ("large", large)):
        sized = f"{name}@{size}"
        MODELS[sized] = Model(sized, partial(build, **arguments), windows, False, size)


def model(
    *,
    small: Mapping[str, Any],
    large: Mapping[str, Any],
    windows: bool = False,
    quick: bool = False,
) -> Callable[[Callable[..., Program]], Callable[..., Program]]:
    """Register the decorated function under its own name; the arguments are `add_model`'s."""

    def enter(build: Callable[..., Program]) -> Callable[..., Program]:
        name = build.__name__.replace("_", "-")
        add_model(name, build, small=small, large=large, windows=windows, quick=quick)
        return build

    return enter
