"""Visits of patients: no patient on both sides of any split, and labels by coin cannot be told."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import absentia
from absentia import AutoClassifier, AutoRegressor, AutoSurvival, LateFusion, Views, ViewStacking
from absentia.data import _order
from absentia.experiment import cross_validate
from absentia.methods import learning, prediction
from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL, _base

_PATIENT = np.repeat(np.arange(20), 4)


def make_visits(seed):
    """Twenty patients of four nearly equal visits, a label by coin for each patient."""
    rng = np.random.default_rng(seed)
    tables = {name: rng.normal(size=(20, 10))[_PATIENT] for name in ("a", "b")}
    tables = {name: table + 0.1 * rng.normal(size=table.shape) for name, table in tables.items()}
    tables["b"][rng.random(80) < 0.3] = np.nan
    coins = rng.random(20) < 0.5
    while not 5 <= coins.sum() <= 15:
        coins = rng.random(20) < 0.5
    ids = [f"P{p:02d}_v{v}" for p in range(20) for v in range(4)]
    return Views.from_dict(tables, ids=ids), coins[_PATIENT].astype(int)


@pytest.fixture
def cuts(monkeypatch):
    """Every call of make_folds: how many samples there were, and how many groups on both sides."""
    seen, original = [], _order.make_folds

    def spy(order, y, k, random_state=None, groups=None):
        folds = original(order, y, k, random_state, groups)
        assert groups is not None, "folds were cut without the groups"
        split = sum(len(np.intersect1d(groups[a], groups[b])) for a, b in folds)
        assert all(len(b) for _, b in folds)
        seen.append((len(order), split))
        return folds

    modules = (_base, prediction._auto, prediction._late_fusion, prediction._survival, learning._held_out)
    for module in modules:
        monkeypatch.setattr(module, "make_folds", spy)
    return seen


def check_cuts(cuts, least):
    assert len(cuts) >= least
    assert all(split == 0 for _, split in cuts)


def test_no_patient_is_on_both_sides_in_a_comparison(cuts):
    views, y = make_visits(0)
    methods = ["average", "stacking", "cvkt-svm", "auto"]
    found = absentia.compare(views, y, groups=_PATIENT, methods=methods, repeats=1, cv=3, n_jobs=1)
    assert found.table()["failed"].sum() == 0
    check_cuts(cuts, 20)


@pytest.mark.slow
def test_no_patient_is_on_both_sides_in_the_validation_of_a_fit(cuts):
    views, y = make_visits(0)
    views = views.with_groups(_PATIENT)
    for method in ("auto", "stacking", "average"):
        cross_validate(CLASSIFICATION, views, y, {"it": CLASSIFICATION.plan(method, views)})
    number = np.random.default_rng(0).normal(size=20)[_PATIENT]
    cross_validate(
        REGRESSION, views, number, {"it": REGRESSION.plan("mkl-regression", views, options={"C": "cv"})}
    )
    y = np.column_stack([np.exp(number), y])
    cross_validate(SURVIVAL, views, y, {"it": SURVIVAL.plan("cox-fusion", views)})
    check_cuts(cuts, 20)


def test_no_patient_is_on_both_sides_in_fits(cuts):
    views, y = make_visits(0)
    number = np.random.default_rng(0).normal(size=20)[_PATIENT]
    AutoClassifier(["linear", "forest", "cvkt-svm"]).fit(views, y, groups=_PATIENT)
    AutoRegressor(["linear-regression", "forest-regression"]).fit(views, number, groups=_PATIENT)
    AutoSurvival(["linear-cox"]).fit(views, np.column_stack([np.exp(number), y]), groups=_PATIENT)
    views = views.with_groups(_PATIENT)
    ViewStacking(LogisticRegression()).fit(views, y)
    LateFusion(LogisticRegression()).fit(views, y)
    check_cuts(cuts, 6)


def tell(seed, grouped, methods=("average", "fusion", "linear"), fitted="auto"):
    """Balanced accuracies that compare and fit tell, and whether there is a warning of repeats."""
    views, y = make_visits(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        groups = _PATIENT if grouped else None
        found = absentia.compare(views, y, methods=methods, repeats=1, n_jobs=1, groups=groups)
        scores = found.table()["balanced accuracy"].loc[list(methods)].tolist()  # not by rank
        views = views.with_groups(groups)
        said = cross_validate(CLASSIFICATION, views, y, {"it": CLASSIFICATION.plan(fitted, views)})
    right = said.predicted["it"] == y
    scores.append(np.mean([right[y == k].mean() for k in (0, 1)]))
    return scores, any("seem to be repeats" in str(w.message) for w in caught)


def test_visits_are_told_only_where_patients_are_on_both_sides():
    methods = ("average",), "linear"
    (alone, warned), (together, not_warned) = (tell(3, grouped, *methods) for grouped in (False, True))
    assert min(alone) > 0.8
    assert max(together) < 0.75
    assert warned
    assert not not_warned


@pytest.mark.slow
def test_labels_by_coin_are_told_half_of_the_time():
    alone, warned = zip(*[tell(seed, grouped=False) for seed in range(20)], strict=True)
    assert np.mean(alone, axis=0).min() > 0.8
    assert all(warned)
    together, warned = zip(*[tell(seed, grouped=True) for seed in range(20)], strict=True)
    assert abs(np.mean(together) - 0.5) < 0.05
    assert np.abs(np.mean(together, axis=0) - 0.5).max() < 0.1  # three standard errors of a method's mean
    assert not any(warned)


def make_samples():
    """Eighty samples of nobody twice, and the sites that they come from."""
    rng = np.random.default_rng(0)
    site = rng.permutation(np.repeat(["Bonn", "Rome", "Oslo", "Lyon"], 20))
    return Views.from_dict({"a": rng.normal(size=(80, 5))}), rng.permutation(np.arange(80) % 2), site


def test_every_site_is_held_out_once():
    views, y, site = make_samples()
    given = {"methods": ["average"], "repeats": 3, "cv": 2, "n_jobs": 1}
    found = absentia.compare(views, y, groups=site, leave_one_group_out=True, **given)
    records = found.study.records.of(found.study.trials).values()
    held_out = [record.result["test"] for record in records if record.trial["kind"] == "predict"]
    assert sorted(sorted({str(site[k]) for k in part}) for part in held_out) == [
        ["Bonn"],
        ["Lyon"],
        ["Oslo"],
        ["Rome"],
    ]
    assert sorted(k for part in held_out for k in part) == list(range(80))
    assert "4 of samples, none on both sides of a split" in found.results.facts["groups"]


def test_groups_that_cannot_be_held_out_are_refused():
    views, y, site = make_samples()
    with pytest.raises(ValueError, match="for 2 to 30 groups, and there are none"):
        absentia.compare(views, y, leave_one_group_out=True, methods=["average"])
    with pytest.raises(ValueError, match="for 2 to 30 groups, and there are 80"):
        absentia.compare(views, y, groups=np.arange(80), leave_one_group_out=True, methods=["average"])
    with pytest.raises(ValueError, match="all samples of a class are of one group"):
        absentia.compare(views, y, groups=y, methods=["average"])
    views = Views.from_dict({"a": views.block("a"), "b": views.block("a") ** 2})
    with pytest.raises(ValueError, match="groups are of predictions"):
        absentia.compare(views, groups=site, methods=["mean"])
