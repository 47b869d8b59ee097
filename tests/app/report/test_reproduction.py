"""The page about a reproduction."""

import re

from absentia.app.report.reproduction import render_reproduction
from absentia.papers import summarise
from helpers.small_experiment import TEXT, experiment, records


def page(tmp_path, text=TEXT, quick=False, change=lambda records: records):
    small = experiment(tmp_path, text)
    return render_reproduction(summarise(small, change(records(small))), quick)


def test_every_published_number_stands_beside_ours(tmp_path):
    html = page(tmp_path)
    cell = re.search(r"half missing</th><td[^>]*>(.*?)</td>", html)[1]
    assert ">0.71<" in cell
    assert "± 0.01" in cell
    assert "paper 0.60" in cell
    assert "+0.11 not reproduced" in cell
    assert "oracle †" in html
    assert "mean beats zero" in html
    assert "source of MeanFill" in html


def test_marks_and_warnings(tmp_path):
    html = page(tmp_path)
    assert '<span class="best">0.41</span>' in html
    assert '<span class="like">0.41</span>' in html
    assert "run in small" not in html
    assert "run in small" in page(tmp_path, quick=True)

    def broken(all_of_them):
        all_of_them[1] |= {"status": "failed", "result": {}, "error": "<it> broke"}
        return all_of_them

    html = page(tmp_path, change=broken)
    assert "1 trials failed, the first: ZeroFill, repeat 1: &lt;it&gt; broke" in html


def test_names_from_files_are_no_markup(tmp_path):
    text = (
        TEXT.replace('"a small one"', '"a <b>small</b> one"')
        + '\n[chart]\nx = "level"\nmeasure = "error"\n'
    )
    html = page(tmp_path, text)
    assert "<b>small" not in html
    assert html.count("a &lt;b&gt;small&lt;/b&gt; one") >= 2  # in the heading and in the picture
    assert "<svg" in html
