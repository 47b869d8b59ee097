"""One support vector machine per label."""

import numpy as np
import pytest
from sklearn.svm import SVC

from absentia import PartialLabelSVM
from matrices import labelled, rbf


@pytest.mark.parametrize("kernel", ["rbf", "linear", "precomputed"])
def test_each_label_has_the_machine_of_the_samples_that_have_it(kernel):
    X, _, gaps = labelled(60)
    A = rbf(X) if kernel == "precomputed" else X
    model = PartialLabelSVM(2.0, kernel=kernel, gamma=0.3).fit(A[:50, :50], gaps[:50])
    new = A[50:, :50]
    for j in range(4):
        known = np.flatnonzero(~np.isnan(gaps[:50, j]))
        train, test = (
            (A[np.ix_(known, known)], new[:, known]) if kernel == "precomputed" else (A[known], new)
        )
        by_hand = SVC(C=2.0, kernel=kernel, gamma=0.3, tol=1e-6).fit(train, gaps[known, j])
        np.testing.assert_allclose(
            model.decision_function(new)[:, j], by_hand.decision_function(test), atol=1e-4
        )


def test_a_label_that_is_always_the_same_is_predicted_as_that():
    X, Y, _ = labelled(30)
    Y[:, 1], Y[:, 2] = 1.0, 0.0
    found = PartialLabelSVM().fit(X, Y).predict(X)
    assert (found[:, 1] == 1).all()
    assert (found[:, 2] == 0).all()
