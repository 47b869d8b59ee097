"""Max-margin classification of absent features."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from absentia import AbsenceWarning, MMAFClassifier, ViewKernels, Views, datasets, missingness
from absentia.methods.learning._mmaf import _learn_mmaf


@pytest.fixture(scope="module")
def problem():
    views, y = datasets.load_digit_views(n_samples=80, return_X_y=True)
    views = views.hide(missingness.mcar(views, 0.4, random_state=0))
    return views, ViewKernels().fit_transform(views), y


def gaps(rng, n=90, d=6, absent=0.3):
    X = rng.standard_normal((n, d))
    y = X @ np.array([2.0, -1.0, 1.0, 0, 0, 0]) + 0.3 * rng.standard_normal(n) > 0
    present = missingness.mcar((n, d), absent, random_state=1)
    return X, present, y


def test_with_nothing_absent_mmaf_is_the_linear_machine(rng):
    X, _, y = gaps(rng)
    ours = MMAFClassifier(C=0.5, standardize=False, tol=1e-8).fit(Views.from_list([X]), y)
    usual = SVC(C=0.5, kernel="linear", tol=1e-8).fit(X, y)
    np.testing.assert_allclose(ours.coef_, usual.coef_, atol=1e-4)
    assert ours.n_iter_ == 2  # the second round changes nothing


def test_mmaf_reaches_a_fixed_point_of_its_two_steps(rng):
    X, present, y = gaps(rng)
    X, signs = np.where(present, X, 0.0), np.where(y, 1.0, -1.0)
    done = _learn_mmaf(X, present, signs, np.full(90, 1.0), 0.01, tol=1e-9, max_iter=500)[0]
    own = np.sqrt(present @ done.w**2)  # Chechik et al. (2008), eq. 3: y f / |w^(i)|
    margins = signs * (X @ done.w + done.machine.bias) / own
    free = (np.abs(done.machine.z) > 1e-6) & (np.abs(done.machine.z) < (1 - 1e-6) / done.s)
    assert free.sum() >= 3
    # support vectors off their bounds lie exactly at the margin 1 / |w|, measured in their own features
    np.testing.assert_allclose(margins[free] * np.linalg.norm(done.w), 1.0, atol=1e-3)


def test_nan_inside_a_row_and_an_absent_view_are_both_absent_features(rng):
    X, present, y = gaps(rng)
    gapped = np.where(present, X, np.nan)
    as_values = MMAFClassifier().fit(Views.from_dict({"all": gapped}), y)
    as_views = MMAFClassifier().fit(Views.from_dict({f"f{j}": gapped[:, [j]] for j in range(6)}), y)
    np.testing.assert_allclose(as_values.coef_, as_views.coef_, atol=1e-12)


def test_mmaf_learns_scales_from_training_samples_that_have_the_feature(rng):
    X, present, y = gaps(rng)
    stretched = np.where(present, X * [1, 10, 100, 1, 1, 1] + 5, np.nan)
    plain = MMAFClassifier().fit(Views.from_dict({"x": np.where(present, X, np.nan)}), y)
    other = MMAFClassifier().fit(Views.from_dict({"x": stretched}), y)
    np.testing.assert_allclose(plain.coef_, other.coef_, atol=1e-8)


def test_mmaf_says_when_its_rounds_ran_out_and_what_it_wants(rng, problem):
    views, kv, y = problem
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MMAFClassifier(max_iter=1).fit(views, y < 5)
    with pytest.raises(TypeError, match="Views are wanted, not KernelViews"):
        MMAFClassifier().fit(kv, y < 5)
    with pytest.raises(ValueError, match="tau_min"):
        MMAFClassifier(tau_min=0).fit(views, y < 5)
    fitted = MMAFClassifier(C=0.01).fit(views, y < 5)
    with pytest.raises(ValueError, match="were there in training"):
        fitted.predict(views.select(views.names[:2]))


def test_mmaf_has_the_prior_for_samples_without_features(problem):
    views, _, y = problem
    keep = np.ones((80, 6), bool)
    keep[:4] = False
    gone = views.hide(keep)
    with pytest.warns(AbsenceWarning, match="take no part in training"):
        fitted = MMAFClassifier(C=0.01).fit(gone, np.where(y < 4, "a", "b"))
    np.testing.assert_array_equal(fitted.unusable(gone), np.arange(80) < 4)
    assert (fitted.predict(gone)[:4] == "b").all()
