"""Numbers and shares as text."""

import numpy as np
import pytest

from absentia.app.report._text import csv_name, number, p_value, percent, shortened, signed, spread

pytest.importorskip("jinja2")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01234, "0.0123"), (0.9996, "1.00"), (1234.5, "1\u202f230"), (-0.5, "−0.500"),
        (1.5e-7, "1.50×10⁻⁷"), (2e9, "2.00×10⁹"), (0.0, "0"), (np.float32(0.5), "0.500"),
        (12345, "12\u202f345"), (np.int64(3), "3"), (True, "yes"), ("word", "word"),
        (float("nan"), "–"), (-np.inf, "–"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_percent_is_whole_only_when_it_is():
    assert percent(9999, 10000) == "99.9%"
    assert percent(1, 10000) == "0.1%"
    assert (percent(5, 5), percent(0, 5), percent(1, 3)) == ("100%", "0%", "33.3%")


def test_long_words_are_shortened_in_the_middle():
    assert shortened("short", 10) == "short"
    word = shortened("expression_of_genes_in_liver_2", 16)
    assert len(word) == 16
    assert word.startswith("expression")
    assert word.endswith("ver_2")
    assert "…" in word


def test_names_of_files_say_what_is_in_them():
    assert (
        csv_name("recall by class", "train.npz, classified") == "train-npz-classified-recall-by-class.csv"
    )
    assert csv_name("a/../b", "日本") == "a-b.csv"
    assert len(csv_name("weights", "x " * 200)) < 80


def test_differences_have_a_sign_unless_they_are_none():
    assert (signed(3.04), signed(-3.0), signed(0.01), signed(-0.01)) == ("+3.0", "−3.0", "0.0", "0.0")


def test_spread_is_median_and_deciles():
    assert spread(np.arange(11.0)) == ("5.00", "1.00 to 9.00")
    assert p_value(0.0001) == "p < 0.001"
    assert p_value(0.25) == "p = 0.25"
