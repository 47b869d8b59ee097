"""Do methods differ?  Tests between methods by their scores, on one data set and on many.

On one data set scores come from repeated cross-validation.  Folds share training samples, and repeats share
everything, so that the scores are far from independent: tests that count them as so many independent ones
find differences where there are none.  Made for this are

* :func:`corrected_resampled_t`, whose variance has room for what folds share, with :func:`holm` where
  several methods are held against one;
* :func:`bayesian_correlated_t`: the probabilities that a difference is too small to matter, or is not;
* :func:`mcnemar`: sample by sample, which of two methods was right.

Over many data sets, with one score of each method on each, scores are independent, and ranks are compared:
:func:`friedman` and :func:`nemenyi`.  Do not give these the folds of one data set.

References
----------
Nadeau and Bengio, "Inference for the generalization error", Machine Learning 52 (2003).
Corani and Benavoli, "A Bayesian approach for comparing cross-validated algorithms on multiple data sets",
Machine Learning 100 (2015).
Demsar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (2006).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binomtest, chi2, norm, rankdata, studentized_range
from scipy.stats import f as f_distribution
from scipy.stats import t as student

from absentia.core import Array

__all__ = [
    "Equivalence",
    "Friedman",
    "McNemar",
    "Nemenyi",
    "Paired",
    "bayesian_correlated_t",
    "corrected_resampled_t",
    "effective_size",
    "friedman",
    "holm",
    "mcnemar",
    "nemenyi",
    "sum_by_group",
]

_ROUNDING = 1e-12  # numbers that differ by less, relative to the largest, count as equal
_EXACT = 50  # groups up to which all signs of their wins are counted


# --------------------------------------------------------------------------- one data set, many folds


class Paired(NamedTuple):
    """A mean difference, an interval around it, how likely one as large is by luck, its standard error."""

    mean: float
    low: float
    high: float
    p: float
    error: float
    n: int


def corrected_resampled_t(differences: Any, test_share: float, *, level: float = 0.95) -> Paired:
    r"""Whether two methods differ, by their scores on the same folds of repeated cross-validation.

    The corrected resampled t test of Nadeau and Bengio (2003).  The mean of :math:`J` differences that
    spread by :math:`s` is given the variance

    .. math:: (1 / J + n_{test} / n_{train}) \, s^2

    with :math:`J - 1` degrees of freedom.  The plain paired t test has :math:`s^2 / J`, which repeats make
    as small as one likes without a single new sample.

    Parameters
    ----------
    differences : array of shape (n_folds,)
        Score of the one method less that of the other, for every fold of every repeat.
    test_share : float
        Samples that a fold tests on over those that it trains on: 0.25 with five folds.
    level : float, default 0.95
        Of the interval.

    Returns
    -------
    Paired
        ``mean, low, high, p, error, n``; `p` is two-sided.  Where all differences are equal (but for
        rounding) there is no spread to judge by: the interval is a point, and `p` is that of the sign test,
        :math:`2^{1 - J}`, as :math:`J` signs may be alike by chance; 1 if the differences are zero.  Scores
        that ought to be equal but differ by rounding should be rounded before.

    Examples
    --------
    >>> result = corrected_resampled_t([0.02, 0.05, 0.00, 0.03, 0.05], 0.25)
    >>> round(result.mean, 3), round(result.low, 3), round(result.high, 3), round(result.p, 3)
    (0.03, -0.01, 0.07, 0.103)
    """
    _check_level(level)
    mean, error, n = _mean_and_error(differences, test_share)
    if error == 0:
        return Paired(mean, mean, mean, 1.0 if mean == 0 else 2.0 ** (1 - n), 0.0, n)
    half = float(student.ppf((1 + level) / 2, n - 1)) * error
    p = 2 * float(student.sf(abs(mean / error), n - 1))
    return Paired(mean, mean - half, mean + half, p, error, n)


class Equivalence(NamedTuple):
    """How probable it is that a method is worse than another, practically the same, or better."""

    worse: float
    same: float
    better: float


def bayesian_correlated_t(differences: Any, test_share: float, rope: float = 0.01) -> Equivalence:
    r"""The probabilities that a difference is practically nil and that it is not, given scores by fold.

    The Bayesian correlated t test of Corani and Benavoli (2015).  If any two folds are correlated by
    :math:`\rho = n_{test} / (n_{test} + n_{train})` and nothing was known before, the mean difference has a
    Student distribution with :math:`J - 1` degrees of freedom, around the mean of the differences and with

    .. math:: scale^2 = (1 / J + \rho / (1 - \rho)) \, s^2, \qquad \rho / (1 - \rho) = n_{test} / n_{train}

    Parameters
    ----------
    differences : array of shape (n_folds,)
        Score of the one method less that of the other, for every fold of every repeat.
    test_share : float
        Samples that a fold tests on over those that it trains on: 0.25 with five folds.
    rope : float, default 0.01
        Region of practical equivalence: a difference that is no larger, either way, does not matter.

    Returns
    -------
    Equivalence
        ``worse, same, better``, which sum to one.  Where all differences are equal, one of them is 1.

    Examples
    --------
    >>> result = bayesian_correlated_t([0.02, 0.05, 0.00, 0.03, 0.05], 0.25)
    >>> [round(p, 3) for p in result]
    [0.024, 0.092, 0.884]
    """
    if not 0 <= rope < np.inf:
        raise ValueError(f"rope={rope} came; a difference that does not matter is wanted: 0 or more")
    mean, error, n = _mean_and_error(differences, test_share)
    if error == 0:
        edge = rope * (1 + _ROUNDING)
        worse, better = float(mean < -edge), float(mean > edge)
    else:
        worse, better = (float(student.sf((rope + side * mean) / error, n - 1)) for side in (1, -1))
    return Equivalence(worse, max(1 - worse - better, 0.0), better)


def _mean_and_error(differences: Any, test_share: float) -> tuple[float, float, int]:
    """Mean, its standard error with room for what folds share (0 if all are equal), and how many."""
    values = _numbers(differences, 1, "differences")
    if len(values) < 2:
        raise ValueError(f"{len(values)} difference(s) came; two or more are wanted, one for each fold")
    if not 0 <= test_share < np.inf:
        raise ValueError(
            f"test_share={test_share} came; samples tested on over samples trained on are wanted: 0.25 "
            "with five folds"
        )
    scale = np.abs(values).max()
    if np.ptp(values) <= _ROUNDING * scale:
        return float(values.mean()), 0.0, len(values)
    unit = values / scale
    error = np.sqrt((1 / len(unit) + test_share) * unit.var(ddof=1))
    return float(scale * unit.mean()), float(scale * error), len(unit)


class McNemar(NamedTuple):
    """Samples that only the one method, only the other, was right on, and how likely that is by luck."""

    wins: int
    losses: int
    p: float


def mcnemar(right: Any, other: Any, groups: Any = None) -> McNemar:
    r"""Whether two methods are right equally often, by the samples on which they disagree (exact test).

    If they are, each of :math:`n` such samples is a toss of a coin (McNemar, Psychometrika 12, 1947):

    .. math:: wins \sim Binomial(n, 1/2)

    Samples of a group are no tosses of their own: a group that has :math:`d_g` more wins than losses could
    as well have had as many more losses, and the test is of :math:`\sum_g \pm d_g`.

    Parameters
    ----------
    right, other : array of bool of shape (n_samples,)
        Whether the one method, and the other, was right about each sample when it was held out.  Give each
        sample once: over several repeats it would count as several, which it is not.
    groups : array of shape (n_samples,), optional
        Who belongs together: patients, families.

    Examples
    --------
    >>> mcnemar([True, True, True, True, False], [False, False, False, True, True])
    McNemar(wins=3, losses=1, p=0.625)
    >>> mcnemar([True, True, True, True, False], [False, False, False, True, True], groups=[1, 1, 1, 2, 3])
    McNemar(wins=3, losses=1, p=1.0)
    """
    first, second = _answers(right, "right"), _answers(other, "other")
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} samples came; the same samples are wanted twice")
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    if groups is None:
        p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
        return McNemar(wins, losses, p)
    margins = sum_by_group(first.astype(float) - second, groups)
    return McNemar(wins, losses, _sign_flip(np.rint(margins).astype(int)))


def sum_by_group(values: Any, groups: Any) -> Array:
    """Sums of `values` (n,) over each of the `groups` (n,), in the order of their labels."""
    values, codes = np.asarray(values), np.unique(np.asarray(groups), return_inverse=True)[1]
    if codes.shape != values.shape:
        raise ValueError(f"groups of shape {codes.shape} for {len(values)} samples; one each is wanted")
    return np.bincount(codes, values)


def effective_size(right: Any, groups: Any) -> float:
    """How many independent samples tell a share as well as those of groups do, from 1 to their number.

    The variance of the share is that of the sums of groups.  Of every share two groups of mean size that
    are right and two that are wrong are added (Agresti and Coull, The American Statistician 52, 1998, for
    groups): of groups that are all right one could not tell how alike their samples are.

    Parameters
    ----------
    right : array of bool of shape (n_samples,)
        Whether each sample was right.
    groups : array of shape (n_samples,)
        Who belongs together.

    Examples
    --------
    >>> round(effective_size([True, True, False, False], ["a", "b", "c", "d"]), 9)
    4.0
    >>> round(effective_size([True, True, False, False], ["a", "a", "b", "b"]), 9)
    2.0
    """
    hits = np.asarray(right, dtype=np.float64)
    n, size = len(hits), len(hits) / len(np.unique(groups))
    share = (hits.sum() + 2 * size) / (n + 4 * size)
    squares = (sum_by_group(hits - share, groups) ** 2).sum() + 2 * size**2 * (share**2 + (1 - share) ** 2)
    return float(np.clip(share * (1 - share) * (n + 4 * size) ** 2 / squares - 4, 1, n))


def _answers(given: Any, name: str) -> Array:
    answers = np.asarray(given)
    if answers.ndim != 1 or not np.isin(answers, (0, 1)).all():
        raise ValueError(
            f"{name} of shape {answers.shape} and type {answers.dtype} came; True or False for each sample "
            "is wanted: compare predictions with the labels first"
        )
    return answers.astype(bool)


def holm(p_values: Any) -> Array:
    r"""P-values of several tests, raised so that the probability of any false alarm stays as asked for.

    Holm's step-down correction (Scandinavian Journal of Statistics 6, 1979): of :math:`m` p-values in
    rising order,

    .. math:: \tilde p_{(i)} = \max_{j \le i} \, \min(1, (m - j + 1) \, p_{(j)})

    Parameters
    ----------
    p_values : array of shape (n_tests,)
        NaN stands for a test that was not made: it stays NaN and does not count.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, np.nan])
    array([0.03, 0.06, 0.06,  nan])
    """
    p = np.array(p_values, dtype=np.float64)
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise ValueError("p-values are no probabilities, or no list; numbers from 0 to 1 are wanted")
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    raised = np.arange(len(order), 0, -1) * p[order]
    p[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return p


# ------------------------------------------------------------------------------------ many data sets


class Friedman(NamedTuple):
    """A chi-square statistic and its p-value, mean ranks (1 is best), and the F that is less cautious."""

    statistic: float
    p: float
    ranks: Array
    iman_davenport: float
    iman_davenport_p: float


def friedman(scores: Any) -> Friedman:
    r"""Whether any of several methods differ in rank, over many data sets.

    With :math:`R_j` the mean rank of method :math:`j` of :math:`k` over :math:`N` data sets, and without
    ties,

    .. math:: \chi^2 = \frac{12 N}{k (k + 1)} \sum_j (R_j - (k + 1) / 2)^2, \qquad
              F = \frac{(N - 1) \chi^2}{N (k - 1) - \chi^2}

    Friedman (JASA 32, 1937), and Iman and Davenport (Communications in Statistics 9, 1980), with
    :math:`k - 1`, and :math:`k - 1` and :math:`(k - 1)(N - 1)` degrees of freedom.  Ties share their mean
    rank, and the statistic is divided by the spread that ranks then have.  Not for folds of one data set.

    Parameters
    ----------
    scores : array of shape (n_data_sets, n_methods)
        Larger is better.

    Examples
    --------
    >>> result = friedman([[0.9, 0.8, 0.7], [0.6, 0.5, 0.4], [0.8, 0.9, 0.5], [0.7, 0.6, 0.6]])
    >>> result.ranks, round(result.statistic, 2), round(result.p, 3)
    (array([1.25 , 1.875, 2.875]), 5.73, 0.057)
    """
    table = _table(scores)
    n, k = table.shape
    ranks = _ranks(table)
    apart = ranks - (k + 1) / 2  # multiples of a half: the sums below are exact
    between, within = float((apart.sum(axis=0) ** 2).sum()), float((apart**2).sum())
    if between == 0:
        return Friedman(0.0, 1.0, ranks.mean(axis=0), 0.0, 1.0)
    statistic, rest = (k - 1) * between / within, n * within - between
    ratio = (n - 1) * between / rest if rest else np.inf
    p, ratio_p = chi2.sf(statistic, k - 1), f_distribution.sf(ratio, k - 1, (k - 1) * (n - 1))
    return Friedman(statistic, float(p), ranks.mean(axis=0), ratio, float(ratio_p))


class Nemenyi(NamedTuple):
    """Mean ranks (1 is best), how far apart two have to be, p-values, and methods not told apart.

    Each of the `groups` is a set of methods, the best first, of which no two are told apart.
    """

    ranks: Array
    critical_difference: float
    p: Array
    groups: tuple[tuple[int, ...], ...]


def nemenyi(scores: Any, *, level: float = 0.95) -> Nemenyi:
    r"""Which of several methods differ in rank, over many data sets: all pairs at once.

    Two differ if their mean ranks are at least the critical difference apart (Nemenyi 1963; Demsar 2006):

    .. math:: CD = q \sqrt{k (k + 1) / (6 N)}

    with :math:`q` the quantile of the Studentized range of :math:`k` methods with infinite degrees of
    freedom, over :math:`\sqrt 2`.  Ties are not corrected for.  Not for folds of one data set.

    Parameters
    ----------
    scores : array of shape (n_data_sets, n_methods)
        Larger is better.
    level : float, default 0.95
        One less the probability of a false alarm among all pairs.

    Examples
    --------
    >>> result = nemenyi([[9, 8, 1], [8, 9, 2], [7, 6, 1], [8, 9, 3], [9, 8, 3]])
    >>> result.ranks, round(result.critical_difference, 3), result.groups
    (array([1.4, 1.6, 3. ]), 1.482, ((0, 1), (1, 2)))
    """
    _check_level(level)
    table = _table(scores)
    n, k = table.shape
    ranks, unit = _ranks(table).mean(axis=0), np.sqrt(k * (k + 1) / (12 * n))
    critical = float(studentized_range.ppf(level, k, np.inf) * unit)
    p = np.ones((k, k))
    i, j = np.triu_indices(k, 1)
    beyond = studentized_range.sf(np.abs(ranks[i] - ranks[j]) / unit, k, np.inf)
    p[i, j] = p[j, i] = np.clip(beyond, 0.0, 1.0)
    return Nemenyi(ranks, critical, p, _bars(ranks, critical))


def _bars(ranks: Array, critical: float) -> tuple[tuple[int, ...], ...]:
    """The largest sets of two or more methods whose ranks are all less than `critical` apart."""
    order = np.argsort(ranks, kind="stable")
    rising, bars, reached = ranks[order], [], 0
    for first, rank in enumerate(rising):
        end = int((rising - rank < critical).sum())
        if end > max(reached, first + 1):
            bars.append(tuple(int(method) for method in order[first:end]))
            reached = end
    return tuple(bars)


def _sign_flip(values: Array) -> float:
    """Two-sided p-value of the sum of whole numbers (n,) whose signs are tosses of a coin."""
    sizes = np.abs(values[values != 0])
    if not len(sizes):
        return 1.0
    positive = int(values[values > 0].sum())
    if len(sizes) > _EXACT:
        return 2 * float(norm.sf(abs(positive - sizes.sum() / 2) / np.sqrt((sizes**2).sum() / 4)))
    probabilities = np.ones(1)  # of each sum of those with a plus
    for size in sizes:
        probabilities = (np.pad(probabilities, (0, size)) + np.pad(probabilities, (size, 0))) / 2
    return float(min(2 * min(probabilities[: positive + 1].sum(), probabilities[positive:].sum()), 1.0))


def _ranks(table: Array) -> Array:
    """Ranks of the methods on each data set, the largest score first; what rounding parts is tied."""
    return np.array([rankdata(-_levels(row, _ROUNDING * np.abs(row).max())) for row in table])


def _levels(values: Array, tol: float) -> Array:
    """Whole numbers in the order of `values`, the same for neighbours that are no more than `tol` apart."""
    order = np.argsort(values, kind="stable")
    levels = np.zeros(len(values), dtype=int)
    levels[order[1:]] = np.cumsum(np.diff(values[order]) > tol)
    return levels


# -------------------------------------------------------------------------------------------- checks


def _table(scores: Any) -> Array:
    table = _numbers(scores, 2, "scores")
    if min(table.shape) < 2:
        raise ValueError(
            f"scores of shape {table.shape} came; two or more data sets (rows) and methods are wanted"
        )
    return table


def _numbers(given: Any, ndim: int, name: str) -> Array:
    array = np.asarray(given, dtype=np.float64)
    if array.ndim != ndim:
        raise ValueError(f"{name} of shape {array.shape} came; an array of {ndim} dimension(s) is wanted")
    if not np.isfinite(array).all():
        raise ValueError(
            f"{(~np.isfinite(array)).sum()} of the {name} are no numbers; leave out what has no score"
        )
    return array


def _check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"level={level} came; a share between 0 and 1 is wanted, such as 0.95")
