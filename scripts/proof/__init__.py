"""Proofs by z3 that a rule keeps the results of elementwise programs for every input.

No proof is written by hand. A program on which a rule fires is evaluated for one element, before
and after the rule, as z3 terms. z3 then searches for an input on which the two differ.
"""

from __future__ import annotations

from .prove import ProofResult, ProofStatus, prove, prove_rule

__all__ = ["ProofResult", "ProofStatus", "prove", "prove_rule"]
