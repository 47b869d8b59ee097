"""Pages for everybody: what a checker of accessibility finds."""

import pytest

from absentia.app.report.classification import render_classification
from absentia.app.report.comparison import render_comparison
from absentia.app.report.completion import render_completion
from helpers.comparison_results import make_findings
from helpers.report_data import classification_story, make_story

PAGES = {
    "comparison": lambda: render_comparison(
        make_findings(n_methods=10, failures=True, done=40, wanted=500, warnings=["Careful."])
    ),
    "comparison of few": lambda: render_comparison(make_findings(n_methods=3, task="numbers")),
    "completion": lambda: render_completion(make_story(warnings=["Careful."])),
    "classification": lambda: render_classification(classification_story(warnings=["Careful."])),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_stands_in_anybodys_way(visit, name, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(PAGES[name](), color_scheme=scheme, viewport={"width": 1200, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["impact"], [node["target"] for node in one["nodes"]]) for one in found] == []
