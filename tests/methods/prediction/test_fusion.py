"""Late fusion."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import absentia
from absentia import AbsentClassifier, LateFusion, ViewKernels, Views, ViewStacking
from helpers.digit_samples import half_seen_digits

BASE = AbsentClassifier(None, C=1.0)


def test_the_mean_is_the_mean_over_the_views_that_a_sample_has():
    views, y = half_seen_digits(120)
    fitted = LateFusion(BASE).fit(views[:80], y[:80] % 3)
    new = views[80:]
    probabilities = fitted.predict_proba(new)
    t = 5
    names = [name for name, has in zip(new.names, new.observed[t], strict=True) if has]
    each = [fitted._view_classifiers[name].predict_proba(new[[t]].select([name]))[0] for name in names]
    np.testing.assert_allclose(probabilities[t], np.mean(each, axis=0)[fitted._class_order])


@pytest.mark.parametrize("rule", ["mean", pytest.param("skill", marks=pytest.mark.slow), "product"])
def test_contributions_sum_to_what_is_said(rule):
    views, y = half_seen_digits(120)
    fitted = LateFusion(BASE, rule=rule).fit(views, y % 3)
    parts, probabilities = fitted.contributions(views), fitted.predict_proba(views)
    assert parts.shape == (120, 6, 3)
    np.testing.assert_allclose(parts[~views.observed], 0, atol=1e-12)
    frequent = np.bincount(y % 3) / 120
    if rule == "mean":
        np.testing.assert_allclose(parts.sum(axis=1) + frequent, probabilities, atol=1e-12)
    else:
        odds = np.log(frequent) + parts.sum(axis=1)
        np.testing.assert_allclose(
            np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True), probabilities, atol=1e-12
        )


@pytest.mark.slow
def test_a_view_of_noise_has_little_skill_and_hardly_counts():
    rng = np.random.default_rng(0)
    y = np.arange(100) % 2
    good, noise = y[:, None] + 0.5 * rng.normal(size=(100, 3)), rng.normal(size=(100, 3))
    views = Views.from_dict({"good": good, "noise": noise})
    fitted = LateFusion(rule="skill").fit(views, y)
    assert fitted.skill_["good"] > 0.4
    assert fitted.skill_["noise"] < 0.1
    parts = np.abs(fitted.contributions(views)[:, :, 1]).mean(axis=0)
    assert parts[1] < 0.1 * parts[0]


def test_any_classifier_of_features_will_do_and_kernels_as_well(tmp_path):
    views, y = half_seen_digits(120)
    fitted = LateFusion(LogisticRegression(max_iter=500)).fit(views, y % 3)
    assert fitted.score(views, y % 3) > 0.8
    back = absentia.load(absentia.save(fitted, tmp_path / "f.absentia"))
    np.testing.assert_array_equal(back.predict_proba(views), fitted.predict_proba(views))
    kernels = ViewKernels().fit_transform(views)
    a, b = np.arange(80), np.arange(80, 120)
    by_kernels = LateFusion(BASE).fit(kernels[np.ix_(a, a)], y[a] % 3)
    assert by_kernels.score(kernels[np.ix_(b, a)], y[b] % 3) > 0.6


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_views_that_tell_nothing_leave_the_frequencies(kernel):
    """A binary feature, half and half in both classes, and an exclusive or, of which each feature is noise."""
    sex, y = np.repeat([0.0, 1.0], 20)[:, None], np.tile([0, 0, 0, 1], 10)
    alone = LateFusion(kernel=kernel).fit(Views.from_dict({"sex": sex}), y)
    found = alone.predict_proba(Views.from_dict({"sex": sex}))
    np.testing.assert_allclose(found, np.tile([0.75, 0.25], (40, 1)), atol=0.05)
    corners = np.tile([[0.0, 0], [0, 1], [1, 0], [1, 1]], (12, 1))
    X = Views.from_dict({"one": corners[:, :1], "two": corners[:, 1:]})
    odd = corners.sum(axis=1) == 1
    found = LateFusion(kernel=kernel).fit(X, odd).predict_proba(X)
    np.testing.assert_allclose(found, 0.5, atol=0.05)


def test_a_sample_without_which_a_view_would_not_know_its_class_is_left_out_as_such():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [12, 12, 3])  # three of a class are the fewest that a view learns
    views = Views.from_dict({"a": 3 * np.eye(3)[y] + 0.1 * rng.standard_normal((27, 3))})
    model = LateFusion(kernel="linear").fit(views, y)
    rare = y == 2
    assert model.predict_proba(views)[rare, 2].min() > 0.5
    np.testing.assert_allclose(model.loo_proba_[rare], np.tile([12 / 27, 12 / 27, 3 / 27], (3, 1)))
    for i in np.flatnonzero(rare):
        others = np.delete(np.arange(27), i)
        without = LateFusion(kernel="linear").fit(views[others], y[others])
        assert without.predict_proba(views[[i]])[0, 2] < 0.15


@pytest.mark.parametrize("method", [LateFusion, ViewStacking])
def test_memory_is_checked_for_the_kernels_of_all_views_at_once(method, monkeypatch):
    rng = np.random.default_rng(0)
    views = Views.from_dict({f"v{i}": rng.standard_normal((300, 3)) for i in range(6)})
    y = np.arange(300) % 2
    monkeypatch.setenv("ABSENTIA_MEMORY", "9M")  # six kernels, three copies each: 13 MB
    with pytest.raises(ValueError, match="kernels of 300 samples in 6 view"):
        method(kernel=ViewKernels(approx=None)).fit(views, y)
