"""How much memory there is, and who says so."""

import pytest

from absentia.core import _resources, available_memory, format_bytes, parse_bytes


def test_free_memory_is_what_the_container_leaves(tmp_path):
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("600000\n")
    (tmp_path / "memory.stat").write_text("anon 100\ninactive_file 50000\n")
    assert list(_resources._container_memory(tmp_path)) == [450_000]
    (tmp_path / "memory.max").write_text("max\n")
    assert list(_resources._container_memory(tmp_path)) == []


def test_who_says_how_much_is_believed(monkeypatch):
    assert available_memory() > 0
    monkeypatch.setenv("ABSENTIA_MEMORY", "3M")
    assert available_memory() == 3 * 1024**2
    monkeypatch.setenv("ABSENTIA_MEMORY", "much")
    with pytest.raises(ValueError, match="ABSENTIA_MEMORY is 'much'; a number of bytes is wanted, as 8G"):
        available_memory()


@pytest.mark.parametrize(("text", "bytes_"), [("8e9", 8e9), ("1.5 GiB", 1.5 * 1024**3), ("7", 7)])
def test_numbers_of_bytes(text, bytes_):
    assert parse_bytes(text, "x") == bytes_


@pytest.mark.parametrize(
    ("size", "words"), [(0, "0 B"), (72, "72 B"), (1200, "1.2 kB"), (3.5e6, "3.5 MB"), (2.51e12, "2.51 TB")]
)
def test_bytes_are_said_in_words(size, words):
    assert format_bytes(size) == words
