"""More about a comparison: by missing pattern, view by view, over missing rates, confusion."""

import dataclasses
import re

import numpy as np
import pytest

from absentia.app.report import render_comparison
from absentia.app.report._comparison_details import _N_LOUD, _N_SHOWN, _choose_shown, _order_methods
from absentia.app.report._sections import FEW_SAMPLES
from absentia.experiment import results as found
from helpers.comparison_results import LOG_LOSS, make_findings
from helpers.report_pages import Page, row_cells, section

pytest.importorskip("jinja2")


def has_section(results, place):
    return place in Page(render_comparison(results)).ids


# ---------------------------------------------------------------------------------------- by missing pattern


def groups(results):
    """Methods of the table of patterns, and its rows; scores and differences stand in one cell."""
    text = section(render_comparison(results), "by-pattern")
    heads = re.findall(r'<th scope="col" class="figure col-\d+" data-v="([^"]*)"', text)
    return heads, row_cells(text, "by-pattern")


def test_scores_and_differences_to_the_simplest():
    results = make_findings()
    methods, rows = groups(results)
    assert methods[0] == results.verdict.simplest
    for row, group in zip(rows, results.patterns, strict=True):
        base, value = group.scores[methods[0]], group.scores[methods[1]]
        assert row[3] == f"{100 * base:.1f}%"
        score, gain = row[4].split()
        assert score == f"{100 * value:.1f}%"
        assert abs(float(gain.replace("−", "-")) - 100 * (value - base)) < 0.051
        assert row[1].endswith(" few") == (group.count < FEW_SAMPLES)


def test_less_may_be_better():
    results = make_findings(group_metric=LOG_LOSS)
    simplest, other = _order_methods(results)[:2]
    group = dataclasses.replace(results.patterns[0], scores={simplest: 1.0, other: 0.5})
    methods, rows = groups(dataclasses.replace(results, patterns=[group]))
    assert methods == [simplest, other]
    assert rows[0][3:] == ["1.00", "0.500 +0.50"]


def test_a_method_without_a_score_in_a_pattern_has_a_dash():
    results = make_findings()
    first = dataclasses.replace(results.patterns[0], scores={results.rows[0].method: 0.5})
    _, rows = groups(dataclasses.replace(results, patterns=[first, *results.patterns[1:]]))
    assert "–" in rows[0]
    assert "50.0%" in rows[0]


def test_simplest_recommended_and_best_are_seen_first():
    results = make_findings(n_methods=12)
    methods, verdict = _order_methods(results), results.verdict
    seen = [methods[i] for i in _choose_shown(results, methods)]
    assert {verdict.simplest, verdict.recommended, verdict.best} <= set(seen)
    assert len(seen) == _N_SHOWN
    assert _choose_shown(results, ["other"]) == [0]
    assert _order_methods(make_findings(rows=[])) == []


# ---------------------------------------------------------------------------------------------- view by view


def contrasts(results):
    """The two tables of the views: where zero is, where marks are, and the texts of the rows."""
    text = section(render_comparison(results), "views")
    tables = re.findall(r'<table class="tracks worths".*?</table>', text, re.S)
    marks = [[float(x) for x in re.findall(r'<circle cx="([\d.]+)%"', table)] for table in tables]
    zeros = [float(re.search(r"--base:([\d.]+)%", table).group(1)) for table in tables]
    return list(
        zip(zeros, marks, [row_cells(table, "tracks worths") for table in tables], strict=True)
    ), text


def test_both_contrasts_have_their_axis():
    results = make_findings()
    (added, alone), text = contrasts(results)
    assert f"With {results.views_with}, fitted anew" in text
    for i, view in enumerate(results.views):
        assert (added[1][i] > added[0]) == (view.left_out.mean > 0)
        assert (alone[1][i] > alone[0]) == (view.alone.mean > 0)
        has = results.observed[:, list(results.names).index(view.view)].mean()
        assert f'title="{view.view}, which {100 * has:.1f}% of samples have"' in text
        assert f"all views against all but {view.view}: " in text


def test_what_was_not_measured_is_a_dash():
    contrast = found.Contrast(0.02, 0.01, 0.03, 0.01)
    half = [found.ViewWorth("a", contrast, None), found.ViewWorth("b", None, None)]
    results = make_findings(views=half, views_with="")
    (added, alone), text = contrasts(results)
    assert [row[2:4] for row in added[2]] == [["+2.0", "+1.0 to +3.0"], ["–", "–"]]
    assert [row[2] for row in alone[2]] == ["–", "–"]
    assert 'title="a"' in text  # not a view of the data
    assert f"With {results.verdict.recommended}, fitted anew" in text


