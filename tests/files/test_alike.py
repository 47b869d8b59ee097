"""Ids that are written differently and may be the same."""

import pytest

from absentia.files._alike import alike, differences, loose


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("P-001", "p_1"),
        ("7", "007"),
        ("7.0", "7"),
        (" a.b ", "AB"),
        ("e\u0301", "\u00e9"),
        ("a\u200b", "a"),
        ("TCGA-01-02", "tcga.1.2"),
    ],
)
def test_what_people_write_differently(one, other):
    assert loose(one) == loose(other)
    assert alike([one, "same"], [other, "same"]) == [(one, other)]


@pytest.mark.parametrize(("one", "other"), [("10", "1"), ("P1", "P2"), ("100", "1"), ("a", "b")])
def test_what_is_different(one, other):
    assert alike([one], [other]) == []


def test_some_ids_that_differ_are_pointed_out():
    ids = {"expr": ["P-1", "P-2", "P-3"], "clin": ["P-1", "p2", "P-9"]}
    [sentence] = differences(ids, {"expr": ["g"], "clin": ["age"]})
    assert "view 'clin': 1 of its ids, e.g. 'p2', differ only in case" in sentence
    assert "'P-2' of 'expr'" in sentence
    assert differences({"a": ["1", "2"], "b": ["2", "3"]}, {"a": [], "b": []}) == []


def test_nothing_in_common_is_an_error_if_it_could_be():
    columns = {"expr": ["g1"], "clin": ["age"]}
    with pytest.raises(ValueError, match="it has no sample in common with any other view"):
        differences({"expr": ["P1", "P2"], "clin": ["p-1", "p-2"]}, columns)
    assert differences({"expr": ["a"], "clin": ["b"]}, columns) == []  # of which views warn themselves


def test_a_table_that_is_transposed_is_noticed():
    ids = {"clin": ["p", "q", "r"], "expr": ["g1", "g2"]}
    with pytest.raises(ValueError, match=r"view 'expr' has no sample in common .* transposed"):
        differences(ids, {"clin": ["age"], "expr": ["p", "q", "s"]})
