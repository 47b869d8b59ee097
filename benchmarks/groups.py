"""Visits of patients with labels by coin: what is said to be right, with groups and without.

    python benchmarks/groups.py [--seeds 20]

Twenty patients of four nearly equal visits each, two views of ten features, the second absent for three
visits of ten; every patient's label is a coin's (five heads and five tails at least).  Balanced accuracy
that ``compare`` and the cross-validation of ``fit`` tell; half is the truth.  Last, how often intervals of
a balanced accuracy of 80 % hold it where all visits of a patient are right or wrong together.
"""

import argparse
import warnings

import common  # before NumPy: one BLAS thread
import numpy as np

import absentia
from absentia import Views
from absentia.experiment import cross_validate
from absentia.tasks import CLASSIFICATION, balanced_accuracy

PATIENTS, VISITS, FEATURES = 20, 4, 10
METHODS = ["average", "fusion", "linear", "cvkt-linear"]


def make_visits(seed):
    """Views, a label for each visit, and its patient."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(PATIENTS), VISITS)
    tables = {name: rng.normal(size=(PATIENTS, FEATURES))[patient] for name in ("a", "b")}
    tables = {name: table + 0.1 * rng.normal(size=table.shape) for name, table in tables.items()}
    tables["b"][rng.random(len(patient)) < 0.3] = np.nan
    ids = [f"P{p:02d}_v{v}" for p in range(PATIENTS) for v in range(VISITS)]
    coins = rng.random(PATIENTS) < 0.5
    while not 5 <= coins.sum() <= PATIENTS - 5:
        coins = rng.random(PATIENTS) < 0.5
    return Views.from_dict(tables, ids=ids), coins[patient].astype(int), patient


def score(y, predicted):
    return np.mean([(predicted[y == k] == k).mean() for k in np.unique(y)])


def measure(seed, grouped):
    """Balanced accuracies by name, and whether there was a warning of repeats."""
    views, y, patient = make_visits(seed)
    views = views.with_groups(patient) if grouped else views
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = absentia.compare(views, y, methods=METHODS, repeats=1, n_jobs=1)
        table = found.table()["balanced accuracy"]
        rows = {f"compare, {name}": table[name] for name in METHODS}
        plan = CLASSIFICATION.plan("auto", views)
        said = cross_validate(CLASSIFICATION, views, y, {"auto": plan})
        rows["fit, auto"] = score(y, said.predicted["auto"])
    warned = any("seem to be repeats" in str(warning.message) for warning in caught)
    return rows, warned


def measure_intervals(draws=2000, share=0.8):
    """Shares of draws in which intervals hold the truth, without groups and with them."""
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(PATIENTS), VISITS)
    held = np.zeros(2)
    for _ in range(draws):
        right = (rng.random(PATIENTS) < share)[patient]
        found = [balanced_accuracy(patient % 2, right, groups) for groups in (None, patient)]
        held += [one.low <= share <= one.high for one in found]
    return held / draws


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--quick", action="store_true", help="two seeds")
    given = parser.parse_args()
    seeds = range(2 if given.quick else given.seeds)
    results = {grouped: [measure(seed, grouped) for seed in seeds] for grouped in (False, True)}
    head = f"balanced accuracy, mean of {len(seeds)} draws (least to most)"
    print(f"| {head} | without groups | with groups |")
    print("|---|---|---|")
    for name in results[True][0][0]:
        cells = []
        for grouped in (False, True):
            values = 100 * np.array([rows[name] for rows, _ in results[grouped]])
            cells.append(f"{values.mean():.0f} % ({values.min():.0f} to {values.max():.0f})")
        print(f"| `{name}` | {cells[0]} | {cells[1]} |")
    warned = [sum(warned for _, warned in results[grouped]) for grouped in (False, True)]
    print(f"| draws with a warning of repeats | {warned[0]} | {warned[1]} |")
    held = [f"{share:.0%}" for share in measure_intervals()]
    print(f"| 95 % intervals that hold the truth | {held[0]} | {held[1]} |")
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
