"""Reading files of the user: damaged files are errors with a message."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jxc.errors import UsageError
from jxc.files import MOST_DEPTH, from_json, parse_json, read_arrays, write_output


@pytest.fixture(params=["x.npy", "x.npz", "packed.npz"])
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    arrays = {"a": np.arange(12.0, dtype=np.float32).reshape(3, 4), "b": np.ones(5, np.int8)}
    if path.suffix == ".npy":
        np.save(path, arrays["a"])
    elif path.stem == "packed":
        np.savez_compressed(path, **arrays)
    else:
        np.savez(path, **arrays)
    return path


def mutations(raw: bytes, count: int) -> Iterator[bytes]:
    """The bytes with one to four random changes: replaced, cut off, deleted or repeated."""
    rng = random.Random(15)
    for _ in range(count):
        data = bytearray(raw)
        at = rng.randrange(len(data))
        match rng.randrange(4):
            case 0 | 1:
                for _ in range(rng.randint(1, 4)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
            case 2:
                del data[at:]
            case 3:
                data[at:at] = data[at : at + rng.randint(1, 9)]
        yield bytes(data)


def test_read_arrays_reads_what_numpy_writes(saved: Path) -> None:
    found, expected = read_arrays(saved), np.load(saved)
    for name in ["a", "b"] if isinstance(found, dict) else [...]:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize(
    "array",
    [np.float32(3), np.ones((0, 3)), np.asfortranarray(np.arange(6).reshape(2, 3))],
    ids=["scalar", "empty", "columns-first"],
)
def test_read_arrays_keeps_shape_and_order(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", array)
    np.testing.assert_array_equal(read_arrays(tmp_path / "x.npy"), array, strict=True)


@pytest.mark.filterwarnings("ignore")
def test_read_arrays_rejects_damaged_files_with_a_message(saved: Path) -> None:
    refused = 0
    for data in mutations(saved.read_bytes(), 400):
        saved.write_bytes(data)
        try:
            read_arrays(saved)
        except UsageError as error:
            refused += 1
            assert str(saved) in str(error)
            assert "\n" not in str(error)
    assert refused > 50  # the other mutations changed only a number in the data, or nothing


def test_read_arrays_does_not_allocate_by_the_header_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.ones(4))
    path.write_bytes(path.read_bytes().replace(b"(4,), }" + b" " * 12, b"(4000000000000,), }"))
    with pytest.raises(UsageError, match="header promises 32000000000000 bytes of data, and it"):
        read_arrays(path)


def test_read_arrays_lists_the_arrays_of_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", weight=np.arange(3))
    with pytest.raises(UsageError, match=r"no array 'weigh'\. Did you mean 'weight'\?"):
        read_arrays(tmp_path / "x.npz", "weigh")


def test_read_arrays_rejects_objects(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}]), allow_pickle=True)
    with pytest.raises(UsageError, match="holds elements of type object"):
        read_arrays(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[" * 100_000, "nests more than 500 levels"),
        ("[" * (MOST_DEPTH + 1) + "]" * (MOST_DEPTH + 1), "nests more than 500 levels"),
        ('{"a":' * 600 + "1" + "}" * 600, "nests more than 500 levels"),
        ("[1" + "0" * 5000 + "]", "an integer has more than 4300 digits"),
        (b'{"a": "\xff"}', "byte 7 is not UTF-8"),
        (b"", "Expecting value"),
    ],
    ids=["open", "deep", "objects", "digits", "bytes", "empty"],
)
def test_parse_json_raises_only_value_errors(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        parse_json(text)


def test_parse_json_reads_what_nests_as_deep_as_it_may() -> None:
    value = parse_json("[" * MOST_DEPTH + "]" * MOST_DEPTH)
    assert isinstance(value, list) and len(value) == 1


@dataclass(frozen=True)
class Part:
    sizes: tuple[int, ...]
    pair: tuple[str, float] = ("", 0.0)


@dataclass(frozen=True)
class Whole:
    name: str
    part: Part | None = None
    parts: Mapping[str, tuple[Part, ...]] = field(default_factory=dict)
    value: str | bool | int = ""
    rest: Any = None


def test_from_json_makes_dataclasses() -> None:
    text = """{"name": "x", "part": {"sizes": [1, 2], "pair": ["a", 3]}, "value": true,
        "parts": {"b": [{"sizes": []}]}, "rest": [null], "unknown": 1}"""
    found = from_json(Whole, parse_json(text))
    part, parts = Part((1, 2), ("a", 3.0)), {"b": (Part(()),)}
    assert found == Whole("x", part, parts, True, [None])
    assert from_json(Whole, {"name": "x", "part": None}) == Whole("x")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([], "expected an object, found an array"),
        ({}, "expected the key 'name', found none"),
        ({"name": 1}, "expected a string at name, found an integer"),
        ({"name": "x", "part": 1}, "expected an object or null at part, found an integer"),
        ({"name": "x", "parts": {"b": [1]}}, r"expected an object at parts.b\[0\], found an int"),
        ({"name": "x", "parts": []}, "expected an object at parts, found an array"),
        ({"name": "x", "value": []}, "a string or true or false or an integer at value, found an"),
        ({"name": "x", "value": None}, "found null"),
    ],
)
def test_from_json_names_the_position_of_a_wrong_type(value: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_json(Whole, value)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (["a"], "expected 2 values at pair, found 1"),
        (["a", True], r"expected a number at pair\[1\], found true or false"),
        (["a", 10**400], r"expected a number at pair\[1\], found an integer"),
    ],
)
def test_from_json_checks_each_part_of_a_tuple(pair: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        from_json(Part, {"sizes": [], "pair": pair})


KILLED = """
import os, sys
from jxc.files import write_output
replace = os.replace
os.replace = lambda *names: os.kill(os.getpid(), 9)
write_output(b"killed", sys.argv[1])
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no signal 9 and no flock")
def test_the_file_of_a_killed_process_is_removed_by_the_next_one(tmp_path: Path) -> None:
    out = tmp_path / "out.mlir"
    out.write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, str(out)])
    assert done.returncode == -signal.SIGKILL
    assert out.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2  # the unfinished file too
    write_output(b"new", str(tmp_path / "other.mlir"))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other.mlir", "out.mlir"]
    assert (tmp_path / "other.mlir").read_text() == "new"


