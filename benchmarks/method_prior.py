"""What is known of methods before a comparison: how far each is from ``average`` on small cohorts.

    python benchmarks/predict_regret.py --keep regret       # first; some CPU hours
    python benchmarks/method_prior.py --keep regret         # prints the table

The records of ``predict_regret.py`` have what every method said of held-out samples of every task of
``small_tasks.py``.  Here they are scored as ``compare`` does: a class is decided by its probability over
its mean among samples left out, of methods that do not tell over its frequency; balanced accuracy by fold.
The mean over sets and the spread over tasks, less what chance adds to it (the corrected resampled variance
of each task), go into ``absentia/experiment/comparison/_recommendation.py``, which has the table as it is
printed.
"""

import argparse
from pathlib import Path

import common  # noqa: F401 - before NumPy: one BLAS thread
import numpy as np
import small_tasks
from predict_regret import MEMBERS, OTHERS, Results

from absentia.data.statistics import corrected_resampled_t
from absentia.tasks import balanced_accuracy

SIMPLEST = "average"
SAME = {"fusion": "fusion-rbf"}  # another name of the same thing
MIN_SPREAD = 0.01


def differences(result):
    """By method: mean difference from the simplest in a task, and its squared error; in shares."""
    rights = result.decide_all()
    methods = [method for method in (*MEMBERS, *OTHERS, "auto") if method in rights]
    scores = {method: fold_scores(result, rights[method]) for method in methods}
    found = {}
    for method in methods:
        if method != SIMPLEST:
            share = 1 / (len(result.folds) - 1)
            test = corrected_resampled_t(scores[method] - scores[SIMPLEST], share)
            found[method] = test.mean, test.error**2
    return found


def fold_scores(result, right):
    """Balanced accuracy in each fold."""
    scores = []
    for _, test in result.folds:
        scores.append(balanced_accuracy(result.y[test], right[test]).value)
    return np.array(scores)


def learn_prior(found):
    """Mean and standard deviation by method, of ``(set, differences)`` by task; all sets count the same."""
    prior = {}
    for method in dict.fromkeys(method for _, own in found for method in own):
        rows = [(name, *own[method]) for name, own in found if method in own]
        counts = {name: sum(row[0] == name for row in rows) for name, *_ in rows}
        weights = np.array([1 / counts[name] for name, *_ in rows]) / len(counts)
        means, errors = np.array([row[1:] for row in rows]).T
        mean = float(weights @ means)
        variance = float(weights @ ((means - mean) ** 2 - errors))
        prior[method] = (round(mean, 4), round(max(variance, MIN_SPREAD**2) ** 0.5, 4))
    return prior | {name: prior[other] for name, other in SAME.items() if other in prior}


def read_differences(keep):
    """``(set, differences)`` of every task that has a record."""
    results = (Results(task, keep) for task in small_tasks.tasks())
    return [(result.set, differences(result)) for result in results if result.said]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keep", type=Path, default=Path("predict_regret"))
    found = read_differences(parser.parse_args().keep)
    print(f"# {len(found)} tasks of {len({name for name, _ in found})} sets")
    for method, (mean, deviation) in learn_prior(found).items():
        print(f'    "{method}": ({mean}, {deviation}),')


if __name__ == "__main__":
    main()