# --------------------------------------------------------------------------------------------- missing rates


def rate_lines(results):
    """Points of every line of the chart: x, y, low and high ends of the interval, and words."""
    text = section(render_comparison(results), "curves")
    pattern = (
        r'<line class="range" x1="([\d.]+)" y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)">.*?'
        r'<circle class="dot" cx="[\d.]+" cy="([\d.]+)".*?<title>(.*?)</title>'
    )
    lines = []
    for part in text.split('<g class="line ')[1:]:
        points = re.findall(pattern, part)
        lines.append([(*map(float, (x, y, low, high)), tip) for x, low, high, y, tip in points])
    return lines, text


def test_lines_go_down_as_scores_do():
    lines, text = rate_lines(make_findings(n_methods=9))
    assert len(lines) == 9
    assert text.count("checked") == _N_LOUD
    for points in lines:
        heights = [y for _, y, *_ in points]
        assert heights == sorted(heights)
        assert [x for x, *_ in points] == sorted(x for x, *_ in points)
        assert all(high <= y <= low for _, y, low, high, _ in points)  # up is less
        assert all(58 <= x <= 704 for x, *_ in points)
    assert re.findall(r">(\d+%) hidden<", text) == ["0%", "10%", "30%", "50%"]


def test_a_method_that_lacks_a_rate_has_a_dash_there():
    results = make_findings(n_methods=2)
    _, text = rate_lines(dataclasses.replace(results, curves=results.curves[:-1]))
    rows = row_cells(text, "rates")
    assert sum(row[-1] == "–" for row in rows) == 1
    assert {len(row) for row in rows} == {5}


def test_one_rate_is_in_the_middle():
    point = found.CurvePoint("odd", 0.3, found.Interval(0.7, 0.6, 0.8))
    (((x, _, _, _, tip),),) = rate_lines(make_findings(n_methods=1, curves=[point]))[0]
    assert x == pytest.approx(381, abs=10)
    assert "70.0%" in tip
    assert "60.0 to 80.0%" in tip


def test_what_cannot_be_told_is_not_drawn():
    nan = float("nan")
    points = [found.CurvePoint("a", 0.1, found.Interval(nan, nan, nan))]
    points += [found.CurvePoint("a", 0.3, found.Interval(0.7, nan, nan))]
    (((_, y, low, high, _),),) = rate_lines(make_findings(n_methods=1, curves=points))[0]
    assert low == y == high


# ------------------------------------------------------------------------------------------------- confusion


def confusions(results):
    text = section(render_comparison(results), "confusion")
    return re.findall(r'aria-label="Confusion matrix of ([^"]*)".*?<tbody>(.*?)</tbody>', text, re.S)


def test_of_many_classes_the_most_frequent_are_shown():
    tables = confusions(make_findings(n_methods=20, n_classes=40))
    assert {rows.count("<tr") for _, rows in tables} == {10}
    assert tables[0][0] == make_findings(n_methods=20).verdict.recommended
    tables = confusions(make_findings(n_methods=2, n_classes=30))
    assert {rows.count("<tr") for _, rows in tables} == {30}


def test_counts_are_those_of_the_matrix():
    results = make_findings(n_methods=2)
    method, rows = confusions(results)[0]
    counts = [
        int(x) for x in re.findall(r'<td class="figure(?: right| none| right none)?"[^>]*>(\d+)', rows)
    ]
    table = np.array(counts).reshape(len(results.classes), -1)
    np.testing.assert_array_equal(table[:, 1:], results.confusion[method])


@pytest.mark.parametrize(
    ("place", "nothing"),
    [
        ("by-pattern", {"patterns": ()}),
        ("views", {"views": ()}),
        ("views", {"views": [found.ViewWorth("a", None, None)]}),
        ("curves", {"curves": ()}),
        ("confusion", {"confusion": {}}),
        ("differences", {"differences": ()}),
    ],
)
def test_nothing_measured_is_no_section(place, nothing):
    assert has_section(make_findings(), place)
    assert not has_section(make_findings(**nothing), place)
