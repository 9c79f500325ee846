"""A folder of small files with a size limit, shared by processes: results that are dear to compute.

Each entry is one file: a header with the checksum of the data, then the data. No lock is needed. A
file appears under its name only when it is complete, because it is written under another name and
renamed. An entry that is missing, damaged or removed by another process counts as absent. A folder
that cannot be written to keeps its entries and takes no new ones.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"jxc-store-1\n"
_DIGEST_BYTES = 32
_SUFFIX = ".entry"
_TEMPORARY = ".new-"
_ABANDONED_S = 3600.0  # a temporary file that is older was left by a process that died


@dataclass(frozen=True)
class StoredEntry:
    """One entry of a `Store`.

    Attributes:
        key: the key.
        size: bytes of the file, header included.
        used: when it was last read or written, in seconds since the epoch.
    """

    key: str
    size: int
    used: float


@dataclass(frozen=True)
class Store:
    """The entries in one folder, by key. The folder is created by the first `put`.

    Attributes:
        directory: the folder; no other files should be in it.
        limit_bytes: the total size above which `put` removes the entries that were not used for
            the longest time.
    """

    directory: Path
    limit_bytes: int

    def get(self, key: str) -> bytes | None:
        """The data of an entry, which counts as used now; None if it is absent or damaged."""
        path = self._path(key)
        try:
            raw = path.read_bytes()
        except OSError:
            return None
        data = _data_of(raw)
        with suppress(OSError):  # a folder that can only be read
            if data is None:
                path.unlink()
            else:
                os.utime(path)
        return data

    def put(self, key: str, data: bytes) -> bool:
        """Add or replace an entry, then remove old ones; returns whether it was written."""
        raw = _MAGIC + hashlib.sha256(data).digest() + data
        if len(raw) > self.limit_bytes:
            return False
        path = self._path(key)
        temporary = self.directory / (_TEMPORARY + os.urandom(12).hex())
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            with temporary.open("xb") as file:
                file.write(raw)
            temporary.replace(path)
        except OSError:  # not writable, or no space left
            with suppress(OSError):
                temporary.unlink()
            return False
        self._shrink()
        return True

    def remove(self, key: str) -> bool:
        """Remove one entry; returns whether there was one."""
        try:
            self._path(key).unlink()
        except OSError:
            return False
        return True

    def entries(self) -> list[StoredEntry]:
        """All entries, the most recently used first. Their data is not checked."""
        found = [
            StoredEntry(path.name.removesuffix(_SUFFIX), size, used)
            for path, size, used in self._files()
            if path.name.endswith(_SUFFIX)
        ]
        return sorted(found, key=lambda entry: (-entry.used, entry.key))

    def _path(self, key: str) -> Path:
        if not key or not all(char.isalnum() or char in "-_." for char in key) or key[0] == ".":
            raise ValueError(f"key {key!r}: expected letters, digits, '-', '_' and '.'")
        return self.directory / (key + _SUFFIX)

    def _shrink(self) -> None:
        """Remove the oldest entries above the limit, and the files of processes that died."""
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        while total > self.limit_bytes:
            oldest = entries.pop()
            self.remove(oldest.key)
            total -= oldest.size
        for path, _, used in self._files():
            if path.name.startswith(_TEMPORARY) and time.time() - used > _ABANDONED_S:
                with suppress(OSError):
                    path.unlink()

    def _files(self) -> Iterator[tuple[Path, int, float]]:
        """The path, size and time of each file in the folder."""
        try:
            found = list(os.scandir(self.directory))
        except OSError:
            return
        for each in found:
            with suppress(OSError):  # removed by another process
                status = each.stat()
                yield Path(each.path), status.st_size, status.st_mtime


def _data_of(raw: bytes) -> bytes | None:
    """The data in the bytes of a file; None if they are not those of a complete entry."""
    start = len(_MAGIC) + _DIGEST_BYTES
    if not raw.startswith(_MAGIC) or len(raw) < start:
        return None
    data = raw[start:]
    return data if hashlib.sha256(data).digest() == raw[len(_MAGIC) : start] else None
