"""The cases of the survey: every public function of JAX's modules, and how each is called."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import tomllib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

_CALLS = tomllib.loads((Path(__file__).parent / "calls.toml").read_text())
_MODULES = [
    "jax.numpy",
    "jax.numpy.linalg",
    "jax.numpy.fft",
    "jax.lax",
    "jax.lax.linalg",
    "jax.nn",
    "jax.nn.initializers",
    "jax.random",
    "jax.image",
    "jax.ops",
]
_OPTAX = ("optax", "optax.losses")
PROGRAMS = "survey.programs"
_PACKAGES = ("jax.scipy", "jax.scipy.stats")  # with all modules in them
_OPTAX_TAKES_FUNCTIONS = "takes or returns functions, schedules or states of optax"
UNKNOWN = "not in calls.toml"
TYPED = ("jax.numpy", "jax.lax", "jax.nn", "jax.numpy.linalg", "jax.numpy.fft")
TYPES = {"f32": "float32", "bf16": "bfloat16", "f64": "float64", "i32": "int32", "c64": "complex64"}


@dataclass(frozen=True)
class Case:
    """One row of the survey.

    Attributes:
        module, name: the function.
        call: the expression that calls it; see `calls.toml`.
        mode: "forward", "gradient" or "vmap".
        size: a key of `arguments.SIZES`.
        type: a key of `TYPES`.
    """

    module: str
    name: str
    call: str
    mode: str = "forward"
    size: str = "usual"
    type: str = "f32"

    @property
    def key(self) -> str:
        return " ".join(asdict(self).values())

    @property
    def label(self) -> str:
        """The call as a user writes it."""
        return self.call.replace("f(", f"{self.module}.{self.name}(", 1)


def modules() -> Iterator[tuple[str, ModuleType]]:
    """The modules whose functions are surveyed; optax's only where it is installed."""
    names = list(_MODULES)
    for package in _PACKAGES:
        found = importlib.import_module(package)
        names += [package] * (package == "jax.scipy.stats")
        names += [f"{package}.{each.name}" for each in pkgutil.iter_modules(found.__path__)]
    for name in dict.fromkeys([*names, *_OPTAX, PROGRAMS]):
        try:
            yield name, importlib.import_module(name)
        except ImportError:
            continue


def functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module; its classes and modules are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # names that JAX deprecates
        for name in sorted(dir(module)):
            found = getattr(module, name, None)
            is_other = inspect.isclass(found) or inspect.ismodule(found)
            if not name.startswith("_") and callable(found) and not is_other:
                yield name, found


def surveyed() -> tuple[list[Case], dict[str, str]]:
    """The forward cases at the usual size, and the reason of each function that has none.

    A function that `calls.toml` does not know, of another version of JAX, is skipped as `UNKNOWN`.
    """
    cases: list[Case] = []
    skipped: dict[str, str] = {}
    seen: dict[int, str] = {}
    reasons = {name: why for why, each in _CALLS["skip"].items() for name in each["names"].split()}
    for module, found in modules():
        calls: dict[str, list[str]] = {}
        for call, names in _CALLS.get(module, {}).items():
            for name in names.split():
                calls.setdefault(name, []).append(call)
        for name, function in functions(found):
            whole = f"{module}.{name}"
            if seen.setdefault(id(function), whole) != whole:
                skipped[whole] = "the same function as one above"
            elif name in calls:
                cases += [Case(module, name, call) for call in calls[name]]
            elif name in reasons:
                skipped[whole] = reasons[name]
            elif module in _OPTAX:
                skipped[whole] = _OPTAX_TAKES_FUNCTIONS
            else:
                skipped[whole] = UNKNOWN
    return cases, skipped
