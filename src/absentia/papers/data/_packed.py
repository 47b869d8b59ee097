"""What archives are packed in: zip files, of which members are read and never written, and Unix ``.Z``.

A zip file with a member that would lie outside the folder it is unpacked in is refused as a whole: who made
it meant no good.
"""

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from absentia.files import file_errors, one_line

LARGEST = 1 << 30  # bytes of one member
MOST_MEMBERS = 1000
CHUNK = 1 << 20


def member(path: Path, names: Sequence[str]) -> tuple[str, bytes]:
    """The first of these members that a zip file has, wherever in it, and what it holds."""
    with file_errors(path):
        try:
            with zipfile.ZipFile(path) as packed:
                infos = _checked(packed.infolist())
                for name in names:
                    if name in infos:
                        return name, _content(packed, infos[name])
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise ValueError(f"is no zip file, or a damaged one ({one_line(error)})") from None
        raise ValueError(
            f"holds none of {', '.join(names)} but {', '.join(sorted(infos)[:8]) or 'nothing'}"
        )


def _checked(infos: Sequence[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    """Members by the last part of their names."""
    if len(infos) > MOST_MEMBERS:
        raise ValueError(f"holds {len(infos)} members; at most {MOST_MEMBERS} are taken")
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        place = PurePosixPath(info.orig_filename.replace("\\", "/"))
        if place.is_absolute() or ".." in place.parts or ":" in info.orig_filename or not place.name:
            raise ValueError(
                f"its member {info.orig_filename[:80]!r} would lie outside its folder; refused"
            )
        if info.is_dir() or "__MACOSX" in place.parts:
            continue
        if place.name in found:
            raise ValueError(f"holds {place.name[:80]!r} more than once")
        found[place.name] = info
    return found


def _content(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """What a member holds, as much as it says and no more."""
    if info.flag_bits & 0x1 or info.file_size > LARGEST:
        raise ValueError(f"its member {info.filename[:80]!r} is encrypted, or larger than {LARGEST} bytes")
    parts, size = [], 0
    with packed.open(info) as stream:
        while part := stream.read(CHUNK):
            size += len(part)
            if size > info.file_size:
                raise ValueError(f"its member {info.filename[:80]!r} is longer than it says")
            parts.append(part)
    return b"".join(parts)


# ------------------------------------------------------------------------------------------------- .Z

CLEAR, FIRST = 256, 257


def uncompressed(data: bytes) -> bytes:
    """What Unix ``compress`` has packed (LZW, codes of 9 to 16 bits, the low bits first).

    Codes come in groups of eight; when their width changes, or the table is cleared, what is left of a
    group means nothing.
    """
    if data[:2] != b"\x1f\x9d" or len(data) < 3:
        raise ValueError("is not packed by compress")
    widest, clearing = data[2] & 0x1F, bool(data[2] & 0x80)
    if not 10 <= widest <= 16:
        raise ValueError(f"is packed with codes of {widest} bits at most; 10 to 16 are known")
    first = FIRST if clearing else CLEAR
    table = [bytes([k]) for k in range(256)] + [b""] * (first - 256)
    parts, size, before = list[bytes](), 0, b""
    codes = _Codes(data)
    while (code := codes.take()) is not None:
        if clearing and code == CLEAR:
            del table[first:]
            codes.resize(9)
            before = b""
            continue
        if code > len(table) or (code == len(table) and not before) or (not before and code > 255):
            raise ValueError("is damaged: it refers to what is not there yet")
        entry = table[code] if code < len(table) else before + before[:1]
        parts.append(entry)
        size += len(entry)
        if size > LARGEST:
            raise ValueError(f"holds more than {LARGEST} bytes")
        if before and len(table) < 1 << widest:
            table.append(before + entry[:1])
            # the writer is an entry ahead: it widens its codes when the next one would not fit
            if len(table) == 1 << codes.width and codes.width < widest:
                codes.resize(codes.width + 1)
        before = entry
    return b"".join(parts)


class _Codes:
    """The codes of a packed file, of a width that changes on the way."""

    def __init__(self, data: bytes) -> None:
        self.data, self.width, self.start, self.bit = data, 9, 3, 0

    def take(self) -> int | None:
        """The next code; None where fewer bits are left than it takes."""
        place, shift = self.start + self.bit // 8, self.bit % 8
        end = self.bit + self.width
        if self.start * 8 + end > len(self.data) * 8:
            return None
        self.bit = end
        return int.from_bytes(self.data[place : place + 4], "little") >> shift & (1 << self.width) - 1

    def resize(self, width: int) -> None:
        """Codes of another width, from the next group on."""
        group = 8 * self.width
        used = -(-self.bit // group) * group
        self.start, self.bit, self.width = self.start + used // 8, 0, width
