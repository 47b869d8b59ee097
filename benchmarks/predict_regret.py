"""The default and what it is held against, on many small tasks: regret, log-loss, calibration, cost.

    python benchmarks/predict_regret.py [--sets tcga cll ...] [--keep regret]     # some CPU hours at most

Every method learns from the same ten folds of every task of ``small_tasks.py``; everything, kernels and C
too, is learned in the training part.  Regret of a method on a task: the best balanced accuracy of any
single method there, chosen in hindsight and so lucky, less its own; "by other folds": the method that is
best on half of the folds, less its own, on the other half, which nobody's luck is in.  Members of the
default tell what they say of training samples left out, so that it can be put together anew with other
weights: its constants are settled on all sets but one and judged on that one, each set in turn ("left
out").  Results are kept after every task, and what is there already is not computed again.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks
from scipy.stats import t as student
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia.data import Coding, concatenate_features, make_folds
from absentia.methods.prediction import LIBRARY
from absentia.methods.prediction._auto import SHARPNESS
from absentia.tasks import CLASSIFICATION

FOLDS = 10
MEMBERS = LIBRARY["classifier"]["features"]
OTHERS = ("forest", "average", "cvkt-svm", "complete-cases")
LOGISTIC = {"mean fill + logistic": None, "mean fill + balanced logistic": "balanced"}
GRID = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0, np.inf)
MIN_PROBABILITY = 1e-4


def fit_logistic(class_weight, X, y, new):
    """One line of scikit-learn."""
    table, rows = concatenate_features(X), concatenate_features(new)
    known = ~np.isnan(table).all(axis=0)
    model = LogisticRegression(max_iter=2000, class_weight=class_weight)
    model = make_pipeline(SimpleImputer(), StandardScaler(), model).fit(table[:, known], y)
    return model.predict_proba(rows[:, known]), None


def fit_ours(name, X, y, new):
    """A method as ``absentia fit`` learns it; what it says of training samples left out, if it tells."""
    plan = CLASSIFICATION.plan(name, X)
    model = CLASSIFICATION.learn(X, y, plan)
    return model.predict_proba(new), getattr(model.classifier, "loo_proba_", None)


def run(method, views, y, folds):
    """Held-out probabilities of all samples, left-out ones of each training part, CPU seconds a fit."""
    start, proba, left_out = time.process_time(), np.zeros((len(y), int(y.max()) + 1)), []
    with warnings.catch_warnings(action="ignore"):
        for train, test in folds:
            arguments = views[train], y[train], views[test]
            if method in LOGISTIC:
                proba[test], loo = fit_logistic(LOGISTIC[method], *arguments)
            else:
                proba[test], loo = fit_ours(method, *arguments)
            left_out.append(loo)
    return proba, left_out, (time.process_time() - start) / len(folds)


class Results:
    """What every method said in one task."""

    def __init__(self, task, keep):
        self.set, self.name = task.set, task.name
        views, self.y = task.make()
        self.views = Coding.learn(views)(views)
        most = min(FOLDS, int(np.bincount(self.y).min()))
        self.folds = make_folds(np.arange(len(self.y)), self.y, most, random_state=0)
        self.file = keep / (task.name.replace("/", "-") + ".npz")
        self.said, self.left_out, self.seconds = {}, {}, {}
        if self.file.exists():
            with np.load(self.file, allow_pickle=False) as data:
                self.seconds = json.loads(str(data["seconds"]))
                for method in self.seconds:
                    self.said[method] = data[method]
                    if f"{method} 0" in data:
                        loo = [data[f"{method} {k}"] for k in range(len(self.folds))]
                        self.left_out[method] = loo

    def compute(self, methods):
        todo = [method for method in methods if method not in self.said]
        for method in todo:
            try:
                self.said[method], loo, self.seconds[method] = run(method, self.views, self.y, self.folds)
            except ValueError as error:  # nobody of a class has every view
                print(f"{self.name}: {method}: {error}")
                continue
            if loo[0] is not None:
                self.left_out[method] = loo
        if todo:
            arrays = {f"{m} {k}": p for m, loo in self.left_out.items() for k, p in enumerate(loo)}
            np.savez_compressed(self.file, seconds=json.dumps(self.seconds), **self.said, **arrays)

    def combine(self, members, sharpness):
        """The members' average, weighted as the default does: of samples held out, and by fold left out."""
        proba, together = np.zeros_like(self.said[members[0]]), []
        for k, (train, test) in enumerate(self.folds):
            y = self.y[train]
            own = [self.left_out[m][k][np.arange(len(y)), y] for m in members]
            losses = -np.log(np.maximum(own, MIN_PROBABILITY)).mean(axis=1)
            if np.isinf(sharpness):
                weights = (losses == losses.min()).astype(float)
            else:
                weights = np.exp(-sharpness * (losses - losses.min()))
            weights /= weights.sum()
            proba[test] = sum(w * self.said[m][test] for w, m in zip(weights, members, strict=True))
            together.append(sum(w * self.left_out[m][k] for w, m in zip(weights, members, strict=True)))
        return proba, together

    def decide(self, proba, left_out=None, balanced=True):
        """Which samples are right, decided as the library does: by probability over its mean among training
        samples left out, of methods that do not tell over the frequency."""
        right = np.zeros(len(self.y), dtype=bool)
        for k, (train, test) in enumerate(self.folds):
            level = np.bincount(self.y[train], minlength=proba.shape[1]) if balanced else 1
            level = np.nanmean(left_out[k], axis=0) if balanced and left_out else level
            right[test] = (proba[test] / level).argmax(axis=1) == self.y[test]
        return right

    def decide_all(self):
        """By method, the default too, which samples are right."""
        right = {m: self.decide(p, self.left_out.get(m), m not in LOGISTIC) for m, p in self.said.items()}
        return {**right, "auto": self.decide(*self.combine(MEMBERS, SHARPNESS))}

    def balanced_accuracy(self, right):
        """In percent, of samples (..., n) that are right."""
        return 100 * np.mean([right[..., self.y == k].mean(axis=-1) for k in np.unique(self.y)], axis=0)

    def log_loss(self, proba):
        own = np.maximum(proba[np.arange(len(self.y)), self.y], MIN_PROBABILITY)
        return float(-np.log(own).mean())

    def scores(self, proba, left_out=None, balanced=True):
        """Balanced accuracy in percent, and log-loss."""
        return self.balanced_accuracy(self.decide(proba, left_out, balanced)), self.log_loss(proba)

    def regret_by_half(self):
        """By method, points behind the one that is best on half of the folds, on the other half."""
        rights, scores = self.decide_all(), []
        for half in (0, 1):
            rows = np.concatenate([test for _, test in self.folds[half::2]])
            y = self.y[rows]
            scores.append(
                {
                    m: 100 * np.mean([r[rows][y == k].mean() for k in np.unique(y)])
                    for m, r in rights.items()
                }
            )
        best = [max(self.said, key=score.get) for score in scores]
        return {
            m: np.mean([scores[1][best[0]] - scores[1][m], scores[0][best[1]] - scores[0][m]])
            for m in rights
        }

    def calibration_error(self, proba, n_bins=10):
        """Expected calibration error of the most probable class."""
        top, right = proba.max(axis=1), proba.argmax(axis=1) == self.y
        bins = np.minimum((top * n_bins).astype(int), n_bins - 1)
        gaps = [
            abs(top[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in set(bins)
        ]
        return float(sum(gaps))


def mean_by_set(results, values):
    """Mean over sets of the mean over their tasks."""
    sets = sorted({result.set for result in results})
    return float(
        np.mean([np.mean([v for v, r in zip(values, results, strict=True) if r.set == s]) for s in sets])
    )


def print_methods(results, scores):
    single = [method for method in next(iter(scores)) if method != "auto"]
    best = np.array([max(row[m][0] for m in single if m in row) for row in scores])
    by_half = [result.regret_by_half() for result in results]
    logistic = np.array([row["mean fill + logistic"][0] for row in scores])
    print(f"\n{len(results)} tasks of {len({r.set for r in results})} sets; means over sets\n")
    print(
        "| | balanced accuracy | beyond logistic | regret | by other folds | 95 % of tasks | worst "
        "| log-loss | CPU s |\n|---|---|---|---|---|---|---|---|---|"
    )
    for method in next(iter(scores)):
        rows = [k for k, row in enumerate(scores) if method in row]
        some = [results[k] for k in rows]
        accuracy = np.array([scores[k][method][0] for k in rows])
        regret = best[rows] - accuracy
        seconds = [
            results[k].seconds.get(method, sum(results[k].seconds[m] for m in MEMBERS)) for k in rows
        ]
        honest = mean_by_set(some, [by_half[k][method] for k in rows])
        cells = [
            f"{mean_by_set(some, accuracy):.1f}", f"{mean_by_set(some, accuracy - logistic[rows]):+.1f}",
            f"{mean_by_set(some, regret):.2f}", f"{honest:.2f}",
            f"{np.quantile(regret, 0.95):.1f}", f"{regret.max():.1f}",
            f"{mean_by_set(some, [scores[k][method][1] for k in rows]):.3f}", f"{np.mean(seconds):.2f}",
        ]  # fmt: skip
        print(f"| {method} | " + " | ".join(cells) + " |")
    return best


def print_left_out(results, best):
    """Constants settled on all sets but one, judged on that one."""
    menus = {
        "all": MEMBERS,
        "linear": [m for m in MEMBERS if "rbf" not in m],
        "no fusion": [m for m in MEMBERS if "fusion" not in m],
        "no zeros": [m for m in MEMBERS if "zero" not in m],
    }
    choices = [(name, sharpness) for name in menus for sharpness in GRID]
    table = np.array([[r.scores(*r.combine(menus[m], s)) for m, s in choices] for r in results])
    left_out, chosen = np.zeros((len(results), 2)), []
    for name in sorted({r.set for r in results}):
        inside = np.array([r.set == name for r in results])
        rest = [r for r, here in zip(results, inside, strict=True) if not here]
        losses = [mean_by_set(rest, table[~inside, k, 1]) for k in range(len(choices))]
        chosen.append(choices[int(np.argmin(losses))])
        left_out[inside] = table[inside, int(np.argmin(losses))]
    regret = best - left_out[:, 0]
    print(
        f"\nLeft out: mean regret {mean_by_set(results, regret):.2f}, 95 % of tasks within "
        f"{np.quantile(regret, 0.95):.1f}, log-loss {mean_by_set(results, left_out[:, 1]):.3f}; chosen "
        + ", ".join(f"{m} x{s:g}: {chosen.count((m, s))}" for m, s in dict.fromkeys(chosen))
    )


def by_set(results, values, digits=2):
    """The mean over sets and its 95 % interval in words."""
    sets = sorted({result.set for result in results})
    means = [np.mean([v for v, r in zip(values, results, strict=True) if r.set == s]) for s in sets]
    half = student.ppf(0.975, len(means) - 1) * np.std(means, ddof=1) / len(means) ** 0.5
    mean, low, high = (f"{np.mean(means) + x:+.{digits}f}" for x in (0, -half, half))
    return f"{mean} ({low} to {high})"


def print_chosen(results):
    """The best method of a task by half of its folds, and the default, on the other half; both ways."""
    gaps = [result.regret_by_half()["auto"] for result in results]
    print(
        f"The best method by half of the folds is {by_set(results, gaps)} points from auto on the other "
        "half"
    )


def print_calibration(results):
    for words, large in (("160 samples or more", True), ("fewer", False)):
        some = [r for r in results if (len(r.y) >= 160) == large]
        if some:
            ours = mean_by_set(some, [r.calibration_error(r.combine(MEMBERS, SHARPNESS)[0]) for r in some])
            theirs = mean_by_set(some, [r.calibration_error(r.said["mean fill + logistic"]) for r in some])
            print(f"Calibration error, {words}: auto {ours:.3f}, mean fill + logistic {theirs:.3f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", choices=small_tasks.SETS)
    parser.add_argument("--keep", type=Path, default=Path("predict_regret"))
    parser.add_argument("--held-out", action="store_true", help="sets on which nothing was settled")
    parser.add_argument("--quick", action="store_true", help="one small set")
    given = parser.parse_args()
    given.keep.mkdir(parents=True, exist_ok=True)
    results, scores = [], []
    for task in small_tasks.tasks(["wine"] if given.quick else given.sets, given.held_out):
        result = Results(task, given.keep)
        result.compute([*MEMBERS, *OTHERS, *LOGISTIC])
        row = {"auto": result.scores(*result.combine(MEMBERS, SHARPNESS))}
        row |= {
            m: result.scores(p, result.left_out.get(m), m not in LOGISTIC) for m, p in result.said.items()
        }
        results.append(result)
        scores.append(row)
        print(f"{len(results)} {task.name}: auto {row['auto'][0]:.1f}", flush=True)
    best = print_methods(results, scores)
    if len({result.set for result in results}) > 1:
        print_left_out(results, best)
        print_chosen(results)
    print_calibration(results)
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
