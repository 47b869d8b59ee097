"""What a default that holds no training row loses: accuracy, log-loss and size of the file.

    python benchmarks/without_rows.py [--sets tcga cll ...] [--factors 200]      # ten CPU minutes

The default and ``AutoClassifier("no-rows")``, exported, learn from the same ten folds of one task of
each set of ``small_tasks.py``.  Balanced accuracy in percent and log-loss over all held-out samples; the
differences (no rows less default) are means over folds with 95 % intervals of the t-test that is corrected
for overlapping training parts (Nadeau and Bengio); sizes are of the models of the last fold.
"""

import argparse
import tempfile
import warnings
from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks

from absentia import AutoClassifier, ViewKernels, models
from absentia.data import make_folds
from absentia.data.statistics import corrected_resampled_t

FOLDS = 10
SETS = ["tcga", "cll", "3sources", "mfeat", "uwave", "proteinfold", "emotions", "scene", "heart", "musk1"]
MIN_PROBABILITY = 1e-4


def balanced_accuracy(y, predicted):
    return 100 * np.mean([(predicted[y == k] == k).mean() for k in np.unique(y)])


def log_loss(y, proba):
    return float(-np.log(np.maximum(proba[np.arange(len(y)), y], MIN_PROBABILITY)).mean())


def fit(name, views, y, factors, path):
    """A fitted model as it is read from its file, and the size of that in MB."""
    if name == "default":
        model = AutoClassifier().fit(views, y)
    else:
        kernel = ViewKernels(n_landmarks=factors)
        model = models.export(AutoClassifier("no-rows", kernel=kernel).fit(views, y))
    models.save(model, path)
    return models.load(path), path.stat().st_size / common.MB


def run(views, y, folds, factors):
    """By method: scores over all samples, scores by fold, and size."""
    rows = {}
    for name in ("default", "no rows"):
        predicted, proba, size = np.zeros(len(y), int), np.zeros((len(y), int(y.max()) + 1)), 0.0
        with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as folder:
            for train, test in folds:
                path = Path(folder) / "model.absentia"
                model, size = fit(name, views[train], y[train], factors, path)
                predicted[test], proba[test] = model.predict(views[test]), model.predict_proba(views[test])
        by_fold = [
            (balanced_accuracy(y[test], predicted[test]), log_loss(y[test], proba[test]))
            for _, test in folds
        ]
        rows[name] = balanced_accuracy(y, predicted), log_loss(y, proba), np.array(by_fold), size
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--factors", type=int, default=200)
    arguments = parser.parse_args()
    print("| task | balanced accuracy: default | no rows | difference ", end="")
    print("| log-loss: default | no rows | difference | MB: default | no rows |")
    print("|" + "---|" * 9)
    means = []
    for name in arguments.sets:
        task = list(small_tasks.tasks([name]))[
            len(small_tasks.SETS[name][1]) - 1
        ]  # its first target, last setting
        views, y = task.make()
        folds = make_folds(np.arange(len(y)), y, min(FOLDS, int(np.bincount(y).min())), random_state=0)
        rows = run(views, y, folds, arguments.factors)
        cells, differences = [], []
        for k, digits in ((0, 1), (1, 3)):
            difference = rows["no rows"][2][:, k] - rows["default"][2][:, k]
            t = corrected_resampled_t(difference, 1 / (len(folds) - 1))
            cells += [f"{rows[m][k]:.{digits}f}" for m in rows]
            cells.append(f"{t.mean:+.{digits}f} ({t.low:+.{digits}f} to {t.high:+.{digits}f})")
            differences.append(rows["no rows"][k] - rows["default"][k])
        means.append(differences)
        print(
            f"| {task.name} | {' | '.join(cells)} | {' | '.join(f'{rows[m][3]:.1f}' for m in rows)} |",
            flush=True,
        )
    accuracy, loss = np.mean(means, axis=0)
    print(f"\nMean over {len(means)} sets: balanced accuracy {accuracy:+.2f} points, log-loss {loss:+.3f}.")


if __name__ == "__main__":
    main()
