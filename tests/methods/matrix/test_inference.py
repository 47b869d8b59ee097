"""Inference by its names."""

import pytest
from sklearn.exceptions import ConvergenceWarning

from absentia import PMAImputer
from absentia.methods.matrix import _mean as mean
from matrix_market import drawn


def test_what_conjugate_gradients_do_not_reach_is_said(monkeypatch):
    _, K1, K2, gaps, _ = drawn()
    monkeypatch.setattr(mean, "SMALL", 0)
    hard = mean.complete
    monkeypatch.setattr(mean, "complete", lambda *a, **k: hard(*a, **(k | {"max_iter": 2})))
    with pytest.warns(ConvergenceWarning, match="relative residual of .* only"):
        PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)
