"""Spell out short loops of integer arithmetic: the rounds of JAX's default random numbers.

JAX writes threefry's twenty rounds as a loop of five turns, whose rotations are carried constants.
Spelled out, their amounts are known and all rounds are one kernel. Pays on CPU: 2 to 4 times faster
from 256 words on, 2 to 4 inside scans, and 0.05 to 0.4 s less to compile for each shape; `normal`
1.3, `bernoulli` and dropout 2.5 to 3.5. A loop stays where XLA would compute the rounds again and
again inside what uses them (a broadcast along rows ran at 0.1, a cumulative sum at 0.4). Where XLA
now shares out a kernel of under a hundred words among threads, 20 us are lost. Loops of
floating-point work lost (0.3 to 1), but for a few.
"""
