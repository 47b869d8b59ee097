"""The report: one page, self-contained, that says what the data say."""

import base64
import builtins
import dataclasses
import html
import io
import os
import re
import tracemalloc

import numpy as np
import pytest

from absentia.app.report import CompletionStory, render, write
from absentia.app.report import _page as page_module
from absentia.app.report._charts import iteration_ticks, objective, remaining
from absentia.app.report._colour import ABSENT, ERRORS, LEVELS, NEUTRAL, VALUES, heat_png, oklab
from absentia.app.report._heatmaps import block_means, choose_block, class_ticks, diffuse, value_range
from absentia.app.report._order import by_structure, patterns, sample_order
from absentia.app.report._presence import TOP_PATTERNS, presence, runs
from absentia.app.report._scores import scores
from absentia.app.report._text import number, percent
from absentia.files._archive import FileError
from pages import NASTY, Page

PIL_Image = pytest.importorskip("PIL.Image")
pytest.importorskip("jinja2")


# ---------------------------------------------------------------------------- stories


def hide(kernels, observed):
    before = kernels.copy()
    for v in range(len(kernels)):
        before[v][~observed[:, v]] = np.nan
        before[v][:, ~observed[:, v]] = np.nan
    return before


def make_story(n=24, n_views=3, n_methods=2, rate=0.3, seed=0, **changes):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_views, n, 4))
    truth = X @ X.transpose(0, 2, 1)
    observed = rng.random((n, n_views)) > rate
    before = hide(truth, observed)
    methods = [f"method {m}" for m in range(n_methods)]
    after = {m: np.where(np.isnan(before), i * 0.1, before) for i, m in enumerate(methods)}
    values = {
        "title": "A title",
        "summary": "A summary.",
        "names": [f"view {v}" for v in range(n_views)],
        "observed": observed,
        "before": before,
        "after": after,
        "truth": truth,
        "traces": {methods[0]: 3 + 0.5 ** np.arange(12)} if methods else {},
        "scores": [
            {"method": m, "ARE": 0.3 - 0.1 * i, "accuracy": 0.9 - 0.1 * i, "seconds": 1.0 + i}
            for i, m in enumerate(methods)
        ],
        "facts": {"seed": "0"},
    }
    return CompletionStory(**(values | changes))


def decode(uri):
    data = base64.b64decode(uri.removeprefix("data:image/png;base64,"), validate=True)
    image = PIL_Image.open(io.BytesIO(data))
    image.load()
    return image


def marked_best(text):
    return re.findall(r'<td[^>]*><span class="best">([^<]*)<', text)


# ---------------------------------------------------------------------------- the page


def test_page_parses_and_is_whole():
    page = Page(render(make_story()))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("html") == tags.count("main") == tags.count("h1") == 1
    listed = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(listed) == len(set(listed))


def test_page_needs_nothing_else():
    text = render(make_story())
    assert not re.search(r"https?://|//[a-z]+\.[a-z]", text, re.I)
    assert "@import" not in text
    assert "url(" not in text
    page = Page(text)
    assert not page.all("script")
    assert not page.all("link")
    for tag, attrs in page.tags:
        for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            if key in attrs:
                assert attrs[key].startswith(("data:image/png;base64,", "#")), (tag, key)
    targets = {attrs["href"][1:] for attrs in page.all("a")}
    assert targets <= page.ids


def test_strings_of_the_user_are_text_everywhere():
    story = make_story()
    n_views = story.n_views
    story = dataclasses.replace(
        story,
        title=NASTY,
        summary=NASTY,
        names=[NASTY] * n_views,
        after={NASTY: story.after["method 0"], NASTY + "2": story.after["method 1"]},
        traces={NASTY: np.array([3.0, 2.0, 1.5, 1.0])},
        scores=[{"method": NASTY, NASTY: NASTY}, {"method": "b", NASTY: NASTY}],
        labels=np.array([NASTY] * story.n_samples),
        warnings=[NASTY],
        facts={NASTY: NASTY},
        explain={NASTY: NASTY},
        baselines=[NASTY],
    )
    text = render(story)
    page = Page(text)
    assert not page.all("script")
    assert "<script" not in text
    assert "49" not in "".join(t for _, t in page.texts if "alert" in t)
    shown = "".join(t for _, t in page.texts)
    # title, h1, summary, warning, facts (2), scores and explain, one per view at least
    assert shown.count(NASTY) >= 10 + n_views
    strips = page.all("svg", class_="strip")
    assert all(strip["aria-label"].startswith(NASTY) for strip in strips)


