"""New samples in a fitted model."""

import numpy as np
import pytest

from absentia import MKMC, KernelViews, MeanFill, ViewKernels, Views, datasets, missingness
from helpers.mkmc_problems import MODELS

# where so many components are too many is a matter of tests of their own


def split_digits(n=240, new=40, absent=0.3):
    views, y = datasets.load_digit_views(n_samples=n, return_X_y=True)
    hidden = views.hide(missingness.mcar(views, absent, random_state=0))
    order = np.random.default_rng(0).permutation(n)
    return views, hidden, y, np.sort(order[new:]), np.sort(order[:new])


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("pca", marks=pytest.mark.slow),
        pytest.param("fa", marks=pytest.mark.slow),
        pytest.param("full", marks=pytest.mark.slow),
    ],
)
def test_new_samples_are_completed_as_well_as_by_fitting_again(model):
    views, hidden, _, train, new = split_digits()
    kernels = ViewKernels().fit(hidden[train])
    options = {"n_components": 15, "tol": 1e-7, "max_iter": 1000}
    mkmc = MKMC(model, **options).fit(kernels.fit_transform(hidden[train]))
    rows = mkmc.transform(kernels.transform(hidden[new]))
    truth = kernels.transform(views[new])
    assert rows.observed.all()
    assert rows.shape == (len(new), len(train))
    # refit with the new samples among the training samples, on the same kernel values
    joint = stacked(kernels, hidden, train, new)
    refit = MKMC(model, **options).fit_transform(joint).to_dense()[:, len(train) :, : len(train)]
    absent = ~hidden[new].observed
    got, wanted = rows.to_dense(), truth.to_dense()
    errors = [relative_error(x, wanted, absent) for x in (got, refit)]
    mean = (
        MeanFill()
        .fit(kernels.fit_transform(hidden[train]))
        .transform(kernels.transform(hidden[new]))
        .to_dense()
    )
    assert errors[0] < errors[1] + 0.02
    assert errors[0] < 0.8 * relative_error(mean, wanted, absent)
    assert relative_error(got, refit, absent) < 0.12


def stacked(kernels, hidden, train, new):
    """KernelViews of training and new samples together, with the widths learned on training."""
    gammas = {name: {"gamma": gamma} for name, gamma in kernels.gamma_.items()}
    fixed = {}
    for name in hidden.names:
        X = hidden[train].block(name)
        fixed[name] = (X.mean(0), np.where(X.std(0) > 0, X.std(0), 1.0))
    both = hidden[np.concatenate([train, new])]
    tables = {name: (both.to_dict()[name] - m) / s for name, (m, s) in fixed.items()}
    return ViewKernels(standardize=False, per_view=gammas).fit_transform(Views.from_dict(tables))


def relative_error(got, wanted, absent):
    """Of the rows in views the samples lacked, where the truth is known."""
    error = size = 0.0
    for a, b, rows in zip(got, wanted, absent.T, strict=True):
        known = np.isfinite(b[rows])
        error += ((a[rows] - b[rows])[known] ** 2).sum()
        size += (b[rows][known] ** 2).sum()
    return np.sqrt(error / size)


@pytest.mark.slow_params("full")
@pytest.mark.parametrize("model", MODELS)
def test_what_a_new_sample_shows_is_kept_and_its_row_extends_a_positive_kernel(model):
    _, hidden, _, train, new = split_digits(120, 20)
    kernels = ViewKernels().fit(hidden[train])
    square = kernels.fit_transform(hidden[train])
    fresh = kernels.transform(hidden[new])
    mkmc = MKMC(model, n_components=8, tol=1e-6)
    completed = mkmc.fit_transform(square)
    rows = mkmc.transform(fresh)
    for v, name in enumerate(square.names):
        seen = np.ix_(fresh.observed[:, v], fresh.column_observed[:, v])
        np.testing.assert_array_equal(rows.block(name)[seen], fresh.block(name))
        np.testing.assert_array_equal(rows.diagonal(name)[fresh.observed[:, v]], fresh.diagonal(name))
        K, k, own = completed.block(name), rows.block(name), rows.diagonal(name)
        explained = np.einsum("ij,ji->i", k, np.linalg.solve(K + 1e-9 * np.eye(len(K)), k.T))
        absent = ~fresh.observed[:, v]
        assert (own[absent] >= explained[absent] - 1e-6).all()


@pytest.mark.slow_params("full")
@pytest.mark.parametrize("model", MODELS)
def test_new_samples_do_not_depend_on_their_company(model):
    _, hidden, _, train, new = split_digits(100, 20)
    kernels = ViewKernels().fit(hidden[train])
    mkmc = MKMC(model, n_components=6, tol=1e-5).fit(kernels.fit_transform(hidden[train]))
    together = mkmc.transform(kernels.transform(hidden[new])).to_dense()
    alone = mkmc.transform(kernels.transform(hidden[new[[7]]])).to_dense()
    np.testing.assert_allclose(alone[:, 0], together[:, 7], atol=1e-6)


def test_a_new_sample_without_any_view_gets_the_prior():
    _, hidden, _, train, new = split_digits(100, 20)
    kernels = ViewKernels().fit(hidden[train])
    empty = hidden[new[:1]].hide(np.zeros((1, 6), bool))
    for model in MODELS:
        mkmc = MKMC(model, n_components=6, tol=1e-5).fit(kernels.fit_transform(hidden[train]))
        rows = mkmc.transform(kernels.transform(empty))
        np.testing.assert_allclose(rows.to_dense(), 0, atol=1e-12)
        np.testing.assert_allclose([rows.diagonal(n)[0] for n in rows.names], 1.0, rtol=1e-6)


def test_factors_of_new_samples_are_completed_like_their_kernels():
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(60, 4))
    keep = missingness.mcar((60, 3), 0.3, random_state=0)
    Phi = [np.hstack([shared, 0.3 * rng.normal(size=(60, 4))]) for _ in range(3)]
    factors = KernelViews.from_factors(
        {f"v{k}": (np.flatnonzero(o), P[o]) for k, (P, o) in enumerate(zip(Phi, keep.T, strict=True))}
    )
    dense = KernelViews.from_dense([P @ P.T for P in Phi], observed=keep, names=["v0", "v1", "v2"])
    a, b = np.arange(45), np.arange(45, 60)
    rows = []
    for kv in (factors, dense):
        mkmc = MKMC("pca", n_components=4, tol=1e-10, max_iter=2000).fit(kv[np.ix_(a, a)])
        rows.append(mkmc.transform(kv[np.ix_(b, a)]).to_dense())
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-3 * np.abs(rows[1]).max())
