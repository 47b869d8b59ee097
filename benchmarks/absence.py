"""Why views are absent in public sets, beside scikit-learn's logistic regression on the same features.

    python benchmarks/absence.py

One row for each view that some samples lack and each thing that its absence is predicted from: the area
under the ROC curve by ``inspection.absence``, and by LogisticRegressionCV on standardised features, absent
ones at the mean, in ten folds.  The files are found through ABSENTIA_DATA.
"""

import time
import warnings

import common  # noqa: F401 - before NumPy: one BLAS thread
import numpy as np
import small_tasks
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from absentia import Views, inspection

SETS = {
    "3sources": ("topic", small_tasks.three_sources),
    "cll": ("IGHV", small_tasks.cll),
    "tcga": ("subtype", small_tasks.tcga),
}


def logistic_area(table: np.ndarray, absent: np.ndarray) -> float:
    """The area under the ROC curve of absence predicted in ten folds, by scikit-learn alone."""
    table = np.where(np.isnan(table), np.nanmean(table, axis=0), table)
    table = table[:, table.std(axis=0) > 0]
    model = LogisticRegressionCV(Cs=np.logspace(-5, 1, 7), cv=5, scoring="neg_log_loss", max_iter=300)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    scores = cross_val_predict(
        make_pipeline(StandardScaler(), model), table, absent, cv=folds, method="decision_function"
    )
    return float(roc_auc_score(absent, scores))


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
    return np.eye(y.max() + 1)[y]


def main() -> None:
    print("| set | view | from | n absent | AUC | 95 % interval | p, Holm | logistic regression |")
    print("|---|---|---|---|---|---|---|---|")
    found, seconds = {}, {}
    for name, (target, load) in SETS.items():
        _, tables, y = next(load())
        views = Views.from_dict(tables)
        known = np.flatnonzero((y >= 0) & views.observed.any(axis=1))
        views, y = views[known], np.unique(y[known], return_inverse=True)[1]
        begin = time.process_time()
        found[name] = why = inspection.absence(views, y)
        seconds[name] = time.process_time() - begin
        for row in why.table.to_dict("records"):
            if row["AUC"] != row["AUC"]:
                continue
            table = source_table(views, y, row["view"], row["from"])
            rows = ~np.isnan(table).all(axis=1)
            absent = ~views.observed[rows, views.names.index(row["view"])]
            with warnings.catch_warnings(action="ignore"):  # of columns nobody has, of slow convergence
                beside = logistic_area(table[rows], absent)
            source = target if row["from"] == "the label" else row["from"]
            print(
                f"| {name} | {row['view']} | {source} | {row['n absent']} of {rows.sum()} | {row['AUC']:.3f} | "
                f"{row['low']:.2f} to {row['high']:.2f} | {row['p corrected']:.2g} | {beside:.3f} |",
                flush=True,
            )
    for name, why in found.items():
        print(f"\n{name}, {seconds[name]:.1f} s of CPU: {why.pattern}, {why.notes}")


if __name__ == "__main__":
    main()
