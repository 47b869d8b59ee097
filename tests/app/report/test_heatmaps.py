"""Kernels as heat maps."""

import tracemalloc

import numpy as np
import pytest

from absentia.app.report import CompletionStory, _heatmaps, render
from absentia.app.report._colour import ABSENT, LEVELS, NEUTRAL
from absentia.app.report._heatmaps import block_means, choose_block, diffuse, heat_maps, value_range
from absentia.app.report._order import sample_order
from absentia.core import Gram
from absentia.data import KernelViews, Presence
from pages import Page
from stories import decode, hide, make_story

pytest.importorskip("jinja2")


def test_truth_and_error_maps_only_with_truth():
    with_truth, without = render(make_story()), render(make_story(truth=None))
    for alt in ("view 0: truth", "view 0: error of method 0", "view 2: error of method 1"):
        assert alt in with_truth
    assert "error of" not in without
    assert "view 0: truth" not in without


def test_heat_maps_hold_few_rows_at_a_time():
    n = 1200
    kernel = np.broadcast_to(np.float64(1.0), (n, n))
    groups = np.array_split(np.random.default_rng(0).permutation(n), 200)
    tracemalloc.start()
    block_means(lambda i: np.abs(kernel[i] - 2 * kernel[i]), groups, np.ones(n, dtype=bool))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.15 * n * n * 8


@pytest.mark.parametrize(("n", "block"), [(1, 1), (320, 1), (321, 2), (4000, 16)])
def test_blocks_are_equal_and_pixels_few(n, block):
    kernels = np.broadcast_to(0.0, (1, n, n))
    story = make_story(
        names=["a"], observed=np.ones((n, 1), dtype=bool), before=kernels,
        after={"m": kernels}, truth=None,
    )  # fmt: skip
    assert choose_block(story) == block


def test_maps_decode_and_absent_cells_are_neutral():
    story = make_story(labels=np.zeros(24))
    order = sample_order(story).index
    page = Page(render(story))
    for attrs in page.all("img"):
        decode(attrs["src"])
    for v in range(3):
        alt = f"Heat map of view view {v}: as observed"
        image = decode(page.all("img", alt=alt)[0]["src"])
        assert image.size == (24, 24)
        there = story.observed[order, v]
        rgba = np.asarray(image.convert("RGBA"))
        absent = ~np.outer(there, there)
        assert absent.any()
        np.testing.assert_array_equal(rgba[..., 3] == 0, absent)
        assert (rgba[absent][:, :3] == NEUTRAL).all()
        completed = page.all("img", alt=f"Heat map of view view {v}: completed by method 0")
        assert (np.asarray(decode(completed[0]["src"])) != ABSENT).all()


def test_one_scale_for_all_maps_of_a_view():
    story = make_story(labels=np.zeros(24))
    order = sample_order(story).index
    page = Page(render(story))
    maps = {a["alt"]: np.asarray(decode(a["src"])) for a in page.all("img", class_="heat")}
    truth = maps["Heat map of view view 0: truth"]
    before = maps["Heat map of view view 0: as observed"]
    seen = before != ABSENT
    np.testing.assert_array_equal(before[seen], truth[seen])
    values = story.truth.block("view 0")[np.ix_(order, order)]
    assert np.corrcoef(values.ravel(), truth.ravel())[0, 1] > 0.99


@pytest.mark.parametrize("seed", range(5))
def test_block_means_equal_nanmean(seed):
    rng = np.random.default_rng(seed)
    n = 11
    K = rng.standard_normal((n, n))
    present = rng.random(n) > 0.3
    K[~present] = K[:, ~present] = np.nan
    first_seen = int(np.flatnonzero(present)[0])
    K[first_seen, first_seen] = np.inf  # a value, but not one to draw
    groups = np.array_split(rng.permutation(n), 4)
    got = block_means(lambda i: K[i], groups, present)
    for i, rows in enumerate(groups):
        for j, columns in enumerate(groups):
            block = K[np.ix_(rows, columns)]
            finite = block[np.isfinite(block)]
            wanted = finite.mean() if finite.size else np.nan
            np.testing.assert_allclose(got[i, j], wanted, rtol=1e-12)


