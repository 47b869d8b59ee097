"""The page about a comparison: whole, small, and true to what was found."""

import dataclasses
import re

import numpy as np
import pytest

from absentia.app.report import render_comparison, save
from absentia.app.report._comparison import confusions
from absentia.experiment import findings as found
from findings import R2, make_findings, verdict_of
from pages import NASTY, Page, row_cells, without_script

pytest.importorskip("jinja2")

ALL = [
    *("use", "ranking", "differences", "by-pattern", "views", "curves", "confusion", "presence", "kernels"),
    *("completion", "everything", "reading", "provenance"),
]


def test_page_parses_and_is_whole():
    text = render_comparison(make_findings(failures=True))
    page = Page(text)
    tags = [tag for tag, _ in page.tags]
    assert tags.count("html") == tags.count("main") == tags.count("h1") == 1
    listed = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(listed) == len(set(listed))
    positions = [text.index(f' id="{name}"') for name in ALL]
    assert positions == sorted(positions)
    assert {attrs["href"][1:] for attrs in page.all("a")} <= page.ids


def test_page_needs_nothing_else():
    text = without_script(render_comparison(make_findings()))
    assert not re.search(r"https?://|@import|url\(", text, re.I)
    for tag, attrs in Page(text).tags:
        for key in ("src", "href", "xlink:href", "action", "data", "poster", "srcset"):
            if key in attrs:
                assert attrs[key].startswith(("data:image/png;base64,", "#")), (tag, key)


def test_the_sentence_comes_first_and_code_can_be_copied():
    findings = make_findings()
    page = Page(render_comparison(findings))
    texts = [t.strip() for path, t in page.texts if "main" in path and t.strip()]
    assert texts.index(findings.verdict.headline) < 5
    for sentence in findings.verdict.details:
        assert sentence in texts
    code = [t for path, t in page.texts if path[-1:] == ("code",)]
    assert code == [findings.verdict.command, findings.verdict.python]


def test_what_is_not_there_has_no_section():
    nothing = {"views": (), "curves": (), "patterns": (), "confusion": {}, "kernels": None, "facts": {}}
    verdict = dataclasses.replace(verdict_of(make_findings().rows, "averaged-svm"), python="", command="")
    bare = make_findings(completion=False, differences=(), verdict=verdict, **nothing)
    page = Page(render_comparison(bare))
    assert page.ids & set(ALL) == {"ranking", "presence", "everything", "reading"}
    assert {attrs["href"][1:] for attrs in page.all("a")} == {
        "ranking",
        "presence",
        "everything",
        "reading",
    }


@pytest.mark.parametrize("task", ["classes", "numbers", "labels", "completion"])
@pytest.mark.parametrize("n_methods", [1, 2, 25])
def test_every_task_and_any_number_of_methods(task, n_methods):
    findings = make_findings(n=40, n_methods=n_methods, task=task, failures=n_methods > 1)
    page = Page(render_comparison(findings))
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(t for p, t in page.texts if "td" in p))
    radios = page.all("input", type="radio", name="metric")
    assert len(radios) == (len(findings.metrics) if len(findings.metrics) > 1 else 0)


def test_numbers_may_be_missing_anywhere():
    findings = make_findings()
    nan = float("nan")
    rows = [
        dataclasses.replace(row, cpu=None, memory=None, scores={"accuracy": found.Interval(0.5, nan, nan)})
        for row in findings.rows
    ]
    gaps = [
        dataclasses.replace(d, low=nan, high=nan, p=nan, adjusted=nan, worse=nan, same=nan, better=nan)
        for d in findings.differences
    ]
    page = Page(render_comparison(dataclasses.replace(findings, rows=rows, differences=gaps)))
    said = " ".join(t for p, t in page.texts if "td" in p)
    assert not re.search(r"\b(nan|inf|None)\b", said)


def test_no_method_with_a_score_is_still_a_page():
    rows = [found.MethodRow("m", "", True, failed=3, wanted=3, errors=("No.",))]
    findings = make_findings(n_methods=1, rows=rows, differences=(), curves=(), patterns=(), views=())
    page = Page(render_comparison(findings))
    assert "ranking" not in page.ids
    assert "everything" in page.ids


def test_an_unfinished_comparison_says_so():
    text = render_comparison(make_findings(done=40, wanted=500))
    assert "Unfinished: 40 of 500 trials." in text
    assert "Unfinished" not in render_comparison(make_findings())


