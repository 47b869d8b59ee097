"""Views as one table."""

import numpy as np
import scipy.sparse

from absentia import Views
from absentia.data import column_scales, joined


def test_features_stand_side_by_side_and_what_is_absent_is_nan():
    a = np.array([[1.0, 2.0], [np.nan, np.nan], [5.0, np.nan]])
    b = scipy.sparse.csr_array(np.array([[0.0, 7.0], [8.0, 0.0], [0.0, 0.0]]))
    views = Views.from_dict({"a": a, "b": b})
    keep = np.ones(views.observed.shape, bool)
    keep[2, 1] = False
    wanted = [[1, 2, 0, 7], [np.nan, np.nan, 8, 0], [5, np.nan, np.nan, np.nan]]
    np.testing.assert_array_equal(joined(views.hide(keep)), wanted)


def test_scales_are_those_of_the_rows_that_have_the_column_and_a_constant_has_none():
    table = np.array([[1.0, 0.1, np.nan], [3.0, 0.1, np.nan], [np.nan, 0.1, np.nan]])
    mean, scale = column_scales(table)
    np.testing.assert_allclose(mean, [2, 0.1, 0])
    np.testing.assert_array_equal(scale, [1, 1, 1])
    np.testing.assert_allclose(column_scales(4 * table)[1][0], 4)
