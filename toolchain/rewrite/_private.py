"""Private names of jaxlib used by this room. Checked on jaxlib 0.10.2 to 0.12.0.1.

MLIR's rewrite drivers have no public face in jaxlib.
"""

from __future__ import annotations

from jaxlib.mlir._mlir_libs._mlir.rewrite import (
    GreedyRewriteConfig,
    PatternRewriter,
    RewritePatternSet,
    apply_patterns_and_fold_greedily,
)

__all__ = [
    "GreedyRewriteConfig",
    "PatternRewriter",
    "RewritePatternSet",
    "apply_patterns_and_fold_greedily",
]
