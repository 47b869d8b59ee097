"""How far each method is from the best one, over data sets: regret in points of balanced accuracy.

    python benchmarks/predict_regret.py [--folds 5] [--sets tcga cll 3sources ...] [--keep FILE]

Every method of the list is fitted as ``absentia fit`` does (kernels, C and all else learned in the fold's
training part) on the same stratified folds.  Regret of a method on a data set: the best mean balanced
accuracy of any single method there, chosen in hindsight, less its own; "auto" is no single method.  Sets
"tcga", "cll" and "3sources" lack views by nature; the others are complete tables cut into views, of which
40 % are hidden at random.  The files are found through ABSENTIA_DATA.  Results are kept after every
fold, and what is there already is not computed again.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np

from absentia import Views, missingness
from absentia.data import make_folds
from absentia.experiment.comparison import predict_samples
from absentia.tasks import CLASSIFICATION

METHODS = [
    "auto", "average", "cvkt-svm", "cvkt-linear", "cvkt-mkl", "mean-svm", "mkl", "amkl-convex", "fusion",
    "linear", "linear-svm", "forest", "boosting",
]  # fmt: skip
NATURAL = {"tcga": "tcga_breast_mixomics", "cll": "cll_mofaCLL", "3sources": "3sources_full416"}
CUT = ("heart", "ionosphere", "sonar", "pima", "wdbc", "emotions")
MOST = 300  # samples of the tables that are cut


def load(name):
    return np.load(Path(os.environ["ABSENTIA_DATA"]) / f"{name}.npz", allow_pickle=False)


def views_of(data):
    names = [key for key in data if key.startswith("view_") and key != "view_names"]
    return Views.from_dict({key[5:]: data[key] for key in names})


def natural(name):
    data = load(
        {"tcga": "tcga_breast_mixomics", "cll": "cll_mofaCLL", "3sources": "3sources_full416"}[name]
    )
    views, y = views_of(data), data["y_IGHV"] if name == "cll" else data["y"]
    rows = np.flatnonzero((y >= 0) & views.observed.any(axis=1)) if name == "cll" else np.arange(len(y))
    return views[rows], np.asarray(y)[rows]


def cut(name):
    """A table in four views (three of few columns), each of which two in five samples lack."""
    data = load("ml_emotions" if name == "emotions" else f"uci_{name}")
    X = data["X"] if "X" in data else np.hstack([data[key] for key in data if key.startswith("view_")])
    y = data["Y"][:, 0] if name == "emotions" else data["y"]
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(X))[:MOST]
    parts = np.array_split(rng.permutation(X.shape[1]), 4 if X.shape[1] > 10 else 3)
    views = Views.from_dict({f"part{i}": X[np.ix_(rows, part)] for i, part in enumerate(parts)})
    return views.hide(missingness.mcar(views, 0.4, random_state=0)), np.asarray(y)[rows].astype(int)


def balanced(truth, said):
    return float(np.mean([(said[truth == k] == k).mean() for k in np.unique(truth)]))


def one(method, views, y, train, test):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = CLASSIFICATION.plan(method, views[train])
        model = CLASSIFICATION.learn(views[train], y[train], plan)
        said = predict_samples(CLASSIFICATION, model, views[test]).values
    return {"accuracy": float((said == y[test]).mean()), "balanced": balanced(y[test], said),
            "seconds": time.process_time() - start}  # fmt: skip


def table(results, sets, methods):
    means = {
        (s, m): np.mean([r["balanced"] for k, r in results.items() if k.split("|")[:2] == [s, m]])
        for s in sets
        for m in methods
    }
    best = {s: max(means[s, m] for m in methods if m != "auto") for s in sets}
    print("| | " + " | ".join(sets) + " | mean regret | worst | CPU s a fit |")
    print("|---" * (len(sets) + 4) + "|")
    for m in methods:
        regret = [100 * (best[s] - means[s, m]) for s in sets]
        seconds = np.mean([r["seconds"] for k, r in results.items() if k.split("|")[1] == m])
        cells = [f"{100 * means[s, m]:.1f}" for s in sets]
        numbers = [f"{np.mean(regret):.2f}", f"{max(regret):.2f}", f"{seconds:.1f}"]
        print(f"| {m} | " + " | ".join([*cells, *numbers]) + " |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=[*NATURAL, *CUT])
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--keep", type=Path, default=Path("predict_regret.json"))
    given = parser.parse_args()
    results = json.loads(given.keep.read_text()) if given.keep.exists() else {}
    for name in given.sets:
        views, y = natural(name) if name in NATURAL else cut(name)
        for number, (train, test) in enumerate(
            make_folds(np.arange(len(y)), y, given.folds, random_state=0)
        ):
            for method in given.methods:
                key = f"{name}|{method}|{number}"
                if key not in results:
                    results[key] = one(method, views, y, train, test)
                    given.keep.write_text(json.dumps(results))
            print(f"{name}: fold {number + 1} of {given.folds}", flush=True)
    print(f"source {common.SOURCE}")
    table(results, given.sets, given.methods)


if __name__ == "__main__":
    main()
