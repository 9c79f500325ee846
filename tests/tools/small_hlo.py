"""Small HLO modules to measure: from files, or a few lines around a body."""

from __future__ import annotations

from pathlib import Path

from jxc.hlo import Instruction, Module, parse_hlo
from jxc.hlo.work import Executed, executed

PROGRAMS = Path(__file__).parent / "programs"
N = 256 * 256


def program(name: str) -> Module:
    return parse_hlo((PROGRAMS / f"{name}.hlo").read_text())


def runs(name: str) -> dict[str, Executed]:
    return {each.instruction.name: each for each in executed(program(name))}


def entry(body: str, others: str = "") -> Module:
    return parse_hlo(f"HloModule m\n\n{others}\nENTRY %main () -> f32[] {{\n{body}\n}}\n")


def last(body: str, others: str = "") -> Instruction:
    return entry(body, others).entry.instructions[-1]


ADD = """
%add (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %sum = f32[] add(%a, %b)
}
"""
