"""The first stage: kernels of views, completed."""

import numpy as np
import pytest

from absentia import CVKT, KernelViews, ViewKernels
from absentia.data import Presence
from absentia.methods.prediction._prepared import Prepared, as_completer
from absentia.testing._tools import digits


def test_views_become_complete_kernels_and_new_samples_rows_of_them():
    views, _ = digits()
    train, new = views[:40], views[40:]
    prepared = Prepared("rbf", "cvkt")
    K = prepared.fit(train)
    assert K.observed.all()
    assert K.shape == (40, 40)
    rows = prepared.rows(new)
    assert rows.observed.all()
    assert rows.shape == (20, 40)
    makes, completes = ViewKernels("rbf"), as_completer("cvkt")
    wanted = completes.fit_transform(makes.fit_transform(train))
    np.testing.assert_array_equal(K.to_dense(), wanted.to_dense())
    np.testing.assert_array_equal(rows.to_dense(), completes.transform(makes.transform(new)).to_dense())


def test_without_a_completer_absent_stays_absent_and_kernels_get_one_scale():
    views, _ = digits()
    kernels = ViewKernels().fit_transform(views)
    large = KernelViews.from_dense(7 * kernels.to_dense(), names=kernels.names)
    K = Prepared(completer=None).fit(large)
    np.testing.assert_array_equal(K.observed, kernels.observed)
    np.testing.assert_allclose([K.mean_diagonal(name) for name in K.names], 1.0)


def test_completers_come_by_name_or_as_they_are():
    assert as_completer(None) is None
    given = CVKT(rounds=2)
    assert as_completer(given) is not given
    assert as_completer(given).rounds == 2
    with pytest.raises(ValueError, match="method 'cvtk'"):
        as_completer("cvtk")
    with pytest.raises(ValueError, match="a name, a completer or None"):
        as_completer(3)


def test_own_values_that_a_file_has_not_are_the_training_mean():
    views, _ = digits()
    makes = ViewKernels()
    kernels, rows = makes.fit_transform(views[:40]), makes.transform(views[40:])
    prepared = Prepared(completer="cvkt")
    prepared.fit(kernels)
    columns = Presence(rows.column_ids, rows.names, rows.column_observed)
    blocks = {name: rows.block(name) for name in rows.names}
    unknown = {name: np.full(len(blocks[name]), np.nan) for name in rows.names}
    with pytest.warns(UserWarning, match="values with themselves"):
        found = prepared.rows(KernelViews.between(rows, columns, blocks, unknown))
    wanted = prepared.rows(rows)  # of an rbf kernel all are one
    for name in rows.names:
        np.testing.assert_allclose(found.diagonal(name), wanted.diagonal(name))
        np.testing.assert_allclose(found.block(name), wanted.block(name))
