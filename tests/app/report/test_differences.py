"""Methods against the simplest."""

import dataclasses
import math

import pytest

from absentia.app.report._differences import differences
from findings import make_findings


def test_differences_lie_on_the_side_of_their_sign():
    findings = make_findings()
    made = differences(findings)
    assert made.start < made.zero < made.stop
    assert [row.method for row in made.rows] == [one.method for one in findings.differences]
    for row, one in zip(made.rows, findings.differences, strict=True):
        assert (row.track.at > made.zero) == (one.mean > 0)
        assert row.mean in row.tip
        assert sum(row.widths) == pytest.approx(100, abs=0.2)


def test_the_region_is_said_in_words():
    assert differences(make_findings()).region == "1 point"
    assert differences(make_findings(equivalence=0.025)).region == "2.5 points"
    assert differences(make_findings(task="numbers", equivalence=0.02)).region == "0.02 of R²"


def test_without_right_and_wrong_there_are_no_counts():
    findings = make_findings()
    bare = [dataclasses.replace(d, wins=None, losses=None, p_mcnemar=None) for d in findings.differences]
    assert differences(findings).counted
    made = differences(dataclasses.replace(findings, differences=bare))
    assert not made.counted
    assert {(row.wins, row.losses, row.p_mcnemar) for row in made.rows} == {("–", "–", "–")}


def test_nothing_to_compare_is_no_section():
    assert differences(make_findings(n_methods=1, differences=())) is None


def test_what_cannot_be_told_is_not_drawn():
    findings = make_findings()
    nan = math.nan
    lost = dataclasses.replace(findings.differences[0], low=nan, high=nan, worse=nan, same=nan, better=nan)
    row = differences(dataclasses.replace(findings, differences=[lost])).rows[0]
    assert row.widths == (0, 0, 0)
    assert (row.interval, row.probabilities) == ("–", ("–", "–", "–"))


def test_a_method_that_is_in_no_row_is_still_told():
    findings = make_findings()
    odd = dataclasses.replace(findings.differences[0], method="odd")
    assert differences(dataclasses.replace(findings, differences=[odd])).rows[0].kind == "method"
