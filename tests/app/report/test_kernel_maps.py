"""Kernels as heat maps: values where they belong, absent cells empty, many samples on few pixels."""

import tracemalloc

import numpy as np
import pytest

from absentia.app.report import completion
from absentia.app.report._sections import _LEVELS, _make_palette, average_blocks, draw_panel
from absentia.app.report.completion import CompletionReport, render_completion
from absentia.core import Gram
from absentia.data import KernelViews, Presence
from helpers.report_data import decode, hide, make_story, views_of
from helpers.report_pages import Page


def maps_of(text):
    """Palette indices of the maps of a page, by their words."""
    return {a["alt"]: np.asarray(decode(a["src"])) for a in Page(text).all("img", class_="heat")}


def test_values_go_to_the_nearest_colour_and_what_is_none_is_transparent():
    values = np.array([[0.0, 0.5], [1.0, np.nan]])
    text = draw_panel("", "x", {"A": np.repeat(values, 300, axis=0)})  # many, so that the ends are the ends
    image = decode(Page(text).all("img")[0]["src"])
    np.testing.assert_array_equal(
        np.asarray(image)[[0, 300]], [[0, round(0.5 * (_LEVELS - 1))], [_LEVELS - 1, _LEVELS]]
    )
    rgba = np.asarray(image.convert("RGBA"))
    np.testing.assert_array_equal(rgba[0, 0], [*_make_palette()[0], 255])
    assert rgba[300, 1, 3] == 0


def test_colours_rise_in_lightness():
    assert (np.diff(_make_palette() @ [0.2126, 0.7152, 0.0722]) > 0).all()


def test_a_large_diagonal_does_not_wash_out_the_rest():
    K = np.random.default_rng(0).random((300, 300))
    np.fill_diagonal(K, 1000.0)
    text = draw_panel("", "x", {"A": K})
    (drawn,) = maps_of(text).values()
    off = ~np.eye(300, dtype=bool)
    assert np.corrcoef(K[off], drawn[off])[0, 1] > 0.99
    assert "<span>≥ 0.99" in text


def test_blocks_average_what_is_there(rng):
    values = rng.standard_normal((7, 5))
    values[:3, :2] = np.nan
    values[4, 4] = np.nan
    found = average_blocks(values, np.array([0, 3, 6]), np.array([0, 2, 4]))
    expected = [
        [np.nan, values[:3, 2:4].mean(), values[:3, 4].mean()],
        [values[3:6, :2].mean(), values[3:6, 2:4].mean(), np.nanmean(values[3:6, 4])],
        [values[6, :2].mean(), values[6, 2:4].mean(), values[6, 4]],
    ]
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(("n", "side"), [(1, 1), (260, 260), (261, 131), (4000, 260)])
def test_blocks_are_equal_and_pixels_few(n, side):
    kernels = np.broadcast_to(0.0, (1, n, n))
    observed = np.ones((n, 1), dtype=bool)
    text = render_completion(make_story(names=["a"], observed=observed, before=kernels, after=kernels))
    assert {image.shape for image in maps_of(text).values()} == {(side, side)}


def test_maps_have_values_where_they_belong_in_one_scale():
    story = make_story()
    order = completion._order_samples(story.after)
    maps = maps_of(render_completion(story))
    for v in range(3):
        before = maps[f"Heat map of view view {v}: as observed"]
        after = maps[f"Heat map of view view {v}: completed by method 0"]
        there = story.observed[order, v]
        np.testing.assert_array_equal(before == _LEVELS, ~np.outer(there, there))
        assert (after != _LEVELS).all()
        np.testing.assert_array_equal(before[before != _LEVELS], after[before != _LEVELS])
        values = story.after.block(f"view {v}")[np.ix_(order, order)]
        assert np.corrcoef(values.ravel(), after.ravel())[0, 1] > 0.95


def test_pixels_are_means_of_what_is_there_and_finite(rng):
    n = 11
    K = rng.standard_normal((n, n))
    K = K + K.T
    K[2, 2] = np.inf  # a value, but not one to draw
    observed = rng.random((n, 1)) > 0.3
    groups = np.array_split(rng.permutation(n)[:9], 4)
    got = completion._average_kernel(views_of(K[None], ["a"], observed), 0, groups)
    K[~observed[:, 0]] = K[:, ~observed[:, 0]] = np.nan
    for i, rows in enumerate(groups):
        for j, columns in enumerate(groups):
            block = K[np.ix_(rows, columns)]
            finite = block[np.isfinite(block)]
            wanted = finite.mean() if finite.size else np.nan
            np.testing.assert_allclose(got[i, j], wanted, rtol=1e-12)


def test_samples_that_are_alike_stand_together(rng):
    classes = rng.permutation(np.repeat([0, 1], 20))
    X = rng.standard_normal((2, 40, 3)) * 0.1 + (2 * classes - 1)[None, :, None]
    kernels = views_of(X @ X.transpose(0, 2, 1) + rng.random(40) + rng.random(40)[:, None], ["a", "b"])
    assert np.abs(np.diff(classes[completion._order_samples(kernels)])).sum() == 1


def test_kernels_given_as_factors_are_drawn_without_being_formed(rng):
    """Beyond the page itself, memory for a few rows at a time."""
    n = 1500
    names, keep = ("a", "b"), rng.random((n, 2)) > 0.3
    factors = {name: Gram(rng.standard_normal((n, 4))) for name in names}
    whole = KernelViews.within(Presence(np.arange(n), names, np.ones((n, 2), dtype=bool)), factors)
    story = CompletionReport(title="t", summary="s", method="m", before=whole.hide(keep), after=whole)
    tracemalloc.start()
    render_completion(story)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * n * n * 8


def test_of_many_samples_some_are_drawn_evenly(monkeypatch):
    n = 60
    kernels = np.add.outer(np.arange(n), np.arange(n))[None].astype(float)
    observed = np.ones((n, 1), dtype=bool)
    observed[::3] = False
    story = make_story(names=["a"], observed=observed, before=hide(kernels, observed), after=kernels)
    monkeypatch.setattr(completion, "_order_samples", lambda kernels: np.arange(n))
    assert "of the 60 samples" not in render_completion(story)
    monkeypatch.setattr(completion, "_MAX_DRAWN", 30)
    text = render_completion(story)
    assert "30 of the 60 samples" in text
    before, after = maps_of(text).values()
    assert after.shape == (30, 30)
    assert (np.diff(after[0].astype(int)) >= 0).all()
    there = observed[np.linspace(0, n - 1, 30).astype(int), 0]
    np.testing.assert_array_equal(before != _LEVELS, np.outer(there, there))
