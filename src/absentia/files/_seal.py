"""Archives that end in the checksum of all that comes before: one changed byte, anywhere, shows.

An archive holds bytes that mean nothing to who reads its arrays (times, copies of sizes).  Its comment, the
last thing in it, is ``sha256`` and 64 hexadecimal digits; these are of every byte before them.
"""

import hashlib
import os
from typing import BinaryIO

DIGITS = 64
#: The comment of an archive before its digits are known.
COMMENT = b"sha256 " + b"0" * DIGITS
CHUNK = 1 << 20


class Sealing:
    """A file to write to, front to back, whose last digits are made when all else is there."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._sum, self._held = file, hashlib.sha256(), b""

    def write(self, data: bytes) -> int:
        """Pass on all that cannot be among the last digits."""
        new = memoryview(data).cast("B")
        cut = max(len(new) - DIGITS, 0)
        held = self._held + bytes(new[cut:])
        self._pass_on(held[:-DIGITS] if not cut else self._held)
        self._pass_on(new[:cut])
        self._held = held[-DIGITS:]
        return len(new)

    def _pass_on(self, data: bytes | memoryview) -> None:
        self._sum.update(data)
        self._file.write(data)

    def flush(self) -> None:
        self._file.flush()

    def seal(self) -> None:
        """End with the digits."""
        self._file.write(self._sum.hexdigest().encode())


def seal_of(file: BinaryIO) -> bool | None:
    """Whether a file that ends in a seal is as it was sealed; None if it ends in none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - len(COMMENT), 0))
    end = file.read()
    if not end.startswith(COMMENT[:-DIGITS]):
        return None
    file.seek(0)
    found, left = hashlib.sha256(), size - DIGITS
    while part := file.read(min(CHUNK, left)):
        found.update(part)
        left -= len(part)
    return found.hexdigest().encode() == end[-DIGITS:]
