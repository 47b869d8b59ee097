"""Numbers, scores and differences as text."""

import math

import numpy as np
import pytest

from absentia.app.report._page import (
    ScoreFormat,
    format_number,
    format_p,
    format_p_cell,
    format_percent,
    format_points,
    format_probability,
    shorten,
    wilson_interval,
)
from absentia.experiment import results as found
from helpers.comparison_results import ACCURACY, LOG_LOSS, RMSE

pytest.importorskip("jinja2")
NAN = math.nan


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01234, "0.0123"), (0.9996, "1.00"), (1234.5, "1\u202f230"), (-0.5, "−0.500"),
        (1.5e-7, "1.50×10⁻⁷"), (2e9, "2.00×10⁹"), (0.0, "0"), (np.float32(0.5), "0.500"),
        (12345, "12\u202f345"), (np.int64(3), "3"),
        (float("nan"), "–"), (-np.inf, "–"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert format_number(value) == text


def test_percent_is_whole_only_when_it_is():
    assert format_percent(9999, 10000) == "99.9%"
    assert format_percent(1, 10000) == "0.1%"
    assert (format_percent(5, 5), format_percent(0, 5), format_percent(1, 3)) == ("100%", "0%", "33.3%")


def test_long_words_are_shortened_in_the_middle():
    assert shorten("short", 10) == "short"
    word = shorten("expression_of_genes_in_liver_2", 16)
    assert len(word) == 16
    assert word.startswith("expression")
    assert word.endswith("ver_2")
    assert "…" in word


def test_differences_have_a_sign_unless_they_are_none():
    assert (format_points(3.04), format_points(-3.0), format_points(0.01), format_points(-0.01)) == (
        "+3.0",
        "−3.0",
        "0.0",
        "0.0",
    )


def test_p_values_in_sentences():
    assert format_p(0.0001) == "p < 0.001"
    assert format_p(0.25) == "p = 0.25"


def test_an_interval_covers_the_share_and_narrows_with_samples():
    # Wilson's interval of 8 in 10, from the formula by hand
    np.testing.assert_allclose(wilson_interval(8, 10), (0.4902, 0.9433), atol=1e-4)
    assert wilson_interval(0, 5)[0] == 0
    assert wilson_interval(5, 5)[1] == pytest.approx(1)
    low, high = wilson_interval(800, 1000)
    assert high - low < 0.06


def test_shares_are_percent_and_points_and_the_rest_is_as_it_is():
    span = found.Interval(0.8421, 0.8104, 0.8712)
    assert ScoreFormat(ACCURACY).format_score(0.8421) == "84.2%"
    assert ScoreFormat(ACCURACY).format_interval(span) == "81.0 to 87.1%"
    assert ScoreFormat(ACCURACY).format_difference(0.031) == "+3.1"
    assert ScoreFormat(ACCURACY).format_difference_interval(-0.0101, 0.05) == "−1.0 to +5.0"
    assert ScoreFormat(ACCURACY).unit == "points"
    assert ScoreFormat(LOG_LOSS).format_score(0.8421) == "0.842"
    assert ScoreFormat(LOG_LOSS).format_interval(span) == "0.810 to 0.871"
    assert ScoreFormat(RMSE).format_difference(-0.5) == "−0.500"
    assert ScoreFormat(RMSE).format_difference(0.0) == "0"
    assert ScoreFormat(RMSE, 3).format_difference(0.00934) == "+0.009"
    assert ScoreFormat(RMSE).unit == "of RMSE"


def test_an_interval_of_shares_ends_where_shares_do():
    assert ScoreFormat(ACCURACY).format_interval(found.Interval(0.99, 0.95, 1.03)) == "95.0 to 100.0%"
    assert ScoreFormat(ACCURACY).clip_interval(found.Interval(0.01, -0.02, 0.04)).low == 0
    assert ScoreFormat(RMSE).clip_interval(found.Interval(0.01, -0.02, 1.4)) == (0.01, -0.02, 1.4)


def test_what_cannot_be_told_is_a_dash():
    nowhere = found.Interval(NAN, NAN, NAN)
    for metric in (ACCURACY, RMSE):
        assert ScoreFormat(metric).format_score(NAN) == ScoreFormat(metric).format_difference(NAN) == "–"
        assert (
            ScoreFormat(metric).format_interval(nowhere)
            == ScoreFormat(metric).format_difference_interval(NAN, 1.0)
            == "–"
        )
    assert format_probability(NAN) == format_p_cell(None) == format_p_cell(NAN) == "–"


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0%"), (0.004, "<1%"), (0.5, "50%"), (0.996, ">99%"), (1, "100%")]
)
def test_probabilities_look_sure_only_if_they_are(value, words):
    assert format_probability(value) == words


def test_small_p_values_are_not_zero():
    assert format_p_cell(1e-9) == "<0.001"
    assert format_p_cell(0.0436) == "0.044"


@pytest.mark.parametrize(
    ("values", "digits"), [([0.0784, -0.01], 4), ([-12.3, 5], 1), ([1234.0], 0), ([1e-9], None), ([], None)]
)
def test_differences_of_a_column_have_as_many_digits_as_the_largest_needs(values, digits):
    assert ScoreFormat.of_differences(RMSE, [*values, NAN]).digits == digits


def test_which_way_is_better_is_said():
    assert (ScoreFormat(ACCURACY).direction, ScoreFormat(LOG_LOSS).direction) == (
        "more is better",
        "less is better",
    )
