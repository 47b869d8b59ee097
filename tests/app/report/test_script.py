"""The script of the page, run by a browser if there is one."""

import re
import shutil
import subprocess
from importlib.resources import files
from urllib.parse import unquote

import pytest

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no browser")

TABLE = """<!doctype html><meta charset="utf-8"><title>T's page 日本</title><div class="scroll"><table data-file="A table, t">
<thead><tr><th>Name</th><th class="figure">Value</th><th><span class="unseen">Bar</span></th></tr></thead>
<tbody>
<tr><th data-v="whole, name">wh…me <span class="tag">few</span></th><td class="figure">1\u202f200</td><td>x</td></tr>
<tr><th>=1+1</th><td class="figure">1.50×10⁻⁷<span class="unseen"> (best)</span></td><td>x</td></tr>
<tr><th>007</th><td class="figure">–</td><td>x</td></tr>
<tr><th>b</th><td class="figure">−3.0</td><td>x</td></tr>
</tbody></table></div>
<table data-fixed><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td></tr><tr><td>2</td></tr></tbody></table>
"""


def run(tmp_path, then):
    """The page after its script and `then`."""
    script = (files("absentia.app.report") / "templates" / "page.js").read_text(encoding="utf-8")
    page = tmp_path / "page.html"
    page.write_text(f"{TABLE}<script>{script}</script><script>{then}</script>", encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--dump-dom"]
    options += ["--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}"]
    done = subprocess.run([BROWSER, *options, page.as_uri()], capture_output=True, text=True, timeout=250)
    return done.stdout.split("<script>")[0]


def names(dom):
    return re.findall(r"<tr><th[^>]*>(.)", dom)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_headers_sort_and_say_how(tmp_path):
    click = "const b = document.querySelectorAll('th button'); "
    down = run(tmp_path, click + "b[1].click();")
    assert names(down)[-5:-1] == ["w", "=", "b", "0"]  # nothing comes last
    assert re.search(
        r'<th class="figure" aria-sort="descending"><button type="button">Value</button>', down
    )
    up = run(tmp_path, click + "b[1].click(); b[1].click();")
    assert names(up)[-5:-1] == ["b", "=", "w", "0"]
    by_name = run(tmp_path, click + "b[1].click(); b[0].click();")
    assert by_name.count("aria-sort") == 1
    assert 'aria-sort="ascending"><button type="button">Name' in by_name
    assert down.count("<button") == 2  # neither the bar nor the fixed table has any


@pytest.mark.timeout(300)
def test_the_table_can_be_downloaded_with_whole_names_and_plain_numbers(tmp_path):
    dom = run(tmp_path, "")
    (link,) = re.findall(
        r'<p class="download"><a href="data:text/csv;charset=utf-8,([^"]*)" download="t-s-page-a-table-t.csv">',
        dom,
    )
    assert unquote(link).splitlines() == [
        "Name,Value",
        '"whole, name",1200',
        "'=1+1,1.5e-7",
        "007,–",
        "b,-3",
    ]
