"""Who has which view, as strips and patterns."""

import re
from collections import Counter

import numpy as np
import pytest

from absentia.app.report.classification import render_classification
from absentia.app.report.completion import render_completion
from helpers.report_data import classification_story, make_story
from helpers.report_pages import row_cells

pytest.importorskip("jinja2")


def test_strips_are_sorted_and_count():
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 0], [0, 0]], dtype=bool)
    kernels = np.zeros((2, 5, 5))
    text = render_completion(make_story(names=["a", "b"], observed=observed, before=kernels, after=kernels))
    strips = re.findall(r'class="strip".*?<path d="([^"]*)"/></svg><div class="tally">(.*?)</div>', text)
    assert strips == [
        ("M0 0h3v1h-3z", "<b>60.0%</b> <span>3 of 5</span>"),
        ("M0 0h1v1h-1zM3 0h1v1h-1z", "<b>40.0%</b> <span>2 of 5</span>"),
    ]
    patterns = [row[1] for row in row_cells(text, "patterns")]
    assert patterns[0] == "only a"
    assert set(patterns) == {"every view", "only a", "only b", "no view"}


def test_strips_cover_what_is_seen_and_nothing_else():
    observed = np.random.default_rng(1).random((50, 6)) > 0.5
    names, kernels = list("abcdef"), np.zeros((6, 50, 50))
    text = render_completion(make_story(names=names, observed=observed, before=kernels, after=kernels))
    paths = re.findall(r'class="strip".*?<path d="([^"]*)"/>', text)
    drawn = np.zeros((50, 6), dtype=bool)
    for path, column in zip(paths, drawn.T, strict=True):
        for start, width in re.findall(r"M(\d+) 0h(\d+)v", path):
            column[int(start) : int(start) + int(width)] = True
    patterns, counts = np.unique(observed, axis=0, return_counts=True)
    frequency = {tuple(p): c for p, c in zip(patterns.tolist(), counts.tolist(), strict=True)}
    assert Counter(map(tuple, drawn.tolist())) == frequency
    places = [(-sum(row), -frequency[tuple(row)]) for row in drawn.tolist()]
    assert places == sorted(places)  # the fullest first, then the most frequent
    assert (drawn[1:] != drawn[:-1]).any(axis=1).sum() == len(patterns) - 1  # alike stand together


def test_many_patterns_are_summed_up():
    n_views = 11
    codes = np.concatenate([np.arange(1, 1101), [2047] * 5])
    observed = (codes[:, None] >> np.arange(n_views) & 1).astype(bool)
    n = len(observed)
    kernels = np.broadcast_to(0.0, (n_views, n, n))
    story = make_story(
        names=[f"v{i}" for i in range(n_views)], observed=observed, before=kernels, after=kernels,
    )  # fmt: skip
    text = render_completion(story)
    assert "and 1\u202f093 more patterns, with 1\u202f093 samples between them" in text
    assert text.count('<svg class="dots"') == 8


def test_samples_with_the_same_views_stand_together_and_the_rest_last():
    observed = np.random.default_rng(0).random((300, 5)) < 0.6
    observed[~observed.any(axis=1), 0] = True
    story = classification_story(n=300, n_views=5, observed=observed)
    table = render_classification(story).split('class="patterns groups"')[1]
    rows = row_cells(f'<table class="groups"{table}', "groups")
    assert len(rows) == 9
    assert sum(int(row[2]) for row in rows) == 300
    _, counts = np.unique(observed, axis=0, return_counts=True)
    assert [int(row[2]) for row in rows[:-1]] == sorted(counts.tolist(), reverse=True)[:8]
    assert "other patterns together" in rows[-1][1]
