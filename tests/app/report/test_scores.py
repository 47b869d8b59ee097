"""The table of scores."""

import re

import pytest

from absentia.app.report import render
from absentia.app.report._scores import scores
from stories import make_story

pytest.importorskip("jinja2")


def marked_best(text):
    return re.findall(r'<td[^>]*><span class="best">([^<]*)<', text)


SCORED = [
    {"method": "a", "ARE": 0.3, "accuracy": 0.91, "seconds": 9.0, "iterations": 40},
    {"method": "b", "ARE": 0.2, "accuracy": 0.95, "seconds": 1.0, "iterations": 2},
    {"method": "c", "ARE": float("nan"), "accuracy": float("inf"), "seconds": 2.0},
]


def test_best_respects_the_direction_and_skips_cost():
    table = scores(make_story(scores=SCORED))
    best = [
        (row.method, column.name)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.best
    ]
    assert best == [("b", "ARE"), ("b", "accuracy")]
    assert marked_best(render(make_story(scores=SCORED))) == ["0.200", "0.950"]


def test_direction_can_be_turned():
    text = render(make_story(scores=SCORED, higher_is_better=("ARE",)))
    assert marked_best(text) == ["0.300", "0.910"]


def test_ties_are_all_best_and_a_column_of_equals_has_none():
    rows = [{"method": m, "x": x, "y": 1.0} for m, x in (("a", 1.0), ("b", 1.0), ("c", 2.0))]
    assert marked_best(render(make_story(scores=rows))) == ["1.00", "1.00"]


def test_one_method_is_not_best_of_one():
    assert marked_best(render(make_story(scores=SCORED[:1]))) == []


def test_what_is_not_finite_or_not_given_is_a_dash():
    row = scores(make_story(scores=SCORED)).rows[2]
    assert [cell.text for cell in row.cells] == ["–", "–", "2.00", "–"]
    assert render(make_story(scores=SCORED)).count('title="not available"') == 3


def test_baselines_and_explanations_are_shown():
    text = render(make_story(scores=SCORED, baselines={"c"}, explain={"ARE": "Lower is better."}))
    assert 'c <span class="tag">baseline</span></th>' in text
    assert "<dt>ARE</dt><dd>Lower is better.</dd>" in text
    assert 'class="tag"' not in render(make_story(scores=SCORED))
