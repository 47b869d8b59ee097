"""What pages say of how far results are to be trusted: sets, absence, gains, other patterns, intervals."""

import pandas as pd
import pytest

from helpers.command_line import run

LABELS = ["--labels", "labels.csv:subtype"]
COMMANDS = {
    "fit": ["fit", "breast", *LABELS, "--method", "linear", "-o", "fit.absentia"],
    "compare": ["compare", "breast", *LABELS, "--methods", "linear", "--repeats", "1", "--cv", "3"],
    "complete": ["complete", "breast", "-o", "completed.npz", "--coverage", "0.9", "--no-quality"],
}
MORE = {
    "compare": ["--patterns", "newpatients", "-o", "compared", "--jobs", "1"],
    "complete": ["--report", "complete.html"],
}
PAGES = {"fit": "fit.html", "compare": "compared/report.html", "complete": "complete.html"}
SECTIONS = {"fit": {"coverage", "absence", "next"}, "compare": {"mix"}, "complete": {"intervals"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The example cohort, with methylation absent for most of one class."""
    folder = tmp_path_factory.mktemp("trust")
    assert run("example", "breast/", cwd=folder).returncode == 0
    labels = pd.read_csv(folder / "breast/labels.csv", index_col=0)["subtype"]
    table = pd.read_csv(folder / "breast/methylation.csv", index_col=0)
    basal = table.index[(labels.reindex(table.index) == "Basal").to_numpy()]
    table.drop(basal[3:]).to_csv(folder / "breast/methylation.csv")
    return folder


@pytest.mark.parametrize("verb", COMMANDS)
def test_sections_on_trust_are_there_for_everybody(folder, visit, verb):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    result = run(*COMMANDS[verb], *MORE.get(verb, []), cwd=folder)
    assert result.returncode == 0, result.stderr
    html = (folder / PAGES[verb]).read_text(encoding="utf-8")
    page = visit(html, viewport={"width": 1200, "height": 900})
    assert set(page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)")) >= SECTIONS[verb]
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert [one["id"] for one in axe.Axe().run(page).response["violations"]] == []
    phone = visit(html, viewport={"width": 390, "height": 800})
    assert phone.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert phone.evaluate(BROKEN) == []


#: Words of tables that go over two lines, which no reader puts together again.
BROKEN = """[...document.querySelectorAll('tbody th, tbody td')]
    .filter(cell => /^[\\w-]{2,20}$/.test(cell.textContent.trim()))
    .filter(cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(one => Math.round(one.top))).size > 1;
    })
    .map(cell => cell.textContent.trim())"""
