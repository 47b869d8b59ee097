"""The report of numbers: what it says is what the numbers say."""

import re

import numpy as np
import pytest
from sklearn.metrics import r2_score

from absentia.app.report.regression import RegressionReport, render_numbers
from helpers.report_pages import NASTY, Page, row_cells, section, without_script

pytest.importorskip("jinja2")


def make_story(n=90, seed=0, **changes):
    rng = np.random.default_rng(seed)
    y = 50 + 10 * rng.normal(size=n)
    observed = rng.random((n, 3)) > 0.3
    observed[~observed.any(axis=1), 0] = True
    own = y + 4 * rng.normal(size=n)
    values = {
        "title": "A title",
        "summary": "A summary.",
        "target": "weight",
        "names": ["a", "b", "c"],
        "observed": observed,
        "truth": y,
        "predictions": {"own": own, "other": y + 8 * rng.normal(size=n), "mean": np.full(n, y.mean())},
        "without": np.column_stack([own, own + 9 * rng.normal(size=n), np.full(n, y.mean())]),
        "ids": np.array([f"s{i}" for i in range(n)]),
        "n_all": n + 2,
        "facts": {"seed": "0"},
    }
    return RegressionReport(**(values | changes))


def test_page_parses_and_needs_nothing_from_outside():
    html = render_numbers(make_story())
    page = Page(html)
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and "download" not in attrs]
    assert {"#explained", "#scatter", "#by-pattern", "#contribution", "#presence"} <= set(links)
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert not re.search(r"https?://|<script|src=|url\(", without_script(html))
    assert sum(attrs.get("r") in ("3.4", "3.2") for tag, attrs in page.tags if tag == "circle") == 90


def test_names_cannot_do_anything():
    story = make_story(title=NASTY, target=NASTY, names=[NASTY, "b", "c"], ids=np.array([NASTY] * 90))
    text = without_script(render_numbers(story))
    assert "<script>alert" not in text
    assert "49" not in re.findall(r"\{\{.*?\}\}", text)


def test_errors_are_those_of_the_predictions():
    story = make_story()
    rows = row_cells(render_numbers(story), "accuracy")
    for cells, (name, said) in zip(rows, story.predictions.items(), strict=True):
        assert cells[0].startswith(name)
        assert cells[1].startswith(f"{r2_score(story.truth, said):.3f}".replace("-", "−"))
        assert cells[3] == f"{np.sqrt(np.mean((said - story.truth) ** 2)):.3g}"
    text = render_numbers(story)
    assert "own explains" in text
    assert "more than chance would make" in text
    groups = row_cells(text, "patterns groups")
    full = story.observed.all(axis=1)
    wanted = np.sqrt(np.mean((story.predictions["own"] - story.truth)[full] ** 2))
    assert any("every view" in " ".join(cells) and f"{wanted:.3g}" in cells for cells in groups)


def dots(story):
    """Positions of the dots of samples that have every view, and of the others, and ticks along x."""
    text = section(render_numbers(story), "scatter").split('class="chart scatter"')[1]
    complete, incomplete = (
        np.array(re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', part), dtype=float).reshape(-1, 2)
        for part in text.split('<g class="part"')
    )
    ticks = re.findall(r'<text x="([\d.]+)" y="485" text-anchor="middle">([^<]*)<', text)
    return complete, incomplete, [(float(label.replace("−", "-")), float(x)) for x, label in ticks]


def test_dots_are_where_the_numbers_are():
    story = make_story()
    complete, incomplete, ticks = dots(story)
    assert len(complete) == story.observed.all(axis=1).sum()
    assert len(complete) + len(incomplete) == 90
    (a, at_a), *_, (b, at_b) = ticks
    first = int(np.flatnonzero(story.observed.all(axis=1))[0])
    wanted = at_a + (story.truth[first] - a) / (b - a) * (at_b - at_a)
    assert complete[0, 0] == pytest.approx(wanted, abs=0.2)
    every = np.vstack([complete, incomplete])
    assert ((every >= [76, 14]) & (every <= [504, 466])).all()
    exact, _, _ = dots(make_story(predictions={"own": story.truth}))
    np.testing.assert_allclose(
        (exact[:, 0] - 76) / 428, (466 - exact[:, 1]) / 452, atol=1e-3
    )  # on the line


def test_of_many_samples_some_are_drawn_and_the_others_counted():
    story = make_story(n=3010)
    complete, incomplete, _ = dots(story)
    drawn = len(complete) + len(incomplete)
    assert drawn <= 1500
    assert f"{story.n_samples - drawn} of {story.n_samples} samples are not drawn" in render_numbers(story)
    assert "samples are not drawn" not in render_numbers(make_story())


def test_a_view_contributes_what_its_absence_costs():
    story = make_story()
    text = render_numbers(story)
    rows = {row[0]: row for row in row_cells(text, "patterns worth")}
    assert rows["a"][3] == rows["a"][4]
    bars = re.findall(r'<td class="bar">(.*?)</td>', text.split('class="patterns worth"')[1])
    assert (bars[0], bars[1] > "") == ("", True)
    has = story.observed[:, 2]
    error = np.sqrt(np.mean((story.truth[has] - story.truth.mean()) ** 2))
    assert rows["c"][4] == f"{error:.3g}"
    nobody = make_story(observed=np.column_stack([np.ones((90, 2), bool), np.zeros(90, bool)]))
    assert [row[0] for row in row_cells(render_numbers(nobody), "patterns worth")] == ["a", "b"]
