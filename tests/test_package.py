"""The package metadata: folders, dependencies, and the files that use private names."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def folders(root, name):
    inits = (ROOT / root).rglob("__init__.py")
    return {".".join((name, *init.relative_to(ROOT / root).parts[:-1])) for init in inits}


def test_packages_lists_every_folder():
    declared = set(PROJECT["tool"]["setuptools"]["packages"])
    assert declared == folders("toolchain", "jxc") | folders("passes", "jxc.passes")


def test_every_dependency_has_a_lower_bound():
    extras = PROJECT["project"]["optional-dependencies"].values()
    everything = [*PROJECT["project"]["dependencies"], *(d for extra in extras for d in extra)]
    assert [d for d in everything if ">=" not in d and not d.startswith("jxc[")] == []


def test_private_names_are_used_only_in_private_modules():
    touching = {
        str(file.relative_to(ROOT))
        for folder in ("toolchain", "passes")
        for file in (ROOT / folder).rglob("*.py")
        if any(
            word in line
            for line in file.read_text().splitlines()
            for word in ("jax._src", "jaxlib._", "_mlir_libs")
            if not line.lstrip().startswith(("#", '"'))
        )
    }
    assert {path for path in touching if not path.endswith("_private.py")} == set()
