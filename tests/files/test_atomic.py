"""Files of ours are there whole or not at all, and nothing else is touched."""

import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from absentia import io
from absentia.files import _base, write_atomically


def write(path, content=b"content"):
    return write_atomically(path, lambda file: file.write(content))


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_replaced_keeps_its_mode_and_what_is_new_follows_the_umask(tmp_path, monkeypatch):
    path = tmp_path / "secret.npz"
    path.write_bytes(b"old")
    path.chmod(0o600)
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the umask is the whole process's"))
        write(path)
        assert mode(path) == 0o600
        assert mode(write(tmp_path / "new.npz")) == 0o640
        path.chmod(0o664)
        assert mode(write(path)) == 0o664
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert path.read_bytes() == b"content"


def test_writers_that_want_a_path_are_no_less_careful(tmp_path):
    path = tmp_path / "a.h5"
    assert write_atomically(path, lambda file: Path(file.name).write_bytes(b"new")) == path
    path.chmod(0o600)

    def fail(file):
        place = Path(file.name)
        assert mode(place) == 0o600
        place.write_bytes(b"half")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        write_atomically(path, fail)
    assert (path.read_bytes(), list(tmp_path.iterdir())) == (b"new", [path])


def test_what_replaces_a_secret_is_never_open_to_others(tmp_path):
    path, seen = tmp_path / "secret.npz", []
    path.write_bytes(b"old")
    path.chmod(0o600)

    def save(file):
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        file.write(b"new")

    write_atomically(path, save)
    assert seen == [0o600]


def test_file_and_folder_are_flushed_around_the_renaming(tmp_path, monkeypatch):
    done = []
    replace, fsync = os.replace, os.fsync
    kind = lambda handle: "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file"
    monkeypatch.setattr(os, "fsync", lambda handle: (done.append(kind(handle)), fsync(handle)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append(os.path.getsize(a)), replace(a, b)))
    write(tmp_path / "out.npz")
    assert done == ["file", 7, "folder"]


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    target, link, dangling = tmp_path / "real" / "a.npz", tmp_path / "link.npz", tmp_path / "dangling.npz"
    target.write_bytes(b"old")
    link.symlink_to(target)
    dangling.symlink_to(tmp_path / "real" / "b.npz")
    assert write(link) == link
    write(dangling)
    assert link.is_symlink()
    assert target.read_bytes() == (tmp_path / "real" / "b.npz").read_bytes() == b"content"
    loop = tmp_path / "loop.npz"
    loop.symlink_to(loop)
    with pytest.raises(io.FileError, match="leads back to itself"):
        write(loop)
    assert loop.is_symlink()


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(io.FileError, match="pipe: is a named pipe; a file name is wanted"):
        write(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"")
    for name in ("file/out.npz", "gone/out.npz"):
        with pytest.raises(io.FileError, match=r"the folder .* does not exist"):
            write(tmp_path / name)
    with pytest.raises(io.FileError, match=r"cannot be written.*too long"):
        write(tmp_path / ("x" * 300))
    with pytest.raises(io.FileError, match="no file can have that name"):
        write(tmp_path / "a\0b")
    assert sorted(os.listdir(tmp_path)) == ["file", "pipe"]


def test_a_long_name_is_written_too(tmp_path):
    path = tmp_path / ("x" * 250 + ".npz")
    assert write(path).read_bytes() == b"content"
    assert len(os.listdir(tmp_path)) == 1


def test_a_disk_that_is_full_is_one_sentence_and_no_litter(tmp_path):
    def full(file):
        raise OSError(28, "No space left on device")

    with pytest.raises(io.FileError, match=r"out.npz: cannot be written \(No space left on device\)"):
        write_atomically(tmp_path / "out.npz", full)
    assert os.listdir(tmp_path) == []


def test_a_folder_that_may_not_be_written_to_is_one_sentence(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.access(folder, os.W_OK):
        pytest.skip("this user may write everywhere")
    with pytest.raises(io.FileError, match=r"cannot be written .permission denied"):
        write(folder / "out.npz")


def killed_writer(path):
    """A process that is killed while it writes `path`; its process id."""
    code = """
import os, signal, sys
from absentia.files import write_atomically
def save(file):
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
write_atomically(sys.argv[1], save)
"""
    process = subprocess.run([sys.executable, "-c", code, str(path)], timeout=300)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_what_a_killed_process_left_is_removed_by_the_next_one_a_day_later(tmp_path):
    path = tmp_path / "out.npz"
    killed_writer(path)
    (left,) = tmp_path.iterdir()
    assert left.suffix == ".part"
    os.utime(left, (0, 0))
    write(path)
    assert os.listdir(tmp_path) == ["out.npz"]


def test_only_our_own_stale_files_of_the_same_name_are_removed(tmp_path):
    now, old = time.time(), time.time() - 2 * _base._DAY
    writer = "0123456789abcdef"
    stale = {f".out.npz.{writer}.part": old}
    kept = {
        f".out.npz.{writer[::-1]}.part": now,  # someone is writing
        f".other.npz.{writer}.part": old,
        ".out.npz.notes.part": old,
        "out.npz.part": old,
        f".out.npz.{writer}.part.bak": old,
    }
    for name, age in (stale | kept).items():
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (age, age))
    (tmp_path / f".out.npz.{'0' * 16}.part").mkdir()
    os.utime(tmp_path / f".out.npz.{'0' * 16}.part", (old, old))
    write(tmp_path / "out.npz")
    assert set(os.listdir(tmp_path)) == {*kept, "out.npz", f".out.npz.{'0' * 16}.part"}


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError])
def test_no_way_of_stopping_leaves_litter(tmp_path, error):
    def stop(file):
        file.write(b"half")
        raise error

    with pytest.raises(error):
        write_atomically(tmp_path / "out.npz", stop)
    assert os.listdir(tmp_path) == []
