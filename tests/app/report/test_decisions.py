"""Features, mistakes, and what to measure next, as the page says it."""

from html import unescape

import numpy as np
import pytest

from absentia.app.report.classification import render_classification
from absentia.experiment import Gain
from helpers.report_data import classification_story
from helpers.report_pages import NASTY, row_cells, section

pytest.importorskip("jinja2")


def test_nothing_known_is_no_section():
    assert 'id="features"' not in render_classification(classification_story())


def test_features_that_count_most_come_first_and_names_are_harmless():
    importance = [("view 0", f"gene {j}", j / 10) for j in range(20)]
    importance.append(("view 1", NASTY, 4.0))
    story = classification_story(importance=importance, importance_of="the mean of forest (100%)")
    text = render_classification(story)
    rows = row_cells(text, "patterns features")
    assert len(rows) == 10
    assert [rows[0][2], rows[1][0], rows[1][2]] == ["1.00", "gene 19", "0.47"]
    assert NASTY not in text
    assert "10 of 21 features" in text
    assert "the mean of forest (100%)" in text


# -------------------------------------------------------------------------------------------------- mistakes


def mistaken_story(n=150, seed=0, **changes):
    """Every second sample is wrong."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    values = {
        "ids": np.array([f"p{i}" for i in range(n)]),
        "names": ["a", "b"],
        "observed": rng.random((n, 2)) > 0.3,
        "classes": ["x", "y", "z"],
        "truth": truth,
        "weights": None,
        "predictions": {"m": (truth + (np.arange(n) % 2)) % 3},
        "probabilities": rng.dirichlet(np.ones(3), n),
    }
    return classification_story(n=n, n_views=2, **values | changes)


def mistakes(story):
    """Rows of the table on the page, and the section."""
    text = section(render_classification(story), "mistakes")
    return row_cells(text, "mistakes"), text


def test_the_surest_come_first_and_are_those_that_are_wrong(monkeypatch):
    story = mistaken_story()
    shown, _ = mistakes(story)
    assert {row[0] for row in shown} == {f"p{i}" for i in range(1, 150, 2)}
    sure = [float(row[3].removesuffix("%")) for row in shown]
    assert sure == sorted(sure, reverse=True)
    for row in shown[:5]:
        i = int(row[0][1:])
        assert row[1] == story.classes[story.truth[i]]
        assert row[2] == story.classes[story.predictions["m"][i]]
        assert row[4] == f"{100 * story.probabilities[i, story.truth[i]]:.0f}%"
    monkeypatch.setattr("absentia.app.report.classification._MAX_MISTAKES", 50)
    few, text = mistakes(story)
    assert few == shown[:50]
    assert "Here are 50 of them." in text


def test_without_probabilities_mistakes_stand_as_they_came():
    shown, text = mistakes(mistaken_story(probabilities=None))
    assert [row[0] for row in shown] == [f"p{i}" for i in range(1, 150, 2)]
    assert "robability of predicted" not in text


def test_long_ids_are_shortened_on_the_page_and_whole_in_the_download():
    long = "sample-" + "x" * 80 + "-7"
    shown, text = mistakes(mistaken_story(n=2, ids=np.array(["a", long])))
    assert f'data-v="{long}"' in text
    assert len(unescape(shown[0][0])) == 40
    assert shown[0][0].endswith("-7")


def test_no_mistakes():
    story = mistaken_story()
    text = render_classification(mistaken_story(predictions={"m": story.truth}))
    assert "None: every sample was classified rightly" in text
    assert 'class="mistakes"' not in text


# ---------------------------------------------------------------------------------------------- measure next


def some_gains(story):
    """View 2 gains the more the later the sample, view 1 loses a little."""
    lacking = np.argwhere(~story.observed)
    return [
        Gain(int(i), int(v), 0.4, 0.4 + gain, gain, 0.25)
        for i, v in lacking
        for gain in [{0: 0.0, 1: -0.1, 2: i / 200}[int(v)]]
    ]


def test_views_and_samples_that_gain_most_come_first():
    story = classification_story()
    gains = some_gains(story)
    text = render_classification(classification_story(gains=gains, ids=[f"s{i}" for i in range(120)]))
    rows = row_cells(text, "patterns gains")
    assert [row[0] for row in rows] == ["view 2", "view 0", "view 1"]
    mean = sum(g.gain for g in gains if g.view == 2) / sum(g.view == 2 for g in gains)
    assert rows[0][2] == f"{100 * mean:.1f}"
    assert rows[2][2] == "−10.0"
    assert rows[0][3] == "25%"
    best = sorted((g for g in gains if g.view == 2), key=lambda g: -g.gain)
    found = row_cells(text, "mistakes candidates")
    assert [row[0] for row in found] == [f"s{g.sample}" for g in best[:10]]
    assert found[0][1] == "view 2"
    assert found[0][2] == story.classes[story.predictions[story.method][best[0].sample]]
    assert found[0][3:6] == ["40%", f"{100 * best[0].expected:.0f}%", f"{100 * best[0].gain:.1f}"]
    lacking = int((~story.observed.all(axis=1)).sum())
    assert f"Tried on all {lacking} samples" in text
    fewer = [g for g in gains if g.sample < 60]
    assert f"least certain of {lacking} samples" in render_classification(classification_story(gains=fewer))


def test_where_nothing_can_be_told_the_page_says_why_or_nothing():
    story = classification_story(why_no_gains="it takes features, and the data are kernels")
    text = render_classification(story)
    assert "Not computed: it takes features, and the data are kernels." in text
    assert 'id="next"' not in render_classification(classification_story())
    complete = classification_story()
    complete = classification_story(observed=complete.observed | True, gains=[])
    assert 'id="next"' not in render_classification(complete)
    assert "could be lent" in render_classification(classification_story(gains=[]))
