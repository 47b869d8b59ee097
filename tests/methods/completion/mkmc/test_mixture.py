"""Mutual kernel matrix completion with a model for each group of views."""

from math import inf

import numpy as np
import pytest

from absentia import MKMC, KernelViews, MixtureMKMC
from absentia.methods.completion import Holdout
from absentia.methods.completion.mkmc._mixture import first_enough
from mixtures import grouped_kernels

# where so many components are too many is a matter of tests of MKMC's own
pytestmark = pytest.mark.filterwarnings(r"ignore:with \d+ components .* hidden for a check:UserWarning")

GIVEN = {"n_components": 4, "center": False, "prior": 0.3}


def split(n=60, n_views=8, hidden=0.4):
    truth = grouped_kernels(n, n_views, hidden=0)
    kv = grouped_kernels(n, n_views, hidden=hidden)
    return truth, kv


def error(truth, kv, done):
    return Holdout(truth, kv).error(done)


def test_groups_of_views_are_completed_better_than_by_one_model():
    truth, kv = split()
    mixture = MixtureMKMC(2, **GIVEN)
    found = error(truth, kv, mixture.fit_transform(kv))
    assert found < 0.9 * error(truth, kv, MKMC(**GIVEN).fit_transform(kv))
    groups = [mixture.memberships_[name] for name in kv.names]
    assert groups[0] != groups[1]
    assert groups == groups[:2] * 4


def test_hiding_finds_the_groups_and_that_there_are_none():
    _, kv = split()
    found = MixtureMKMC(n_components=4, tol=1e-4).fit(kv)
    assert found.n_models_ == 2
    assert first_enough(found.heldout_curve_, 1000)[0] == 2
    assert found.prior_ in found.heldout_priors_
    alike = grouped_kernels(60, 6, hidden=0.3, n_groups=1)
    alone = MixtureMKMC(n_components=4, tol=1e-4).fit(alike)
    assert (alone.n_models_, alone.pull_) == (1, inf)
    assert (1, inf) in alone.heldout_curve_


@pytest.mark.parametrize("covariance", ["pca", "fa"])
def test_one_model_is_mkmc_to_the_bit(covariance):
    _, kv = split(40, 4)
    one = MixtureMKMC(1, covariance=covariance, **GIVEN).fit(kv)
    plain = MKMC(covariance, **GIVEN).fit(kv)
    assert np.array_equal(one.transform(kv).to_dense(), plain.transform(kv).to_dense())
    assert np.array_equal(one.objective_, plain.objective_)
    rows = kv[np.ix_(np.arange(30, 40), np.arange(30))]
    train = kv[np.ix_(np.arange(30), np.arange(30))]
    one, plain = one.fit(train).transform(rows), plain.fit(train).transform(rows)
    assert np.array_equal(one.to_dense(), plain.to_dense())


def test_a_strong_pull_is_one_model():
    _, kv = split(40, 4)
    plain = MKMC(**GIVEN, tol=1e-10, max_iter=2000).fit_transform(kv).to_dense()
    far = []
    for pull in (1.0, 1e2, 1e4):
        mixture = MixtureMKMC(2, pull=pull, **GIVEN, tol=1e-10, max_iter=2000)
        far.append(np.abs(mixture.fit_transform(kv).to_dense() - plain).max())
    assert far[0] > 10 * far[1] > 100 * far[2]  # by some 1 / pull


@pytest.mark.parametrize("center", [False, True])
def test_without_a_pull_groups_are_fitted_by_themselves(center):
    _, kv = split(60, 8, 0.2)
    options = {**GIVEN, "center": center, "tol": 1e-9, "max_iter": 3000}
    mixture = MixtureMKMC(2, pull=0.0, **options)
    done = mixture.fit_transform(kv)
    for c in range(2):
        names = [name for name, z in mixture.memberships_.items() if z == c]
        part = kv.select(names)
        assert part.observed.any(axis=1).all()  # else samples are left out that here are not
        alone = MKMC(**options).fit_transform(part)
        for name in names:
            wanted = alone.block(name)
            assert np.abs(done.block(name) - wanted).max() < 1e-2 * np.abs(wanted).max()


