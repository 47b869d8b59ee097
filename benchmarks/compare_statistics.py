"""Tests between methods on the folds of one data set: false alarms, and what is found.

    python benchmarks/compare_statistics.py [--quick]

Six methods, 300 samples, five times five folds, accuracy by fold; see tests/helpers/fold_scores.py for the
methods.
False alarms: all six are equal in the population, and a test says at 5 % that some differ ("one method":
that method 1 differs from the baseline, method 0).  "alike": methods share most of what they use and
disagree on 12 % of the samples; "unlike": they share nothing and disagree on 40 %.  Found: method 1 is
better than the others by so many points of accuracy, and the test says that it beats the baseline; methods
are "alike" where nothing else is said.
"""

from __future__ import annotations

import sys
from typing import Any

import common  # before NumPy: one BLAS thread
import numpy as np

from absentia import statistics

sys.path.insert(0, str(common.HERE.parent / "tests"))

from helpers.fold_scores import N_METHODS, TEST_SHARE, Answers, Merits, answers

ALPHA = 0.05
EQUAL = {"alike": Merits(), "unlike": Merits(shared=0, own=10, shift=0.2)}
BETTER = {  # what gives so many points
    "4 points": Merits(gain=0.13),
    "8 points": Merits(gain=0.24),
    "12 points": Merits(gain=0.365),
    "8 points, unlike": Merits(shared=0, own=10, shift=0.2, gain=0.083),
}
FRIEDMAN, NEMENYI = "Friedman", "Nemenyi, any pair"
PLAIN, PLAIN_HOLM = "paired t, one method", "paired t, Holm over five"
CORRECTED, CORRECTED_HOLM = "corrected t, one method", "corrected t, Holm over five"
ONCE, POOLED = "McNemar, one repeat, Holm", "McNemar, five repeats pooled, Holm"
BAYES = "Bayesian t, better by > 0.01 with chance > 0.95, any of five"


def verdicts(found: Answers, critical: float) -> dict[str, tuple[bool, bool | None]]:
    """For each test: does it say that any differ, and that method 1 is better than the baseline?"""
    scores = found.scores
    ranks = statistics.friedman(scores)
    differences = (scores[:, 1:] - scores[:, :1]).T
    ahead = bool(differences[0].mean() > 0)
    plain, corrected = (
        np.array([statistics.corrected_resampled_t(d, share).p for d in differences])
        for share in (0.0, TEST_SHARE)
    )
    once, pooled = (mcnemar_all(right) for right in (found.right[0], np.concatenate(found.right)))
    better = [statistics.bayesian_correlated_t(d, TEST_SHARE).better > 1 - ALPHA for d in differences]
    said: dict[str, tuple[bool, bool | None]] = {
        FRIEDMAN: (ranks.p < ALPHA, None),
        NEMENYI: (bool(np.ptp(ranks.ranks) >= critical), bool(ranks.ranks[0] - ranks.ranks[1] >= critical)),
    }
    said |= {
        name: (p[0] < ALPHA, ahead and p[0] < ALPHA) for name, p in ((PLAIN, plain), (CORRECTED, corrected))
    }
    families = {PLAIN_HOLM: plain, CORRECTED_HOLM: corrected, ONCE: once, POOLED: pooled}
    for name, p in families.items():
        small = statistics.holm(p) < ALPHA
        said[name] = bool(small.any()), ahead and bool(small[0])
    return said | {BAYES: (any(better), better[0])}


def mcnemar_all(right: np.ndarray) -> np.ndarray:
    return np.array([statistics.mcnemar(right[:, m], right[:, 0]).p for m in range(1, N_METHODS)])


def shares(merits: Merits, runs: int, seed: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, float]]:
    """Share of runs with an alarm, share in which method 1 was found, and what the data sets were like."""
    rng = np.random.default_rng(seed)
    sets = [answers(rng, merits) for _ in range(runs)]
    critical = statistics.nemenyi(sets[0].scores).critical_difference
    all_said = [verdicts(found, critical) for found in sets]
    alarms = {name: float(np.mean([said[name][0] for said in all_said])) for name in all_said[0]}
    found = {
        name: None if all_said[0][name][1] is None else float(np.mean([said[name][1] for said in all_said]))
        for name in all_said[0]
    }
    return alarms, found, facts(sets)


def facts(sets: list[Answers]) -> dict[str, float]:
    """Accuracy, how often two methods disagree, how often an interval has the true difference in it."""
    means = np.array([found.scores.mean(axis=0) for found in sets])
    ahead = means[:, 1] - means[:, [0, *range(2, N_METHODS)]].mean(axis=1)  # less noisy than against one
    intervals = [
        statistics.corrected_resampled_t(s[:, 1] - s[:, 0], TEST_SHARE) for s in (a.scores for a in sets)
    ]
    return {
        "accuracy": float(means[:, 0].mean()),
        "method 1 more": float(ahead.mean()),
        "disagree": float(np.mean([found.right[:, :, 0] != found.right[:, :, 1] for found in sets])),
        "interval holds": float(np.mean([i.low <= ahead.mean() <= i.high for i in intervals])),
        "interval half width": float(np.mean([(i.high - i.low) / 2 for i in intervals])),
    }


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    runs = 40 if arguments.quick else 2000
    rows: dict[str, dict[str, Any]] = {}
    settings: list[dict[str, Any]] = []
    for name, merits in EQUAL.items():
        alarms, _, like = shares(merits, runs, seed=0)
        settings.append({"setting": f"equal, {name}", "runs": runs, **like})
        for test, value in alarms.items():
            rows.setdefault(test, {"test": test})[f"false alarms, {name}"] = value
    for name, merits in BETTER.items():
        _, found, like = shares(merits, runs, seed=1)
        settings.append({"setting": name, "runs": runs, **like})
        for test, value in found.items():
            rows[test][f"found, {name}"] = value
    common.table(settings)
    common.finish("compare_statistics", arguments.quick, list(rows.values()), claims(rows, runs))


def claims(rows: dict[str, dict[str, Any]], runs: int) -> list[common.Claim]:
    room = 3 * np.sqrt(ALPHA * (1 - ALPHA) / runs)  # Monte Carlo error of a share of 5 %
    page, size = rows[CORRECTED_HOLM], "false alarms, {}".format
    return [
        *(
            common.Claim(f"{CORRECTED_HOLM}: {size(name)}", page[size(name)], at_most=float(ALPHA + room))
            for name in EQUAL
        ),
        common.Claim(f"{FRIEDMAN}: {size('alike')}", rows[FRIEDMAN][size("alike")], at_least=0.4),
        common.Claim(f"{CORRECTED_HOLM}: found, 8 points", page["found, 8 points"], at_least=0.6),
    ]


if __name__ == "__main__":
    main()
