"""The folder of results that processes share: bounded, and harmless when damaged."""

import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from jxc.backend.store import Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results", limit_bytes=10_000)


def test_put_and_get(store):
    assert store.get("a") is None
    assert store.put("a", b"one")
    assert store.put("a", b"two")
    assert store.get("a") == b"two"
    assert [entry.key for entry in store.entries()] == ["a"]
    assert store.put("empty", b"")
    assert store.get("empty") == b""


def test_remove_says_whether_there_was_an_entry(store):
    assert [store.put(key, b"data") for key in "abc"] == [True] * 3
    assert store.remove("b")
    assert not store.remove("b")
    assert all(store.remove(entry.key) for entry in store.entries())
    assert store.entries() == []
    assert list(store.directory.iterdir()) == []


@pytest.mark.parametrize("key", ["", "../a", "a/b", ".hidden", "a b"])
def test_a_key_that_is_no_file_name_is_rejected(store, key):
    with pytest.raises(ValueError, match="expected letters"):
        store.get(key)


def test_entries_unused_for_longest_are_removed_first(store):
    for key in "abc":
        store.put(key, bytes(3000))
        os.utime(store.directory / f"{key}.entry", (0, ord(key)))
    assert store.get("a") is not None  # counts as used now
    assert store.put("d", bytes(3000))
    assert {entry.key for entry in store.entries()} == {"a", "c", "d"}
    assert not store.put("large", bytes(10_000))
    assert store.get("d") == bytes(3000)


@pytest.mark.parametrize("damage", ["truncated", "header", "flipped", "foreign", "empty"])
def test_a_damaged_entry_is_absent_and_is_replaced(store, damage):
    store.put("a", bytes(range(200)))
    [path] = store.directory.iterdir()
    raw = path.read_bytes()
    flipped = raw[:-1] + bytes([raw[-1] ^ 1])
    changed = {"truncated": raw[:-1], "header": raw[:20], "flipped": flipped, "foreign": b"text"}
    path.write_bytes(changed.get(damage, b""))
    assert store.get("a") is None
    assert not path.exists()
    assert store.put("a", b"new")
    assert store.get("a") == b"new"


def test_temporary_files_of_dead_processes_are_removed(store):
    store.put("a", b"data")
    old, new = store.directory / ".new-1", store.directory / ".new-2"
    for path in (old, new):
        path.write_bytes(b"incomplete")
    os.utime(old, (time.time() - 7200,) * 2)
    store.put("b", b"data")
    assert not old.exists()
    assert new.exists()
    assert {entry.key for entry in store.entries()} == {"a", "b"}


def test_a_folder_that_cannot_be_written_to_is_harmless(store, tmp_path):
    (tmp_path / "file").write_text("")
    blocked = Store(tmp_path / "file" / "inside", limit_bytes=1000)
    assert not blocked.put("a", b"data")
    assert blocked.get("a") is None
    assert blocked.entries() == []
    store.put("a", b"data")
    store.directory.chmod(0o500)
    try:
        assert store.get("a") == b"data"
        if not os.access(store.directory, os.W_OK):  # not as root
            assert not store.put("b", b"data")
    finally:
        store.directory.chmod(0o700)


def _write_and_read(directory, seed):
    store = Store(directory, limit_bytes=20_000)
    for number in range(60):
        key = f"k{(number * 7 + seed) % 13}"
        store.put(key, key.encode() * 1000)
        found = store.get(f"k{number % 13}")
        assert found in (None, f"k{number % 13}".encode() * 1000)
    return True


def test_processes_at_the_same_time(tmp_path):
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        assert all(pool.map(_write_and_read, [tmp_path] * 4, range(4)))
    store = Store(tmp_path, limit_bytes=20_000)
    assert all(store.get(entry.key) is not None for entry in store.entries())
    assert sum(entry.size for entry in store.entries()) <= 20_000
