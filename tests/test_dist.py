"""The sdist and the wheel: the same bytes each time, what they hold, and their size."""

import email
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The sdist and the wheel."""
    return build(tmp_path_factory.mktemp("dist"), umask=0o022)


def build(folder, umask):
    command = [sys.executable, str(ROOT / "scripts" / "dist.py"), "--no-isolation", "-o", folder]
    done = subprocess.run(
        command, umask=umask, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def members(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return email.message_from_bytes(archive.read(name))


def test_building_twice_gives_the_same_bytes(built, tmp_path):
    again = build(tmp_path, umask=0o077)
    assert [file.name for file in again] == [file.name for file in built]
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in built]


def test_the_wheel_holds_the_packages_and_their_data_only(built):
    def installed(folder, package):
        files = [*(ROOT / folder).rglob("*.py"), *data_files(folder)]
        return {f"{package}/{file.relative_to(ROOT / folder)}" for file in files}

    code = {name for name in members(built[1]) if ".dist-info/" not in name}
    assert code == installed("toolchain", "jxc") | installed("passes", "jxc/passes")


def data_files(folder):
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    for package, globs in patterns["package-data"].items():
        name = re.sub(r"^jxc\.passes\b", "passes", package)
        name = re.sub(r"^jxc\b", "toolchain", name).replace(".", "/")
        if name.split("/")[0] == folder:
            for each in globs:
                yield from (ROOT / name).glob(each)


NOT_INSTALLED = {ROOT / "passes/elementary/bounds.json"}
"""Files beside the code that only scripts and tests read."""


def test_no_file_of_a_package_is_left_out():
    """A file beside the code is Python, declared as `package-data`, or documentation."""
    for folder in ("toolchain", "passes"):
        found = {
            file
            for file in (ROOT / folder).rglob("*")
            if file.is_file() and file.suffix not in (".py", ".pyc", ".md")
        }
        assert found - NOT_INSTALLED == set(data_files(folder))


def test_the_wheel_is_typed_licensed_and_has_its_entry_points(built):
    names = members(built[1])
    assert "jxc/py.typed" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    with zipfile.ZipFile(built[1]) as archive:
        (points,) = (n for n in names if n.endswith("entry_points.txt"))
        text = archive.read(points).decode()
    for line in ("jxc = jxc.cli:main", "jxc = jxc.backend.autoload", "jxc = jxc.testing.plugin"):
        assert line in text


def test_the_metadata_is_complete(built):
    read = metadata(built[1])
    assert read["Version"] == PROJECT["version"]
    assert read["License-Expression"] == "Apache-2.0"
    assert read["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in read.get_all("Classifier")
    assert read.get_payload().startswith("# jxc")


def test_jxc_requires_few_packages(built):
    required = [each for each in metadata(built[1]).get_all("Requires-Dist") if "extra" not in each]
    names = sorted(re.split(r"[>=<]", each)[0] for each in required)
    assert names == ["click", "jax", "jaxlib", "numpy", "platformdirs", "rich", "scipy"]


def test_the_wheel_and_the_sdist_are_small(built):
    sdist, wheel = built
    assert wheel.stat().st_size < 1_600_000
    assert sdist.stat().st_size < 2_500_000


def test_the_sdist_holds_what_builds_and_tests_need(built):
    with tarfile.open(built[0]) as archive:
        held = {each.name.partition("/")[2] for each in archive if each.isfile()}
    if not (ROOT / ".git").exists():
        pytest.skip("git lists the files of the project")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    ).stdout.splitlines()
    missing = {name for name in listed if (ROOT / name).exists()} - held
    assert missing == {".ci/run", ".gitignore"}


def test_the_sdist_builds_itself_without_git(built, tmp_path):
    """A packager who has the sdist only gets the same wheel."""
    with tarfile.open(built[0]) as archive:
        archive.extractall(tmp_path, filter="data")
    (tree,) = tmp_path.iterdir()
    environment = {key: os.environ[key] for key in os.environ if key != "SOURCE_DATE_EPOCH"}
    command = [sys.executable, "scripts/dist.py", "--no-isolation"]
    subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=300, check=True)
    (wheel,) = (tree / "dist").glob("*.whl")
    assert wheel.read_bytes() == built[1].read_bytes()


def test_import_loads_three_modules_of_jxc_and_no_other_package():
    code = """
import sys
before = set(sys.modules)
import jxc
loaded = {name for name in set(sys.modules) - before}
print(*sorted(n for n in loaded if n.partition(".")[0] not in sys.stdlib_module_names))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["jxc", "jxc.distribution", "jxc.errors"]


def test_the_version_is_stated_once():
    """`jxc --version` reads the installed metadata; the changelog has a section for it."""
    version = PROJECT["version"]
    stating = [
        str(file.relative_to(ROOT))
        for folder in ("toolchain", "passes", "scripts")
        for file in (ROOT / folder).rglob("*.py")
        if f'"{version}"' in file.read_text()
    ]
    assert stating == []
    assert f"\n## {version} (" in (ROOT / "CHANGELOG.md").read_text()
