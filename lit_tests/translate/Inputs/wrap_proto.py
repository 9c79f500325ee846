"""Wrap an HloModuleProto as XLA's dumps do: field 1 of an HloProto."""

import sys
from pathlib import Path

proto = Path(sys.argv[1]).read_bytes()
assert 128 <= len(proto) < 1 << 14
size = bytes([len(proto) & 127 | 128, len(proto) >> 7])
Path(sys.argv[2]).write_bytes(b"\n" + size + proto)
