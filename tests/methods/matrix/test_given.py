"""Column kernels that are given are used as they are."""

import numpy as np
import pytest

from absentia import PMAImputer
from absentia.core import NotPositiveDefiniteError
from absentia.methods.matrix._given import read_column_kernel
from matrices import from_model


def test_a_singular_column_kernel_is_lifted_by_little_and_a_regular_one_not_at_all():
    _, gaps, K1, K2 = from_model(n=14, m=5)
    given = PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)
    np.testing.assert_array_equal(given.model_.N, K2)
    np.testing.assert_allclose(given.model_.C, np.eye(5))
    one = np.ones((5, 5))
    values = np.linalg.eigvalsh(PMAImputer(row_kernel=K1, col_kernel=one).fit(gaps).model_.N)
    assert 0 < values[0] < 1e-9
    twice = PMAImputer(row_kernel=K1, col_kernel=K2, amplitude=2.0).fit(gaps)
    doubled = PMAImputer(row_kernel=2 * K1, col_kernel=K2).fit(gaps)
    np.testing.assert_allclose(twice.completed_, doubled.completed_, rtol=1e-9)


def test_the_units_of_a_column_kernel_do_not_decide_what_is_lifted():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    units = np.array([1e-4, 1e4])
    small = K * np.multiply.outer(units, units)
    np.testing.assert_array_equal(read_column_kernel(small, 2), small)
    one = np.multiply.outer(units, units)  # singular
    np.testing.assert_allclose(read_column_kernel(one, 2), one, rtol=1e-9)
    assert np.linalg.eigvalsh(read_column_kernel(one, 2) / one)[0] > 0.9e-10
    np.testing.assert_allclose(read_column_kernel(np.diag([2.0, 0.0]), 2), np.diag([2.0, 1e-10]))


def test_a_column_kernel_of_zeros_is_refused():
    _, gaps, K1, _ = from_model(n=14, m=5)
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel .* add a nugget"):
        PMAImputer(row_kernel=K1, col_kernel=np.zeros((5, 5))).fit(gaps)
