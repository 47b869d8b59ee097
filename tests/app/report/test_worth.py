"""What views are worth."""

from absentia.app.report._worth import worths
from absentia.experiment import findings as found
from findings import make_findings


def test_both_contrasts_have_their_axis():
    findings = make_findings()
    made = worths(findings)
    assert made.method == findings.views_with
    for row, one in zip(made.rows, findings.views, strict=True):
        assert (row.left_out.track.at > made.left_out_zero) == (one.left_out.mean > 0)
        assert (row.alone.track.at > made.alone_zero) == (one.alone.mean > 0)
        assert row.view in row.left_out.tip
        has = findings.observed[:, list(findings.names).index(one.view)].mean()
        assert row.share == f"{100 * has:.1f}%"


def test_what_was_not_measured_is_none():
    contrast = found.Contrast(0.02, 0.01, 0.03, 0.01)
    half = [found.ViewWorth("a", contrast, None), found.ViewWorth("b", None, None)]
    made = worths(make_findings(views=half, views_with=""))
    assert made.rows[0].alone is None
    assert made.rows[1].left_out is None
    assert (made.rows[0].left_out.mean, made.rows[0].left_out.interval) == ("+2.0", "+1.0 to +3.0")
    assert made.rows[0].share == ""  # not a view of the data
    assert made.method == make_findings().verdict.recommended


def test_nothing_measured_is_no_section():
    assert worths(make_findings(views=())) is None
    assert worths(make_findings(views=[found.ViewWorth("a", None, None)])) is None
