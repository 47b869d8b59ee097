"""Which form and how many components a model gets: counting rules, hiding, the warning of too many."""

import numpy as np
import pytest

from absentia import MKMC, AbsenceWarning, KernelViews, MeanFill, datasets, metrics, missingness
from absentia.core import evaluate_path
from absentia.methods.completion import Holdout
from conftest import random_kernels, random_problem

# where so many components are too many is a matter of tests of their own


def test_heldout_finds_the_rank_of_data_that_have_one():
    rng = np.random.default_rng(0)
    n, q = 120, 5
    W = rng.normal(size=(n, q))
    K = []
    for _ in range(5):
        X = np.hstack([W @ rng.normal(size=(q, 60)), 0.3 * rng.normal(size=(n, 60))])
        K.append(X @ X.T / 60)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((n, 5), 0.2, random_state=0))
    mkmc = MKMC("pca", n_components="heldout").fit(kv)
    assert 4 <= mkmc.n_components_ <= 8
    assert mkmc.heldout_curve_[mkmc.n_components_] == min(mkmc.heldout_curve_.values())
    assert list(mkmc.heldout_curve_) == sorted(mkmc.heldout_curve_)


def counted(S, rule):
    """How many components a rule finds in two views with the same kernel, taken as it is."""
    mkmc = MKMC(n_components=rule, rescale=False, max_iter=1, tol=0)
    return mkmc.fit(KernelViews.from_dense(np.stack([S, S]))).n_components_


def test_counting_rules_by_hand():
    S = np.diag([4.0, 2.0, 0.9, 0.05, 0.05])
    assert counted(S, "gk") == counted(S / 2, "gk") == 2  # mean 1.4
    assert counted(S, "kaiser") == 2
    assert counted(2 * S, "kaiser") == 3
    assert counted(np.eye(3), "gk") == 1  # at least one


def test_components_are_counted_on_the_zero_filled_mean_whatever_the_scale():
    K = random_kernels(80, 5, seed=3)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((80, 5), 0.4, random_state=0))
    q = MKMC("pca", n_components="gk", max_iter=1, tol=0).fit(kv).n_components_
    values = np.linalg.eigvalsh(np.nan_to_num(kv.to_dense()).mean(0))
    assert q == (values > values.mean()).sum()
    rescaled = KernelViews.from_dense(100 * kv.to_dense(), observed=kv.observed)
    assert MKMC("pca", n_components="gk", max_iter=1, tol=0).fit(rescaled).n_components_ == q
    kaiser = MKMC("pca", n_components="kaiser", max_iter=1, tol=0)
    assert kaiser.fit(kv).n_components_ == kaiser.fit(rescaled).n_components_ == (values > 1).sum()


def test_without_rescaling_kaiser_depends_on_the_scale_and_views_keep_theirs():
    kv = random_problem(60, 4, 0.3)
    small = KernelViews.from_dense(0.2 * kv.to_dense(), observed=kv.observed)
    options = {"n_components": "kaiser", "rescale": False, "max_iter": 1, "tol": 0}
    found = [MKMC("pca", **options).fit(x) for x in (kv, small)]
    values = np.linalg.eigvalsh(np.nan_to_num(kv.to_dense()).mean(0))
    assert [x.n_components_ for x in found] == [(values > 1).sum(), (values > 5).sum()]
    np.testing.assert_array_equal(found[1].view_scales_, 1.0)


def test_eigenvalues_that_are_all_alike_are_not_counted_by_rounding():
    noise = 1e-14 * np.random.default_rng(0).standard_normal((30, 30))
    for sign in (1, -1):
        S = np.eye(30) + sign * (noise + noise.T)
        assert counted(S, "gk") == counted(S, "kaiser") == 1


def test_heldout_without_a_view_to_spare_says_so():
    keep = np.zeros((24, 3), bool)
    keep[:8, 0] = keep[8:16, 1] = keep[16:, 2] = True
    kv = KernelViews.from_dense(random_kernels(24, 3), observed=keep)
    with pytest.warns(AbsenceWarning) as caught:
        mkmc = MKMC(n_components="heldout").fit(kv)
    assert any("nothing can be hidden to choose by" in str(w.message) for w in caught)
    assert mkmc.heldout_curve_ == {}


