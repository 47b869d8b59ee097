"""A real browser for the pages; `make test-browser` runs what is here, nothing else does."""

import shutil

import pytest

ARGUMENTS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
]


def pytest_collection_modifyitems(config, items):
    """Everything in this folder is marked, and left out unless it is asked for."""
    here = [item for item in items if item.path.is_relative_to(config.rootpath / "tests" / "browser")]
    for item in here:
        item.add_marker(pytest.mark.browser)
    if here and "browser" not in config.option.markexpr:
        items[:] = [item for item in items if item not in here]
        config.hook.pytest_deselected(items=here)


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api")
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("no chromium on this machine; install it with  apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium, tmp_path):
    """Open a page from a file, in a window of its own; it must complain of nothing and fetch nothing."""
    contexts, faults = [], []

    def asked(request):
        if not request.url.startswith(("file://" + str(tmp_path), "data:")):
            faults.append(f"fetches {request.url}")

    def opened(html, *, before="", **options):
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(html, encoding="utf-8")
        context = chromium.new_context(**options)
        contexts.append(context)
        if before:
            context.add_init_script(before)
        page = context.new_page()
        page.on("request", asked)
        page.on("console", lambda message: faults.append(message.text))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: (faults.append(f"says {dialog.message}"), dialog.dismiss()))
        page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert faults == []
