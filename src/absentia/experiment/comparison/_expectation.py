r"""What is to be expected of methods, given all records and what was known of them before.

Of a comparison on a few hundred samples most differences could be chance, and still one method has to be
taken.  The one that is expected to lose least against the best is the one of the largest expected score,
and expected scores are drawn from what was measured towards what methods did on other cohorts.

Model: :math:`d` are the differences of :math:`m` methods from the simplest one in the main metric, on new
samples of the same kind.  What was measured, :math:`\bar d`, is around it as folds scatter,

.. math:: d \sim N(\mu, P), \qquad \bar d \mid d \sim N(d, N), \qquad
          E[d \mid \bar d] = \mu + P (P + N)^{-1} (\bar d - \mu), \qquad
          Cov[d \mid \bar d] = P - P (P + N)^{-1} P

* :math:`N`: each method's variance is that of the corrected resampled t test, which has room for what folds
  share, times :math:`(J - 1) / (J - 3)` of :math:`J` folds, the variance of its Student distribution.
  Variances are averaged with their mean over methods, which counts as :data:`_POOLED` more folds: a few
  differences that happen to be equal are no certainty.  Correlations of the folds that all methods had
  are drawn towards one half, as :math:`m` more folds would draw them.
* :math:`\mu, P`: the table :data:`PRIORS`, for methods that it has; others of the same kind get its mean
  over methods and the spread of all.  Where there is no table (other tasks and metrics) differences are
  around zero, as wide as those that were measured.  Any two are correlated by one half: they share what
  the simplest method does, which is so where all methods vary alike.

A method that was measured on less than two folds with the simplest is as expected before.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from absentia.core import Array
from absentia.data import statistics
from absentia.experiment.results import Expectation

_SHARED = 0.5  # correlation of two methods' differences from a third, where all vary alike
_POOLED = 5  # folds that the mean variance over methods counts for
_MIN_FOLDS = 4  # below, a Student distribution has no variance

#: Differences from the simplest method by repeat and fold.
_Folds = Mapping[tuple[int, int], float]
#: Mean and standard deviation of methods' differences from the simplest one.
_Prior = Mapping[str, tuple[float, float]]


class _Measured(NamedTuple):
    """Mean differences of m methods from the simplest, (m,), and the covariance of their errors, (m, m)."""

    methods: tuple[str, ...]
    means: Array
    covariance: Array


def expect_differences(
    folds: Mapping[str, _Folds], share: float, equivalence: float, prior: _Prior | None = None
) -> dict[str, Expectation]:
    """What to expect of each method, as a difference from the simplest one; positive is better.

    Parameters
    ----------
    folds : mapping of method to mapping of (repeat, fold) to float
        Differences from the simplest on the folds that both had.
    share : float
        Samples that a fold tests on over those that it trains on.
    equivalence : float
        Differences up to this are practically nil.
    prior : mapping of method to (mean, standard deviation), optional
        What was known before.
    """
    methods = tuple(folds)
    if not methods:
        return {}
    measured = _measure({method: own for method, own in folds.items() if len(own) > 1}, share)
    means, P = _make_prior(methods, measured, equivalence, prior)
    seen = [methods.index(method) for method in measured.methods]
    if seen:
        gain = np.linalg.solve(P[np.ix_(seen, seen)] + measured.covariance, P[seen]).T
        means, P = means + gain @ (measured.means - means[seen]), P - gain @ P[seen]
    deviations = np.sqrt(np.maximum(np.diag(P), 0.0))
    return {
        method: _describe(method, float(mean), float(deviation), equivalence)
        for method, mean, deviation in zip(methods, means, deviations, strict=True)
    }


def _describe(method: str, mean: float, deviation: float, equivalence: float) -> Expectation:
    scale = max(deviation, 1e-300)
    worse, better = (float(norm.sf((equivalence + side * mean) / scale)) for side in (1, -1))
    return Expectation(method, mean, deviation, worse, better)


def _measure(folds: Mapping[str, _Folds], share: float) -> _Measured:
    """What folds say, and how far that may be off."""
    tests = [statistics.corrected_resampled_t(list(own.values()), share) for own in folds.values()]
    variances, counts = np.array([t.error**2 for t in tests]), np.array([t.n for t in tests])
    if len(tests):
        variances = (counts * variances + _POOLED * variances.mean()) / (counts + _POOLED)
    errors = np.sqrt(variances * (counts - 1) / (np.maximum(counts, _MIN_FOLDS) - 3))
    covariance = errors[:, None] * _correlate(list(folds.values())) * errors
    return _Measured(tuple(folds), np.array([t.mean for t in tests]), covariance)


def _correlate(folds: list[_Folds]) -> Array:
    """Correlations (m, m) of what folds say of m methods, drawn towards one half."""
    m = len(folds)
    towards = np.full((m, m), _SHARED) + (1 - _SHARED) * np.eye(m)
    common = sorted(set.intersection(*(set(own) for own in folds))) if folds else []
    table = np.array([[own[key] for key in common] for own in folds]).reshape(m, len(common))
    spread = table.std(axis=1) if common else np.zeros(m)
    if len(common) < 3 or not (spread > 0).all():
        return towards
    weight = (len(common) - 1) / (len(common) - 1 + m)
    return weight * np.corrcoef(table).reshape(m, m) + (1 - weight) * towards


def _make_prior(
    methods: tuple[str, ...], measured: _Measured, equivalence: float, prior: _Prior | None
) -> tuple[Array, Array]:
    """Means (m,) and covariance (m, m) before anything is measured."""
    if prior:
        known = np.array(list(prior.values()))
        others = known[:, 0].mean(), np.sqrt((known[:, 1] ** 2).mean() + known[:, 0].var())
        means, deviations = np.array([prior.get(method, others) for method in methods]).T
    else:
        size = float(np.sqrt((measured.means**2).mean())) if len(measured.means) else 0.0
        means, deviations = np.zeros(len(methods)), np.full(len(methods), max(size, equivalence, 1e-12))
    correlations = np.full((len(methods), len(methods)), _SHARED) + (1 - _SHARED) * np.eye(len(methods))
    return means, deviations[:, None] * correlations * deviations


# ----------------------------------------------------------------------------------- what was known before


# Mean and standard deviation, in shares, of balanced accuracy less that of ``average``, on 72 tasks of 40
# to 320 samples made of 23 public sets, every set counting the same; what chance adds to the spread is
# taken off.  All methods decide as the library does for balanced accuracy.  Made by
#
#     python benchmarks/predict_regret.py --keep regret
#     python benchmarks/method_prior.py --keep regret

_BALANCED_ACCURACY = {
    "linear": (-0.0173, 0.0193),
    "cvkt-linear": (-0.0002, 0.0478),
    "cvkt-rbf": (0.0122, 0.0561),
    "zero-rbf": (-0.0049, 0.01),
    "fusion-linear": (-0.0024, 0.0313),
    "fusion-rbf": (0.0086, 0.01),
    "forest": (-0.0317, 0.0383),
    "cvkt-svm": (0.0163, 0.0465),
    "complete-cases": (-0.045, 0.0276),
    "auto": (0.03, 0.0253),
    "fusion": (0.0086, 0.01),
}
#: By task and metric.
PRIORS = {("classes", "balanced accuracy"): _BALANCED_ACCURACY}