@pytest.mark.parametrize("pull", [0.0, 0.5])
@pytest.mark.parametrize("covariance", ["pca", "fa"])
def test_new_samples_are_completed_nearly_as_by_fitting_again(pull, covariance):
    truth, kv = split(120, 8, 0.2)
    new, train = np.arange(0, 120, 6), np.setdiff1d(np.arange(120), np.arange(0, 120, 6))
    mixture = MixtureMKMC(2, covariance=covariance, pull=pull, **GIVEN)
    again = mixture.fit_transform(kv)
    rows = mixture.fit(kv[np.ix_(train, train)]).transform(kv[np.ix_(new, train)])
    assert rows.observed.all()
    missed = {"rows": 0.0, "again": 0.0, "size": 0.0}
    for v, name in enumerate(kv.names):
        out = ~kv.observed[new, v]
        true = truth.block(name)[np.ix_(new[out], train)]
        missed["rows"] += np.square(rows.block(name)[out] - true).sum()
        missed["again"] += np.square(again.block(name)[np.ix_(new[out], train)] - true).sum()
        missed["size"] += np.square(true).sum()
    assert missed["rows"] < 1.3 * missed["again"] < 0.5 * missed["size"]


def test_a_sample_without_any_view_is_unrelated():
    _, kv = split(40, 4)
    train = kv[np.ix_(np.arange(30), np.arange(30))]
    rows = kv[np.ix_(np.arange(30, 40), np.arange(30))]
    keep = rows.observed.copy()
    keep[3] = False
    done = MixtureMKMC(2, pull=0.5, **GIVEN).fit(train).transform(rows.hide(keep))
    assert np.abs(done.to_dense()[:, 3]).max() < 1e-8
    for name in done.names:
        assert done.diagonal(name)[3] == pytest.approx(train.mean_diagonal(name))


def test_samples_that_a_group_never_links_are_unrelated_in_it():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2, 24, 12))
    one, other = X @ X.T, Y @ Y.T
    keep = np.ones((24, 4), dtype=bool)
    keep[12:, 0] = keep[:12, 1] = False
    kv = KernelViews.from_dense(np.array([one, one, other, other + np.eye(24)]), observed=keep)
    mixture = MixtureMKMC(2, pull=0.0, n_components=3, center=False, prior=0.1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "absentia.methods.completion.mkmc._mixing.groups_of", lambda *_: np.array([0, 0, 1, 1])
        )
        patch.setattr(
            "absentia.methods.completion.mkmc._mixing.nearest", lambda views, models, members: members
        )
        done = mixture.fit_transform(kv)
    assert np.abs(done.block("view0")[:12, 12:]).max() == 0.0
    assert np.abs(done.block("view2")[:12, 12:]).max() > 0.0


def test_where_all_views_go_to_one_model_it_is_the_common_one(monkeypatch):
    _, kv = split(40, 4)
    monkeypatch.setattr(
        "absentia.methods.completion.mkmc._mixing.nearest", lambda views, models, members: 0 * members
    )
    mixture = MixtureMKMC(2, pull=1.0, **GIVEN).fit(kv)
    assert (mixture.n_models_, mixture.pull_) == (1, inf)
    assert np.array_equal(mixture.transform(kv).to_dense(), mixture.common_.transform(kv).to_dense())


def test_where_nothing_can_be_hidden_it_is_mkmc():
    keep = np.zeros((40, 2), dtype=bool)
    keep[:20, 0] = keep[20:, 1] = keep[0] = True
    kv = grouped_kernels(40, 2, hidden=0).hide(keep)
    assert not Holdout.of(kv, share=0.0).n_hidden
    plain = {"n_components": 4, "center": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Holdout, "n_hidden", 0)
        found = MixtureMKMC(**plain).fit(kv)
    assert (found.prior_, found.n_models_, found.heldout_priors_) == (1e-3, 1, {})
    assert np.array_equal(found.transform(kv).to_dense(), MKMC(**plain).fit_transform(kv).to_dense())


def test_more_models_than_views_are_as_many_as_views():
    _, kv = split(40, 3)
    assert MixtureMKMC(9, pull=1.0, **GIVEN).fit(kv).n_models_ <= 3


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")
def test_no_view_at_all_is_said():
    kv = KernelViews.from_dense(np.array([np.eye(4)]), observed=np.zeros((4, 1), dtype=bool))
    with pytest.raises(ValueError, match="no sample has any view"):
        MixtureMKMC().fit(kv)


def test_a_callback_stops_either_way():
    _, kv = split(40, 4)
    for n_models in (1, 2):
        seen = []
        mixture = MixtureMKMC(n_models, pull=1.0, callback=lambda p, s=seen: s.append(p) or True, **GIVEN)
        mixture.fit(kv)
        assert len(seen) == 1
        assert mixture.status_.startswith("stopped early")


@pytest.mark.filterwarnings("ignore:MKMC reached max_iter")  # the common model too
def test_too_few_iterations_are_said():
    _, kv = split(40, 4)
    with pytest.warns(UserWarning, match="MixtureMKMC reached max_iter"):
        mixture = MixtureMKMC(2, pull=1.0, max_iter=2, **GIVEN).fit(kv)
    assert mixture.n_iter_ == 2
    assert not mixture.converged_
