"""The page about a comparison: whole, small, and true to what was found."""

import dataclasses
import re
from html import unescape

import pytest

from absentia.app.report import save
from absentia.app.report._page import format_probability
from absentia.app.report.comparison import render_comparison
from absentia.experiment import results as found
from helpers.comparison_results import R2, make_findings, recommendation_of
from helpers.report_pages import NASTY, Page, notes, row_cells, section, without_script

pytest.importorskip("jinja2")

ALL = [
    *("use", "ranking", "differences", "by-pattern", "views", "curves", "confusion", "presence"),
    *("everything", "reading", "provenance"),
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
    assert texts.index(findings.recommendation.headline) < 5
    for sentence in findings.recommendation.details:
        assert sentence in texts
    code = [t for path, t in page.texts if path[-1:] == ("code",)]
    assert code == [findings.recommendation.command, findings.recommendation.python]


def test_what_is_not_there_has_no_section():
    nothing = {"views": (), "curves": (), "patterns": (), "confusion": {}, "facts": {}}
    verdict = dataclasses.replace(
        recommendation_of(make_findings().rows, "averaged-svm"), python="", command=""
    )
    bare = make_findings(differences=(), recommendation=verdict, **nothing)
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
    assert not page.all("input")


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
        findings.recommendation, headline=NASTY, details=(NASTY,), python=NASTY, command=NASTY
    )
    odd = found.Metric(NASTY, True, True, NASTY)
    patterns = [dataclasses.replace(one, words=NASTY) for one in findings.patterns]
    text = render_comparison(
        dataclasses.replace(
            findings, title=NASTY, rows=rows, recommendation=verdict, classes=[NASTY] * 4, patterns=patterns,
            warnings=[NASTY], facts={NASTY: NASTY}, group_metric=odd,
        )
    )  # fmt: skip
    assert "<script" not in without_script(text)
    shown = "".join(t for _, t in Page(text).texts)
    assert shown.count(NASTY) > 20
    path = save(text, tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == text


def test_the_same_findings_make_the_same_page_and_stay_as_they_are():
    findings = make_findings()
    findings.observed.flags.writeable = False
    assert render_comparison(findings) == render_comparison(findings)


def test_the_headline_numbers():
    findings = make_findings(failures=True)
    text = render_comparison(findings)
    main = {row.method: row.scores["accuracy"].value for row in findings.rows if row.scores}
    best, simplest = main[findings.recommendation.recommended], main[findings.recommendation.simplest]
    shown = re.findall(r"<li><strong>([^<]*)</strong>", text)
    assert shown == [f"{100 * best:.1f}%", f"{100 * simplest:.1f}%", "8", "300"]
    assert "2 more without a score" in text


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


# ------------------------------------------------------------------------------------------------- ranking


def rankings(results):
    """Rows of the ranking in each metric: cells, classes and places of the dots."""
    text = section(render_comparison(results), "ranking")
    tables = re.findall(r'<table class="tracks ranking".*?</table>', text, re.S)
    return [
        (table, row_cells(table, "tracks ranking"), re.findall(r'<tr class="(\w+)">', table))
        for table in tables
    ]


def dots_of(table):
    """Where the marks of a table's rows stand, in percent."""
    rows = table.split("<tbody>")[1].split("</tbody>")[0].split("</tr>")[:-1]
    mark = r'<(?:circle cx|svg x)="([\d.]+)%"'
    return [float(re.search(mark, row).group(1)) for row in rows]


def test_best_first_whatever_the_metric():
    for task in ("classes", "completion"):
        results = make_findings(task=task)
        ((table, rows, _),) = rankings(results)
        values = [float(row[2].removesuffix(" (best)").rstrip("%")) for row in rows]
        assert values == sorted(values, reverse=results.metric.higher)
        assert [row[2].endswith("(best)") for row in rows] == [value == values[0] for value in values]
        assert dots_of(table) == sorted(dots_of(table), reverse=results.metric.higher)


def test_the_line_is_where_the_simplest_stands():
    results = make_findings()
    table, rows, _ = rankings(results)[0]
    (i,) = [i for i, row in enumerate(rows) if row[0].startswith(results.recommendation.simplest + " ")]
    base = float(re.search(r"--base:([\d.]+)%", table).group(1))
    assert base == pytest.approx(dots_of(table)[i])
    assert f"<i>simplest {rows[i][2]}</i>" in table
    lost = [row for row in results.rows if row.method != results.recommendation.simplest]
    assert "--base" not in rankings(dataclasses.replace(results, rows=lost))[0][0]


def test_methods_are_drawn_and_tagged_by_what_they_are():
    results = make_findings(failures=True)
    _, rows, kinds = rankings(results)[0]
    kinds = dict(zip([row[0] for row in rows], kinds, strict=True))
    assert kinds[f"{results.recommendation.recommended} recommended"] == "chosen"
    assert kinds[f"{results.recommendation.simplest} simplest"] == "baseline"
    failing = next(row.method for row in results.rows if row.failed == 3)
    assert any(name.startswith(failing) and name.endswith("some fits failed") for name in kinds)


def test_pointing_at_a_dot_tells_its_numbers():
    results = make_findings()
    table, rows, _ = rankings(results)[0]
    label = re.findall(r'role="img" aria-label="([^"]*)"', table)[0]
    method = re.search(r'<th scope="row" data-v="([^"]*)"', table).group(1)
    for words in (method, rows[0][2].split()[0], rows[0][3]):
        assert words in label


def test_methods_without_a_score_say_why():
    text = section(render_comparison(make_findings(failures=True)), "ranking")
    assert notes(text)[-2:] == [
        "<b>always fails</b>: all 50 fits failed: Singular matrix.",
        "not tried: it would take 40 GB for 2 000 samples",
    ]
    results = make_findings()
    for changes, words in (
        ({}, "not measured yet"),
        ({"failed": 1}, "its fit failed"),
        ({"done": 1}, "no score in this metric"),
    ):
        rows = (*results.rows, found.MethodRow("m", "", False, **changes))
        page = render_comparison(dataclasses.replace(results, rows=rows))
        assert f"<b>m</b>: {words}" in section(page, "ranking")


def test_intervals_that_go_on_beyond_the_chart_have_an_arrow_and_a_note():
    results = make_findings(n_methods=6)
    assert "beyond the chart" not in render_comparison(results)
    row = results.rows[0]
    value = row.scores["accuracy"].value
    wide = dataclasses.replace(row, scores=row.scores | {"accuracy": found.Interval(value, 0.0, value)})
    html = render_comparison(dataclasses.replace(results, rows=[wide, *results.rows[1:]]))
    assert html.count('<path class="cut"') == 1
    assert html.count("an interval goes on beyond the chart") == 1


# --------------------------------------------------------------------------------------------- differences


def differences(results):
    """The table of differences, and the texts of its cells."""
    table = section(render_comparison(results), "differences")
    return table, row_cells(table, "tracks gaps")


def test_differences_lie_on_the_side_of_their_sign():
    results = make_findings()
    table, rows = differences(results)
    start, stop, zero = (
        float(re.search(rf"--{name}:([\d.]+)%", table).group(1)) for name in ("from", "to", "base")
    )
    assert start < zero < stop
    names = re.findall(r'<th scope="row" data-v="([^"]*)"', table)
    assert names == [d.method for d in results.differences]
    for row, place, d in zip(rows, dots_of(table), results.differences, strict=True):
        assert (place > zero) == (d.mean > 0)
        assert float(row[2].replace("−", "-")) == pytest.approx(100 * d.mean, abs=0.051)
        assert list(map(unescape, row[4:7])) == [format_probability(x) for x in (d.worse, d.same, d.better)]


def test_the_region_is_said_in_words():
    assert "up to 2.5 points either way" in render_comparison(make_findings(equivalence=0.025))
    numbers = make_findings(task="numbers", equivalence=0.02)
    assert "up to 0.02 of R² either way" in render_comparison(numbers)
    assert "up to 1 point either way" in render_comparison(make_findings())


def test_what_is_expected_stands_beside_what_was_measured():
    results = make_findings()
    assert differences(results)[1][0][8] == "–"
    expected = [found.Expectation(d.method, d.mean / 2, 0.01, 0.1, 0.5) for d in results.differences]
    _, rows = differences(dataclasses.replace(results, expectations=expected))
    for row, one in zip(rows, expected, strict=True):
        assert float(row[8].replace("−", "-")) == pytest.approx(100 * one.mean, abs=0.051)


def test_what_cannot_be_told_is_not_drawn():
    results = make_findings()
    nan = float("nan")
    lost = dataclasses.replace(results.differences[0], low=nan, high=nan, worse=nan, same=nan, better=nan)
    _, rows = differences(dataclasses.replace(results, differences=[lost]))
    assert rows[0][3:7] == ["–"] * 4


def test_a_method_that_is_in_no_row_is_still_told():
    results = make_findings()
    odd = dataclasses.replace(results.differences[0], method="odd")
    table, _ = differences(dataclasses.replace(results, differences=[odd]))
    assert '<tr class="method"><th scope="row" data-v="odd"' in table


# --------------------------------------------------------------------------------------------- all numbers


def test_every_method_has_a_row_and_every_metric_a_best():
    results = make_findings(failures=True)
    rows = row_cells(render_comparison(results), "everything")
    assert len(rows) == len(results.rows)
    for j, metric in enumerate(results.metrics):
        values = [row.scores[metric.name].value for row in results.rows if row.scores]
        top = (max if metric.higher else min)(values)
        (best,) = [i for i, row in enumerate(rows) if row[1 + 2 * j].endswith("(best)")]
        assert results.rows[best].scores[metric.name].value == top


def test_what_went_wrong_is_told():
    rows = {row[0]: row for row in row_cells(render_comparison(make_findings(failures=True)), "everything")}
    failed = next(row for name, row in rows.items() if "always fails" in name)
    assert failed[-1] == "Singular matrix. Out of memory."
    assert failed[7:11] == ["–", "–", "0 of 50", "50"]
    assert rows["not tried"][-1] == "Left out: it would take 40 GB for 2 000 samples"
    assert "What went wrong" not in render_comparison(make_findings())
