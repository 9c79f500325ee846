"""HLO's opcodes under the names that StableHLO has for them, and the context that hang on them."""

from __future__ import annotations

from .. import Instruction


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


COLLECTIVES = words(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all "
    "reduce-scatter send recv"
)
"""The opcodes that talk to other devices."""

_STRUCTURE = words(
    "parameter constant tuple get-tuple-element bitcast after-all add-dependency domain "
    "partition-id replica-id get-dimension-size opt-barrier"
)
_CONTROL = words("while conditional call async-start async-done async-update")
_IDLE_CALLS = words(
    "AllocateBuffer ConcatBitcast AssumeGatherIndicesInBound GatherScatterIndicesBitpacked "
    "Sharding SPMDFullToShardShape SPMDShardToFullShape annotate_device_placement"
)


def base_opcode(instruction: Instruction) -> str:
    """The opcode of what is done, for an asynchronous op without `-start`."""
    return instruction.opcode.removesuffix("-start")


def target_of(instruction: Instruction) -> str:
    """The name of what a custom call calls; empty for anything else."""
    return instruction.attributes.get("custom_call_target", "").strip('"')


def is_free(instruction: Instruction) -> bool:
    """Whether it only names or regroups values, so that nothing runs for it."""
    opcode = instruction.opcode
    if opcode in _STRUCTURE or opcode.endswith(("-done", "-update")):
        return True
    return target_of(instruction) in _IDLE_CALLS


def is_control(instruction: Instruction) -> bool:
    """Whether it only runs other computations."""
    return instruction.opcode in _CONTROL
