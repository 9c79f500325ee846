"""Programs to measure on, by name: a function that builds each, and what kind it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Program = tuple[Callable[..., Any], tuple[Any, ...]]
"""What to jit, and concrete arguments for it: pytrees of arrays. Weights are arguments."""

MODELS: dict[str, Model] = {}
"""Every model of this package, by name, in the order of its files."""


@dataclass(frozen=True)
class Model:
    """One program of the benchmark; calling it builds the program.

    Attributes:
        name: kebab-case, the family first: "keras-xception".
        build: makes the program; raises ImportError where its package is missing.
        windows: whether it holds depthwise or grouped convolutions or pooling.
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
    """Enter a model.

    Raises:
        ValueError: there is one of that name.
    """
    if name in MODELS:
        raise ValueError(f"two models are called {name!r}")
    MODELS[name] = Model(name, build, windows, quick)


def model(
    *, windows: bool = False, quick: bool = False
) -> Callable[[Callable[[], Program]], Callable[[], Program]]:
    """Enter the decorated function under its own name."""

    def enter(build: Callable[[], Program]) -> Callable[[], Program]:
        add_model(build.__name__.replace("_", "-"), build, windows=windows, quick=quick)
        return build

    return enter
