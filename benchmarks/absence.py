"""Why views are absent in public sets, beside scikit-learn's logistic regression on the same features.

    python benchmarks/absence.py

A row for each view that some samples lack and each thing that its absence is predicted from: the area under
the ROC curve by ``inspection.absence``, its mean over three seeds, and that of LogisticRegressionCV on
standardised features, absent ones at the mean, in ten folds of three seeds.  Then how well the pattern
alone predicts the label, beside the classes' frequencies by pattern, held out.  The files are found through
ABSENTIA_DATA.  Takes a minute of CPU.
"""

import time
import warnings

import common  # noqa: F401 - before NumPy: one BLAS thread
import numpy as np
import small_tasks
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import StandardScaler

from absentia import Views, inspection

SETS = {
    "3sources": ("topic", small_tasks.three_sources),
    "cll": ("IGHV", small_tasks.cll),
    "tcga": ("subtype", small_tasks.tcga),
}
SEEDS = (0, 1, 2)


def logistic_area(table: np.ndarray, absent: np.ndarray) -> float:
    """The area under the ROC curve of absence predicted in ten folds, by scikit-learn alone."""
    table = StandardScaler().fit_transform(np.where(np.isnan(table), np.nanmean(table, axis=0), table))
    U, s, _ = np.linalg.svd(table, full_matrices=False)  # turned, which a squared penalty does not see
    model = LogisticRegressionCV(Cs=np.logspace(-5, 0, 6), cv=5, scoring="neg_log_loss", max_iter=200)
    areas = []
    for seed in SEEDS:
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        scores = cross_val_predict(model, U * s, absent, cv=folds, method="decision_function")
        areas.append(roc_auc_score(absent, scores))
    return float(np.mean(areas))


def pattern_accuracy(observed: np.ndarray, y: np.ndarray) -> float:
    """Balanced accuracy of the class that is most frequent, by its own measure, among samples alike."""
    pattern = np.unique(observed, axis=0, return_inverse=True)[1].reshape(-1, 1)
    model = CategoricalNB(fit_prior=False, alpha=1.0, min_categories=int(pattern.max()) + 1)
    scores = [
        balanced_accuracy_score(
            y, cross_val_predict(model, pattern, y, cv=StratifiedKFold(10, shuffle=True, random_state=seed))
        )
        for seed in SEEDS
    ]
    return float(np.mean(scores))


def source_table(views: Views, y: np.ndarray, view: str, source: str) -> np.ndarray:
    """The table that the absence of `view` is predicted from; rows of NaN: nothing is known."""
    others = [name for name in views.names if name != view]
    tables = views.to_dict()
    if source in others:
        return tables[source]
    if source == "the other views":
        return np.hstack([tables[name] for name in others])
    if source == "who has the other views":
        observed = views.observed[:, [views.names.index(name) for name in others]].astype(float)
        return np.where(observed.any(axis=1, keepdims=True), observed, np.nan)
    if source.startswith("missing values of "):
        table = tables[source.removeprefix("missing values of ")]
        return np.where(np.isnan(table).all(axis=1, keepdims=True), np.nan, np.isnan(table))
    return np.eye(y.max() + 1)[y]


def main() -> None:
    print("| set | view | absent | from | AUC | 95 % interval | p, Holm | mean | logistic regression |")
    print("|---|---|---|---|---|---|---|---|---|")
    last = []
    for name, (target, load) in SETS.items():
        _, tables, y = next(load())
        views = Views.from_dict(tables)
        known = np.flatnonzero((y >= 0) & views.observed.any(axis=1))
        views, y = views[known], np.unique(y[known], return_inverse=True)[1]
        begin = time.process_time()
        why = inspection.absence(views, y)
        seconds = time.process_time() - begin
        means = np.mean([inspection.absence(views, y, random_state=s).table["AUC"] for s in SEEDS], axis=0)
        for row, mean in zip(why.table.to_dict("records"), means, strict=True):
            if row["why not"]:
                continue
            table = source_table(views, y, row["view"], row["from"])
            rows = ~np.isnan(table).all(axis=1)
            absent = ~views.observed[rows, views.names.index(row["view"])]
            with warnings.catch_warnings(
                action="ignore"
            ):  # of columns that nobody has, of slow convergence
                beside = logistic_area(table[rows][:, ~np.isnan(table).all(axis=0)], absent)
            source = target if row["from"] == "the label" else row["from"]
            cells = [name, row["view"], f"{row['n absent']} of {rows.sum()}", source, f"{row['AUC']:.2f}"]
            cells += [f"{row['low']:.2f} to {row['high']:.2f}", f"{row['p corrected']:.1g}"]
            print("|", " | ".join([*cells, f"{mean:.3f}", f"{beside:.3f}"]), "|", flush=True)
        alone = pattern_accuracy(views.observed, y)
        last.append(f"{name}, {seconds:.1f} s of CPU: {why.pattern.words}; frequencies {100 * alone:.1f} %")
    print("", *last, sep="\n")


if __name__ == "__main__":
    main()
