"""By missing pattern."""

import dataclasses

from absentia.app.report._groups import FEW, first_seen, groups, in_order
from findings import LOG_LOSS, make_findings


def test_scores_and_differences_to_the_simplest():
    findings = make_findings()
    made = groups(findings)
    assert made.methods[0] == findings.verdict.simplest
    for row, one in zip(made.rows, findings.patterns, strict=True):
        base = one.scores[made.methods[0]]
        assert row.cells[0] == (f"{100 * base:.1f}%", "")
        value = one.scores[made.methods[1]]
        assert row.cells[1][0] == f"{100 * value:.1f}%"
        assert abs(float(row.cells[1][1].replace("−", "-")) - 100 * (value - base)) < 0.051
        assert row.few == (one.count < FEW)
    assert made.has_few


def test_less_may_be_better():
    findings = make_findings(group_metric=LOG_LOSS)
    one = findings.patterns[0]
    simplest, other = in_order(findings)[:2]
    scores = {simplest: 1.0, other: 0.5}
    made = groups(dataclasses.replace(findings, patterns=[dataclasses.replace(one, scores=scores)]))
    assert made.rows[0].cells == [("1.00", ""), ("0.500", "+0.50")]
    assert made.methods == [simplest, other]


def test_a_method_without_a_score_in_a_pattern_has_a_dash():
    findings = make_findings()
    first = dataclasses.replace(findings.patterns[0], scores={findings.rows[0].method: 0.5})
    made = groups(dataclasses.replace(findings, patterns=[first, *findings.patterns[1:]]))
    assert ("–", "") in made.rows[0].cells
    assert ("50.0%", "") in made.rows[0].cells


def test_simplest_recommended_and_best_are_seen_first():
    findings = make_findings(n_methods=12)
    methods = in_order(findings)
    seen = [methods[i] for i in first_seen(findings, methods)]
    assert {findings.verdict.simplest, findings.verdict.recommended, findings.verdict.best} <= set(seen)
    assert len(seen) == 4
    assert first_seen(findings, ["other"]) == [0]


def test_nothing_measured_is_no_section():
    assert groups(make_findings(patterns=())) is None
    assert in_order(make_findings(rows=[])) == []
