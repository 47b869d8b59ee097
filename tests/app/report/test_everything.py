"""The whole table."""

from absentia.app.report._everything import EXTRA, everything
from findings import make_findings


def test_every_method_has_a_row_and_every_metric_a_best():
    findings = make_findings(failures=True)
    made = everything(findings)
    assert [row.method for row in made.rows] == [row.method for row in findings.rows]
    for j, metric in enumerate(findings.metrics):
        values = [row.scores[metric.name].value for row in findings.rows if row.scores]
        top = (max if metric.higher else min)(values)
        (best,) = [i for i, row in enumerate(made.rows) if row.cells[j][2]]
        assert findings.rows[best].scores[metric.name].value == top


def test_what_went_wrong_is_told():
    rows = {row.method: row for row in everything(make_findings(failures=True)).rows}
    failed, untried = rows["<b>always fails</b>"], rows["not tried"]
    assert failed.notes == ["Singular matrix.", "Out of memory."]
    assert (failed.fits, failed.failed, failed.cpu) == ("0 of 50", "50", "–")
    assert untried.notes == ["Left out: it would take 40 GB for 2 000 samples"]
    assert set(failed.extra) == {"–"}
    assert len(failed.extra) == len(EXTRA)
    assert not everything(make_findings()).notes


def test_the_simplest_has_no_difference_to_itself():
    findings = make_findings()
    made = everything(findings)
    assert made.compared
    without = [row.method for row in made.rows if row.difference == "–"]
    assert without == [findings.verdict.simplest]
    assert not everything(make_findings(differences=())).compared
