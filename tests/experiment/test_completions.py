"""What completed kernels are worth to a machine on their sum."""

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from absentia import CombineKernels, ViewKernels, datasets
from absentia.experiment import accuracy


def test_accuracy_is_that_of_a_machine_on_the_sum_fold_by_fold():
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    kernels = ViewKernels().fit_transform(views)
    total = CombineKernels().fit_transform(kernels)
    right = []
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(total, y):
        machine = SVC(kernel="precomputed").fit(total[np.ix_(train, train)], y[train])
        right.append(machine.score(total[np.ix_(test, train)], y[test]))
    assert accuracy(kernels, y) == np.mean(right)
