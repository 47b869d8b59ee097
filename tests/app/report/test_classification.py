"""The report of a classification: what it says is what the numbers say."""

import re

import numpy as np
import pytest

from absentia.app.report import save
from absentia.app.report.classification import render_classification
from helpers.report_data import classification_story as make_story
from helpers.report_pages import NASTY, Page, row_cells, without_script

pytest.importorskip("jinja2")


def test_page_parses_and_every_link_leads_somewhere():
    page = Page(render_classification(make_story()))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("html") == tags.count("main") == tags.count("h1") == 1
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and "download" not in attrs]
    assert links
    assert {link.removeprefix("#") for link in links} <= set(ids)


def test_page_needs_nothing_from_outside():
    text = without_script(render_classification(make_story()))
    assert not re.search(r"https?://|<script|src=|url\(", text)


def test_accuracies_are_those_of_the_predictions():
    story = make_story()
    rows = row_cells(render_classification(story), "accuracy")
    assert [row[0] for row in rows] == ["the method", "averaged baseline", "frequent baseline"]
    for row, predicted in zip(rows, story.predictions.values(), strict=True):
        right = predicted == story.truth
        balanced = np.mean([right[story.truth == c].mean() for c in np.unique(story.truth)])
        assert row[1].removesuffix(" (best)") == f"{100 * balanced:.1f}%"
        assert row[3] == f"{100 * right.mean():.1f}%"
    assert [row[1].endswith("(best)") for row in rows] == [True, False, False]


def test_accuracies_by_pattern_count_every_sample_once():
    story = make_story(n=200, n_views=5)
    text = render_classification(story)
    rows = row_cells(text, "patterns groups")
    assert sum(int(row[2]) for row in rows) == 200
    everything, right = story.observed.all(axis=1), story.right("the method")
    (whole,) = [row for row in rows if row[1].startswith("every view")]
    assert int(whole[2]) == everything.sum()
    assert whole[3] == f"{100 * right[everything].mean():.0f}%"
    assert all(row[1].endswith("few") == (int(row[2]) < 20) for row in rows)
    assert "other patterns together" in rows[-1][1]
    assert "read no ranking into them" in text


def test_no_note_on_few_samples_where_there_are_many():
    observed = np.ones((120, 3), bool)
    text = render_classification(make_story(observed=observed))
    assert "read no ranking" not in text
    assert 'class="few"' not in text


def test_verdicts_say_what_a_paired_test_says():
    n = 100
    truth, wrong = np.zeros(n, int), np.ones(n, int)
    close = np.where(np.arange(n) < 3, wrong, truth)
    worse = np.where(np.arange(n) < 40, wrong, truth)
    off = np.where(np.arange(n) >= 95, wrong, truth)
    text = render_classification(
        make_story(
            n=n, truth=truth, n_classes=2, predictions={"m": close, "a": off, "b": worse, "c": close}
        )
    )
    assert "Only m was right on 5 samples, only the a on 3: a difference that chance could make" in text
    assert "Only m was right on 37 samples, only the b on 0: m is better here (p &lt; 0.001" in text
    assert "m and the c were right on the same samples." in text
    text = render_classification(
        make_story(n=n, truth=truth, n_classes=2, predictions={"m": worse, "a": truth})
    )
    assert "the a is better here" in text


def test_weights_are_shown_as_they_are():
    story = make_story(n_classes=2, weights=np.array([[0.5, 0.0, 0.25]]), probabilities=None)
    text = render_classification(story)
    rows = row_cells(text, "patterns weights")
    assert [row[1] for row in rows] == ["0.500", "0.000", "0.250"]
    bars = re.findall(r'class="bar">(?:<span style="width:([\d.]+)%">)?', text.split('id="weights"')[1])
    assert bars[:3] == ["100.0", "", "50.0"]


def test_weights_of_several_classes_are_their_mean():
    story = make_story(n_classes=3, weights=np.array([[0.5, 0, 0], [0.25, 0, 0], [0, 0, 0.3]]))
    rows = row_cells(render_classification(story), "patterns weights")
    assert [row[1] for row in rows] == ["0.250", "0.000", "0.100"]


def test_members_of_an_average_are_named():
    html = render_classification(make_story(used="the average of <two>"))
    assert "Used: the average of &lt;two&gt;." in html
    assert "Used:" not in render_classification(make_story())


def test_a_method_that_does_not_weigh_views_has_no_section_on_it():
    text = render_classification(make_story(weights=None))
    assert "Which views count" in render_classification(make_story())
    for word in ('id="weights"', '"#weights"', "Which views count", "<h3>Weights"):
        assert word not in text


def test_without_probabilities_there_is_no_such_section():
    text = render_classification(make_story(probabilities=None))
    assert 'id="calibration"' not in text
    assert "#calibration" not in text


def test_nothing_that_came_from_outside_is_markup(tmp_path):
    story = make_story(
        n_classes=2,
        title=NASTY,
        summary=NASTY,
        names=[NASTY, "b", "c"],
        classes=[NASTY, NASTY + "2"],
        warnings=[NASTY],
        facts={NASTY: NASTY},
    )
    text = render_classification(story)
    assert "<script" not in without_script(text)
    assert (("html", "head", "title"), NASTY) in Page(text).texts
    path = save(text, tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == text


def test_mistakes_say_by_which_rule_classes_are_predicted():
    rule = "whose probability, divided by its frequency to the power of 0.5, is the largest"
    assert f"What is predicted is the class {rule}." in render_classification(make_story(rule=rule))
    assert "the class with the highest score" in render_classification(make_story())


def test_losses_and_gains_are_counted_over_those_who_have_the_view():
    truth = np.array([0, 0, 1, 1, 1])
    predicted = np.array([0, 1, 1, 1, 0])
    observed = np.array([[1, 1], [1, 1], [1, 0], [0, 1], [1, 1]], bool)
    without = np.column_stack([predicted, predicted])
    without[0, 0] = without[2, 0] = 1 - truth[0]  # the first is lost, the third stays right
    without[1, 1] = 0  # gained
    values = {"truth": truth, "observed": observed, "predictions": {"m": predicted}, "without": without}
    text = render_classification(make_story(n=5, n_views=2, n_classes=2, **values))
    a, b = row_cells(text, "patterns worth")
    assert a[:8] == ["view 0 few", "4", "1", "50.0%", "25.0%", "−25.0", "1", "0"]
    assert b[5:8] == ["+25.0", "0", "1"]
    bars = re.findall(r'<td class="bar">(.*?)</td>', text.split('class="patterns worth"')[1])[:2]
    assert bars == ['<span style="width:100.0%"></span>', ""]


def test_a_view_that_nobody_has_is_not_there():
    observed = np.array([[True, False]] * 120)
    without = np.zeros((120, 2), int)
    text = render_classification(make_story(n_views=2, observed=observed, without=without))
    assert [row[0] for row in row_cells(text, "patterns worth")] == ["view 0"]
    assert 'id="contribution"' not in render_classification(make_story())
