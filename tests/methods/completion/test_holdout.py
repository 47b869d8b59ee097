"""Selection by hiding: what is hidden, what is measured, what is chosen."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

from absentia import CVKT, MKMC, EMFill, KernelViews, KNNFill, MeanFill, SVTFill
from absentia.methods.completion import Holdout, _base
from conftest import random_kernels, random_problem


def hide_some(kv, seed=None):
    return Holdout.of(kv, seed).part.observed


def test_what_is_hidden_depends_on_the_data_not_on_order_ids_or_names(rng):
    kv = random_problem(40, 4, 0.3)
    keep = hide_some(kv)
    order = rng.permutation(40)
    again = hide_some(kv[np.ix_(order, order)].select(kv.names[::-1]))
    np.testing.assert_array_equal(again, keep[order][:, ::-1])
    renamed = KernelViews.from_dense(kv.to_dense()[::-1][:, order][:, :, order])
    np.testing.assert_array_equal(hide_some(renamed), keep[order][:, ::-1])


def test_where_samples_are_alike_ids_and_names_decide_what_is_hidden(rng):
    for ids in (np.arange(9), list("ihgfedcba"), [(1, 2), "a", 3.5, None, 7, "b", 8, (3,), "c"]):
        kv = KernelViews.from_dense(np.stack([np.eye(9)] * 3), ids=ids)
        order = rng.permutation(9)
        again = hide_some(kv[np.ix_(order, order)].select(kv.names[::-1]))
        np.testing.assert_array_equal(again, hide_some(kv)[order][:, ::-1])


def test_how_many_cells_are_hidden():
    kv = random_problem(40, 4, 0.3)
    keep = hide_some(kv)
    hidden = kv.observed & ~keep
    assert (hidden.sum(axis=0) >= 1).all()
    assert (hidden.sum(axis=0) <= 0.15 * kv.observed.sum(axis=0)).all()
    assert keep.any(axis=1).all()
    assert not np.array_equal(keep, hide_some(kv, 1))


CHOOSERS = [
    (SVTFill(), "threshold"),
    (EMFill(), "ridge"),
    (KNNFill("heldout"), "n_neighbors"),
    (CVKT(ridge=0.1, rounds="heldout"), "rounds"),
    (MKMC(n_components="heldout", tol=1e-4), "n_components"),
]


@pytest.mark.slow_params("fill4-n_components")
@pytest.mark.parametrize(("fill", "name"), CHOOSERS)
def test_the_value_that_completes_hidden_samples_best_is_taken(fill, name):
    kv = random_problem(60, 4, 0.3)
    fill.fit(kv)
    assert getattr(fill, f"{name}_") == min(fill.heldout_curve_, key=fill.heldout_curve_.get)
    assert len(fill.heldout_curve_) > 2
    given = clone(fill).set_params(**{name: getattr(fill, f"{name}_")}).fit_transform(kv)
    # EMFill goes on from what the trial found, and ends elsewhere within its tolerance
    atol = 5e-3 if name == "ridge" else 1e-8
    np.testing.assert_allclose(given.to_dense(), fill.transform(kv).to_dense(), rtol=1e-6, atol=atol)


@pytest.mark.parametrize(("fill", "name"), CHOOSERS)
def test_the_errors_are_those_of_fits_without_the_hidden_cells(fill, name):
    """Every choice is by the same cells and the same measure."""
    kv = random_problem(40, 4, 0.3)
    curve = fill.fit(kv).heldout_curve_
    part = Holdout.of(kv).part
    for value in list(curve)[:2]:
        done = clone(fill).set_params(**{name: value}).fit_transform(part)
        # with a looser end where many are tried, and from another start
        assert Holdout(kv, part).error(done) == pytest.approx(curve[value], rel=0.05)


def test_the_error_is_that_of_the_hidden_rows_and_columns():
    kv = random_problem(60, 3, 0.2)
    trial = Holdout.of(kv)
    keep = trial.part.observed
    done = EMFill(5, ridge=0.3).fit_transform(trial.part)
    filled, truth = done.to_dense(), kv.to_dense()
    errors = []
    for k in range(3):
        out, seen = kv.observed[:, k] & ~keep[:, k], kv.observed[:, k]
        rows = np.zeros((60, 60), dtype=bool)
        rows[np.ix_(out, seen)] = rows[np.ix_(seen, out)] = True
        errors.append(np.linalg.norm((filled - truth)[k][rows]) / np.linalg.norm(truth[k][rows]))
    np.testing.assert_allclose(trial.error(done), np.mean(errors), rtol=1e-10)
    assert trial.n_hidden == (kv.observed & ~keep).sum()


# ------------------------------------------------------------------------------------------- scores


def test_a_score_of_new_rows_is_that_of_hidden_views(rng):
    kv = random_problem(60, 4, 0.2)
    train, new = np.arange(40), np.arange(40, 60)
    rows = kv[np.ix_(new, train)]
    holdout = Holdout.of_rows(rows)
    assert (holdout.hidden.sum(axis=1) == (rows.observed.sum(axis=1) > 1)).all()
    shuffled = rng.permutation(20)
    np.testing.assert_array_equal(Holdout.of_rows(rows[shuffled]).hidden, holdout.hidden[shuffled])
    cvkt, mean = CVKT().fit(kv[np.ix_(train, train)]), MeanFill().fit(kv[np.ix_(train, train)])
    assert cvkt.score(rows) == -holdout.error(cvkt.transform(holdout.part))
    assert mean.score(rows) < cvkt.score(rows) < 0


def test_a_score_against_the_truth_and_of_training_kernels():
    full = KernelViews.from_dense(random_kernels(40, 4))
    kv = random_problem(40, 4, 0.3)
    cvkt = CVKT().fit(kv)
    assert cvkt.score(kv, truth=full) == -Holdout(full, kv).error(cvkt.transform(kv))
    assert cvkt.score(kv) == -Holdout.of(kv).error(CVKT().fit_transform(Holdout.of(kv).part))
    assert MeanFill().fit(kv).score(kv) < cvkt.score(kv)


def test_searches_of_scikit_learn_find_a_parameter_by_score():
    kv = random_problem(50, 4, 0.2)
    search = GridSearchCV(CVKT(), {"ridge": [1e-3, 1e4]}, cv=KFold(3)).fit(kv)
    assert search.best_params_ == {"ridge": 1e-3}
    assert (search.cv_results_["mean_test_score"] < 0).all()


def test_of_many_samples_the_same_are_drawn_in_any_order(rng):
    kv = random_problem(40, 3, 0.3)
    trial = Holdout.of(kv, 0, max_samples=25)
    assert len(trial.whole) == len(trial.part) == 25
    assert trial.n_hidden
    order = rng.permutation(40)
    again = Holdout.of(kv[np.ix_(order, order)], 0, max_samples=25)
    assert set(again.whole.ids) == set(trial.whole.ids)
    position = [again.whole.ids.tolist().index(i) for i in trial.whole.ids]
    np.testing.assert_array_equal(again.part.observed[position], trial.part.observed)
    assert len(Holdout.of(kv, 0, max_samples=40).whole) == 40


def test_errors_are_the_same_at_once_and_in_parts(rng, monkeypatch):
    Phi = rng.standard_normal((60, 4))
    ids = np.arange(60)
    kv = KernelViews.from_factors(
        {"a": (ids[:50], Phi[:50]), "b": (ids[10:], Phi[10:] @ rng.standard_normal((4, 3)))}
    )
    trial = Holdout.of(kv, 0)
    done = CVKT(rounds=1).fit_transform(trial.part)
    at_once = trial.errors(done)
    monkeypatch.setattr(_base, "_MAX_VALUES", 100)
    assert trial.errors(done) == pytest.approx(at_once, rel=1e-10)
