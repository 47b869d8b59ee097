"""Scores over missing rates."""

import dataclasses

from absentia.app.report._curves import LOUD, rate_curves
from absentia.experiment import findings as found
from findings import make_findings


def test_lines_go_down_as_scores_do():
    findings = make_findings(n_methods=9)
    made = rate_curves(findings)
    assert len(made.lines) == 9
    assert sum(line.loud for line in made.lines) == LOUD
    for line in made.lines:
        heights = [mark.y for mark in line.marks]
        assert heights == sorted(heights)
        assert [mark.x for mark in line.marks] == sorted(mark.x for mark in line.marks)
        assert all(mark.high <= mark.y <= mark.low for mark in line.marks)  # up is less
        assert all(made.left <= mark.x <= made.right for mark in line.marks)
    assert made.rates == ["0%", "10%", "30%", "50%"]


def test_colour_and_dash_tell_lines_apart():
    made = rate_curves(make_findings(n_methods=18))
    assert len({(line.colour, line.dash) for line in made.lines}) == 18


def test_a_method_that_lacks_a_rate_has_a_dash_there():
    findings = make_findings(n_methods=2)
    made = rate_curves(dataclasses.replace(findings, curves=findings.curves[:-1]))
    assert sum(line.cells[-1] == ("–", "") for line in made.lines) == 1
    assert {len(line.cells) for line in made.lines} == {4}


def test_one_rate_is_in_the_middle():
    span = found.Interval(0.7, 0.6, 0.8)
    made = rate_curves(make_findings(n_methods=1, curves=[found.CurvePoint("odd", 0.3, span)]))
    (mark,) = made.lines[0].marks
    assert made.left < mark.x < made.right
    assert "70.0%" in mark.tip
    assert "60.0 to 80.0%" in mark.tip


def test_what_cannot_be_told_is_not_drawn():
    nan = float("nan")
    points = [found.CurvePoint("a", 0.1, found.Interval(nan, nan, nan))]
    points += [found.CurvePoint("a", 0.3, found.Interval(0.7, nan, nan))]
    made = rate_curves(make_findings(n_methods=1, curves=points))
    (mark,) = made.lines[0].marks
    assert mark.low == mark.y == mark.high


def test_none_is_no_section():
    assert rate_curves(make_findings(curves=())) is None
