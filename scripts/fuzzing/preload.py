"""Modules that each child of the fuzzer needs, imported before it forks. Creates no context."""

import jxc.ir
import jxc.passes.simplify
import jxc.pipeline  # noqa: F401
