"""Sections of pages: those that their kind has, in their order, with links to them."""

import pytest

from absentia.app.report.classification import render_classification
from absentia.app.report.comparison import render_comparison
from absentia.app.report.completion import render_completion
from helpers.comparison_results import make_findings
from helpers.report_data import classification_story, make_story
from helpers.report_pages import Page

pytest.importorskip("jinja2")

PAGES = {
    "classification": (
        lambda: render_classification(classification_story()),
        ["accuracy", "by-pattern", "classes", "mistakes", "weights", "calibration", "presence", "reading"],
    ),
    "completion": (lambda: render_completion(make_story()), ["presence", "kernels", "reading"]),
    "comparison": (
        lambda: render_comparison(make_findings()),
        [
            *("use", "ranking", "differences", "by-pattern", "views", "curves", "confusion", "presence"),
            *("everything", "reading"),
        ],
    ),
}


@pytest.mark.parametrize("kind", PAGES)
def test_a_page_has_the_sections_of_its_kind_in_their_order(kind):
    make, wanted = PAGES[kind]
    page = Page(make())
    assert [attrs["id"] for attrs in page.all("section")] == wanted
    links = [attrs["href"][1:] for attrs in page.all("a") if "download" not in attrs]
    assert links == [place for place in wanted if place != "use"]
