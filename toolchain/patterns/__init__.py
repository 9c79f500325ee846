"""Replacements written in JAX: `jxc.replacement`.

`declare` holds what the user declares, and `replacement` is its public form. `trace` turns
functions into StableHLO by way of JAX. `pattern`, `axes`, `steps`, `bodies` and `match` find a
graph in a program, `layout` reads the dimensions of a match, `insert` puts the alternative in its
place, and `apply` runs all of it on a module.
"""

from __future__ import annotations

from .apply import replacement_pass as replacement_pass
from .replacement import Replacement as Replacement, replacement as replacement