SECTIONS = {
    "warnings": {"warnings": ["Careful."]},
    "scores": {"scores": [{"method": "a", "ARE": 0.1}]},
    "objective": {"traces": {"a": np.array([2.0, 1.0, 0.5])}},
    "provenance": {"facts": {"seed": "1"}},
}
NOTHING = {"scores": (), "traces": {}, "facts": {}, "truth": None}


@pytest.mark.parametrize("section", SECTIONS)
def test_section_is_there_exactly_when_its_data_are(section):
    without = Page(render(make_story(**NOTHING)))
    present = Page(render(make_story(**NOTHING | SECTIONS[section])))
    assert present.ids - without.ids == {section} | ({"warnings-title"} if section == "warnings" else set())
    assert {"presence", "kernels", "reading"} <= without.ids


def test_sections_come_in_the_order_of_the_story():
    text = render(make_story(warnings=["Careful."]))
    order = ["warnings", "presence", "scores", "kernels", "objective", "reading", "provenance"]
    positions = [text.index(f' id="{name}"') for name in order]
    assert positions == sorted(positions)


def test_headline_counts():
    observed = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)
    kernels = np.ones((2, 4, 4))
    text = render(
        make_story(
            names=["a", "b"], observed=observed, before=hide(kernels, observed),
            after={"m": kernels}, truth=None, traces={}, scores=(),
        )
    )  # fmt: skip
    assert re.findall(r"<li><strong>([^<]*)</strong>", text) == ["4", "2", "75.0%", "2"]
    assert "samples have every view (50.0%)" in text


def test_truth_and_error_maps_only_with_truth():
    with_truth, without = render(make_story()), render(make_story(truth=None))
    for alt in ("view 0: truth", "view 0: error of method 0", "view 2: error of method 1"):
        assert alt in with_truth
    assert "error of" not in without
    assert "view 0: truth" not in without


def test_methods_are_switched_between_when_many():
    many = Page(render(make_story(n_methods=5, truth=None)))
    radios = many.all("input", type="radio")
    assert [("checked" in r) for r in radios] == [True, False, False, False, False]
    assert len(many.all("figure", class_="by by-4")) == 3
    few = Page(render(make_story(n_methods=3, truth=None)))
    assert not few.all("input")
    assert len(few.all("figure")) == 3 * (1 + 3)


def test_render_is_deterministic_and_leaves_its_input_alone():
    story = make_story(labels=np.arange(24) % 3)
    arrays = [story.observed, story.before, story.truth, story.labels]
    arrays += [*story.after.values(), *story.traces.values()]
    copies = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    assert render(story) == render(story)
    for a, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a, copy)


# ---------------------------------------------------------------------------- size


@pytest.mark.parametrize("n", [230, 320, 700])
def test_large_page_stays_small(n):
    """Six views of noise, which no compression helps, and five methods."""
    rng = np.random.default_rng(0)
    noise = rng.random((1, n, n))
    kernels = np.broadcast_to(noise, (6, n, n))
    observed = rng.random((n, 6)) > 0.3
    story = make_story(
        names=list("abcdef"), observed=observed, before=kernels, truth=kernels,
        after={f"m{i}": np.broadcast_to(noise * rng.random((n, n)), (6, n, n)) for i in range(5)},
    )  # fmt: skip
    size = len(render(story).encode())
    assert 1_000_000 < size < 5_000_000


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


# ---------------------------------------------------------------------------- presence


def test_patterns_put_the_fullest_then_the_most_frequent_first():
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 0], [0, 0]], dtype=bool)
    found = patterns(observed)
    np.testing.assert_array_equal(found.masks, [[1, 1], [1, 0], [0, 1], [0, 0]])
    np.testing.assert_array_equal(found.counts, [1, 2, 1, 1])
    np.testing.assert_array_equal(found.order, [2, 1, 3, 0, 4])


