"""What to measure next, as the page tells it."""

from absentia.app.report import render_classification
from absentia.app.report._next import measure_next
from absentia.experiment import Gain
from pages import row_cells
from stories import classification_story


def some_gains(story):
    """View 2 gains the more the later the sample, view 1 loses a little."""
    import numpy as np

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
    assert "Not told: it takes features, and the data are kernels." in text
    assert measure_next(classification_story()) is None
    complete = classification_story()
    complete = classification_story(observed=complete.observed | True, gains=[])
    assert measure_next(complete) is None
    assert "could be lent" in measure_next(classification_story(gains=[])).why_not
