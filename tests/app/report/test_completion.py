"""The report of a completion: one page, self-contained, that says what the data say."""

import builtins
import dataclasses
import html
import os
import re

import numpy as np
import pytest

from absentia.app.report import _completion, render, write
from absentia.files import FileError
from helpers.report_data import decode, hide, make_story, views_of
from helpers.report_pages import NASTY, Page, row_cells, section, without_script

pytest.importorskip("jinja2")


def test_page_parses_and_is_whole():
    page = Page(render(make_story()))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("html") == tags.count("main") == tags.count("h1") == 1
    listed = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(listed) == len(set(listed))


def test_page_needs_nothing_else():
    text = without_script(render(make_story()))
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
    story = make_story(names=[NASTY, NASTY + "b", NASTY + "c"])
    story = dataclasses.replace(
        story,
        title=NASTY,
        summary=NASTY,
        after={NASTY: story.after["method 0"]},
        traces={NASTY: np.array([3.0, 2.0, 1.5, 1.0])},
        warnings=[NASTY],
        facts={NASTY: NASTY},
    )
    text = without_script(render(story))
    page = Page(text)
    assert not page.all("script")
    assert "<script" not in text
    assert "49" not in "".join(t for _, t in page.texts if "alert" in t)
    shown = "".join(t for _, t in page.texts)
    # title, h1, summary, warning, facts (2), order of samples, one per view at least
    assert shown.count(NASTY) >= 7 + story.n_views
    strips = page.all("svg", class_="strip")
    assert all(strip["aria-label"].startswith(NASTY) for strip in strips)


SECTIONS = {
    "warnings": {"warnings": ["Careful."]},
    "objective": {"traces": {"a": np.array([2.0, 1.0, 0.5])}},
    "provenance": {"facts": {"seed": "1"}},
}


NOTHING = {"traces": {}, "facts": {}}


@pytest.mark.parametrize("section", SECTIONS)
def test_section_is_there_exactly_when_its_data_are(section):
    without = Page(render(make_story(**NOTHING)))
    present = Page(render(make_story(**NOTHING | SECTIONS[section])))
    assert present.ids - without.ids == {section} | ({"warnings-title"} if section == "warnings" else set())
    assert {"presence", "kernels", "reading"} <= without.ids


def test_sections_come_in_the_order_of_the_story():
    text = render(make_story(warnings=["Careful."]))
    order = ["warnings", "presence", "kernels", "objective", "reading", "provenance"]
    positions = [text.index(f' id="{name}"') for name in order]
    assert positions == sorted(positions)


def test_headline_counts():
    observed = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)
    kernels = np.ones((2, 4, 4))
    text = render(
        make_story(
            names=["a", "b"], observed=observed, before=hide(kernels, observed),
            after={"m": kernels}, traces={},
        )
    )  # fmt: skip
    assert re.findall(r"<li><strong>([^<]*)</strong>", text) == ["4", "2", "75.0%", "2"]
    assert "samples have every view (50.0%)" in text


def test_every_method_has_its_maps():
    page = Page(render(make_story(n_methods=3)))
    assert not page.all("input")
    assert len(page.all("figure")) == 3 * (1 + 3)


def test_render_is_deterministic_and_leaves_its_input_alone():
    story = make_story()
    kernels = [story.before, *story.after.values()]
    arrays = [story.observed, *story.traces.values()]
    arrays += [one.operator(name).A for one in kernels for name in one.names]
    copies = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    assert render(story) == render(story)
    for a, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a, copy)


@pytest.mark.slow_params("230")
@pytest.mark.parametrize("n", [230, *(pytest.param(n, marks=pytest.mark.slow) for n in (320, 700))])
def test_large_page_stays_small(n):
    """Six views of noise, which no compression helps, and five methods."""
    rng = np.random.default_rng(0)
    noise = rng.random((1, n, n))
    kernels = np.broadcast_to(noise, (6, n, n))
    observed = rng.random((n, 6)) > 0.3
    story = make_story(
        names=list("abcdef"), observed=observed, before=kernels,
        after={f"m{i}": np.broadcast_to(noise * rng.random((n, n)), (6, n, n)) for i in range(5)},
    )  # fmt: skip
    size = len(render(story).encode())
    assert 1_000_000 < size < 5_000_000


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
    flat = views_of(np.ones((3, 24, 24)), story.names)
    yield "constant", dataclasses.replace(story, before=flat, after={"m": flat})
    broken, endless = (views_of(np.full((3, 24, 24), x), story.names) for x in (np.nan, np.inf))
    yield "failed", dataclasses.replace(story, after={"m": broken, "i": endless})
    whole = views_of(np.ones((3, 24, 24), dtype=int), story.names)
    yield "integers", dataclasses.replace(story, after={"m": whole})
    yield "bad traces", make_story(traces={"a": np.array([np.nan, np.inf]), "b": np.arange(3)})


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

    monkeypatch.setattr(_completion, "make_kernels_section", fail)
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
    with pytest.raises(ImportError, match=re.escape("pip install jinja2 pillow")):
        render(make_story())


def test_what_does_not_fit_is_refused():
    story = make_story()
    fewer = views_of(np.zeros((3, 23, 23)), story.names)
    renamed = views_of(np.zeros((3, 24, 24)), "abc")
    for changes, message in (
        ({"before": story.before[:5]}, "a square KernelViews"),
        ({"after": {"m": fewer}}, r"after\['m'\] has the views .*pass the same views and samples"),
        ({"after": {"m": renamed}}, r"after\['m'\] has the views \['a', 'b', 'c'\]"),
        ({"after": {"m": story.before}}, "lacks views for some samples"),
    ):
        with pytest.raises(ValueError, match=message):
            dataclasses.replace(story, **changes)


# ---------------------------------------------------------------------------------------------- convergence


def test_iterations_and_objectives_are_those_of_the_traces():
    traces = {"a": 3 + 0.5 ** np.arange(30), "b": np.array([-1.0]), "c": np.array([])}
    text = section(render(make_story(traces=traces)), "objective")
    assert row_cells(text, "traces") == [["a", "30", "4", "3"], ["b", "1", "−1", "−1"]]
