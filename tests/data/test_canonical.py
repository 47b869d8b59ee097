"""An order that the content decides."""

import numpy as np
import pytest

from absentia.data._canonical import canonical
from matrix_market import near


@pytest.mark.parametrize("kind", ["real", "labels", "diagonal", "equal"])
def test_the_order_is_that_of_the_content(kind, rng):
    X = {
        "real": rng.standard_normal((12, 5)),
        "labels": np.where(rng.random((40, 5)) < 0.2, np.nan, rng.random((40, 5)) < 0.5),
        "diagonal": np.eye(4),
        "equal": np.ones((3, 4)),
    }[kind]
    rows, columns = canonical(X.shape, [(X, (0, 1))])
    for seed in range(5):
        p, q = (np.random.default_rng(seed).permutation(n) for n in X.shape)
        Z = X[np.ix_(p, q)]
        again = canonical(X.shape, [(Z, (0, 1))])
        np.testing.assert_array_equal(Z[np.ix_(*again)], X[np.ix_(rows, columns)])
    assert sorted(rows) == list(range(len(X)))


def test_kernels_decide_the_order_where_tables_do_not(rng):
    X, K = np.ones((8, 2)), near(rng.standard_normal((8, 2)))
    rows, _ = canonical(X.shape, [(X, (0, 1)), (K, (0, 0))])
    p = rng.permutation(8)
    again, _ = canonical(X.shape, [(X, (0, 1)), (K[np.ix_(p, p)], (0, 0))])
    np.testing.assert_array_equal(K[np.ix_(rows, rows)], K[np.ix_(p, p)][np.ix_(again, again)])
