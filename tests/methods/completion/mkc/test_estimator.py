"""Multi-view kernel completion: objective and closed forms against slow twins, certificates, recovery."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from absentia import (
    MKC,
    AbsenceWarning,
    CombineKernels,
    KernelViews,
    MeanFill,
    ViewKernels,
    datasets,
    metrics,
    missingness,
)
from conftest import random_kernels, random_problem
from helpers.mkc_problems import OPTIONS, VARIANTS, halves


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_view_weights_lie_on_the_simplex_without_a_diagonal(variant, options):
    mkc = MKC(variant, tol=0, max_iter=10, **options).fit(random_problem())
    assert (mkc.weights_ >= 0).all()
    np.testing.assert_allclose(mkc.weights_.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(mkc.weights_.diagonal(), 0)


def test_the_basis_names_the_samples_whose_columns_are_left():
    kv = random_problem()
    mkc = MKC("app", c3=0.01).fit(kv)
    for v, name in enumerate(kv.names):
        columns = mkc._point[0][mkc._views.index(v)][:, np.argsort(mkc._samples)]
        left = np.abs(columns).sum(axis=0) > 0
        np.testing.assert_array_equal(mkc.basis_[name], kv.ids[left])
        assert 0 < left.sum() < kv.observed[:, v].sum()
    everyone = MKC("sdp", tol=0, max_iter=1).fit(kv).basis_
    np.testing.assert_array_equal(everyone["view1"], kv.ids[kv.observed[:, 1]])


def mixture_problem(seed, n=60):
    """View 'mix' is a mixture of the other three and lacks a quarter of the samples; they lack none."""
    others = random_kernels(n, 3, seed)
    K = np.concatenate([np.tensordot([0.5, 0.3, 0.2], others, 1)[None], others])
    full = KernelViews.from_dense(K, names=["mix", "a", "b", "c"])
    keep = np.ones((n, 4), bool)
    keep[np.random.default_rng(seed).permutation(n)[: n // 4], 0] = False
    return full, full.hide(keep)


# error of the missing rows at most this share of the mean's; ht makes views agree in who resembles whom,
# not in kernels, so to it a mixture of kernels is only near one of them
RECOVERED = {
    "ht": (MKC("ht", c1=100, c2=1000, tol=1e-3), 0.55),
    "app": (MKC("app", c1=1000, c2=10, tol=1e-3), 0.25),
    "sdp": (MKC("sdp", tol=1e-3), 0.25),
}


@pytest.mark.slow_params("ht-0")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_that_is_a_mixture_of_the_others_is_recovered(variant, seed):
    full, kv = mixture_problem(seed)
    mkc, share = RECOVERED[variant]
    error, of_mean = (metrics.are(full, fill.fit_transform(kv), kv.observed) for fill in (mkc, MeanFill()))
    assert error < share * of_mean
    if variant != "ht":
        np.testing.assert_allclose(mkc.weights_[0, 1:], [0.5, 0.3, 0.2], atol=0.1)


@pytest.mark.slow_params("ht")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_view_that_is_another_view_is_recovered(variant):
    full, kv = mixture_problem(0)
    K = full.to_dense()
    K[0] = 2 * K[1]
    full = KernelViews.from_dense(K)
    kv = full.hide(kv.observed)
    mkc, _ = RECOVERED[variant]
    error, of_mean = (metrics.are(full, fill.fit_transform(kv), kv.observed) for fill in (mkc, MeanFill()))
    assert error < 0.3 * of_mean  # 0.26 at the optimum
    # nearly all of it: the other views' kernels share structure, and explain some of what is completed
    assert mkc.weights_[0, 1] > 0.8


@pytest.mark.slow_params("ht", "app")
@pytest.mark.parametrize("variant", VARIANTS)
def test_digits_are_completed_better_than_by_the_mean(data_folder, variant):
    data = datasets.load_benchmark("cvkt_digits200_kernels", data_folder)
    keep = data.extra["masks"][2].astype(bool)
    done = MKC(variant, tol=1e-3).fit_transform(data.kernels.hide(keep))
    mean = MeanFill().fit_transform(data.kernels.hide(keep))
    assert metrics.are(data.kernels, done, keep) < 0.95 * metrics.are(data.kernels, mean, keep)


@pytest.mark.slow_params("app-False")
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", ["ht", "app"])
def test_a_training_sample_that_comes_as_a_new_one_gets_its_own_coefficients(variant, center):
    kv = random_problem(30, 3, seed=2)
    mkc = MKC(variant, center=center, tol=1e-6, max_iter=4000).fit(kv)
    y, _ = mkc._model.locate_new(mkc._point, mkc._S, mkc._new_rows(kv))
    for own, again in zip(mkc._model.coordinates(mkc._point), y, strict=True):
        # the new row leaves out one entry of thirty, its kernel value with itself
        assert np.linalg.norm(own - again[mkc._samples]) < 0.05 * np.linalg.norm(own)


@pytest.mark.parametrize("variant", VARIANTS)
def test_new_samples_are_completed_much_as_if_they_had_been_there(variant):
    full = KernelViews.from_dense(random_kernels(60, 4))
    kv = full.hide(random_problem(60, 4).observed)
    train, new = halves(kv)
    mkc = MKC(variant, tol=1e-3)
    refitted = mkc.fit_transform(kv).to_dense()[:, 45:, :45]
    folded = mkc.fit(train).transform(new).to_dense()
    mean = MeanFill().fit(train).transform(new).to_dense()
    truth = full.to_dense()[:, 45:, :45]
    lacking = ~kv.observed[45:].T
    miss, gap, plain = (
        np.linalg.norm((a - b)[lacking]) for a, b in ((folded, truth), (folded, refitted), (mean, truth))
    )
    assert gap < 0.4 * plain
    assert miss < 0.95 * plain


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_kernel_with_a_new_sample_added_is_positive_semidefinite_and_keeps_what_was_observed(variant):
    train, new = halves(random_problem(60, 4, absent=0.4))
    mkc = MKC(variant, tol=1e-3)
    old, rows = mkc.fit_transform(train), mkc.transform(new)
    for v, name in enumerate(train.names):
        have = new.observed[:, v]
        np.testing.assert_array_equal(rows.block(name)[np.ix_(have, train.observed[:, v])], new.block(name))
        np.testing.assert_array_equal(rows.diagonal(name)[have], new.diagonal(name))
        for row, own in zip(rows.block(name), rows.diagonal(name), strict=True):
            K = np.block([[old.block(name), row[:, None]], [row[None], own]])
            assert np.linalg.eigvalsh(K).min() > -1e-9


@pytest.mark.slow_params("sdp")
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_new_sample_does_not_depend_on_its_companions(variant):
    train, new = halves(random_problem(60, 4, absent=0.4))
    mkc = MKC(variant, tol=1e-3).fit(train)
    together = mkc.transform(new)
    alone = [mkc.transform(new[[i]]) for i in range(len(new))]
    np.testing.assert_allclose(
        together.to_dense(), np.concatenate([a.to_dense() for a in alone], axis=1), atol=1e-8
    )


@pytest.mark.parametrize("variant", ["app", "sdp"])
def test_new_samples_are_refused_where_kernels_are_compared_on_observed_samples_only(variant):
    train, new = halves(random_problem(60, 4))
    mkc = MKC(variant, between="observed", tol=0, max_iter=2).fit(train)
    with pytest.raises(NotImplementedError, match=r"use between='all', variant='ht', or fit_transform"):
        mkc.transform(new)


def test_in_the_middle_of_a_pipeline(digits):
    pipeline = make_pipeline(
        ViewKernels(), MKC("sdp", tol=1e-3), CombineKernels(), SVC(kernel="precomputed")
    )
    assert cross_val_score(pipeline, *digits, cv=3, error_score="raise").mean() > 0.8


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_sample_without_any_view_becomes_the_mean(variant, center):
    observed = random_problem().observed.copy()
    observed[7] = False
    with pytest.warns(AbsenceWarning, match=r"1 sample\(s\) have no view at all"):
        kv = KernelViews.from_dense(random_kernels(), observed=observed)
    mkc = MKC(variant, center=center, tol=0, max_iter=5)
    with pytest.warns(AbsenceWarning, match=r"no view at all, e.g. 7"):
        done = mkc.fit_transform(kv)
    mean = MeanFill().fit_transform(kv)
    for v, name in enumerate(kv.names):
        cells = np.append(np.flatnonzero(observed[:, v]), 7)
        np.testing.assert_allclose(done.block(name)[7, cells], mean.block(name)[7, cells], atol=1e-9)
    with pytest.warns(AbsenceWarning, match=r"sample 7 in view 'view0': the sample is linked by no chain"):
        row = mkc.transform(kv[[7]])
    np.testing.assert_allclose(row.to_dense()[:, 0], done.to_dense()[:, 7], atol=1e-9)
    np.testing.assert_allclose(row.diagonal("view0"), done.block("view0")[7, 7], atol=1e-9)


def test_samples_that_no_view_links_are_completed_by_the_mean():
    observed = np.zeros((20, 4), bool)
    observed[:10, :2], observed[10:, 2:] = True, True
    observed[0, 1] = observed[10, 2] = False
    kv = KernelViews.from_dense(random_kernels(20, 4), observed=observed)
    mkc = MKC("sdp", tol=0, max_iter=5)
    with pytest.warns(AbsenceWarning, match="absent cell.* linked by no chain of views"):
        done = mkc.fit_transform(kv)
    mean = MeanFill().fit_transform(kv)
    np.testing.assert_allclose(done.block("view0")[10:], mean.block("view0")[10:], atol=1e-9)
    assert np.abs(done.block("view1")[0] - mean.block("view1")[0]).max() > 0.01
    with pytest.warns(AbsenceWarning, match="absent cell.* linked by no chain of views"):
        new = mkc.transform(kv[np.ix_(np.arange(12, 15), np.arange(20))])
    np.testing.assert_allclose(new.block("view0"), mean.block("view0")[12:15], atol=1e-9)


def test_a_view_nobody_has_becomes_zero_and_gets_no_weight():
    observed = random_problem().observed.copy()
    observed[:, 2] = False
    observed[:, 0] = True
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        kv = KernelViews.from_dense(random_kernels(), observed=observed)
    mkc = MKC("ht", tol=0, max_iter=3)
    with pytest.warns(AbsenceWarning, match="observed for no sample"):
        done = mkc.fit_transform(kv)
    assert (done.block("view2") == 0).all()
    assert (mkc.weights_[2] == 0).all()
    assert (mkc.weights_[:, 2] == 0).all()
    assert (mkc.transform(kv[[0, 1]]).block("view2") == 0).all()


def test_a_constant_kernel_is_filled_with_its_constant():
    K = random_kernels(20, 3)
    K[1] = 4.0
    kv = KernelViews.from_dense(K, observed=random_problem(20, 3).observed)
    for variant in VARIANTS:
        mkc = MKC(variant, tol=0, max_iter=3)
        np.testing.assert_allclose(mkc.fit_transform(kv).block("view1"), 4.0)
        new = mkc.transform(kv[[0, 1, 2]])
        np.testing.assert_allclose(new.block("view1"), 4.0)
        np.testing.assert_allclose(new.diagonal("view1"), 4.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_large_constant_added_to_a_kernel_changes_nothing_but_the_constant(variant):
    kv = random_problem(20, 3)
    K = kv.to_dense()
    K[1] += 100.0
    one, other = (MKC(variant, tol=0, max_iter=5).fit_transform(x) for x in (kv, KernelViews.from_dense(K)))
    np.testing.assert_allclose(other.block("view1") - 100.0, one.block("view1"), atol=1e-6)
    np.testing.assert_allclose(other.block("view0"), one.block("view0"), atol=1e-6)


def test_wrong_parameters_and_kernels_are_named():
    kv = random_problem(20, 3)
    for parameters, message in (
        ({"variant": "embd"}, "'ht', 'app' or 'sdp', not 'embd'"),
        ({"between": "some"}, "'all' or 'observed'"),
        ({"c1": 0}, "c1 must be a number above 0, not 0"),
        ({"c3": -1.0}, "c3 must be a number of 0 or more, not -1"),
        ({"max_iter": 0}, "max_iter must be a whole number of 1 or more, not 0"),
        ({"c2": np.nan}, "c2 must be a number above 0, not nan"),
    ):
        with pytest.raises(ValueError, match=message):
            MKC(**parameters).fit(kv)
    with pytest.raises(ValueError, match=r"only view 'view0' is observed.*two are wanted"):
        MKC().fit(kv.select(["view0"])[np.ix_(*[np.flatnonzero(kv.observed[:, 0])] * 2)])
    K = random_kernels(20, 3)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        MKC().fit(KernelViews.from_dense(K - 0.5 * np.eye(20)))
    K[1] = 0
    with pytest.raises(ValueError, match="'view1': the kernel is zero"):
        MKC().fit(KernelViews.from_dense(K))


def test_app_does_not_depend_on_the_order_in_which_samples_and_views_came():
    """It is not convex, and rounding grows over its steps: on these digits it once ended .02 apart."""
    views, _ = datasets.load_digit_views(n_samples=90, return_X_y=True)
    kv = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    done = MKC("app").fit_transform(kv).to_dense()
    order, backwards = np.random.default_rng(1).permutation(90), kv.names[::-1]
    other = MKC("app").fit_transform(kv[np.ix_(order, order)].select(backwards)).to_dense()
    np.testing.assert_allclose(other, done[::-1, order][:, :, order], atol=1e-6 * np.abs(done).max())
