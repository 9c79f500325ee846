"""Proofs that a rewrite keeps the meaning of elementwise programs, for every input, by z3.

No proof is written by hand. A program on which a rule fires is evaluated for one element, before
and after, as z3 terms, and z3 searches for an input on which the two differ.
"""

from __future__ import annotations

from .prove import ProofResult, ProofStatus, prove, prove_rule

__all__ = ["ProofResult", "ProofStatus", "prove", "prove_rule"]
