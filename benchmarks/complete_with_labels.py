"""Does it help to complete kernels with the labels as one more view?  For docs/fillers.md.

The kernel of labels (1 where two samples are of one class) is a view that training samples have and test
samples lack.  It takes part in the completion, and is left out afterwards.  Each split hides 40 % of the
views of 150 samples, completes the others' kernels with and without it, learns on 80 % of the samples
(support vectors on the average kernel) and predicts the rest; labels of these are in no view.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, train_test_split

from absentia import CVKT, MKMC, AverageKernelSVC, KernelViews, ViewKernels, missingness
from absentia.datasets import load_benchmark
from absentia.metrics import are

SETS = ("mfeat", "bbcsport_2view544", "uwave_train")
SAMPLES, FOLDS, SHARES = 150, 5, (0.4,)
COMPLETERS = {"CVKT": CVKT(), "MKMC, pca": MKMC("pca")}


def add_labels(kernels: KernelViews, y: np.ndarray, train: np.ndarray) -> KernelViews:
    """The kernels and that of the labels, which training samples have."""
    has = np.isin(np.arange(len(y)), train)
    dense = dict(zip(kernels.names, kernels.to_dense(), strict=True))
    dense["labels"] = np.where(np.outer(has, has), np.equal.outer(y, y), np.nan)
    return KernelViews.from_dense(dense, np.column_stack([kernels.observed, has]), kernels.ids)


def accuracy(kernels: KernelViews, y: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    model = AverageKernelSVC().fit(kernels[np.ix_(train, train)], y[train])
    return float(np.mean(model.predict(kernels[np.ix_(test, train)]) == y[test]))


def measure(name: str) -> pd.DataFrame:
    """Both ways on the splits of one data set."""
    data, lines = load_benchmark(name), []
    y = np.unique(np.asarray(data.target), return_inverse=True)[1]
    rows = train_test_split(np.arange(len(y)), train_size=SAMPLES, stratify=y, random_state=0)[0]
    y, whole = y[rows], ViewKernels().fit_transform(data.views[rows])
    for share in SHARES:
        splits = StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(rows, y)
        for fold, (train, test) in enumerate(splits):
            shown = missingness.mcar(whole.observed, share, random_state=fold)
            kernels = whole.hide(shown)
            given = {"without": kernels, "with": add_labels(kernels, y, train)}
            for title, completer in COMPLETERS.items():
                line = {"data": name, "hidden": share, "completer": title, "fold": fold}
                for word, incomplete in given.items():
                    done = completer.fit_transform(incomplete).select(whole.names)
                    line[f"accuracy {word}"] = accuracy(done, y, train, test)
                    line[f"ARE {word}"] = float(are(whole.to_dense(), done.to_dense(), shown))
                lines.append(line)
    return pd.DataFrame(lines)


def main() -> None:
    for name in SETS:
        table = measure(name)
        table["gain"] = table["accuracy with"] - table["accuracy without"]
        grouped = table.drop(columns="fold").groupby(["data", "hidden", "completer"], sort=False)
        means = grouped.mean()
        means["standard error"] = grouped["gain"].sem()
        print(means.round(3).to_string(), flush=True)


if __name__ == "__main__":
    main()
