"""Features, mistakes, and what to measure next, as the page says it."""

from html import unescape

import numpy as np
import pytest

from absentia.app.report import _classification, render_classification
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
    monkeypatch.setattr(_classification, "_MAX_MISTAKES", 50)
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
