"""Zip files are read and never written out; what Unix compress packs is read as gzip reads it."""

import shutil
import subprocess

import numpy as np
import pytest

from absentia.files import FileError
from absentia.papers.data import _packed
from absentia.papers.data._packed import member, uncompressed
from zipped import compressed, packed


def test_the_first_member_of_those_wanted_is_read_wherever_it_is(tmp_path):
    path = packed(tmp_path / "a.zip", **{"folder/b.ts": "B", "c.txt": "C", "__MACOSX/c.txt": "x"})
    assert member(path, ["none", "b.ts", "c.txt"]) == ("b.ts", b"B")
    assert member(path, ["c.txt"]) == ("c.txt", b"C")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.zip"]
    with pytest.raises(FileError, match=r"a\.zip: holds none of d but b\.ts, c\.txt"):
        member(path, ["d"])


@pytest.mark.parametrize("name", ["../b", "a/../../b", "/etc/b", "..\\b", "C:\\b", "a/.."])
def test_a_member_outside_its_folder_is_refused_whichever_is_wanted(tmp_path, name):
    path = packed(tmp_path / "a.zip", good="x", **{name: "bad"})
    with pytest.raises(FileError, match="would lie outside its folder; refused"):
        member(path, ["good"])
    assert [p.name for p in tmp_path.iterdir()] == ["a.zip"]


def test_damaged_and_doubtful_files_are_refused(tmp_path, monkeypatch):
    (tmp_path / "page.zip").write_text("<html>moved</html>")
    with pytest.raises(FileError, match=r"page\.zip: is no zip file"):
        member(tmp_path / "page.zip", ["a"])
    path = packed(tmp_path / "a.zip", a="x" * 1000)
    data = path.read_bytes()
    (tmp_path / "cut.zip").write_bytes(data[:40] + b"!!!!" + data[44:])
    with pytest.raises(FileError, match=r"cut\.zip: is no zip file, or a damaged one"):
        member(tmp_path / "cut.zip", ["a"])
    with pytest.raises(FileError, match="more than once"):
        member(packed(tmp_path / "two.zip", **{"x/a": "1", "y/a": "2"}), ["a"])
    monkeypatch.setattr(_packed, "LARGEST", 500)
    with pytest.raises(FileError, match="encrypted, or larger than 500 bytes"):
        member(path, ["a"])
    monkeypatch.setattr(_packed, "MOST_MEMBERS", 1)
    with pytest.raises(FileError, match="holds 2 members; at most 1"):
        member(packed(tmp_path / "many.zip", a="1", b="2"), ["a"])


# ------------------------------------------------------------------------------------------------- .Z


TEXTS = {
    "one": b"a",
    "repeats": b"a" * 5000,
    "few letters": bytes(np.random.default_rng(0).integers(97, 100, 20000).tolist()),
    "noise": np.random.default_rng(1).bytes(30000),
    "table": b"".join(b"%d,%d,MUSK-%d,1.\n" % (k * 37 % 101, -k, k % 7) for k in range(4000)),
}


@pytest.mark.parametrize(
    "options", [{}, {"widest": 12}, {"widest": 10}, {"clear_at": 700}, {"clearing": False}]
)
@pytest.mark.parametrize("text", TEXTS)
def test_what_compress_packs_comes_back(text, options):
    data = compressed(TEXTS[text], **options)
    assert uncompressed(data) == TEXTS[text]
    if shutil.which("gzip"):  # which reads this format too
        said = subprocess.run(["gzip", "-dc"], input=data, capture_output=True, check=True)
        assert said.stdout == TEXTS[text]


def test_what_is_not_packed_so_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="not packed by compress"):
        uncompressed(b"\x1f\x8b\x08")
    with pytest.raises(ValueError, match="codes of 20 bits at most"):
        uncompressed(b"\x1f\x9d\x94abc")
    with pytest.raises(ValueError, match="refers to what is not there yet"):
        uncompressed(b"\x1f\x9d\x90" + (0x61 | 0x1FF << 9).to_bytes(4, "little"))
    monkeypatch.setattr(_packed, "LARGEST", 100)
    with pytest.raises(ValueError, match="more than 100 bytes"):
        uncompressed(compressed(b"a" * 5000))
