"""Large tables of numbers: read at once, and as cell by cell."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from absentia.files import _plain
from absentia.files._errors import FileError
from absentia.files._frames import NOTHING_SAID, Spec, read_frame
from absentia.files._raw import Written
from absentia.files._text import read_text

TABLE = "id,a,b\np, 1.5,2e3\nq,-0,inf\n\nr,.5,nan\n"


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(_plain, "LARGE", 0)


def at_once(path):
    return isinstance(read_text(path).columns[1], Written)


def written(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    return path


def both(path, spec=NOTHING_SAID):
    """What the two readers make of a table: a frame and notes, or a sentence."""
    found = []
    for size in (1 << 40, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_plain, "LARGE", size)
            try:
                frame, notes = read_frame(path, spec)
                found.append((frame.index.tolist(), list(frame.columns), frame.to_numpy().tolist(), notes))
            except FileError as error:
                found.append(str(error))
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_numbers_are_the_same_to_the_bit(tmp_path, large, end, delimiter):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * 10.0 ** rng.integers(-300, 300, (60, 4))
    lines = [delimiter.join(["id", *"abcd"])]
    lines += [delimiter.join([f"s{i}", *map(repr, row)]) for i, row in enumerate(X.tolist())]
    path = written(tmp_path, end.join(lines) + end)
    assert at_once(path)
    np.testing.assert_array_equal(read_frame(path)[0].to_numpy(), X)
    slow, fast = both(path)
    assert slow == fast


def test_missing_values_and_empty_lines(tmp_path, large):
    path = written(tmp_path, "\nid,a,b,c\np,,NA,?\n\nq,1,,2\nr,n/a,3,\n")
    assert at_once(path)
    assert list(read_text(path).lines) == [3, 5, 6]
    nan = np.nan
    np.testing.assert_array_equal(read_frame(path)[0], [[nan, nan, nan], [1, nan, 2], [nan, 3, nan]])


@pytest.mark.parametrize(
    "table",
    [
        'id,a\n"p",1\nq,2\n',
        "id,a\np,x\nq,y\n",
        "id,a\rp,1\rq,2\r",
        "id,a\n,\np,1\nq,2\n",
        "a,b\np,1,2\nq,2,3\n",
        "id,a,\np,1,\nq,2,\n",
        "id,a\np,1_0\nq,2\n",
        "id,a\np,1\nq,2,3\n",
        "id,a\np,0x1\nq,2\n",
        "id a\np 1\nq 2\n",
        "id,a\n",
    ],
)
def test_what_is_not_simple_is_read_cell_by_cell(tmp_path, large, table):
    path = written(tmp_path, table)
    with suppress(ValueError):
        assert not at_once(path)
    slow, fast = both(path)
    assert slow == fast


def test_texts_are_there_for_those_who_ask(tmp_path, large):
    path = written(tmp_path, "a,sample,c\n1,007,1.50\n2,008,2\n")
    raw = read_text(path)
    assert isinstance(raw.columns[1], Written)
    assert raw.texts(1) == ["007", "008"]
    slow, fast = both(path)
    assert slow == fast
    assert fast[0] == ["007", "008"]
    for spec in (Spec(categorical=["c"]), Spec(missing=["2"]), Spec(transpose=True), Spec(id="c")):
        slow, fast = both(path, spec)
        assert repr(slow) == repr(fast)


cells = st.sampled_from(
    ["1", "-2.5", "1e5", "", "NA", "nan", "NaN", " 3", "?", ".", "inf", "x", "1,5", '"4"', "_"]
)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(cells, min_size=2, max_size=2), min_size=1, max_size=6),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from([",", ";"]),
    st.booleans(),
)
def test_both_readers_make_the_same_of_any_table(tmp_path_factory, rows, end, delimiter, last):
    lines = [["id", "a", "b"], *([f"s{i}", *row] for i, row in enumerate(rows))]
    text = end.join(delimiter.join(line) for line in lines) + (end if last else "")
    slow, fast = both(written(tmp_path_factory.mktemp("any"), text))
    assert repr(slow) == repr(fast)
