"""sdp: kernels that are free."""

import numpy as np
import pytest

from absentia import MKC, KernelViews
from absentia.data._presence import Presence
from conftest import random_problem
from mkc_problems import OPTIONS, VARIANTS, halves


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_singular_kernels_stay_positive_semidefinite_and_keep_their_block(variant, options, rng):
    X = rng.standard_normal((3, 30, 4))
    K = X @ X.transpose(0, 2, 1)
    kv = KernelViews.from_dense(K, observed=random_problem(30, 3).observed)
    done = MKC(variant, tol=0, max_iter=10, **options).fit_transform(kv)
    for v, name in enumerate(kv.names):
        assert np.linalg.eigvalsh(done.block(name)).min() > -1e-10 * np.linalg.eigvalsh(K[v]).max()
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(done.block(name)[seen], K[v][seen])


def test_rows_whose_own_values_are_unknown_are_completed_as_if_those_were_average():
    train, new = halves(random_problem(60, 4))
    mkc = MKC("sdp", tol=1e-3).fit(train)
    known = {name: new.block(name) for name in new.names}
    nothing = {name: np.full(len(block), np.nan) for name, block in known.items()}
    columns = Presence(new.column_ids, new.names, new.column_observed)
    rows = mkc.transform(KernelViews.between(new, columns, known, nothing))
    assert np.isfinite(rows.to_dense()).all()
    np.testing.assert_array_equal(np.isnan(rows.diagonal("view0")), new.observed[:, 0])
    # these kernels have a unit diagonal, so own values differ from the average only by centring
    np.testing.assert_allclose(rows.to_dense(), mkc.transform(new).to_dense(), atol=0.2)
