"""The report of one completed matrix: what it says is what the numbers say."""

import re

import numpy as np
import pytest

from absentia.app.report.completion import MatrixReport, render_matrix
from absentia.methods.matrix import HeldOut
from helpers.report_pages import NASTY, Page, row_cells, without_script

pytest.importorskip("jinja2")


def make_story(n=30, m=4, missing=0.2, seed=0, own=0.5, spread=0.5, n_hidden=100, **changes):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal((n, m)) * 10.0 ** np.arange(m)
    before = np.where(rng.random((n, m)) < missing, np.nan, truth)
    column = rng.integers(0, m, n_hidden)
    unit = 10.0**column
    hidden = rng.standard_normal(n_hidden) * unit
    held = HeldOut(
        column,
        hidden,
        hidden + own * rng.standard_normal(n_hidden) * unit,
        np.zeros(n_hidden),
        spread * unit,
        unit,
    )
    values = {
        "title": "A title",
        "summary": "A summary.",
        "method": "pma",
        "columns": [f"column {j}" for j in range(m)],
        "before": before,
        "after": np.where(np.isnan(before), 0.0, before),
        "std": np.where(np.isnan(before), 1.0, 0.0),
        "held_out": held,
        "facts": {"seed": "0"},
    }
    return MatrixReport(**(values | changes))


def test_page_parses_needs_nothing_from_outside_and_every_link_leads_somewhere():
    text = render_matrix(make_story())
    page = Page(text)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = {attrs["href"].removeprefix("#") for tag, attrs in page.tags if tag == "a"}
    assert links == {"check", "matrix", "reading"}
    assert links <= set(ids)
    assert not re.search(r"https?://|<script|url\(", without_script(text))
    assert all(a["src"].startswith("data:image/png") for tag, a in page.tags if tag == "img")


def test_errors_are_those_of_the_hidden_entries():
    story = make_story()
    held, text = story.held_out, render_matrix(story)
    unit = story.scale[held.column]
    rows = row_cells(text, "accuracy")
    assert [row[0] for row in rows] == ["pma", "column mean baseline"]
    for row, found in zip(rows, (held.predicted, held.baseline), strict=True):
        expected = np.sqrt((((found - held.truth) / unit) ** 2).mean())
        assert float(row[1].removesuffix(" (best)")) == pytest.approx(expected, rel=5e-3)
    assert rows[0][1].endswith("(best)")
    by_column = row_cells(text, "patterns groups by-column")
    assert sum(int(row[2]) for row in by_column) == 100
    here = held.column == 0
    own = np.sqrt(((held.predicted - held.truth)[here] ** 2).mean())
    assert float(by_column[0][3].removesuffix(" (better)")) == pytest.approx(own, rel=5e-3)


def test_a_method_worse_than_the_column_mean_is_said_to_be():
    text = render_matrix(make_story(own=3.0))
    assert "the column mean is nearer more often" in text
    assert [row[1].endswith("(best)") for row in row_cells(text, "accuracy")] == [False, True]
    assert "pma is nearer more often" in render_matrix(make_story(own=0.1))


def test_standard_deviations_are_judged_by_what_lies_within_two():
    for spread, words in ((0.1, "too small"), (5.0, "too large"), (0.5, "as it should be")):
        text = render_matrix(make_story(own=0.5, spread=spread, n_hidden=400))
        assert words in text


def test_headline_numbers_are_rows_columns_and_the_share_missing():
    story = make_story(n=40, m=5, held_out=None)
    text = render_matrix(story)
    found = re.findall(r"<li><strong>(.*?)</strong>", text)
    missing = np.isnan(story.before).mean()
    assert found[:3] == ["40", "5", f"{100 * missing:.1f}%"]
    assert 'id="check"' not in text


def test_of_many_columns_those_with_most_missing_are_listed():
    story = make_story(n=20, m=60)
    rows = row_cells(render_matrix(story), "patterns groups by-column")
    counts = np.isnan(story.before).sum(axis=0)
    assert len(rows) == 40
    shown = [int(row[0].split()[1]) for row in rows]
    assert sorted(shown) == shown
    assert counts[shown].min() >= np.delete(counts, shown).max()


def test_large_matrices_are_shown_small_and_it_is_said():
    for n, height in ((260, "260"), (1000, "250"), (5000, "250")):
        text = render_matrix(make_story(n=n, m=3, held_out=None))
        assert {(a["height"], a["width"]) for a in Page(text).all("img", class_="heat")} == {(height, "3")}
    text = render_matrix(make_story(n=1000, m=3, held_out=None))
    assert "Each pixel averages 4 rows × 1 column." in text
    assert "Each pixel" not in render_matrix(make_story(n=20, m=3, held_out=None))


def test_nothing_that_came_from_outside_is_markup():
    text = render_matrix(
        make_story(
            title=NASTY,
            summary=NASTY,
            columns=[NASTY, "b", "c", "d"],
            warnings=[NASTY],
            facts={NASTY: NASTY},
        )
    )
    assert "<script" not in without_script(text)
    Page(text)
