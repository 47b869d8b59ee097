"""How long a fit will take, by fits to few of its samples."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from absentia import Views
from absentia.data import MANY_SAMPLES
from absentia.experiment import forecast_seconds
from absentia.methods.prediction import LIBRARY
from absentia.tasks import CLASSIFICATION, REGRESSION, Plan

SIZES = []
POWER = {"of n": 2.0}


class Slow(ClassifierMixin, BaseEstimator):
    """Takes a number of seconds that is known, on a clock of its own."""

    def fit(self, X, y):
        if len(np.unique(y)) < 2:
            raise ValueError("one class")
        SIZES.append(len(X))
        return self


def clock():
    return sum(map(seconds, SIZES))


def seconds(size):
    return 0.016 * (size / 40) ** POWER["of n"]


@pytest.fixture(autouse=True)
def forget():
    SIZES.clear()


def samples(n, n_rare=None):
    rng = np.random.default_rng(0)
    y = np.arange(n) < (n // 2 if n_rare is None else n_rare)
    return Views.from_list([rng.normal(size=(n, 2)), rng.normal(size=(n, 1))]), np.where(y, "u", "v")


def forecast(n, *, n_rare=None, task=CLASSIFICATION, whole=None, **options):
    views, y = samples(n, n_rare)
    if task is REGRESSION:
        y = np.arange(n) * 1.0
    plan = Plan(Slow())
    return forecast_seconds(task, views, y, plan, whole or n, clock=clock, **options)


@pytest.mark.parametrize("power", [1.0, 2.0, 3.0])
@pytest.mark.parametrize("task", [CLASSIFICATION, REGRESSION], ids=["classes", "numbers"])
def test_time_grows_on_as_it_did_between_fits_to_few_samples(power, task, monkeypatch):
    monkeypatch.setitem(POWER, "of n", power)
    expected = forecast(900, task=task)
    assert expected == pytest.approx(seconds(900), rel=0.05)
    assert max(SIZES) <= 300
    assert all(
        n in range(size, size + size // 4) for n, size in zip(SIZES, (40, 40, 80, 160), strict=False)
    )


def test_no_more_is_fitted_than_it_takes_to_know():
    assert forecast(900, least=1000.0) < 1000  # the first fit says so already
    assert len(SIZES) == 1
    SIZES.clear()
    forecast(60_000, whole=60_000)
    assert SIZES == [1000, 1000]  # ten seconds each on this clock


def test_of_very_many_samples_time_is_in_proportion():
    assert forecast(6000, whole=500_000) == pytest.approx(500 * seconds(1000))


def test_samples_that_are_too_few_say_nothing_and_those_of_rare_classes_are_looked_for():
    assert forecast(2) is None
    assert forecast(90, n_rare=0) is None  # nothing could be learned
    assert forecast(900, n_rare=8) is not None
    assert min(SIZES) > 80  # the first fold of 40 or 80 samples has none of the rare class


def test_few_samples_are_learned_from_as_very_many_would_be():
    views, _ = samples(100)
    plan = CLASSIFICATION.plan("auto", views)
    assert plan.decide_by_size(MANY_SAMPLES) is plan
    many = plan.decide_by_size(MANY_SAMPLES + 1).suit(views)
    assert many.estimator.candidates == LIBRARY["classifier"]["many"]
    assert many.estimator.kernel.approx == "nystrom"
    chunked = plan.decide_by_size(100, chunked=True)
    assert chunked.estimator.candidates == LIBRARY["classifier"]["chunked"]
    assert Plan(Slow()).decide_by_size(10**6).estimator.get_params() == {}
