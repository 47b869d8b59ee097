"""Labels by coin, half and half: every score of held-out samples that is reported is at chance.

Over 50 data sets, with features so few that neighbours could give a label away, and so many that anything
could.  Three and a half standard errors, because there are many scores; that is some two points.
"""

import numpy as np
import pytest

import absentia
from absentia import AbsentClassifier, AutoClassifier, EarlyFusionClassifier, LateFusion, Views
from absentia.experiment import cross_validate
from absentia.tasks import CLASSIFICATION

SEEDS, SAMPLES = 50, 60
SIZES = [(1, 1), (2, 1), (5, 1), (50, 1), (2, 3)]  # features, views

CANDIDATES = {
    "kernel machine": AbsentClassifier(None, machine="svm", C=1.0),
    "kernel logistic regression": AbsentClassifier(None),
    "logistic regression": EarlyFusionClassifier("logistic"),
    "forest": EarlyFusionClassifier(n_trees=20),
    "fusion": LateFusion(AbsentClassifier(None, C=1.0), rule="skill"),
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def noise(seed, n_features, n_views):
    rng = np.random.default_rng([seed, n_features, n_views])
    tables = {f"view {v}": rng.standard_normal((SAMPLES, n_features)) for v in range(n_views)}
    return Views.from_dict(tables), rng.permutation(np.arange(SAMPLES) % 2)


def assert_at_chance(scores):
    """Accuracies by name, one for each seed, are one half on average."""
    for name, values in scores.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert abs(np.mean(values) - 0.5) <= 3.5 * error, f"{name}: {np.mean(values):.3f}"


def assert_no_better_than_chance(losses):
    """Log-losses by name, one for each seed, are not below that of the frequencies on average."""
    for name, values in losses.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        assert np.mean(values) >= np.log(2) - 3.5 * error, f"{name}: {np.mean(values):.3f}"


def collect(rows):
    """Dictionaries, one for each seed, as one of lists."""
    rows = list(rows)
    return {name: [row[name] for row in rows] for name in rows[0]}


@pytest.mark.parametrize(("n_features", "n_views"), SIZES)
def test_what_an_average_says_of_its_members(n_features, n_views):
    fits = [AutoClassifier(CANDIDATES).fit(*noise(seed, n_features, n_views)) for seed in range(SEEDS)]
    tables = [fit.candidates_ for fit in fits]
    assert_no_better_than_chance(
        collect({name: row["loss"] for name, row in table.items()} for table in tables)
    )


@pytest.mark.parametrize(
    "name", ["average", "auto", "linear", "cvkt-rbf", "zero-svm", "fusion", "mkl", "mmaf"]
)
def test_what_a_fit_says_of_itself_and_its_baseline(name):
    rows = []
    for seed in range(SEEDS):
        X, y = noise(seed, 2, 1)
        plan = CLASSIFICATION.plan(name, X)
        plans = {name: plan, **CLASSIFICATION.baseline_plans(plan, X)}
        judged = cross_validate(CLASSIFICATION, X, y, plans)
        rows.append({key: np.mean(judged.predicted[key] == y) for key in (name, "averaged kernel SVM")})
    assert_at_chance(collect(rows))


def test_what_a_comparison_says():
    rows = []
    for seed in range(SEEDS):
        X, y = noise(seed, 2, 1)
        found = absentia.compare(X, y, methods=["average", "linear", "zero-svm"], repeats=1, n_jobs=1)
        rows.append(found.table()["balanced accuracy"].to_dict())
    assert_at_chance(collect(rows))
