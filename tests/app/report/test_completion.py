"""The report of a completion: one page, self-contained, that says what the data say."""

import dataclasses
import html
import os
import re

import numpy as np
import pytest

from absentia.app.report import save
from absentia.app.report.completion import render_completion
from absentia.files import FileError
from helpers.report_data import decode, hide, make_story, views_of
from helpers.report_pages import NASTY, Page, without_script

pytest.importorskip("jinja2")


def test_page_parses_and_is_whole():
    page = Page(render_completion(make_story()))
    tags = [tag for tag, _ in page.tags]
    assert tags.count("html") == tags.count("main") == tags.count("h1") == 1
    listed = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(listed) == len(set(listed))


def test_page_needs_nothing_else():
    text = without_script(render_completion(make_story()))
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
        story, title=NASTY, summary=NASTY, method=NASTY, warnings=[NASTY], facts={NASTY: NASTY}
    )
    text = without_script(render_completion(story))
    page = Page(text)
    assert not page.all("script")
    assert "<script" not in text
    assert "49" not in "".join(t for _, t in page.texts if "alert" in t)
    shown = "".join(t for _, t in page.texts)
    # title, h1, summary, warning, facts (2), and of each view its name and a caption at least
    assert shown.count(NASTY) >= 6 + 2 * story.n_views
    strips = page.all("svg", class_="strip")
    assert all(strip["aria-label"].startswith(NASTY) for strip in strips)


SECTIONS = {"warnings": {"warnings": ["Careful."]}, "provenance": {"facts": {"seed": "1"}}}


NOTHING = {"facts": {}}


@pytest.mark.parametrize("section", SECTIONS)
def test_section_is_there_exactly_when_its_data_are(section):
    without = Page(render_completion(make_story(**NOTHING)))
    present = Page(render_completion(make_story(**NOTHING | SECTIONS[section])))
    assert present.ids - without.ids == {section} | ({"warnings-title"} if section == "warnings" else set())
    assert {"presence", "kernels", "reading"} <= without.ids


def test_sections_come_in_the_order_of_the_story():
    text = render_completion(make_story(warnings=["Careful."]))
    order = ["warnings", "presence", "kernels", "reading", "provenance"]
    positions = [text.index(f' id="{name}"') for name in order]
    assert positions == sorted(positions)


def test_headline_counts():
    observed = np.array([[1, 1], [1, 0], [0, 1], [1, 1]], dtype=bool)
    kernels = np.ones((2, 4, 4))
    text = render_completion(
        make_story(
            names=["a", "b"], observed=observed, before=hide(kernels, observed),
            after=kernels,
        )
    )  # fmt: skip
    assert re.findall(r"<li><strong>([^<]*)</strong>", text) == ["4", "2", "75.0%", "2"]
    assert "samples have every view (50.0%)" in text


def test_render_is_deterministic_and_leaves_its_input_alone():
    story = make_story()
    kernels = [story.before, story.after]
    arrays = [story.observed]
    arrays += [one.operator(name).A for one in kernels for name in one.names]
    copies = [a.copy() for a in arrays]
    for a in arrays:
        a.flags.writeable = False
    assert render_completion(story) == render_completion(story)
    for a, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(a, copy)


@pytest.mark.slow_params("230")
@pytest.mark.parametrize("n", [230, *(pytest.param(n, marks=pytest.mark.slow) for n in (320, 700))])
def test_large_page_stays_small(n):
    """Sixty views of noise, which no compression helps."""
    rng = np.random.default_rng(0)
    noise = rng.random((1, n, n))
    kernels = np.broadcast_to(noise, (60, n, n))
    observed = rng.random((n, 60)) > 0.3
    story = make_story(
        names=[f"v{i}" for i in range(60)], observed=observed, before=kernels, after=kernels,
    )  # fmt: skip
    size = len(render_completion(story).encode())
    assert 1_000_000 < size < 5_000_000


def edge_stories():
    yield "one view", make_story(n_views=1)
    yield "one sample", make_story(n=1, n_views=2, rate=0.0)
    yield "two samples", make_story(n=2, n_views=2)
    yield "twelve views", make_story(n_views=12)
    yield "complete", make_story(rate=0.0)
    yield "nothing", make_story(rate=1.0)
    yield "long names", make_story(names=["x" * 200, "word " * 50, ""])
    story = make_story()
    flat = views_of(np.ones((3, 24, 24)), story.names)
    yield "constant", dataclasses.replace(story, before=flat, after=flat)
    whole = views_of(np.ones((3, 24, 24), dtype=int), story.names)
    yield "integers", dataclasses.replace(story, after=whole)


@pytest.mark.parametrize("story", [pytest.param(story, id=case) for case, story in edge_stories()])
def test_edges_render(story):
    text = render_completion(story)
    page = Page(text)
    assert html.escape(story.title) in text
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(t for p, t in page.texts if "td" in p))
    for attrs in page.all("img"):
        decode(attrs["src"])


def test_complete_data_say_so():
    assert "nothing had to be completed" in render_completion(make_story(rate=0.0))
    assert "nothing had to be completed" not in render_completion(make_story())


def test_failing_disk_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(source, target):
        raise OSError("full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(FileError, match=r"page.html: cannot be written \(full"):
        save(render_completion(make_story()), path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