def test_as_many_pixels_are_hatched_as_samples_are_absent():
    rng = np.random.default_rng(0)
    for rate in (0.1, 0.5, 0.8):
        share = rng.binomial(8, rate, size=250) / 8
        share[:20], share[100:120] = 0.0, 1.0
        drawn = diffuse(share)
        assert not drawn[share == 0].any()
        assert drawn[share == 1].all()
        assert abs(drawn.sum() - share.sum()) <= 0.5


def test_samples_beyond_the_pixels_are_averaged():
    """Pairs of samples, both there or both not, in one pixel each."""
    n = 400
    observed = np.repeat(np.random.default_rng(0).random((n // 2, 1)) > 0.3, 2, axis=0)
    labels = np.repeat(np.arange(n // 2), 2)
    apart = np.random.default_rng(1).random(n // 2) * 50
    rows = np.repeat(np.arange(n // 2), 2) + np.column_stack([apart, -apart]).ravel()
    kernels = rows[None, :, None] * np.ones((1, 1, n))
    story = make_story(
        names=["a"], observed=observed, before=hide(kernels, observed), after={"m": kernels},
        truth=None, labels=labels,
    )  # fmt: skip
    page = Page(render(story))
    before, after = (np.asarray(decode(a["src"])) for a in page.all("img", class_="heat"))
    assert before.shape == (n // 2, n // 2)
    there = observed[::2, 0]
    np.testing.assert_array_equal(before != ABSENT, np.outer(there, there))
    np.testing.assert_array_equal(after[:, 0], np.rint(np.linspace(0, LEVELS - 1, n // 2)))
    assert "averages 2 × 2 samples" in render(story)


def test_a_large_diagonal_does_not_wash_out_the_rest():
    K = np.random.default_rng(0).random((300, 300))
    np.fill_diagonal(K, 1000.0)
    low, high, below, above = value_range([K])
    assert (below, above) == (False, True)
    assert low == K.min()
    assert high < 1.01


def test_kernels_given_as_factors_are_drawn_without_being_formed(rng):
    """Beyond the page itself, memory for a few rows at a time."""
    n = 1500
    names, keep = ("a", "b"), rng.random((n, 2)) > 0.3
    factors = {name: Gram(rng.standard_normal((n, 4))) for name in names}
    whole = KernelViews.within(Presence(np.arange(n), names, np.ones((n, 2), dtype=bool)), factors)
    story = CompletionStory("t", "s", whole.hide(keep), {"m": whole}, truth=whole)
    tracemalloc.start()
    render(story)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * n * n * 8


def test_of_many_samples_some_are_drawn_evenly(monkeypatch):
    n, drawn = 60, 30
    labels = np.repeat([0, 1, 2], n // 3)
    kernel = 1.0 + labels[:, None] + labels
    samples = Presence(np.arange(n), ("a",), np.arange(n)[:, None] % 3 > 0)
    before = KernelViews.within(samples, {"a": kernel[np.ix_(*[samples.observed[:, 0]] * 2)]})
    story = CompletionStory("t", "s", before, {"m": before.completed({"a": kernel})}, labels=labels)
    whole = heat_maps(story)
    monkeypatch.setattr(_heatmaps, "DRAWN", drawn)
    some = heat_maps(story)
    assert (whole.side, some.side) == (n, drawn)
    assert "30 of the 60 samples" in some.block
    assert "60 samples" not in whole.block
    assert some.views[0].presence == whole.views[0].presence
    assert some.views[0].bars == whole.views[0].bars
    image = np.asarray(decode(some.views[0].panels[1].image).convert("RGB")).astype(int)
    blocks = image.reshape(3, 10, 3, 10, 3)
    assert (blocks == blocks[:, :1, :, :1]).all()  # the order of classes is kept
    assert len({tuple(x) for x in blocks[:, 0, :, 0].reshape(9, 3)}) == 5
