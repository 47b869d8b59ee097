"""Methods in one metric."""

import dataclasses

from absentia.app.report import render_comparison
from absentia.app.report._ranking import ranking, rankings, tags, unranked, why_not
from absentia.experiment import findings as found
from findings import ACCURACY, LOG_LOSS, make_findings


def test_best_first_whatever_the_metric():
    findings = make_findings()
    for metric in findings.metrics:
        rows = ranking(findings, metric).rows
        values = [float(row.value.rstrip("%")) for row in rows]
        assert values == sorted(values, reverse=metric.higher)
        assert [row.best for row in rows] == [value == values[0] for value in values]
        places = [row.track.at for row in rows]
        assert places == sorted(places, reverse=metric.higher)


def test_the_line_is_where_the_simplest_stands():
    findings = make_findings()
    made = ranking(findings, ACCURACY)
    (simplest,) = [row for row in made.rows if row.method == findings.verdict.simplest]
    assert made.base == simplest.track.at
    assert made.base_words == simplest.value
    lost = dataclasses.replace(findings, rows=[r for r in findings.rows if r.method != simplest.method])
    assert ranking(lost, ACCURACY).base is None


def test_methods_are_drawn_and_tagged_by_what_they_are():
    findings = make_findings(failures=True)
    made = {row.method: row for row in ranking(findings, ACCURACY).rows}
    assert made[findings.verdict.recommended].kind == "chosen"
    assert "recommended" in made[findings.verdict.recommended].tags
    assert made[findings.verdict.simplest].kind == "baseline"
    assert made[findings.verdict.simplest].tags == ["simplest"]
    failing = next(row for row in findings.rows if row.failed == 3)
    assert "some fits failed" in tags(findings, failing)


def test_pointing_at_a_dot_tells_its_numbers():
    findings = make_findings()
    row = ranking(findings, ACCURACY).rows[0]
    for words in (row.method, row.value, row.interval, "50 of 50 fits", " s a fit"):
        assert words in row.tip
    bare = dataclasses.replace(findings.rows[0], cpu=None, wanted=0)
    assert "fit" not in ranking(dataclasses.replace(findings, rows=[bare]), ACCURACY).rows[0].tip


def test_a_metric_that_nobody_has_is_not_ranked():
    findings = make_findings()
    rows = [dataclasses.replace(row, scores={"accuracy": row.scores["accuracy"]}) for row in findings.rows]
    made = rankings(dataclasses.replace(findings, rows=rows))
    assert [one.metric for one in made] == ["accuracy"]
    assert ranking(dataclasses.replace(findings, rows=[]), LOG_LOSS).rows == []


def test_methods_without_a_score_say_why():
    why = {row.method: row.why for row in unranked(make_findings(failures=True))}
    assert why == {
        "<b>always fails</b>": "all 50 fits failed: Singular matrix.",
        "not tried": "it would take 40 GB for 2 000 samples",
    }
    row = found.MethodRow("m", "", False)
    assert why_not(row) == "not measured yet"
    assert why_not(dataclasses.replace(row, failed=1)) == "its fit failed"
    assert why_not(dataclasses.replace(row, done=1)) == "no score in this metric"


def test_intervals_that_go_on_beyond_the_chart_have_an_arrow_and_a_note():
    findings = make_findings(n_methods=6)
    assert "beyond the chart" not in render_comparison(findings)
    row = findings.rows[0]
    value = row.scores["accuracy"].value
    wide = dataclasses.replace(row, scores=row.scores | {"accuracy": found.Interval(value, 0.0, value)})
    html = render_comparison(dataclasses.replace(findings, rows=[wide, *findings.rows[1:]]))
    assert html.count('<path class="cut"') == 1
    assert html.count("the end of an interval (open) lies beyond the chart") == 1
