"""Text tables in blocks: what Arrow reads is what Python's csv reads, cell by cell."""

import csv
import random

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import io
from absentia.files import _text, file_errors

pytest.importorskip("pyarrow")

NUMBERS = ["1", "-2.5", "3e5", "1E-300", "007", ".5", "4.", "0.1234567890123456789", "9007199254740993"]
ODD = [
    *["+1", " 6 ", "1_0", "0x10", "inf", "-Infinity", "nan", "nAn", "nan(1)", "1e999", "1d5", "1f", "--1"],
    *[
        "1,5",
        "1.234",
        "1,234.5",
        "5 %",
        "$3",
        "−4",
        "１",
        "1 000",
        "'=1",
        "0b1",
        "1e",
        "e5",
        "true",
        "False",
    ],
    *["2020-01-02", "12:30", "x", "é", " ", " NA ", "<NA>", "n/a", "?", ".", "a;b", "a,b", "a|b"],
    *['"q"', 'a"b', '""', "two\nlines"],
]
GAPS = ["", "NA", "NaN", "null", "N/A"]


def quote(rng, cell, delimiter):
    if any(x in cell for x in (delimiter, "\n", "\r")) or cell.startswith('"') or rng.random() < 0.1:
        return '"' + cell.replace('"', '""') + '"'
    return cell


def make_table(rng):
    """A table of columns that are mostly numbers, with something odd in some cells and lines."""
    delimiter, end = rng.choice(",;\t| "), rng.choice(["\n", "\n", "\r\n", "\r"])
    width, n = rng.randint(2, 5), rng.randint(60, 120)
    odd = [rng.choice([0, 0, 0.01, 0.5]) for _ in range(width)]
    names = ["id", *(rng.choice(["a", "b", "", "index", "1", "Sample"]) + str(k) for k in range(1, width))]
    names[-1] = rng.choice([names[-1], ""])
    rows = [names]
    for i in range(n):
        kinds = [ODD if rng.random() < x else GAPS if rng.random() < 0.1 else NUMBERS for x in odd[1:]]
        rows.append([f"s{i}", *map(rng.choice, kinds)])
    lines = [delimiter.join(quote(rng, cell, delimiter) for cell in row) for row in rows]
    for _ in range(rng.choice([0, 0, 1])):
        damage = ["", " ", delimiter * (width - 1), "x", f'a"b{delimiter}1', f'"a"b{delimiter}1', '"']
        lines.insert(rng.randint(1, n), rng.choice(damage))
    return end.join(lines) + rng.choice(["", end, end * 2])


def read_or_say(path):
    """All that is made of a table, or why nothing is."""
    try:
        with file_errors(path):
            cells = _text.read_text(path)
            texts = _text.read_text(path, numbers=False)
    except io.FileError as error:
        return str(error)
    assert (texts.names, texts.lines) == (cells.names, cells.lines)
    for column, written in zip(cells.columns, texts.columns, strict=True):
        if isinstance(column, np.ndarray):
            numbers = [written] if not cells.lines else written.split(_text.END)
            np.testing.assert_array_equal(column, _text.parse_plain(numbers))
    try:
        with np.errstate(all="ignore"):
            views = absentia.read(path)
    except (io.FileError, Warning) as error:
        return str(error), texts
    return texts, views.ids.tolist(), views.block("t").tobytes(), dict(views.levels("t"))


@pytest.mark.parametrize(
    ("block", "n"), [(150, 40), pytest.param(150, 120, marks=pytest.mark.slow), (700, 120), (1 << 20, 120)]
)
def test_arrow_reads_what_python_reads(tmp_path, monkeypatch, block, n):
    monkeypatch.setattr(_text, "_BLOCK", block)
    parse, path, n_parsed = _text._parse_block, tmp_path / "t.csv", 0
    for seed in range(n):
        path.write_bytes(make_table(random.Random(seed)).encode())
        results = []
        for fast in (True, False):

            def parse_or_not(*arguments, fast=fast):
                nonlocal n_parsed
                part = parse(*arguments) if fast else None
                n_parsed += part is not None
                return part

            monkeypatch.setattr(_text, "_parse_block", parse_or_not)
            results.append(read_or_say(path))
        assert results[0] == results[1], seed
    assert n_parsed > n


def test_texts_of_several_lines_go_on_in_the_next_block(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("id,a\n" + "".join(f's{k},"x\n{k % 7}\ny"\n' for k in range(200)))
    wanted = _text.read_text(path)
    assert wanted.columns[1].split(_text.END)[8] == "x\n1\ny"
    assert wanted.lines == list(range(4, 604, 3))
    for block in range(40, 60):
        monkeypatch.setattr(_text, "_BLOCK", block)
        assert _text.read_text(path) == wanted


def test_what_reads_differently_is_left_to_python():
    def lines(text):
        return _text._count_lines(text.encode(), ",")

    assert [lines(x) for x in ("a,b\n", "a,b\r\nc,d", '"a,b",c\r"",2\r')] == [1, 2, 2]
    for text in ('a"b,c\n', '"a"b,c\n', '"a\nb",c\n', '"a""b",c\n', '"a,b\n', 'a,"b" \n'):
        assert lines(text) is None
    assert _text._parse_block('s1,1\n"s2",NA\n', ",", 2, {0}).values[0, 0] == 1.0
    for text in ("s1,1\n\ns2,2\n", " ,1\n", "s1,1,2\n", "s1\n"):
        assert _text._parse_block(text, ",", 2, {0}) is None
    before = csv.field_size_limit(1000)  # libraries raise it: scipy.io does
    try:
        assert _text._parse_block("x" * 1001 + ",1\n", ",", 2, {0}) is None
        assert _text._parse_block("x" * 1000 + ",1\n", ",", 2, {0}) is not None
    finally:
        csv.field_size_limit(before)


def test_a_text_far_down_makes_texts_of_the_cells_above(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK", 1000)
    path = tmp_path / "t.csv"
    path.write_text("id,a,b\n" + "".join(f"s{k},1.0,007\n" for k in range(500)) + "s,2.50 %,1\n")
    cells = _text.read_text(path)
    assert cells.columns[1].split(_text.END)[-2:] == ["1.0", "2.50 %"]
    assert cells.columns[2].tolist() == [7.0] * 500 + [1.0]
    with pytest.raises(io.FileError, match=r"'a' \('2.50 %' in line 502\)"):
        absentia.read(path)


def test_numbers_that_name_samples_stay_as_they_are_written(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,key\n" + "".join(f"{k}.50,{k:03}\n" for k in range(100)))
    assert absentia.read(path, id="key").ids[:2].tolist() == ["000", "001"]
    path.write_text("id," + ",".join(f"{k:02}" for k in range(80)) + "\n" + "a" + ",01.50" * 80 + "\n")
    views = absentia.read(path, transpose=True)
    assert (views.ids[0], views.block("t")[0, 0]) == ("00", 1.5)


def test_a_table_takes_the_memory_of_its_numbers_and_not_of_its_text(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(8000, 40)))
    frame.to_csv(path, index_label="id")
    monkeypatch.setattr(_text, "_BLOCK", 1 << 17)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", str(2 * path.stat().st_size))
    np.testing.assert_array_equal(absentia.read(path).block("t"), frame)
    monkeypatch.setenv("ABSENTIA_MAX_BYTES", str(2 * frame.size * 8))
    with pytest.raises(io.FileError, match=r"line \d+, with those above, would take .* are allowed"):
        absentia.read(path)
