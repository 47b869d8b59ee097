"""Beside MKLpy, which knows no absent views: the same complete kernels, time of a fit and accuracy.

20 RBF kernels of unit diagonal on breast cancer, halves; C = 1 for all machines, MKLpy's other settings at
their defaults.  MKLpy (and PyTorch, which it needs) is not installed with this package; without it nothing
runs.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import amkl_data
import common
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from absentia import AverageKernelSVC, MKLClassifier


def main() -> None:
    arguments = common.parser(__doc__).parse_args()
    if find_spec("MKLpy") is None:
        print("MKLpy is not installed; there is nothing to compare with")
        return
    import torch
    from MKLpy.algorithms import CKA, GRAM, AverageMKL, EasyMKL

    torch.set_num_threads(1)
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    if arguments.quick:
        X, y = X[:150], y[:150]
    kernels = amkl_data.rbf_kernels(X, np.ones((len(X), 20), dtype=bool))
    K = [torch.tensor(kernels.block(name)) for name in kernels.names]
    ours: dict[str, Any] = {
        "absentia MKLClassifier": MKLClassifier(),
        "absentia average": AverageKernelSVC(),
    }
    theirs: dict[str, Any] = {
        "MKLpy AverageMKL": lambda: AverageMKL(learner=SVC(C=1.0)),
        "MKLpy CKA": lambda: CKA(learner=SVC(C=1.0)),
        "MKLpy EasyMKL": lambda: EasyMKL(learner=SVC(C=1.0)),
        "MKLpy GRAM": lambda: GRAM(learner=SVC(C=1.0)),
    }
    halves = StratifiedShuffleSplit(1 if arguments.quick else 5, test_size=0.5, random_state=0)
    records: dict[str, list[tuple[float, float]]] = {name: [] for name in (*ours, *theirs)}
    for a, b in halves.split(X, y):
        train, test = kernels[np.ix_(a, a)], kernels[np.ix_(b, a)]
        K_train, K_test = [[k[r][:, a] for k in K] for r in (a, b)]
        for name, machine in ours.items():
            machine.fit(train, y[a])  # compile
            seconds, fitted = common.cpu(lambda m=machine, k=train, t=y[a]: m.fit(k, t))
            records[name].append((seconds, float(np.mean(fitted.predict(test) == y[b]))))
        for name, make in theirs.items():
            seconds, fitted = common.cpu(
                lambda m=make, k=K_train, t=y[a]: m().fit(k, torch.tensor(t.astype(np.int64)))
            )
            found = np.asarray(fitted.predict(K_test))
            records[name].append((seconds, float(np.mean(found == y[b]))))
    rows = []
    for name, measured in records.items():
        seconds, accuracy = map(float, np.median(measured, axis=0))
        rows.append({"method": name, "CPU s": seconds, "accuracy": accuracy})
    common.finish("amkl_vs_mklpy", arguments.quick, rows)


if __name__ == "__main__":
    main()
