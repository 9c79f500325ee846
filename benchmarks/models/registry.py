"""The registry of benchmark programs: a function that builds each, and its properties."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""A function to jit and its concrete arguments, which are pytrees of arrays including weights."""

MODELS: dict[str, Model] = {}
"""All models by name, in the order of the files."""


@dataclass(frozen=True)
class Model:
    """One benchmark program. Calling it builds the program.

    Attributes:
        name: kebab-case, starting with the family: "keras-xception".
        build: builds the program; raises ImportError if its package is missing.
        windows: whether it contains depthwise or grouped convolutions or pooling.
        quick: whether `--quick` runs it.
    """

    name: str
    build: Callable[[], Program]
    windows: bool
    quick: bool

    def __call__(self) -> Program:
        return self.build()


def add_model(
    name: str, build: Callable[[], Program], *, windows: bool = False, quick: bool = False
) -> None:
    """Register a model.

    Raises:
        ValueError: the name is taken.
    """
    if name in MODELS:
        raise ValueError(f"two models are called {name!r}")
    MODELS[name] = Model(name, build, windows, quick)


def model(
    *, windows: bool = False, quick: bool = False
) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    """Register the decorated function under its own name."""

    def enter(build: Callable[[], Program]) -> Callable[[], Program]:
        add_model(build.__name__.replace("_", "-"), build, windows=windows, quick=quick)
        return build

    return enter