def test_strips_are_sorted_and_count():
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 0], [0, 0]], dtype=bool)
    kernels = np.zeros((2, 5, 5))
    story = make_story(
        names=["a", "b"], observed=observed, before=kernels, after={"m": kernels}, truth=None
    )
    shown = presence(story)
    assert [s.path for s in shown.strips] == ["M0 0h3v1h-3z", "M0 0h1v1h-1zM3 0h1v1h-1z"]
    assert [s.count for s in shown.strips] == ["3 of 5", "2 of 5"]
    assert [s.share for s in shown.strips] == ["60.0%", "40.0%"]
    assert [s.title for s in shown.segments] == [
        "all 2 views: 1 sample (20.0%)",
        "1 of 2 views: 3 samples (60.0%)",
        "0 of 2 views: 1 sample (20.0%)",
    ]
    assert shown.patterns[0].words == "only a"
    assert {p.words for p in shown.patterns} == {"every view", "only a", "only b", "no view at all"}
    assert 'd="M0 0h1v1h-1zM3 0h1v1h-1z"' in render(story)


def test_runs_cover_what_is_seen_and_nothing_else():
    rng = np.random.default_rng(1)
    for _ in range(20):
        seen = rng.random(50) > 0.5
        drawn = np.zeros(50, dtype=bool)
        for a, width in re.findall(r"M(\d+) 0h(\d+)v", runs(seen)):
            drawn[int(a) : int(a) + int(width)] = True
        np.testing.assert_array_equal(drawn, seen)


def test_many_patterns_are_summed_up():
    n_views = 11
    codes = np.concatenate([np.arange(1, 1101), [2047] * 5])
    observed = (codes[:, None] >> np.arange(n_views) & 1).astype(bool)
    n = len(observed)
    kernels = np.broadcast_to(0.0, (n_views, n, n))
    story = make_story(
        names=[f"v{i}" for i in range(n_views)], observed=observed, before=kernels, after={},
        truth=None, scores=(), traces={},
    )  # fmt: skip
    text = render(story)
    assert "and 1\u202f093 more patterns, with 1\u202f093 samples between them" in text
    assert text.count('<svg class="dots"') == TOP_PATTERNS


# ---------------------------------------------------------------------------- scores

SCORED = [
    {"method": "a", "ARE": 0.3, "accuracy": 0.91, "seconds": 9.0, "iterations": 40},
    {"method": "b", "ARE": 0.2, "accuracy": 0.95, "seconds": 1.0, "iterations": 2},
    {"method": "c", "ARE": float("nan"), "accuracy": float("inf"), "seconds": 2.0},
]


def test_best_respects_the_direction_and_skips_cost():
    table = scores(make_story(scores=SCORED))
    best = [
        (row.method, column.name)
        for row in table.rows
        for column, cell in zip(table.columns, row.cells, strict=True)
        if cell.best
    ]
    assert best == [("b", "ARE"), ("b", "accuracy")]
    assert marked_best(render(make_story(scores=SCORED))) == ["0.200", "0.950"]


def test_direction_can_be_turned():
    text = render(make_story(scores=SCORED, higher_is_better=("ARE",)))
    assert marked_best(text) == ["0.300", "0.910"]


def test_ties_are_all_best_and_a_column_of_equals_has_none():
    rows = [{"method": m, "x": x, "y": 1.0} for m, x in (("a", 1.0), ("b", 1.0), ("c", 2.0))]
    assert marked_best(render(make_story(scores=rows))) == ["1.00", "1.00"]


def test_one_method_is_not_best_of_one():
    assert marked_best(render(make_story(scores=SCORED[:1]))) == []


def test_what_is_not_finite_or_not_given_is_a_dash():
    row = scores(make_story(scores=SCORED)).rows[2]
    assert [cell.text for cell in row.cells] == ["–", "–", "2.00", "–"]
    assert render(make_story(scores=SCORED)).count('title="not available"') == 3


def test_baselines_and_explanations_are_shown():
    text = render(make_story(scores=SCORED, baselines={"c"}, explain={"ARE": "Lower is better."}))
    assert 'c <span class="tag">baseline</span></th>' in text
    assert "<dt>ARE</dt><dd>Lower is better.</dd>" in text
    assert 'class="tag"' not in render(make_story(scores=SCORED))


