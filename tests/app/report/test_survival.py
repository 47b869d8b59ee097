"""The report of survival: what it says is what the numbers say."""

import re

import numpy as np
import pytest

from absentia import experiment
from absentia.app.report.survival import SurvivalReport, render_survival
from absentia.data.survival import kaplan_meier, log_rank
from helpers.report_pages import NASTY, Page, row_cells, section, without_script

pytest.importorskip("jinja2")


def make_story(n=90, seed=0, **changes):
    rng = np.random.default_rng(seed)
    risk = rng.normal(size=n)
    observed = rng.random((n, 3)) > 0.3
    observed[~observed.any(axis=1), 0] = True
    values = {
        "title": "A title",
        "summary": "A summary.",
        "names": ["a", "b", "c"],
        "observed": observed,
        "time": rng.exponential(np.exp(-2 * risk)),
        "event": rng.random(n) < 0.6,
        "predictions": {"own": risk, "other": risk + rng.normal(size=n), "nothing": np.zeros(n)},
        "fold": np.arange(n) % 5,
        "unit": "years",
        "n_all": n + 2,
        "facts": {"seed": "0"},
    }
    return SurvivalReport(**(values | changes))


def test_page_parses_and_needs_nothing_from_outside():
    html = render_survival(make_story(views={"a": ("0.1", "0.6")}))
    page = Page(html)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and "download" not in attrs]
    assert {"#concordance", "#curves", "#by-pattern", "#views", "#presence"} <= set(links)
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert not re.search(r"https?://|<script|src=|url\(", without_script(html))
    assert "#views" not in render_survival(make_story())


def test_names_cannot_do_anything():
    story = make_story(title=NASTY, unit=NASTY, names=[NASTY, "b", "c"], views={NASTY: ("1", "1")})
    text = without_script(render_survival(story))
    assert "<script>alert" not in text
    assert "49" not in re.findall(r"\{\{.*?\}\}", text)


def test_concordances_are_those_of_the_risks():
    story = make_story()
    rows = row_cells(render_survival(story), "accuracy")
    assert [row[0] for row in rows] == ["own", "other baseline", "nothing baseline"]
    for row, risk in zip(rows, story.predictions.values(), strict=True):
        value, low, high = experiment.concordance(story.target, risk, story.fold)
        assert row[1].startswith(f"{value:.3f}")
        assert row[2] == (f"{low:.3f} to {high:.3f}" if high > low else "–")
    text = render_survival(story)
    own = experiment.concordance_gain(
        story.target, story.predictions["own"], story.predictions["nothing"], story.fold
    )
    assert f"own is {own.value:.3f} above nothing" in text
    assert "more than chance would make" in text


def thirds(risk, fold):
    """Which third of its fold a sample is in, where no risks are equal: 0 low to 2 high."""
    return np.array(
        [3 * (risk[fold == k] < r).sum() // (fold == k).sum() for r, k in zip(risk, fold, strict=True)]
    )


def test_curves_are_kaplan_meier_s_of_thirds():
    story = make_story()
    text = section(render_survival(story), "curves")
    group = thirds(story.predictions["own"], story.fold)
    rows = row_cells(text, "traces")
    assert [row[0] for row in rows] == ["high risk", "middle risk", "low risk"]
    groups = re.findall(r'<g class="line c\d">.*?</g>', text)
    ticks = [float(t) for t in re.findall(r'<text x="[\d.]+" y="303"[^>]*>([\d.]+)<', text)]
    last = story.time.max()
    for row, drawn, k in zip(rows, groups, (2, 1, 0), strict=True):
        own = group == k
        assert row[1:] == [str(own.sum()), str(story.event[own].sum())]
        exact = kaplan_meier(story.time[own], story.event[own])
        line = re.findall(r'<path d="([^"]*)">', drawn)[0]
        steps = np.array(re.findall(r"H([\d.]+)V([\d.]+)", line), dtype=float)
        np.testing.assert_allclose(steps[:, 0], 104 + exact.times / last * 600, atol=0.06)
        np.testing.assert_allclose(steps[:, 1], 284 - exact.survival * 270, atol=0.06)
        at_risk = re.findall(r'text-anchor="middle">(\d+)<', drawn)
        assert at_risk == [str((story.time[own] >= t).sum()) for t in ticks]
    p = log_rank(story.time, story.event, group).pvalue
    assert ("p &lt; 0.001" if p < 0.001 else f"p = {p:.3g}") in text


def test_thirds_are_cut_within_folds_and_equals_stay_together():
    fold = np.arange(90) // 45
    risk = np.arange(90.0) + 1000 * fold
    event = risk % 1000 % 45 >= 30  # the highest third of either fold
    cut = make_story(predictions={"own": risk, "nothing": np.zeros(90)}, fold=fold, event=event)
    rows = row_cells(section(render_survival(cut), "curves"), "traces")
    assert rows == [["high risk", "30", "30"], ["middle risk", "30", "0"], ["low risk", "30", "0"]]
    alike = make_story(predictions={"own": np.zeros(90), "nothing": np.zeros(90)})
    assert "All samples are in one group: their risks are equal." in render_survival(alike)
    assert "middle risk" in render_survival(alike)


def test_patterns_have_their_samples_and_events():
    story = make_story()
    rows = row_cells(render_survival(story), "patterns groups")
    assert sum(int(row[2]) for row in rows) == 90
    assert sum(int(row[3]) for row in rows) == story.event.sum()
    whole = story.observed.all(axis=1)
    row = next(row for row in rows if row[1].startswith("every view"))
    assert (int(row[2]), int(row[3])) == (whole.sum(), story.event[whole].sum())
