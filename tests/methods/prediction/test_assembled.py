"""What the estimators of this package share; laws of classifiers test most of it (tests/market.py)."""

import numpy as np

from absentia import AbsentClassifier, ViewKernels
from absentia.methods.prediction._arranging import Arrangement
from absentia.methods.prediction._assembled import either, of_rows
from absentia.testing._tools import digits


def test_rows_without_a_known_view_are_not_asked_about():
    views, y = digits()
    arrangement = Arrangement.of(views, np.ones(len(views)), y)
    keep = np.ones(views.observed.shape, bool)
    keep[4] = False
    found = of_rows(arrangement, views.hide(keep), 2, lambda X: np.ones((len(X), 2)))
    assert not found[4].any()
    assert found.sum() == 2 * (len(views) - 1)
    nobody = views.hide(np.zeros(views.observed.shape, bool))
    assert not of_rows(arrangement, nobody, 2, None).any()


def test_scikit_learn_is_told_that_kernels_will_come():
    assert either("precomputed").pairwise
    assert not either("rbf").pairwise
    assert not either(ViewKernels("precomputed")).pairwise
    assert AbsentClassifier(kernel="precomputed").__sklearn_tags__().input_tags.pairwise