# ---------------------------------------------------------------------------- heat maps


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
    values = story.truth[0][np.ix_(order, order)]
    assert np.corrcoef(values.ravel(), truth.ravel())[0, 1] > 0.99


def test_values_go_to_the_nearest_colour():
    values = np.array([[0.0, 0.5], [1.0, np.nan]])
    index = np.asarray(decode(heat_png(values, VALUES, 0.0, 1.0)))
    np.testing.assert_array_equal(index, [[0, round(0.5 * (LEVELS - 1))], [LEVELS - 1, ABSENT]])
    squared = np.asarray(decode(heat_png(values**2, ERRORS, 0.0, 1.0)))
    np.testing.assert_array_equal(squared, index)


@pytest.mark.parametrize("lut", [VALUES, ERRORS])
def test_colours_are_even_and_readable_without_hue(lut):
    lab = oklab(lut)
    assert (np.diff(lab[:, 0]) > 0).all()
    steps = np.linalg.norm(np.diff(lab, axis=0), axis=1)
    assert steps.max() < 1.6 * steps.min()


def test_oklab_of_white_and_grey():
    np.testing.assert_allclose(oklab([[255, 255, 255]]), [[1, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(oklab([[99, 99, 99]])[0, 1:], 0, atol=1e-6)
    np.testing.assert_allclose(oklab([[2, 2, 2]])[0, 0], np.cbrt(2 / 255 / 12.92), rtol=1e-6)


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


def test_samples_are_ordered_by_class_then_pattern():
    labels = np.array(["b", "a", "b", "a", "b", "a"])
    observed = np.array([[0, 1], [1, 0], [1, 1], [1, 1], [1, 1], [1, 0]], dtype=bool)
    kernels = np.zeros((2, 6, 6))
    story = make_story(
        names=["x", "y"], observed=observed, before=kernels, after={"m": kernels},
        truth=None, labels=labels,
    )  # fmt: skip
    order = sample_order(story)
    np.testing.assert_array_equal(order.index, [3, 1, 5, 2, 4, 0])
    assert "by class (a, b)" in render(story)
    assert [(t.label, t.start, t.width) for t in class_ticks(order)] == [
        ("a", 0.0, 50.0),
        ("b", 50.0, 50.0),
    ]


def test_structure_brings_groups_together():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat([0, 1, 2], 20))
    X = np.eye(3)[group] + 0.1 * rng.standard_normal((60, 3))
    along = group[by_structure(np.stack([X @ X.T, 100 * X @ X.T]))]
    assert np.count_nonzero(np.diff(along)) == 2
    assert "leading structure" in render(make_story())


# ---------------------------------------------------------------------------- objective


def test_remaining_improvement():
    np.testing.assert_allclose(remaining(np.array([9.0, 3.0, 1.0])), [1.0, 0.25, np.nan])
    np.testing.assert_allclose(remaining(np.array([-1.0, np.nan, -5.0])), [1, np.nan, np.nan])
    assert np.isnan(remaining(np.array([2.0, 2.0]))).all()


def test_chart_lies_inside_its_frame_and_descends():
    chart = objective({"a": 3 + 0.5 ** np.arange(30), "b": np.array([1.0]), "c": np.array([])})
    assert [row.method for row in chart.rows] == ["a", "b"]
    assert chart.rows[0].iterations == "30"
    marks = chart.lines[0].marks
    assert all(chart.left <= m.x <= chart.right for m in marks)
    assert all(chart.top <= m.y <= chart.bottom for m in marks)
    assert (np.diff([m.y for m in marks]) > 0).all()
    assert marks[1].title == "a, iteration 2: objective 3.5"
    assert chart.lines[1].path == ""


def test_an_objective_that_never_moves_has_no_chart():
    page = Page(render(make_story(traces={"still": np.ones(5)})))
    assert "objective" in page.ids
    assert not page.all("svg", class_="chart")


@pytest.mark.parametrize("last", [1, 2, 7, 60, 1000, 12345])
def test_ticks_are_few_and_inside(last):
    ticks = iteration_ticks(last)
    assert ticks[0] == 1
    assert ticks == sorted(set(ticks))
    assert ticks[-1] <= last
    assert len(ticks) <= 8


# ---------------------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.01234, "0.0123"), (0.9996, "1.00"), (1234.5, "1\u202f230"), (-0.5, "−0.500"),
        (1.5e-7, "1.50×10⁻⁷"), (2e9, "2.00×10⁹"), (0.0, "0"), (np.float32(0.5), "0.500"),
        (12345, "12\u202f345"), (np.int64(3), "3"), (True, "yes"), ("word", "word"),
        (float("nan"), "–"), (-np.inf, "–"), (None, "–"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def test_percent_is_whole_only_when_it_is():
    assert percent(9999, 10000) == "99.9%"
    assert percent(1, 10000) == "0.1%"
    assert (percent(5, 5), percent(0, 5), percent(1, 3)) == ("100%", "0%", "33.3%")


# ---------------------------------------------------------------------------- edges


def edge_stories():
    yield "one view", make_story(n_views=1)
    yield "one sample", make_story(n=1, n_views=2, rate=0.0)
    yield "two samples", make_story(n=2, n_views=2)
    yield "twelve views", make_story(n_views=12, n_methods=6)
    yield "complete", make_story(rate=0.0)
    yield "nothing", make_story(rate=1.0)
    yield "one method", make_story(n_methods=1)
    yield "no method", make_story(n_methods=0)
    yield "long names", make_story(names=["x" * 200, "word " * 50, ""])
    story = make_story()
    flat = np.ones_like(story.truth)
    yield "constant", dataclasses.replace(story, before=flat, after={"m": flat}, truth=flat)
    broken = np.full_like(flat, np.nan)
    yield "failed", dataclasses.replace(story, after={"m": broken, "i": broken + np.inf})
    yield "integers", dataclasses.replace(story, after={"m": flat.astype(int)})
    mixed = np.array(["a", 1, None] * 8, dtype=object)
    yield "mixed labels", dataclasses.replace(story, labels=mixed)
    yield "a class each", dataclasses.replace(story, labels=np.arange(24))
    yield "bad traces", make_story(traces={"a": np.array([np.nan, np.inf]), "b": np.arange(3)})
    nameless = [{"ARE": 1.0}, {"method": "m", "note": "words", "ok": True}]
    yield "odd scores", make_story(scores=nameless)


@pytest.mark.parametrize("story", [pytest.param(story, id=case) for case, story in edge_stories()])
def test_edges_render(story):
    text = render(story)
    page = Page(text)
    assert html.escape(story.title) in text
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(t for p, t in page.texts if "td" in p))
    for attrs in page.all("img"):
        decode(attrs["src"])


def test_complete_data_say_so():
    assert "nothing had to be completed" in render(make_story(rate=0.0))
    assert "nothing had to be completed" not in render(make_story())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ["a"]}, "1 names for 3 views"),
        ({"observed": np.ones((24, 3))}, "boolean"),
        ({"before": np.zeros((3, 24, 23))}, "before has shape"),
        ({"after": {"m": np.zeros((24, 24))}}, r"after\['m'\] has shape"),
        ({"truth": np.zeros((2, 24, 24))}, "truth has shape"),
        ({"labels": np.zeros(3)}, "3 labels for 24 samples"),
    ],
)
def test_what_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        make_story(**changes)


# ---------------------------------------------------------------------------- the file


def test_write_returns_the_path_of_the_page(tmp_path):
    story = make_story(title="Größe – 日本 \ud800")
    path = write(story, str(tmp_path / "new" / "page.html"))
    assert path == tmp_path / "new" / "page.html"
    assert "Größe – 日本" in path.read_text(encoding="utf-8")
    assert [p.name for p in path.parent.iterdir()] == ["page.html"]


def test_failing_render_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(story):
        raise RuntimeError("no")

    monkeypatch.setattr(page_module, "heat_maps", fail)
    with pytest.raises(RuntimeError, match="no"):
        write(make_story(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_failing_disk_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(source, target):
        raise OSError("full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match=r"page.html: cannot be written \(full"):
        write(make_story(), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


@pytest.mark.parametrize("absent", ["jinja2", "PIL"])
def test_missing_extra_is_named(absent, monkeypatch):
    real = builtins.__import__

    def guarded(name, *args, **kwargs):
        if name.split(".")[0] == absent:
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", guarded)
    with pytest.raises(ImportError, match=re.escape('pip install "absentia[report]"')):
        render(make_story())