def test_write_output_keeps_out_of_files_that_others_prepared(tmp_path: Path) -> None:
    """A link under the name of the temporary file, and one that another process has locked."""
    secret, out = tmp_path / "secret", tmp_path / "out.mlir"
    secret.write_text("secret")
    temporary = tmp_path / ".jxc-new"
    temporary.symlink_to(secret)
    write_output(b"new", str(out))
    temporary.unlink()
    os.link(secret, temporary)
    write_output(b"newer", str(out))
    assert (secret.read_text(), out.read_text()) == ("secret", "newer")
    assert out.stat().st_ino != secret.stat().st_ino


def test_write_output_of_several_threads_writes_whole_files(tmp_path: Path) -> None:
    texts = [bytes([65 + n]) * 100_000 for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(5):
            list(pool.map(lambda text: write_output(text, str(tmp_path / "out")), texts))
            assert (tmp_path / "out").read_bytes() in texts
    assert [each.name for each in tmp_path.iterdir()] == ["out"]


def mutated(rng: random.Random, value: Any) -> Any:
    """A value of JSON with one part replaced by one of another type, removed or nested."""
    other = [None, True, 3, -(10**30), 0.5, float("nan"), "text", [], {}, [[1]], {"a": None}]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: mutated(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        return [*value[:at], mutated(rng, value[at]), *value[at + 1 :]]
    return rng.choice(other)


def test_from_json_of_mutated_objects_raises_only_value_errors() -> None:
    rng, refused = random.Random(7), 0
    plain = {"name": "x", "part": {"sizes": [1, 2], "pair": ["a", 3]}, "parts": {"b": []}}
    for _ in range(2000):
        value = mutated(rng, plain)
        try:
            found = from_json(Whole, value)
        except ValueError:
            refused += 1
        else:
            assert isinstance(found, Whole) and isinstance(found.name, str)
    assert 200 < refused < 2000
