"""Kernels as small pictures."""

import numpy as np

from absentia.app.report._colour import ABSENT
from absentia.app.report._kernel_maps import pictures
from absentia.experiment import findings as found
from findings import make_findings
from stories import decode


def test_true_hidden_and_completed_by_every_method():
    findings = make_findings(n_methods=3)
    made = pictures(findings)
    assert made.methods[made.chosen] == findings.verdict.recommended
    assert [view.name for view in made.views] == list(findings.names)
    for view in made.views:
        assert [panel.method for panel in view.panels] == [None, None, 0, 1, 2]
        true, hidden, *done = (np.asarray(decode(panel.image)) for panel in view.panels)
        assert true.shape == (24, 24)
        gone = np.isnan(findings.kernels.hidden[view.name])
        np.testing.assert_array_equal(hidden == ABSENT, gone)
        np.testing.assert_array_equal(hidden[~gone], true[~gone])  # one scale
        assert all((one != ABSENT).all() for one in done)
        assert len(view.bars) == 1


def test_what_a_method_did_not_complete_is_left_out():
    K = np.eye(4)
    maps = found.KernelMaps(4, "", {"a": K, "b": K}, {"a": K}, {"odd": {"a": K}})
    made = pictures(make_findings(n_methods=1, kernels=maps))
    assert made.methods == ["odd"]
    assert [len(view.panels) for view in made.views] == [3, 1]


def test_nothing_there_is_no_section():
    assert pictures(make_findings(kernels=None)) is None
    assert pictures(make_findings(kernels=found.KernelMaps(4, "", {}, {}, {}))) is None


def test_a_view_without_any_value_is_drawn_empty():
    nothing = np.full((3, 3), np.nan)
    maps = found.KernelMaps(3, "", {"a": nothing}, {"a": nothing}, {})
    (view,) = pictures(make_findings(kernels=maps)).views
    assert view.bars == []
    assert (np.asarray(decode(view.panels[0].image)) == ABSENT).all()
