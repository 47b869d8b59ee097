"""What a fit of the default costs, beside scikit-learn's logistic regression with C by cross-validation.

    python benchmarks/predict_cost.py [--quick]          # one or two CPU minutes

Made-up views with 30 % of the cells hidden.  CPU seconds of one fit on one BLAS thread, the two one after
the other in turn, the least of the repeats; the ratio is what travels to other machines.
"""

import argparse
import time
import warnings

import common  # before NumPy: one BLAS thread
import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import AutoClassifier, Views, missingness
from absentia.data import concatenate_features

SIZES = ((300, 3, 50, 2), (1000, 4, 50, 5), (300, 3, 20_000, 2), (30_000, 3, 50, 2))


def make_views(n, n_views, n_features, n_classes, seed=0):
    """Views that share ten factors, of which a few tell the class."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((n, 10))
    y = (factors[:, :n_classes] + 0.5 * rng.standard_normal((n, n_classes))).argmax(axis=1)
    tables = {
        f"view {v}": factors @ rng.standard_normal((10, n_features))
        + 3 * rng.standard_normal((n, n_features))
        for v in range(n_views)
    }
    views = Views.from_dict(tables)
    return views.hide(missingness.mcar(views, 0.3, random_state=seed)), y


def fit_logistic(views, y):
    model = LogisticRegressionCV(Cs=10, cv=5, max_iter=1000)
    make_pipeline(SimpleImputer(), StandardScaler(), model).fit(concatenate_features(views), y)


def cpu_seconds(function, *arguments):
    start = time.process_time()
    with warnings.catch_warnings(action="ignore"):
        function(*arguments)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the smallest, once")
    given = parser.parse_args()
    print("| samples x views x features, classes | auto, CPU s | LogisticRegressionCV, CPU s | ratio |")
    print("|---|---|---|---|")
    for size in SIZES[: 1 if given.quick else None]:
        views, y = make_views(*size)
        repeats = 1 if given.quick or size[0] * size[2] > 10**6 else 3
        pairs = [
            (cpu_seconds(AutoClassifier().fit, views, y), cpu_seconds(fit_logistic, views, y))
            for _ in range(repeats)
        ]
        ours, theirs = np.min(pairs, axis=0)
        name = f"{size[0]} x {size[1]} x {size[2]}, {size[3]}"
        print(f"| {name} | {ours:.2f} | {theirs:.2f} | {ours / theirs:.2f} |", flush=True)
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
