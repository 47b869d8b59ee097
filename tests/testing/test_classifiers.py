"""Checks of classifiers, regressors and survival models as somebody else uses them."""

import numpy as np
import pytest

from absentia.core import estimator
from absentia.testing import check_classifier, check_regressor, check_survival, checks_of
from helpers.smallest_classifiers import NearestMean, NearestTargets, NearestTimes


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_a_classifier_of_a_few_lines_passes_all_checks():
    check_classifier(NearestMean())


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_a_regressor_and_a_survival_model_of_a_few_lines_pass_all_checks():
    check_regressor(NearestTargets())
    check_survival(NearestTimes())


def test_a_bad_regressor_or_survival_model_fails_by_name():
    @estimator
    class Peeking(NearestTargets):
        """One that reads where samples stand."""

        def _predict(self, X):
            return super()._predict(X) + np.arange(len(X))

    with pytest.raises(AssertionError, match="Peeking fails a check, permuting samples permutes"):
        check_regressor(Peeking())

    @estimator
    class Rising(NearestTimes):
        """One whose survival rises with time."""

        def _learn(self, X, y, weight):
            super()._learn(X, y, weight)
            self._hazard = self._hazard[::-1]

    others = [name for name in checks_of(Rising()) if name != "survival_falls_with_time_and_with_risk"]
    with pytest.raises(
        AssertionError, match="Rising fails a check, survival falls with time and with risk"
    ):
        check_survival(Rising(), without=others)


def test_a_check_that_fails_is_named_or_left_out():
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
