"""Which form a model gets."""

import re
import warnings

import numpy as np
import pytest

from absentia import MKMC, KernelViews, MeanFill, datasets, metrics, missingness
from absentia.methods.completion._holdout import Holdout
from absentia.methods.completion.mkmc import _selection
from conftest import random_problem


def test_what_only_one_view_has_is_not_counted():
    data = datasets.make_multiview(
        80, 4, n_shared=1, n_private=8, private_scale=2.0, noise=0.5, random_state=0
    )
    keep = missingness.mcar(data.kernels, 0.4, random_state=0)
    kv = data.kernels.hide(keep)
    mkmc = MKMC().fit(kv)
    counted = MKMC(n_components="gk", max_iter=1, tol=0)
    with pytest.warns(UserWarning, match="reached max_iter|hidden for a check"):
        assert mkmc.n_components_ < counted.fit(kv).n_components_
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
    curves, chosen = [], Holdout.curve

    def curve(self, path, *options):
        curves.append((list(path), found := chosen(self, path, *options)))
        return found

    monkeypatch.setattr(Holdout, "curve", curve)
    MKMC(tol=1e-3).fit(random_problem(60, 4, 0.3))
    (path, found), (second, _) = curves
    best = min(found, key=found.get)
    assert 2 <= len(second) < len(path)
    assert best in second
    assert all(best <= 2 * q <= 4 * best for q in second)


@pytest.mark.parametrize("near", [None, 4, 40])
def test_ranks_around_a_large_one_take_in_the_number_that_is_counted(near, monkeypatch):
    monkeypatch.setattr(_selection.Choosing, "_count_components", lambda *_: 50)
    wanted = {None: [2, 4, 8, 16, 32, 50, 64, 100], 4: [2, 4, 8], 40: [32, 40, 50, 64]}
    assert MKMC()._path([], 300, near) == wanted[near]


def excess(kernels, **options):
    """How large a relative error the check warns of; None without a warning."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        MKMC(max_iter=3, tol=0, **options).fit(kernels)
    told = [
        re.search(r"(\d+) observed cells, hidden .*error ([\d.e+-]+)", str(one.message)) for one in found
    ]
    return next(((int(m[1]), float(m[2])) for m in told if m), None)


def test_the_check_for_too_many_components_goes_by_some_of_many_samples(monkeypatch):
    data = datasets.make_multiview(
        90, 3, n_shared=1, n_private=8, private_scale=2.0, noise=0.5, random_state=0
    )
    kernels = data.kernels.hide(missingness.mcar(data.kernels, 0.2, random_state=0))
    whole = excess(kernels, n_components=6)
    monkeypatch.setattr(_selection, "CHECKED_ON", 45)
    monkeypatch.setattr(_selection, "CHECKED_TIMES", 1)
    part = excess(kernels, n_components=6)
    assert 0.4 * whole[0] < part[0] < 0.6 * whole[0]
    order = np.random.default_rng(0).permutation(90)
    assert excess(kernels[np.ix_(order, order)], n_components=6) == part
    monkeypatch.setattr(_selection, "CHECKED_TIMES", 15)
    assert excess(kernels, n_components=6) == whole
