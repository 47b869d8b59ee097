"""Kernels as heat maps, of a completion and of a comparison."""

import tracemalloc

import numpy as np
import pytest

from absentia.app.report import CompletionStory, _comparison_details, _heatmaps, render, render_comparison
from absentia.app.report._heatmaps import _ABSENT, _LEVELS, _order_by_structure, _order_samples
from absentia.core import Gram
from absentia.data import KernelViews, Presence
from absentia.experiment import results as found
from helpers.comparison_results import make_findings
from helpers.report_data import decode, hide, make_story, views_of
from helpers.report_pages import Page, section

pytest.importorskip("jinja2")


@pytest.mark.parametrize(("n", "side"), [(1, 1), (320, 320), (321, 161), (4000, 260)])
def test_blocks_are_equal_and_pixels_few(n, side):
    kernels = np.broadcast_to(0.0, (1, n, n))
    observed = np.ones((n, 1), dtype=bool)
    page = Page(render(make_story(names=["a"], observed=observed, before=kernels, after={"m": kernels})))
    assert {a["width"] for a in page.all("img", class_="heat")} == {str(side)}


def test_maps_decode_and_absent_cells_are_neutral():
    story = make_story()
    order, _ = _order_samples(story)
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
        assert (rgba[absent][:, :3] == 158).all()
        completed = page.all("img", alt=f"Heat map of view view {v}: completed by method 0")
        assert (np.asarray(decode(completed[0]["src"])) != _ABSENT).all()


def test_one_scale_for_all_maps_of_a_view():
    story = make_story()
    order, _ = _order_samples(story)
    page = Page(render(story))
    maps = {a["alt"]: np.asarray(decode(a["src"])) for a in page.all("img", class_="heat")}
    before = maps["Heat map of view view 0: as observed"]
    after = maps["Heat map of view view 0: completed by method 0"]
    seen = before != _ABSENT
    np.testing.assert_array_equal(before[seen], after[seen])
    values = story.after["method 0"].block("view 0")[np.ix_(order, order)]
    assert np.corrcoef(values.ravel(), after.ravel())[0, 1] > 0.99


def test_pixels_are_means_of_what_is_there_and_finite(rng):
    n = 11
    K = rng.standard_normal((n, n))
    K = K + K.T
    K[2, 2] = np.inf  # a value, but not one to draw
    observed = rng.random((n, 1)) > 0.3
    groups = np.array_split(rng.permutation(n)[:9], 4)
    got = _heatmaps._average_kernel(views_of(K[None], ["a"], observed), 0, groups)
    K[~observed[:, 0]] = K[:, ~observed[:, 0]] = np.nan
    for i, rows in enumerate(groups):
        for j, columns in enumerate(groups):
            block = K[np.ix_(rows, columns)]
            finite = block[np.isfinite(block)]
            wanted = finite.mean() if finite.size else np.nan
            np.testing.assert_allclose(got[i, j], wanted, rtol=1e-12)


