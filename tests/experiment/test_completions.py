"""Every completer on the same hidden cells, scored against the truth."""

import numpy as np

from absentia import CVKT, ViewKernels, datasets, metrics, missingness
from absentia.experiment import complete_all
from absentia.experiment._completions import accuracy


def test_records_are_what_the_methods_give_by_hand():
    views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    truth = ViewKernels().fit_transform(views)
    keep = missingness.mcar(views, 0.3, random_state=0)
    announced = []
    found = complete_all(
        ["cvkt", "em", "zero"], truth, keep, y, tol=1e-3, max_iter=50, announce=announced.append
    )
    assert announced == ["cvkt", "em", "zero"]
    assert [record["method"] for record in found.records] == announced
    done = CVKT().fit_transform(truth.hide(keep))
    np.testing.assert_array_equal(found.completed["cvkt"].to_dense(), done.to_dense())
    cvkt, em, zero = found.records
    assert cvkt["ARE"] == metrics.are(truth, done, keep)
    assert cvkt["accuracy"] == accuracy(done, y)
    assert zero["ARE"] == 1.0
    assert "iterations" not in cvkt
    assert em["iterations"] == len(found.traces["em"])
    assert found.reference == accuracy(truth, y)
