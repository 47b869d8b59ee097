"""Scores and differences as people read them."""

import math

import pytest

from absentia.app.report import _measures as measures
from absentia.experiment import findings as found
from findings import ACCURACY, LOG_LOSS, RMSE

NAN = math.nan


def test_shares_are_percent_and_points_and_the_rest_is_as_it_is():
    span = found.Interval(0.8421, 0.8104, 0.8712)
    assert measures.score(ACCURACY, 0.8421) == "84.2%"
    assert measures.interval(ACCURACY, span) == "81.0 to 87.1%"
    assert measures.gap(ACCURACY, 0.031) == "+3.1"
    assert measures.gap_interval(ACCURACY, -0.0101, 0.05) == "−1.0 to +5.0"
    assert measures.points(ACCURACY) == "points"
    assert measures.score(LOG_LOSS, 0.8421) == "0.842"
    assert measures.interval(LOG_LOSS, span) == "0.810 to 0.871"
    assert measures.gap(RMSE, -0.5) == "−0.500"
    assert measures.gap(RMSE, 0.0) == "0"
    assert measures.gap(RMSE, 0.00934, 3) == "+0.009"
    assert measures.points(RMSE) == "of RMSE"


def test_an_interval_of_shares_ends_where_shares_do():
    assert measures.interval(ACCURACY, found.Interval(0.99, 0.95, 1.03)) == "95.0 to 100.0%"
    assert measures.possible(ACCURACY, found.Interval(0.01, -0.02, 0.04)).low == 0
    assert measures.possible(RMSE, found.Interval(0.01, -0.02, 1.4)) == (0.01, -0.02, 1.4)


def test_what_cannot_be_told_is_a_dash():
    nowhere = found.Interval(NAN, NAN, NAN)
    for metric in (ACCURACY, RMSE):
        assert measures.score(metric, NAN) == measures.gap(metric, NAN) == "–"
        assert measures.interval(metric, nowhere) == measures.gap_interval(metric, NAN, 1.0) == "–"
    assert measures.format_probability(NAN) == measures.p_number(None) == measures.p_number(NAN) == "–"
    assert measures.cost(None, "s") == "–"


@pytest.mark.parametrize(
    ("value", "words"), [(0, "0%"), (0.004, "<1%"), (0.5, "50%"), (0.996, ">99%"), (1, "100%")]
)
def test_probabilities_look_sure_only_if_they_are(value, words):
    assert measures.format_probability(value) == words


def test_small_p_values_are_not_zero():
    assert measures.p_number(1e-9) == "<0.001"
    assert measures.p_number(0.0436) == "0.044"


@pytest.mark.parametrize(
    ("values", "digits"), [([0.0784, -0.01], 4), ([-12.3, 5], 1), ([1234.0], 0), ([1e-9], None), ([], None)]
)
def test_differences_of_a_column_have_as_many_digits_as_the_largest_needs(values, digits):
    assert measures.decimals([*values, NAN]) == digits


def test_positive_is_better_whatever_the_metric():
    assert measures.minus(ACCURACY, 0.9, 0.8) > 0
    assert measures.minus(LOG_LOSS, 0.9, 0.8) < 0
    assert (measures.better(ACCURACY), measures.better(LOG_LOSS)) == ("more is better", "less is better")


def test_costs_have_their_unit():
    assert measures.cost(1.234, "s") == "1.23 s"