def test_kaiser_is_offered_and_full_has_no_components():
    kv = random_problem()
    assert MKMC("fa", n_components="kaiser", max_iter=1, tol=0).fit(kv).n_components_ >= 1
    assert MKMC("full", max_iter=1, tol=0).fit(kv).n_components_ is None


def test_what_only_one_view_has_is_not_counted():
    data = datasets.make_multiview(
        80, 4, n_shared=1, n_private=8, private_scale=2.0, noise=0.5, random_state=0
    )
    keep = missingness.mcar(data.kernels, 0.4, random_state=0)
    kv = data.kernels.hide(keep)
    mkmc = MKMC().fit(kv)
    by_rule = MKMC(n_components="gk", max_iter=1, tol=0)
    assert mkmc.n_components_ < by_rule.fit(kv).n_components_
    mean = metrics.are(data.kernels, MeanFill().fit_transform(kv), keep)
    assert metrics.are(data.kernels, mkmc.transform(kv), keep) < 1.02 * mean


def test_the_form_with_the_least_error_on_hidden_samples_is_taken():
    kv = random_problem(40, 4, 0.3)
    auto = MKMC(tol=1e-4).fit(kv)
    assert auto.n_components_ == min(auto.heldout_curve_, key=auto.heldout_curve_.get)
    trial = Holdout.of(kv)
    other = MKMC(n_components=auto.n_components_, center=not auto.center_, tol=1e-4)
    # short runs chose, so that the form that was left may be a little better in the end
    assert min(auto.heldout_curve_.values()) <= 1.05 * trial.error(other.fit_transform(trial.part))
    given = MKMC(n_components=auto.n_components_, center=auto.center_, tol=1e-4)
    np.testing.assert_allclose(
        given.fit_transform(kv).to_dense(), auto.transform(kv).to_dense(), rtol=1e-6, atol=1e-8
    )


def test_given_numbers_and_the_papers_algorithm_keep_the_papers_form():
    kv = random_problem(40, 3, 0.3)
    for options in ({"n_components": 3}, {"n_components": "gk"}, {"algorithm": "paper"}):
        mkmc = MKMC(max_iter=2, tol=0, **options).fit(kv)
        assert not mkmc.center_
        assert not hasattr(mkmc, "heldout_curve_")


def test_where_nothing_can_be_hidden_the_mean_is_what_is_left():
    keep = np.zeros((12, 2), dtype=bool)
    keep[np.arange(12), np.arange(12) % 2] = True
    kv = KernelViews.from_dense(np.stack([np.eye(12) + 1] * 2), observed=keep)
    with pytest.warns(UserWarning, match="2 groups .* set to what the views' means say"):
        mkmc = MKMC().fit(kv)
    assert mkmc.center_


def test_an_unrestricted_model_is_not_centred():
    with pytest.raises(ValueError, match=r"center=True with covariance='full'"):
        MKMC("full", center=True).fit(random_problem())
    assert not MKMC("full", max_iter=2, tol=0).fit(random_problem()).center_


def test_the_second_form_is_tried_around_the_rank_of_the_first(monkeypatch):
    curves = []

    def evaluate(path, *options):
        curves.append((list(path), found := evaluate_path(path, *options)))
        return found

    monkeypatch.setattr("absentia.methods.completion.mkmc._selection.evaluate_path", evaluate)
    MKMC(tol=1e-3).fit(random_problem(60, 4, 0.3))
    (path, found), (second, _) = curves
    best = min(found, key=found.get)
    assert 2 <= len(second) < len(path)
    assert best in second
    assert all(best <= 2 * q <= 4 * best for q in second)


@pytest.mark.parametrize("near", [None, 4, 40])
def test_ranks_around_a_large_one_take_in_the_number_that_is_counted(near, monkeypatch):
    monkeypatch.setattr(MKMC, "_count_components", lambda *_: 50)
    wanted = {None: [2, 4, 8, 16, 32, 50, 64, 100], 4: [2, 4, 8], 40: [32, 40, 50, 64]}
    assert MKMC()._short_path([], 300, near) == wanted[near]
