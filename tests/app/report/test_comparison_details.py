"""More about a comparison: by missing pattern, view by view, over missing rates, confusion."""

import dataclasses
import re

import numpy as np
import pytest

from absentia.app.report.comparison import render_comparison
from absentia.experiment import results as found
from helpers.comparison_results import make_findings
from helpers.report_pages import Page, row_cells, section

pytest.importorskip("jinja2")


def has_section(results, place):
    return place in Page(render_comparison(results)).ids


# ---------------------------------------------------------------------------------------- by missing pattern


def groups(results):
    """Methods of the table of patterns, and its rows."""
    text = section(render_comparison(results), "by-pattern")
    heads = re.findall(r'<th scope="col" class="figure" data-v="([^"]*)"', text)
    return heads, row_cells(text, "by-pattern")


def test_scores_by_pattern_are_those_of_the_methods():
    results = make_findings()
    methods, rows = groups(results)
    few = int(re.search(r"marked few have fewer than (\d+) samples", render_comparison(results))[1])
    assert methods[0] == results.recommendation.simplest
    for row, group in zip(rows, results.patterns, strict=True):
        assert row[3:] == [f"{100 * group.scores[method]:.1f}%" for method in methods]
        assert row[1].endswith(" few") == (group.count < few)


def test_a_method_without_a_score_in_a_pattern_has_a_dash():
    results = make_findings()
    first = dataclasses.replace(results.patterns[0], scores={results.rows[0].method: 0.5})
    _, rows = groups(dataclasses.replace(results, patterns=[first, *results.patterns[1:]]))
    assert "–" in rows[0]
    assert "50.0%" in rows[0]


def test_of_many_methods_the_simplest_the_recommended_and_the_best_are_shown():
    results = make_findings(n_methods=12)
    methods, _ = groups(results)
    verdict = results.recommendation
    assert {verdict.simplest, verdict.recommended, verdict.best} <= set(methods)
    assert len(methods) == 6
    for place in ("by-pattern", "curves"):
        assert "Shown are 6 of 12 methods" in section(render_comparison(results), place)
    assert "Shown are" not in render_comparison(make_findings(n_methods=6))


# ---------------------------------------------------------------------------------------------- view by view


def test_each_view_has_both_contrasts():
    results = make_findings()
    text = section(render_comparison(results), "views")
    assert f"With {results.views_with}, fitted anew" in text
    for row, view in zip(row_cells(text, "worths"), results.views, strict=True):
        assert row[0] == view.view
        for cells, contrast in ((row[1:4], view.left_out), (row[4:7], view.alone)):
            assert abs(float(cells[0].replace("−", "-")) - 100 * contrast.mean) < 0.051
            assert cells[2] == f"{contrast.p:.3f}"


def test_what_was_not_measured_is_a_dash():
    contrast = found.Contrast(0.02, 0.01, 0.03, 0.01)
    half = [found.ViewWorth("a", contrast, None), found.ViewWorth("b", None, None)]
    results = make_findings(views=half, views_with="")
    text = section(render_comparison(results), "views")
    assert row_cells(text, "worths") == [
        ["a", "+2.0", "+1.0 to +3.0", "0.010", "–", "–", "–"],
        ["b", *["–"] * 6],
    ]
    assert f"With {results.recommendation.recommended}, fitted anew" in text


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
    assert len(lines) == 6
    assert len(row_cells(text, "rates")) == 9
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


def test_the_confusion_matrix_is_that_of_the_recommended_method():
    results = make_findings(n_methods=2)
    second = dataclasses.replace(results.recommendation, recommended=results.rows[1].method)
    results = dataclasses.replace(results, recommendation=second)
    text = section(render_comparison(results), "confusion")
    assert f"Of {results.recommendation.recommended}, out of fold" in text
    counts = [[int(cell.split()[0]) for cell in row[2:]] for row in row_cells(text, "confusion")]
    np.testing.assert_array_equal(counts, results.confusion[results.recommendation.recommended])
    other = results.recommendation.simplest
    text = section(
        render_comparison(make_findings(n_methods=2, confusion={other: np.eye(4, dtype=int)})), "confusion"
    )
    assert f"Of {other}, out of fold" in text


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
