"""Checks of classifiers, regressors and survival models as somebody else uses them."""

import numpy as np
import pytest

from absentia.core import estimator
from absentia.testing import check_classifier
from nearest import NearestMean


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_a_classifier_of_a_few_lines_passes_all_checks():
    check_classifier(NearestMean())


def test_a_law_that_is_broken_is_named_or_left_out():
    @estimator
    class Peeking(NearestMean):
        """One that reads where samples stand."""

        def _score(self, X):
            return super()._score(X) + 0.1 * np.arange(len(X))[:, None]

    with pytest.raises(
        AssertionError, match="Peeking fails a check, permuting samples permutes the answers"
    ):
        check_classifier(Peeking())
    with pytest.raises(ValueError, match="there is no check 'gravity'"):
        check_classifier(NearestMean(), without=["gravity"])
