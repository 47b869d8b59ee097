"""Kernels as small pictures."""

import numpy as np
import pytest

from absentia.app.report._colour import ABSENT
from absentia.app.report._kernel_maps import BYTES, averaged, pictures
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


def test_many_pictures_have_fewer_pixels():
    rng = np.random.default_rng(0)
    names = [f"view {v}" for v in range(12)]
    noise = {name: rng.random((64, 64)) for name in names}
    maps = found.KernelMaps(64, "", noise, noise, {f"m{i}": noise for i in range(25)})
    made = pictures(make_findings(n_methods=1, kernels=maps))
    assert made.side < 64
    sizes = [len(panel.image) for view in made.views for panel in view.panels]
    assert BYTES / 3 < sum(sizes) < BYTES
    assert decode(made.views[0].panels[0].image).size == (made.side, made.side)


@pytest.mark.parametrize("block", [2, 3])
def test_blocks_are_means_of_what_is_there(block):
    K = np.arange(25.0).reshape(5, 5)
    K[:block, :block] = np.nan
    got = averaged(K, block)
    assert np.isnan(got[0, 0])
    for i in range(len(got)):
        for j in range(len(got)):
            part = K[block * i : block * (i + 1), block * j : block * (j + 1)]
            if i or j:
                np.testing.assert_allclose(got[i, j], np.nanmean(part))
