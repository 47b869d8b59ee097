"""Comparators with other covariances of labels."""

import numpy as np

from matrices import labelled
from matrix_market import LABELLERS


def test_labels_that_share_their_noise_help_one_another():
    X, Y, gaps = labelled(300, absent=0.3)
    hidden = np.isnan(gaps)
    wrong = {name: np.mean((LABELLERS[name].fit(X, gaps).labels_ != Y)[hidden]) for name in ("pma", "gp")}
    assert wrong["pma"] < wrong["gp"] - 0.02
