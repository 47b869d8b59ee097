"""What decisions rest on, mistakes, and what to measure next, as the page says it."""

import base64
import csv
import io
import re
from html import unescape

import numpy as np
import pytest

from absentia.app.report import _classes, render_classification
from absentia.app.report._classification import _average_parts
from absentia.experiment import Gain
from helpers.report_data import classification_story
from helpers.report_pages import NASTY, row_cells, section

pytest.importorskip("jinja2")


def test_sizes_are_means_over_those_who_have_the_view():
    parts = np.array([[[1.0, -1.0], [9.0, 9.0]], [[-3.0, 3.0], [2.0, -4.0]]])
    observed = np.array([[True, False], [True, True]])
    assert _average_parts(parts, observed).tolist() == [[2, 2], [2, 4]]
    nobody = _average_parts(parts, np.array([[True, False], [True, False]]))
    assert nobody[:, 1].tolist() == [0, 0]


def test_nothing_known_is_no_section():
    assert 'id="decisions"' not in render_classification(classification_story())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_views_and_classes_are_on_the_page(n_classes):
    story = classification_story(n_classes=n_classes)
    parts = np.random.default_rng(0).normal(size=(story.n_samples, 3, n_classes))
    story = classification_story(n_classes=n_classes, parts=parts, exact=True)
    text = render_classification(story)
    rows = row_cells(text, "patterns decisions")
    sizes = _average_parts(parts, story.observed).mean(axis=0)
    assert [row[0] for row in rows] == list(story.names)
    assert [row[2] for row in rows] == [f"{size:.3f}" for size in sizes]
    assert "exact parts" in text
    assert ("For or against the class" in text) == (n_classes > 2)
    assert "when it is hidden" in render_classification(
        classification_story(n_classes=n_classes, parts=parts)
    )


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


def test_of_many_classes_the_most_frequent_are_shown():
    parts = np.ones((400, 3, 15))
    text = render_classification(classification_story(n=400, n_classes=15, parts=parts, weights=None))
    assert len(row_cells(text, "shaded")) == 12
    assert "12 most frequent of 15 classes" in text


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
        "scores": rng.normal(size=(n, 3)),
    }
    return classification_story(n=n, n_views=2, **values | changes)


def mistakes(story):
    """Rows of the table on the page, and of the one behind the link."""
    text = section(render_classification(story), "mistakes")
    link = re.search(r'href="data:text/csv;charset=utf-8;base64,([^"]*)"', text)
    table = base64.b64decode(link.group(1)).decode()
    return row_cells(text, "mistakes"), list(csv.DictReader(io.StringIO(table))), text


def test_the_surest_are_shown_and_all_can_be_kept():
    story = mistaken_story()
    shown, rows, text = mistakes(story)
    assert (len(shown), len(rows)) == (50, 75)
    assert "Download all 75 mistakes as CSV" in text
    sure = [float(row[3].removesuffix("%")) for row in shown]
    assert sure == sorted(sure, reverse=True)
    assert {row["id"] for row in rows} == {f"p{i}" for i in range(1, 150, 2)}
    for row in rows[:5]:
        i = int(row["id"][1:])
        assert row["true"] == story.classes[story.truth[i]]
        assert row["predicted"] == story.classes[story.predictions["m"][i]]
        assert [row["view=a"], row["view=b"]] == [str(int(x)) for x in story.observed[i]]
        assert float(row["probability of true"]) == pytest.approx(
            story.probabilities[i, story.truth[i]], rel=1e-5
        )


def test_without_probabilities_the_lead_of_the_score_orders():
    story = mistaken_story(probabilities=None)
    shown, rows, _ = mistakes(story)
    i = int(shown[0][0][1:])
    ahead = story.scores - np.take_along_axis(story.scores, story.truth[:, None], axis=1)
    lead = np.take_along_axis(ahead, story.predictions["m"][:, None], axis=1)[:, 0]
    assert lead[i] == lead[1::2].max()
    assert "score of predicted" in rows[0]
    assert mistakes(mistaken_story(probabilities=None, scores=None))[0][0][0] == "p1"


def test_a_formula_in_an_id_is_no_formula_in_the_table():
    assert mistakes(mistaken_story(n=4, ids=np.array(["=1+1"] * 4)))[1][0]["id"] == "'=1+1"


def test_too_many_for_a_link_are_cut_and_counted(monkeypatch):
    monkeypatch.setattr(_classes, "_MAX_LINK_BYTES", 600)
    _, rows, text = mistakes(mistaken_story())
    assert 0 < len(rows) < 75
    assert f"Download the first {len(rows)} mistakes as CSV" in text


def test_long_ids_are_shortened_on_the_page_and_whole_in_the_table():
    long = "sample-" + "x" * 80 + "-7"
    shown, rows, text = mistakes(mistaken_story(n=2, ids=np.array(["a", long])))
    assert rows[0]["id"] == long
    assert f'data-v="{long}"' in text
    assert len(unescape(shown[0][0])) == 40
    assert shown[0][0].endswith("-7")


def test_no_mistakes():
    story = mistaken_story()
    text = render_classification(mistaken_story(predictions={"m": story.truth}))
    assert "None: every sample was classified rightly" in text
    assert "Download all" not in text


# ---------------------------------------------------------------------------------------------- measure next


def some_gains(story):
    """View 2 gains the more the later the sample, view 1 loses a little."""
    lacking = np.argwhere(~story.observed)
    return [
        Gain(int(i), int(v), 0.9, 0.9 - gain, gain, 0.25)
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
    assert rows[0][2] == f"{mean:.2f}"
    assert rows[2][2] == "−0.10"
    assert rows[0][3] == "25%"
    best = sorted((g for g in gains if g.view == 2), key=lambda g: -g.gain)
    found = row_cells(text, "mistakes candidates")
    assert [row[0] for row in found] == [f"s{g.sample}" for g in best[:10]]
    assert found[0][1] == "view 2"
    assert found[0][2] == story.classes[story.predictions[story.method][best[0].sample]]
    assert found[0][3:6] == ["0.90", f"{best[0].expected:.2f}", f"{best[0].gain:.2f}"]
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
