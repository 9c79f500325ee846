"""What a child of the fuzzer needs, imported once: no MLIR context may exist before it forks."""

import jxc.ir
import jxc.passes.simplify
import jxc.pipeline  # noqa: F401
