"""The section on how good a completion is says what was measured."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

from absentia.app.report.completion import describe_intervals, render_completion
from absentia.experiment import Quality
from helpers.report_data import make_story
from helpers.report_pages import NASTY, Page, notes, row_cells, section

pytest.importorskip("jinja2")


def make_quality(names=("view 0", "view 1", "view 2"), n=40, left_out=None, **levels):
    """Errors around the levels given by method, the same luck for all."""
    cells = np.column_stack([np.arange(n), np.arange(n) % len(names)])
    luck = np.linspace(-0.05, 0.05, n)
    levels = {name.replace("_", " "): level for name, level in levels.items()}
    return Quality(
        tuple(names),
        cells,
        {name: level + luck * (1 + 0.1 * i) for i, (name, level) in enumerate(levels.items())},
        {name: np.full(len(names), level / 10) for name, level in levels.items()},
        dict.fromkeys(levels, 0.5),
        left_out or {},
    )


def story_with(quality, **changes):
    return make_story(quality=quality, **changes)


def test_the_section_is_there_if_there_are_numbers():
    assert 'id="quality"' not in render_completion(make_story())
    text = render_completion(story_with(make_quality(method_0=0.2, mean=0.4, zero=1.0)))
    assert {"quality"} <= Page(text).ids
    rows = row_cells(text, "accuracy quality")
    assert [row[0] for row in rows] == ["method 0 used here", "mean baseline", "zero baseline"]
    assert rows[0][1].endswith("(best)")
    quality = make_quality(method_0=0.2, mean=0.4, zero=1.0)
    assert float(rows[1][1]) == pytest.approx(quality.mean_errors("mean")[0], rel=0.01)


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (0.2, "method 0 is better than mean fill here"),
        (0.6, "method 0 is worse than mean fill here: use mean fill"),
        (0.4, "method 0 is not shown to be better than mean fill here"),
    ],
)
def test_the_verdict_is_plain(own, said):
    quality = make_quality(method_0=own, mean=0.4)
    verdicts = notes(section(render_completion(story_with(quality)), "quality"))[1:]
    assert verdicts[0].startswith(said)


def test_a_chosen_method_without_a_number_is_said_to_have_none():
    quality = make_quality(mean=0.4, left_out={"method 0": "could not: no luck", "x": "late", "y": "late"})
    said = notes(section(render_completion(story_with(quality)), "quality"))
    assert "method 0 could not: no luck, so nothing can be said" in said[1]
    assert "Not in the table: method 0 (could not: no luck), x (late), y (late)." in said


def test_nothing_hidden_is_said():
    empty = Quality(("view 0", "view 1", "view 2"), np.zeros((0, 2), int), {}, {}, {}, {})
    assert "no observed cell could be hidden" in render_completion(story_with(empty))


def test_views_are_those_of_the_cells():
    quality = make_quality(method_0=0.2, mean=0.4)
    text = render_completion(story_with(quality))
    rows = row_cells(text, "by-view")
    assert [row[1] for row in rows] == ["14", "13", "13"]
    for v, row in enumerate(rows):
        assert float(row[2].removesuffix(" (best)")) == pytest.approx(
            quality.view_errors("method 0")[v], rel=0.01
        )


def test_names_of_the_user_are_text():
    names = [NASTY, NASTY + "b", "x" * 90]
    text = render_completion(story_with(make_quality(names, method_0=0.2, mean=0.4), names=names))
    page = Page(text)
    assert not re.search(r"<script>alert", text)
    heads = [attrs["data-v"] for tag, attrs in page.tags if tag == "th" and "data-v" in attrs]
    assert "x" * 90 in heads


def test_on_how_many_samples_methods_were_judged_is_said():
    quality = make_quality(method_0=0.2, mean=0.4)
    assert quality.subsample_note == ""
    drawn = dataclasses.replace(quality, subsample=(3000, 50_000))
    assert drawn.subsample_note in render_completion(story_with(drawn))
    assert "judged on" not in render_completion(story_with(quality))


# ----------------------------------------------------------------------------------------------- intervals


def make_intervals(half_width=0.2, n_hidden=40):
    rows = [
        (view, kind, n_hidden, half_width * factor, 0.3, 0.9, 0.912, 0.015)
        for view in ("view 0", NASTY)
        for kind, factor in (("observed", 1), ("absent", 2), ("itself", 0))
    ]
    columns = [
        "view",
        "entries",
        "n_hidden",
        "half_width",
        "spread",
        "promised",
        "reached",
        "standard_error",
    ]
    return pd.DataFrame(rows, columns=columns)


def test_the_page_says_how_far_completed_values_may_be_off():
    assert 'id="intervals"' not in render_completion(make_story())
    text = render_completion(make_story(intervals=make_intervals()))
    assert "90% are inside" in notes(section(text, "intervals"))[0]
    rows = row_cells(text, "patterns groups")
    assert rows[0] == ["view 0", "40", "0.200", "91.2%", "1.5", "0.400", "91.2%", "1.5", "0.300"]
    few = render_completion(make_story(intervals=make_intervals(np.inf, 3)))
    assert row_cells(few, "patterns groups")[0][:3] == ["view 0 few", "3", "–"]


def test_a_sentence_for_each_view():
    first, second = describe_intervals(make_intervals())
    assert first == (
        "view 0: 90 % of completed values within ±0.2 (standard deviation of observed ones 0.3); 91 % of "
        "hidden ones were, standard error 1.5"
    )
    assert second.startswith(NASTY)
    assert "too few samples to say how far 90 %" in describe_intervals(make_intervals(np.inf, 3))[0]
    assert describe_intervals(None) == []
