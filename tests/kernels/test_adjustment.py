"""Features without what covariates explain: residuals of least squares, learned in training."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import absentia
from absentia import AdjustViews, AverageKernelSVC, KernelViews, ViewKernels, Views
from absentia.experiment import cross_validate
from absentia.tasks import CLASSIFICATION


def make_tables(n=40, seed=0):
    """Features that age and site shift, a category among them, and these covariates."""
    rng = np.random.default_rng(seed)
    ids = [f"p{k:02d}" for k in range(n)]
    site = pd.Series(rng.choice(["Bonn", "Rome", "Oslo"], n), ids)
    age = pd.Series(rng.normal(50, 10, n), ids)
    shift = site.map({"Bonn": 0.0, "Rome": 3.0, "Oslo": -2.0}) + 0.2 * age
    lab = pd.DataFrame(rng.normal(size=(n, 3)), ids, list("abc")).add(shift, axis=0)
    return lab.assign(sex=rng.choice(["f", "m"], n)), pd.DataFrame({"age": age, "site": site})


def join(lab, covariates):
    return Views.from_dict({"lab": lab, "covariates": covariates})


def test_residuals_are_those_of_linear_regression():
    lab, covariates = make_tables()
    design = pd.get_dummies(covariates)
    expected = lab[list("abc")] - LinearRegression().fit(design, lab[list("abc")]).predict(design)
    adjusted = AdjustViews().fit_transform(join(lab, covariates))
    assert adjusted.names == ("lab",)
    np.testing.assert_allclose(adjusted["lab"][list("abc")], expected, atol=1e-10)
    assert adjusted["lab"]["sex"].tolist() == lab["sex"].tolist()  # categories stay


def test_new_samples_are_adjusted_by_training_in_whatever_order_columns_come():
    lab, covariates = make_tables()
    train, new = lab.index[:30], lab.index[30:]
    design = pd.get_dummies(covariates)
    model = LinearRegression().fit(design.loc[train], lab.loc[train, ["a", "b", "c"]])
    adjust = AdjustViews().fit(join(lab.loc[train], covariates.loc[train]))
    other = join(lab.loc[new, ["sex", "c", "a", "b"]], covariates.loc[new, ["site", "age"]])
    expected = lab.loc[new, ["a", "b", "c"]] - model.predict(design.loc[new])
    np.testing.assert_allclose(adjust.transform(other)["lab"][["a", "b", "c"]], expected, atol=1e-10)


def test_unknown_covariates_count_as_the_mean():
    lab, covariates = make_tables()
    adjust = AdjustViews().fit(join(lab, covariates))
    shares = covariates["site"].value_counts(normalize=True)
    coef = LinearRegression().fit(pd.get_dummies(covariates), lab[["a"]])
    by_name = dict(zip(pd.get_dummies(covariates).columns, coef.coef_[0], strict=True))
    middle = covariates["age"].mean() * by_name["age"] + sum(
        share * by_name[f"site_{name}"] for name, share in shares.items()
    )
    expected = lab["a"].iloc[0] - coef.intercept_[0] - middle
    unknown = pd.DataFrame({"age": [np.nan, 50.0], "site": [None, "Rome"]}, lab.index[:2])
    new = adjust.transform(join(lab[:2], unknown))
    assert new["lab"]["a"].iloc[0] == pytest.approx(expected)
    strange = pd.DataFrame({"age": [np.nan, 50.0], "site": ["Lyon", "Rome"]}, lab.index[:2])
    with pytest.warns(absentia.AbsenceWarning, match="levels that training did not have"):
        assert adjust.transform(join(lab[:2], strange))["lab"]["a"].iloc[0] == pytest.approx(expected)


def test_missing_values_stay_missing_and_are_not_learned_from():
    lab, covariates = make_tables()
    lab.loc[lab.index[:5], "b"] = np.nan
    lab.loc[lab.index[9], :] = np.nan  # lacks the view
    design, seen = pd.get_dummies(covariates), lab["b"].notna()
    model = LinearRegression().fit(design[seen], lab.loc[seen, "b"])
    adjusted = AdjustViews().fit_transform(join(lab, covariates))
    frame = adjusted.to_frame("lab", absent="keep")
    assert frame["b"].notna().tolist() == seen.tolist()
    np.testing.assert_allclose(frame["b"][seen], lab["b"][seen] - model.predict(design[seen]), atol=1e-10)
    assert adjusted.observed[:, 0].sum() == 39


def test_what_cannot_be_adjusted_is_refused():
    lab, covariates = make_tables()
    adjust = AdjustViews().fit(join(lab, covariates))
    with pytest.raises(ValueError, match=r"covariate\(s\) 'site' of training are not there"):
        adjust.transform(join(lab, covariates[["age"]]))
    with pytest.raises(ValueError, match="a view 'covariates' with the covariates is wanted"):
        adjust.transform(Views.from_dict({"lab": lab}))
    with pytest.raises(ValueError, match="4 samples have it, of which 4 columns of covariates explain"):
        AdjustViews().fit(join(lab[:4], covariates))
    with pytest.raises(TypeError, match="Views are wanted"):
        AdjustViews().fit(KernelViews.from_dense(np.eye(3)[None]))


def test_it_is_a_step_of_a_pipeline_and_can_be_saved(tmp_path):
    lab, covariates = make_tables()
    views = join(lab, covariates)
    y = np.arange(40) % 2
    pipeline = make_pipeline(AdjustViews(), ViewKernels(), AverageKernelSVC())
    assert np.isfinite(cross_val_score(pipeline, views, y, cv=3)).all()
    pipeline.fit(views, y)
    absentia.save(pipeline, tmp_path / "p.absentia")
    again = absentia.load(tmp_path / "p.absentia")
    np.testing.assert_array_equal(again.predict(views), pipeline.predict(views))
    kept = views.with_groups(np.arange(40) // 2)
    assert AdjustViews().fit_transform(kept).groups.tolist() == kept.groups.tolist()


def make_sites(seed=0, n=120):
    """Labels by coin within sites that have their own share of the ill and their own scanner."""
    rng = np.random.default_rng(seed)
    ids = [f"s{k:03d}" for k in range(n)]
    site = np.arange(n) % 3
    y = np.where(rng.random(n) < np.array([0.05, 0.5, 0.95])[site], "ill", "well")
    scan = rng.normal(size=(n, 10)) + 2 * rng.normal(size=(3, 10))[site]
    blood = rng.normal(size=(n, 5)) + rng.normal(size=(3, 5))[site]
    blood[rng.random(n) < 0.3] = np.nan
    views = Views.from_dict({"scan": scan, "blood": blood}, ids=ids)
    return views, pd.Series(y, ids), pd.DataFrame({"site": np.array(["Bonn", "Rome", "Oslo"])[site]}, ids)


@pytest.mark.slow
def test_a_site_that_determines_features_and_label_is_not_told_any_more():
    """Without adjustment the site is told from features, and the label from the site; within it nothing is."""
    views, y, covariates = make_sites()
    given = {"methods": ["average", "linear"], "repeats": 2, "n_jobs": 1}
    plain = absentia.compare(views, y, **given).table()["balanced accuracy"]
    found = absentia.compare(views, y, adjust=covariates, **given)
    adjusted = found.table()["balanced accuracy"]
    assert plain.min() > 0.65
    assert adjusted.max() < 0.6
    assert "residuals after regression on site" in found.results.facts["adjusted"]
    assert "a view called covariates" in found.recommendation.python
    model = found.best_estimator()
    joined = Views.from_dict(
        {**{name: views.to_frame(name) for name in views.names}, "covariates": covariates}
    )
    assert len(model.predict(joined[:5])) == 5
    with pytest.raises(ValueError, match="a view 'covariates' with the covariates is wanted"):
        model.predict(views[:5])


def test_what_is_told_within_sites_stays():
    views, _, covariates = make_sites()
    rng = np.random.default_rng(5)
    hidden = rng.normal(size=120)
    scan = views.block("scan") + 2 * np.outer(hidden, np.ones(10))
    views = Views.from_dict({"scan": scan}, ids=views.ids)
    y = np.where(hidden > 0, "ill", "well")
    found = absentia.compare(views, y, adjust=covariates, methods=["average"], repeats=1, n_jobs=1)
    assert found.table()["balanced accuracy"].iloc[0] > 0.85


def test_numbers_and_survival_are_adjusted_too():
    views, _, covariates = make_sites()
    joined = Views.from_dict(
        {**{name: views.to_frame(name) for name in views.names}, "covariates": covariates}
    )
    number = pd.Series(np.random.default_rng(1).normal(size=120) + 3 * (np.arange(120) % 3), views.ids)
    given = {"repeats": 1, "n_jobs": 1, "adjust": covariates}
    found = absentia.compare(views, number, methods=["ridge-zero"], **given)
    plain = absentia.compare(views, number, methods=["ridge-zero"], repeats=1, n_jobs=1)
    assert plain.table()["R2"].iloc[0] > 0.4
    assert found.table()["R2"].iloc[0] < 0.1
    assert np.isfinite(found.best_estimator().predict(joined[:3])).all()
    times = pd.DataFrame({"time": np.exp(number), "event": 1}, views.ids)
    found = absentia.compare(views, times, methods=["cox-zero"], **given)
    assert found.table()["concordance"].iloc[0] < 0.65
    assert np.isfinite(found.best_estimator().predict(joined[:3])).all()


def test_covariates_that_cannot_be_used_are_refused():
    views, y, covariates = make_sites()
    with pytest.raises(TypeError, match="covariates are a data frame by id"):
        absentia.compare(views, y, adjust=[1, 2], methods=["average"])
    with pytest.raises(ValueError, match="adjust is of predictions"):
        absentia.compare(views, adjust=covariates, methods=["mean"])
    kernels = ViewKernels().fit_transform(views)
    with pytest.raises(ValueError, match="the data are kernels"):
        absentia.compare(kernels, y, adjust=covariates, methods=["average"])


def judge_by_fit(views, y, time, covariates, folder):
    """What is said of all but the earliest samples, by method and position."""
    plans = {"it": CLASSIFICATION.plan("linear", views)}
    beside = Views.from_dict({"covariates": covariates})
    judged = cross_validate(CLASSIFICATION, views, y, plans, times=time, covariates=beside)
    keys = [("linear", sample) for sample in judged.samples.tolist()]
    return dict(zip(keys, judged.probabilities.tolist(), strict=True))


def judge_by_compare(views, y, time, covariates, folder):
    given = {"methods": ["linear"], "repeats": 1, "n_jobs": 1, "folder": folder}
    absentia.compare(views, y, time=pd.Series(time, views.ids), adjust=covariates, **given)
    records = [json.loads(path.read_text()) for path in folder.glob("trials/*.json")]
    return {
        (record["trial"]["method"], sample): said
        for record in records
        if "predicted" in (result := record["result"])
        for sample, said in zip(result["test"], result["predicted"], strict=True)
    }


@pytest.mark.slow_params("judge_by_compare")
@pytest.mark.parametrize("judge", [judge_by_fit, judge_by_compare])
def test_samples_that_are_held_out_do_not_move_the_coefficients(tmp_path, judge):
    """The latest samples are never learned from: whatever they are like, earlier ones are predicted alike."""
    views, y, _ = make_sites()
    age = np.random.default_rng(2).normal(50, 10, 120)
    last, time = np.arange(120) >= 110, np.arange(120.0)
    covariates = pd.DataFrame({"age": age}, views.ids)
    tables = {name: views[name].copy() for name in views.names}
    for table in tables.values():
        late = table.index.isin(views.ids[last])
        table.loc[late] += 5 * age[views.ids.searchsorted(table.index[late])][:, None]
    other = Views.from_dict(tables)
    before = judge(views, y, time, covariates, tmp_path / "before")
    after = judge(other[other.ids.searchsorted(views.ids)], y, time, covariates, tmp_path / "after")
    early = [(method, sample) for method, sample in before if not last[sample]]
    assert len(early) >= 60
    np.testing.assert_array_equal([before[key] for key in early], [after[key] for key in early])
    assert before != after  # of the latest
