"""The chart of objectives."""

import numpy as np
import pytest

from absentia.app.report import render
from absentia.app.report._charts import iteration_ticks, objective, remaining, round_step
from pages import Page
from stories import make_story

pytest.importorskip("jinja2")


def test_remaining_improvement():
    np.testing.assert_allclose(remaining(np.array([9.0, 3.0, 1.0])), [1.0, 0.25, np.nan])
    np.testing.assert_allclose(remaining(np.array([-1.0, np.nan, -5.0])), [1, np.nan, np.nan])
    assert np.isnan(remaining(np.array([2.0, 2.0]))).all()


def test_chart_lies_inside_its_frame_and_descends():
    chart = objective({"a": 3 + 0.5 ** np.arange(30), "b": np.array([1.0]), "c": np.array([])})
    assert [row.method for row in chart.rows] == ["a", "b"]
    assert chart.rows[0].iterations == "30"
    marks = chart.lines[0].marks
    assert all(chart.left <= m.x <= chart.right for m in marks)
    assert all(chart.top <= m.y <= chart.bottom for m in marks)
    assert (np.diff([m.y for m in marks]) > 0).all()
    assert marks[1].title == "a, iteration 2: objective 3.5"
    assert chart.lines[1].path == ""


def test_an_objective_that_never_moves_has_no_chart():
    page = Page(render(make_story(traces={"still": np.ones(5)})))
    assert "objective" in page.ids
    assert not page.all("svg", class_="chart")


@pytest.mark.parametrize("last", [1, 2, 7, 60, 1000, 12345])
def test_ticks_are_few_and_inside(last):
    ticks = iteration_ticks(last)
    assert ticks[0] == 1
    assert ticks == sorted(set(ticks))
    assert ticks[-1] <= last
    assert len(ticks) <= 8


@pytest.mark.parametrize(("span", "step"), [(6, 1), (7, 2), (0.5, 0.1), (1234, 500), (30, 5)])
def test_steps_are_round_and_few(span, step):
    assert round_step(span) == pytest.approx(step)
