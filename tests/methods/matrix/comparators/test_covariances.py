"""Comparators with other covariances of labels."""

import numpy as np

from matrices import labelled
from matrix_market import LABELLERS


def test_labels_that_share_their_noise_help_one_another():
    X, Y, gaps = labelled(300, absent=0.3)
    hidden = np.isnan(gaps)
    wrong = {name: np.mean((LABELLERS[name].fit(X, gaps).labels_ != Y)[hidden]) for name in ("pma", "gp")}
    assert wrong["pma"] < wrong["gp"] - 0.02


def test_each_has_the_covariances_that_its_name_says():
    X, _, gaps = labelled(60)
    lmc, gp = (LABELLERS[name].fit(X, gaps).model_ for name in ("lmc", "gp"))
    np.testing.assert_allclose(lmc.N, lmc.N[0, 0] * np.eye(4), atol=1e-12)
    assert np.abs(lmc.C - np.diag(np.diagonal(lmc.C))).max() > 0.01
    for A in (gp.C, gp.N):
        np.testing.assert_array_equal(A, np.diag(np.diagonal(A)))
        assert np.ptp(np.diagonal(A)) > 0.01
