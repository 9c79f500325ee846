"""Which HLO module the runs of a program belong to.

An event names its program by module and number, such as "jit_step(4)". The number is of the process
that compiled it. An executable from JAX's persistent cache, or from a file, has kept it, while its
HLO has a number of this process. Two programs then may have the same name.

The runs of an executable have consecutive numbers, which begin anywhere in 32 bits: these tell the
executables apart (`ExecutableNames`). Their HLO is found by the module's name, the names of the
kernels, and the order in which the programs were loaded and first ran (`modules_of`). A program
from a file is taken for one of this process if there is one of its name and number.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

_FAR = 1 << 20  # runs of one executable are closer than this to a run of it that is known
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?([\w.\-]+) = ", re.MULTILINE)


@dataclass
class _Executable:
    name: str
    low: int  # the numbers of its runs
    high: int


class ExecutableNames:
    """Gives the executables of a trace different names."""

    def __init__(self) -> None:
        self._executables: dict[str, list[_Executable]] = defaultdict(list)

    def name(self, program: str, run: int) -> str:
        """The name of the executable of a run: `program`, or "jit_step(4.2)" for the second one.

        Args:
            program: by the event.
            run: its number; 0 if it has none.
        """
        found = self._executables[program]
        for each in found:
            if each.low - _FAR < run < each.high + _FAR:
                each.low, each.high = min(run, each.low), max(run, each.high)
                return each.name
        name = f"{program.removesuffix(')')}.{len(found) + 1})" if found else program
        found.append(_Executable(name, run, run))
        return name


@dataclass
class TracedExecutable:
    """What a trace shows of an executable.

    Attributes:
        started: its first kernel.
        ops: the names of its kernels.
    """

    started: int
    ops: set[str] = field(default_factory=set)


def modules_of(
    programs: Mapping[str, TracedExecutable], texts: Mapping[str, str], loaded: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The HLO module of each executable, where it is not the one with the same name.

    Args:
        programs: the executables, by the names of `ExecutableNames`.
        texts: the HLO by name; it is read only where it is needed.
        loaded: the modules of which an executable came from the persistent cache, without numbers.

    Returns:
        For a name of an executable the name of its module; and the modules for which the assignment
        is ambiguous: several fit, and some of them did not run.
    """
    renamed: dict[str, str] = {}
    ambiguous: list[str] = []
    for module, names in _by_module(programs).items():
        own = _by_module(texts).get(module, [])
        if module not in loaded and set(names) <= set(own):
            continue
        instructions = {name: set(_INSTRUCTION.findall(texts[name])) for name in own}
        for name in sorted(names, key=lambda each: programs[each].started):
            ops = programs[name].ops
            shared = {each: len(ops & found) for each, found in instructions.items()}
            best = [each for each, count in shared.items() if count == max(shared.values())]
            if not best or not shared[best[0]]:
                continue
            if len(best) > 1 and len(own) != len(names) and module not in ambiguous:
                ambiguous.append(module)
            renamed[name] = best[0]
            del instructions[best[0]]
    return renamed, ambiguous


def _by_module(names: Iterable[str]) -> dict[str, list[str]]:
    """Names such as "jit_step(4)" by module, in the order of their numbers."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=_number):
        found[name.partition("(")[0]].append(name)
    return found


def _number(name: str) -> float:
    number = name.rpartition("(")[2].removesuffix(")")
    return float(number) if number.replace(".", "", 1).isdigit() else 0.0
