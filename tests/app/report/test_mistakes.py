"""The samples that were classified wrongly."""

import base64
import csv
import io
from types import SimpleNamespace

import numpy as np
import pytest

from absentia.app.report import _mistakes as module
from absentia.app.report._mistakes import mistakes

pytest.importorskip("jinja2")


def make_story(n=150, seed=0, **changes):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    values = {
        "ids": np.array([f"p{i}" for i in range(n)]),
        "names": ["a", "b"],
        "observed": rng.random((n, 2)) > 0.3,
        "classes": ["x", "y", "z"],
        "truth": truth,
        "method": "m",
        "predictions": {"m": (truth + (np.arange(n) % 2)) % 3},
        "probabilities": rng.dirichlet(np.ones(3), n),
        "scores": rng.normal(size=(n, 3)),
    }
    return SimpleNamespace(**values | changes)


def table(found):
    text = base64.b64decode(found.link.split("base64,")[1]).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_the_surest_are_shown_and_all_can_be_kept():
    story = make_story()
    found = mistakes(story)
    assert (len(found.rows), found.total, found.written) == (50, 75, 75)
    sure = [float(row.sure.removesuffix("%")) for row in found.rows]
    assert sure == sorted(sure, reverse=True)
    rows = table(found)
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
    story = make_story(probabilities=None)
    found = mistakes(story)
    i = int(found.rows[0].full[1:])
    ahead = story.scores[:, :] - np.take_along_axis(story.scores, story.truth[:, None], axis=1)
    lead = np.take_along_axis(ahead, story.predictions["m"][:, None], axis=1)[:, 0]
    assert lead[i] == lead[1::2].max()
    assert "score of predicted" in table(found)[0]
    assert mistakes(make_story(probabilities=None, scores=None)).rows[0].full == "p1"


def test_a_formula_in_an_id_is_no_formula_in_the_table():
    ids = np.array(["=1+1"] * 4)
    story = make_story(n=4, ids=ids)
    assert table(mistakes(story))[0]["id"] == "'=1+1"


def test_too_many_for_a_link_are_cut_and_counted(monkeypatch):
    monkeypatch.setattr(module, "MOST_BYTES", 600)
    found = mistakes(make_story())
    assert 0 < found.written < found.total
    assert len(table(found)) == found.written


def test_long_ids_are_shortened_on_the_page_and_whole_in_the_table():
    long = "sample-" + "x" * 80 + "-7"
    found = mistakes(make_story(n=2, ids=np.array(["a", long])))
    assert (found.rows[0].full, table(found)[0]["id"]) == (long, long)
    assert len(found.rows[0].sample) == 40
    assert found.rows[0].sample.endswith("-7")


def test_no_mistakes():
    story = make_story()
    story.predictions["m"] = story.truth
    found = mistakes(story)
    assert (found.rows, found.total, found.written) == ([], 0, 0)
