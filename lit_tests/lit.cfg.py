"""Lit configuration: `jxc` and FileCheck run in forks of one process under the Python of lit."""

import os
import sys
from pathlib import Path

import lit.formats

from jxc.backend.targets import find_target
from jxc.testing import warm

config.name = "jxc"  # noqa: F821 - lit defines `config` and `lit_config`
config.test_format = lit.formats.ShTest(execute_external=False)  # noqa: F821
config.suffixes = [".mlir", ".py", ".test"]  # noqa: F821
config.excludes = ["Inputs", "lit.cfg.py"]  # noqa: F821
config.test_source_root = os.path.dirname(__file__)  # noqa: F821
config.test_exec_root = os.path.join(os.path.dirname(__file__), "..", "build", "lit")  # noqa: F821

bin_dir = Path(sys.executable).parent
config.environment["PATH"] = os.pathsep.join((str(bin_dir), os.environ.get("PATH", "")))  # noqa: F821
config.environment["JAX_PLATFORMS"] = "cpu"  # noqa: F821
config.environment["COLUMNS"] = "80"  # noqa: F821
config.environment["JXC_RATES"] = "shipped"  # noqa: F821 - not this machine's calibration
config.environment["JXC_CACHE_DIR"] = os.path.join(config.test_exec_root, "cache")  # noqa: F821
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"  # noqa: F821
programs = warm.started(config.environment)  # noqa: F821
config.substitutions += [  # noqa: F821
    ("%jxc-process", f"{bin_dir / 'jxc'}"),  # one that imports what it needs, as users start it
    ("%jxc", warm.command(programs, "jxc")),
    ("%python", sys.executable),
    ("FileCheck", warm.command(programs, "filecheck")),
]

# Features for `REQUIRES:`. lit reports tests without their features as unsupported.
for feature, target in (("gpu", "gpu:h100"), ("tpu", "tpu:v5e:2x2")):
    if not find_target(target).missing:
        config.available_features.add(feature)  # noqa: F821
