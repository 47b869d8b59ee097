"""Sections by name: every page is made of those that its kind has, in their order."""

import pytest

from absentia.app import report
from helpers.comparison_results import make_findings
from helpers.report_data import classification_story, make_story
from helpers.report_pages import Page

pytest.importorskip("jinja2")

PAGES = {
    "classification": (report.render_classification, classification_story),
    "completion": (report.render, make_story),
    "comparison": (report.render_comparison, make_findings),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_has_the_sections_of_its_kind_in_their_order(kind):
    render, make = PAGES[kind]
    story = make()
    made = [make_section(story) for make_section in report.SECTIONS[kind].values()]
    ids = [section.id for section in made if section is not None]
    text = render(story)
    positions = [text.index(f'<section id="{place}"') for place in ids]
    assert positions == sorted(positions)
    links = [attrs["href"][1:] for attrs in Page(text).all("a") if "download" not in attrs]
    assert links == [section.id for section in made if section is not None and section.title]


def test_any_sections_make_a_page():
    story = classification_story()
    sections = [report.SECTIONS["classification"][name](story) for name in ("presence", "scores", "next")]
    assert sections[-1] is None
    page = Page(report.render_page("small", story, [], sections))
    assert {"presence", "accuracy"} <= page.ids
    assert not {"classes", "mistakes"} & page.ids


def test_kinds_of_pages_share_names():
    shared = {"presence", "patterns", "scores", "dropped", "reading"}
    for kind in ("classification", "regression", "survival"):
        assert shared <= set(report.SECTIONS[kind])
