"""The site in a real browser, if `make docs` has built it: no script fails, nothing stands in anybody's way."""

from pathlib import Path

import pytest

BUILT = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = [
    "index.html",
    "tutorials/three-tables.html",
    "howto/choose.html",
    "gallery/index.html",
    "reference/api/absentia.CVKT.html",
    "search.html",
]


@pytest.fixture
def page(chromium, request):
    width, scheme = request.param
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    yield context.new_page()
    context.close()


@pytest.mark.skipif(not (BUILT / "index.html").exists(), reason="the site is not built: make docs")
@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(
    "page", [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")], indirect=True, ids=str
)
def test_the_site_is_for_everybody(page, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto((BUILT / name).as_uri())
    page.wait_for_timeout(300)
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], [node["target"] for node in one["nodes"]]) for one in found] == []
    assert faults == []
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert width <= 0  # nothing to scroll sideways