def test_samples_beyond_the_pixels_are_averaged(monkeypatch):
    """Pairs of samples, both there or both not, in one pixel each."""
    n = 400
    observed = np.repeat(np.random.default_rng(0).random((n // 2, 1)) > 0.3, 2, axis=0)
    apart = np.random.default_rng(1).random(n // 2) * 50
    rows = np.repeat(np.arange(n // 2), 2) + np.column_stack([apart, -apart]).ravel()
    kernels = rows[None, :, None] * np.ones((1, 1, n))
    story = make_story(names=["a"], observed=observed, before=hide(kernels, observed), after={"m": kernels})
    monkeypatch.setattr(_heatmaps, "_order_samples", lambda story: (np.arange(n), "As they came."))
    page = Page(render(story))
    before, after = (np.asarray(decode(a["src"])) for a in page.all("img", class_="heat"))
    assert before.shape == (n // 2, n // 2)
    there = observed[::2, 0]
    np.testing.assert_array_equal(before != _ABSENT, np.outer(there, there))
    np.testing.assert_array_equal(after[:, 0], np.rint(np.linspace(0, _LEVELS - 1, n // 2)))
    assert "averages 2 × 2 samples" in render(story)


def test_kernels_given_as_factors_are_drawn_without_being_formed(rng):
    """Beyond the page itself, memory for a few rows at a time."""
    n = 1500
    names, keep = ("a", "b"), rng.random((n, 2)) > 0.3
    factors = {name: Gram(rng.standard_normal((n, 4))) for name in names}
    whole = KernelViews.within(Presence(np.arange(n), names, np.ones((n, 2), dtype=bool)), factors)
    story = CompletionStory("t", "s", whole.hide(keep), {"m": whole})
    tracemalloc.start()
    render(story)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.8 * n * n * 8


def test_of_many_samples_some_are_drawn_evenly(monkeypatch):
    n, drawn = 60, 30
    classes = np.repeat([0, 1, 2], n // 3)
    kernel = 1.0 + classes[:, None] + classes
    samples = Presence(np.arange(n), ("a",), np.arange(n)[:, None] % 3 > 0)
    before = KernelViews.within(samples, {"a": kernel[np.ix_(*[samples.observed[:, 0]] * 2)]})
    story = CompletionStory("t", "s", before, {"m": before.completed({"a": kernel})})
    monkeypatch.setattr(_heatmaps, "_order_samples", lambda story: (np.arange(n), "By class."))
    whole = render(story)
    monkeypatch.setattr(_heatmaps, "_MAX_DRAWN", drawn)
    some = render(story)
    assert "30 of the 60 samples" in some
    assert "of the 60 samples" not in whole
    assert "observed for 40 of 60 samples" in section(some, "kernels")
    images = Page(some).all("img", class_="heat")
    assert [a["width"] for a in Page(whole).all("img", class_="heat")] == ["60", "60"]
    assert [a["width"] for a in images] == ["30", "30"]
    image = np.asarray(decode(images[1]["src"]).convert("RGB")).astype(int)
    blocks = image.reshape(3, 10, 3, 10, 3)
    assert (blocks == blocks[:, :1, :, :1]).all()  # the order of classes is kept
    assert len({tuple(x) for x in blocks[:, 0, :, 0].reshape(9, 3)}) == 5


def test_structure_brings_groups_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat([0, 1, 2], 20))
    X = np.eye(3)[group] + 0.1 * rng.standard_normal((60, 3))
    along = group[_order_by_structure(views_of(np.stack([X @ X.T, 100 * X @ X.T]), "ab"))]
    assert np.count_nonzero(np.diff(along)) == 2
    assert "leading structure" in render(make_story())


# --------------------------------------------------------------------------------------------- comparisons


def maps_of(results):
    """Captions, whom they belong to, and images of the section on kernels, view by view."""
    text = section(render_comparison(results), "kernels")
    return [
        [
            (a["alt"].split(": ")[1], np.asarray(decode(a["src"])))
            for a in Page(f"<div>{part.split('</article>')[0]}</div>").all("img")
        ]
        for part in text.split('<article class="view">')[1:]
    ]


def test_true_hidden_and_completed_by_every_method():
    results = make_findings(n_methods=3)
    text = section(render_comparison(results), "kernels")
    methods = [row.method for row in results.rows]
    chosen = methods.index(results.verdict.recommended)
    assert f'value="{chosen}" autocomplete="off" checked' in text
    views = maps_of(results)
    assert len(views) == len(results.names)
    for name, view in zip(results.names, views, strict=True):
        captions = [caption for caption, _ in view]
        assert captions == ["true", "with cells hidden", *(f"completed by {m}" for m in methods)]
        true, hidden, *done = (image for _, image in view)
        assert true.shape == (24, 24)
        gone = np.isnan(results.kernels.hidden[name])
        np.testing.assert_array_equal(hidden == _ABSENT, gone)
        np.testing.assert_array_equal(hidden[~gone], true[~gone])  # one scale
        assert all((image != _ABSENT).all() for image in done)
    assert text.count('class="colourbar"') == len(views)


def test_what_a_method_did_not_complete_is_left_out():
    K = np.eye(4)
    maps = found.KernelMaps(4, "", {"a": K, "b": K}, {"a": K}, {"odd": {"a": K}})
    assert [len(view) for view in maps_of(make_findings(n_methods=1, kernels=maps))] == [3, 1]


def test_without_maps_there_is_no_section():
    for maps in (None, found.KernelMaps(4, "", {}, {}, {})):
        assert "kernels" not in Page(render_comparison(make_findings(kernels=maps))).ids


def test_a_view_without_any_value_is_drawn_empty():
    nothing = np.full((3, 3), np.nan)
    maps = found.KernelMaps(3, "", {"a": nothing}, {"a": nothing}, {})
    (view,) = maps_of(make_findings(kernels=maps))
    assert all((image == _ABSENT).all() for _, image in view)


def test_many_maps_have_fewer_pixels():
    rng = np.random.default_rng(0)
    names = [f"view {v}" for v in range(12)]
    noise = {name: rng.random((64, 64)) for name in names}
    maps = found.KernelMaps(64, "", noise, noise, {f"m{i}": noise for i in range(25)})
    text = section(render_comparison(make_findings(n_methods=1, kernels=maps)), "kernels")
    images = Page(text).all("img")
    assert (
        _comparison_details._MAX_BYTES_COMPARED / 3
        < sum(len(a["src"]) for a in images)
        < _comparison_details._MAX_BYTES_COMPARED
    )
    assert decode(images[0]["src"]).size[0] < 64
