"""Training samples in an order of their own."""

import numpy as np

from absentia import ViewKernels
from absentia.methods.prediction._arranging import Arrangement
from absentia.testing._tools import digits


def test_samples_come_in_the_same_order_however_they_came():
    views, y = digits()
    turn = np.random.default_rng(0).permutation(len(views))
    weight = np.where(np.arange(len(views)) < 5, 0.0, 1.0)
    kernels = ViewKernels().fit_transform(views)
    for X, other in ((views, views[turn]), (kernels, kernels[np.ix_(turn, turn)])):
        straight = Arrangement.of(X, weight, y)
        again = Arrangement.of(other.select(other.names[::-1]), weight[turn], y[turn])
        assert straight.views == again.views
        np.testing.assert_array_equal(turn[again.samples], straight.samples)
        assert len(straight.train(X)) == len(views) - 5
        np.testing.assert_array_equal(straight.train(X).ids, X.ids[straight.samples])


def test_who_does_not_count_and_what_nobody_has_are_left_out():
    views, y = digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:, 2] = False
    keep[3] = False
    gone = views.hide(keep)
    found = Arrangement.of(gone, np.ones(len(views)), y)
    assert views.names[2] not in found.views
    assert 3 not in found.samples
    rows = found.rows(gone, np.array([7, 1]))
    np.testing.assert_array_equal(rows.ids, gone.ids[[7, 1]])
