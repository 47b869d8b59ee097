"""The page of a comparison as a reader meets it: sorting, pointing, copying, printing."""

import csv
import io
from pathlib import Path

import pytest

from absentia.app.report.comparison import render_comparison
from helpers.comparison_results import make_findings
from helpers.report_pages import NASTY

LONG = [f"a method whose name goes on and on and says all its parameters, number {i}" for i in range(25)]
UNBROKEN = ["x" * 90, "y" * 90, "z" * 90]
CASES = {
    "typical": {"n_methods": 7, "failures": True, "warnings": ["12 samples have no label."]},
    "one": {"n_methods": 1, "differences": ()},
    "many": {"n": 60, "n_methods": 25, "failures": True, "done": 40, "wanted": 500},
    "numbers": {"n_methods": 5, "task": "numbers"},
    "long": {
        "methods": LONG,
        "names": ["a view with a name that is longer than most names are", *UNBROKEN],
    },
    "unbroken": {"methods": UNBROKEN, "names": UNBROKEN},
    "nasty": {"methods": [f"{NASTY}{i}" for i in range(6)], "names": [f"{NASTY}{i}" for i in range(3)]},
}


def expect(locator):
    """Playwright's patient assertions; the package is there only where these tests run."""
    return pytest.importorskip("playwright.sync_api").expect(locator)


def page_of(case):
    return render_comparison(make_findings(**CASES[case]))


def first_cells(page, table):
    return page.locator(f"{table} tbody th").evaluate_all("cells => cells.map(c => c.dataset.v)")


def overflow(page):
    """How much wider the page is than the window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


@pytest.mark.parametrize("case", CASES)
def test_it_opens_from_a_file_and_fits_any_window(visit, case):
    html = page_of(case)
    for width in (320, 390, 768, 1440):
        page = visit(html, viewport={"width": width, "height": 800})
        assert overflow(page) <= 0, width
        assert page.locator("h1").count() == 1


def test_a_table_that_goes_on_beyond_the_window_has_a_shadow_at_that_edge(visit):
    page = visit(page_of("typical"), viewport={"width": 390, "height": 800})
    box = page.locator("#everything .scroll")
    assert box.evaluate("e => e.scrollWidth > e.clientWidth + 50")
    style = box.evaluate(
        "e => { const s = getComputedStyle(e); return [s.backgroundImage, s.backgroundAttachment] }"
    )
    assert style[0].count("gradient") == 4
    assert style[1] == "local, local, scroll, scroll"
    page.emulate_media(media="print")
    assert box.evaluate("e => getComputedStyle(e).backgroundImage") == "none"


def test_tables_sort_by_click_and_by_key(visit):
    page = visit(page_of("typical"))
    table = "#ranking table"
    before = first_cells(page, table)
    head = page.locator(f"{table} thead th").nth(0)
    head.locator("button").click()
    assert first_cells(page, table) == sorted(before)
    assert head.get_attribute("aria-sort") == "ascending"
    score = page.locator(f"{table} thead th").nth(2)
    score.locator("button").focus()
    page.keyboard.press("Enter")
    assert first_cells(page, table) == before
    assert score.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert first_cells(page, table) == before[::-1]


def test_a_point_of_a_line_tells_its_number_when_it_is_reached(visit):
    page = visit(page_of("many"))
    point = page.locator("#curves .point").first
    assert not point.locator(".told").is_visible()
    point.focus()
    assert point.locator(".told").is_visible()


def test_pointing_and_tabbing_tell_the_numbers(visit):
    page = visit(page_of("typical"))
    told = "e => getComputedStyle(e, '::after').content"
    track = page.locator("#ranking .track").first
    assert track.evaluate(told) == "none"
    track.hover()
    assert "95% interval" in track.evaluate(told)
    page.mouse.move(0, 0)
    page.locator("#ranking .scroll").focus()
    last = page.locator("#ranking thead button").last
    last.focus()
    page.keyboard.press("Tab")
    assert track.evaluate("e => e === document.activeElement")
    assert "95% interval" in track.evaluate(told)


def test_dark_and_light_differ(visit):
    html = page_of("typical")
    looks = {}
    for scheme in ("light", "dark"):
        page = visit(html, color_scheme=scheme)
        looks[scheme] = page.evaluate(
            "['body', '.verdict', '.track svg', '.key.region'].map(s => {"
            "  const style = getComputedStyle(document.querySelector(s));"
            "  return style.backgroundColor + style.color; })"
        )
    assert all(a != b for a, b in zip(looks["light"], looks["dark"], strict=True))


def test_names_are_text(visit):
    page = visit(page_of("nasty"))
    assert page.locator("script").count() == 1
    assert page.locator("#ranking tbody th").first.get_attribute("title").startswith(NASTY)
    assert NASTY[:20] in page.locator("#ranking").inner_text()
    assert "49" not in page.locator(".verdict").inner_text()


def test_it_prints(visit):
    for case in ("typical", "many"):
        page = visit(page_of(case), viewport={"width": 700, "height": 1000})
        page.emulate_media(media="print")
        assert overflow(page) <= 0
        for gone in ("nav", ".copy", ".download"):
            assert not page.locator(gone).first.is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert len(page.pdf(format="A4")) > 20_000


def test_what_is_dark_on_the_screen_is_light_on_paper(visit):
    page = visit(page_of("one"), color_scheme="dark")
    ink = "getComputedStyle(document.querySelector('.verdict')).color"
    on_screen = page.evaluate(ink)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(ink) != on_screen
    assert page.evaluate(ink) == visit(page_of("one"), color_scheme="light").evaluate(ink)


def test_the_whole_table_can_be_downloaded(visit):
    findings = make_findings(**CASES["typical"])
    page = visit(render_comparison(findings), accept_downloads=True)
    with page.expect_download() as waiting:
        page.locator("#everything .download a").click()
    assert waiting.value.suggested_filename.endswith("all-numbers.csv")
    rows = list(csv.reader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert [row[0] for row in rows[1:]] == [row.method for row in findings.rows]
    assert rows[0][:3] == ["Method", "accuracy", "accuracy, 95% interval"]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert "Singular matrix. Out of memory." in rows[-2]


def test_code_can_be_copied(visit):
    findings = make_findings(**CASES["typical"])
    page = visit(render_comparison(findings), permissions=["clipboard-read", "clipboard-write"])
    button = page.locator(".copy").last
    button.click()
    expect(button).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == findings.recommendation.python
    expect(button).to_have_text("Copy")


def test_where_the_clipboard_is_closed_the_code_is_selected(visit):
    findings = make_findings(**CASES["typical"])
    closed = "Object.defineProperty(navigator, 'clipboard', { value: undefined });"
    page = visit(render_comparison(findings), before=closed)
    page.locator(".copy").last.click()
    expect(page.locator(".copy").last).not_to_have_text("Copy")
    assert page.evaluate("getSelection().toString()").strip() == findings.recommendation.python


def test_without_its_script_the_page_still_tells_everything(visit):
    page = visit(page_of("many"), java_script_enabled=False)
    assert page.locator("select, .copy, th button").count() == 0
    for place in ("#ranking", "#differences", "#confusion", "#everything"):
        assert page.locator(f"{place} table").first.is_visible()