def test_nothing_that_came_from_outside_is_markup(tmp_path):
    nasty = [f"{NASTY}{i}" for i in range(5)]
    findings = make_findings(methods=nasty, names=nasty[:3], failures=True)
    rows = [dataclasses.replace(row, words=NASTY, errors=(NASTY,)) for row in findings.rows]
    verdict = dataclasses.replace(
        findings.verdict, headline=NASTY, details=(NASTY,), python=NASTY, command=NASTY
    )
    odd = found.Metric(NASTY, True, True, NASTY)
    patterns = [dataclasses.replace(one, words=NASTY) for one in findings.patterns]
    text = render_comparison(
        dataclasses.replace(
            findings, title=NASTY, rows=rows, verdict=verdict, classes=[NASTY] * 4, patterns=patterns,
            warnings=[NASTY], facts={NASTY: NASTY}, group_metric=odd,
        )
    )  # fmt: skip
    assert "<script" not in without_script(text)
    shown = "".join(t for _, t in Page(text).texts)
    assert shown.count(NASTY) > 30
    path = save(text, tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == text


def test_the_same_findings_make_the_same_page_and_stay_as_they_are():
    findings = make_findings()
    findings.observed.flags.writeable = False
    assert render_comparison(findings) == render_comparison(findings)


def with_noise(findings, rng):
    """The same with maps that no compression helps."""

    def noise():
        return {name: rng.random((64, 64)) for name in findings.names}

    completed = {row.method: noise() for row in findings.rows}
    maps = dataclasses.replace(findings.kernels, truth=noise(), completed=completed)
    return dataclasses.replace(findings, kernels=maps)


def test_a_large_page_stays_small():
    """Twenty methods, 2,000 samples, six views of maps as large as they get, twice, and many classes."""
    size = {"n": 2000, "n_views": 6, "n_methods": 20, "side": 64}
    rng = np.random.default_rng(0)
    inner = with_noise(make_findings(**size, task="completion"), rng)
    findings = with_noise(make_findings(**size, n_classes=40, failures=True), rng)
    text = render_comparison(dataclasses.replace(findings, completion=inner))
    assert 1_000_000 < len(text.encode()) < 2_000_000


def test_one_of_each_choice_is_seen():
    page = Page(render_comparison(make_findings(n_methods=12)))
    for name, count in (("metric", 3), ("mistaken", 12), ("kernels-of", 12), ("completed-by", 6)):
        radios = page.all("input", type="radio", name=name)
        assert len(radios) == count
        assert sum("checked" in radio for radio in radios) == 1
    style = "".join(t for path, t in page.texts if path[-1:] == ("style",))
    assert '[value="11"]:checked) .by-11' in style


def test_of_many_classes_the_most_frequent_are_shown():
    made = confusions(make_findings(n_methods=20, n_classes=40))
    assert {len(one.table.rows) for one in made} == {10}
    assert made[0].method == make_findings(n_methods=20).verdict.recommended
    assert {len(one.table.rows) for one in confusions(make_findings(n_methods=2, n_classes=30))} == {30}


def test_the_headline_numbers():
    findings = make_findings(failures=True)
    text = render_comparison(findings)
    main = {row.method: row.scores["accuracy"].value for row in findings.rows if row.scores}
    best, simplest = main[findings.verdict.recommended], main[findings.verdict.simplest]
    shown = re.findall(r"<li><strong>([^<]*)</strong>", text)
    assert shown == [f"{100 * best:.1f}%", f"{100 * simplest:.1f}%", "8", "300"]
    assert "2 more without a score" in text


def test_the_table_of_everything_has_it():
    findings = make_findings(failures=True)
    rows = row_cells(render_comparison(findings), "everything")
    assert len(rows) == len(findings.rows)
    assert rows[-1][-1] == "Left out: it would take 40 GB for 2 000 samples"
    assert rows[0][1].startswith(f"{100 * findings.rows[0].scores['accuracy'].value:.1f}%")


def test_metrics_that_are_no_shares_are_not_percent():
    findings = make_findings(task="numbers")
    assert findings.metric is R2
    text = render_comparison(findings)
    ranking = text[text.index('id="ranking"') : text.index('id="differences"')]
    assert not re.search(r"\d%</", ranking)


def test_a_comparison_of_completions_speaks_of_hiding():
    text = render_comparison(make_findings(task="completion"))
    assert "Rounds of hiding" in text
    ranking = text[text.index('id="ranking"') : text.index('id="views"')]
    assert "held-out" not in ranking
    assert "mean over all rounds of hiding" in ranking
    assert "Rounds of hiding" not in render_comparison(make_findings())
