"""What one more view would be worth."""

import warnings

import numpy as np
import pandas as pd
import pytest

from absentia import AbsentClassifier, MMAFClassifier, ViewKernels, Views, inspection, models
from helpers.known_effects import planted


@pytest.fixture(scope="module")
def fitted():
    views, y = planted(120)
    return views, AbsentClassifier(C=1.0).fit(views[:80], y[:80])


def test_a_view_that_decides_is_worth_more_than_noise(fitted):
    views, model = fitted
    new = views[80:]
    frame = inspection.value_of_views(model, new, views[:80], n_draws=10)
    assert frame.columns.tolist() == ["id", "view", "now", "expected", "gain", "changes"]
    assert len(frame) == (~new.observed).sum()
    gain = frame.groupby("view")["gain"].mean()
    assert gain["tells"] > 0.06
    assert gain["tells"] > gain["noise"] + 0.05
    assert np.allclose(frame["expected"] - frame["now"], frame["gain"])
    assert frame["changes"].between(0, 1).all()
    now = dict(zip(new.ids.tolist(), (model.predict_proba(new) ** 2).sum(axis=1), strict=True))
    assert np.allclose(frame["now"], [now[x] for x in frame["id"]])


def test_the_expectation_is_over_classes_and_the_nearest_of_each_who_have_the_view(fitted):
    """One sample by hand: a class by its probability now, then a lender by its probability of that class."""
    views, model = fitted
    train, t = views[:80], int(np.argmax(~views.observed[80:, 0])) + 80
    one = views[[t]]
    found = inspection.value_of_views(model, one, train, n_draws=4)
    row = found[found["view"] == "tells"].iloc[0]
    kernels, total = ViewKernels().fit(train).transform(one), np.zeros(80)
    for v in np.flatnonzero(kernels.observed[0]):
        total[kernels.column_observed[:, v]] += kernels.block(kernels.names[v])[0]
    near = total / np.maximum((kernels.observed & kernels.column_observed).sum(axis=1), 1)
    lenders = np.flatnonzero(train.observed[:, 0])
    lenders = lenders[np.argsort(-near[lenders])[:4]]
    now = model.predict_proba(one)[0]
    expected = changes = 0.0
    for k, probability in enumerate(now):
        of_class = model.predict_proba(train)[lenders, k] + 1e-3
        for i, weight in zip(lenders, of_class / of_class.sum(), strict=True):
            after = model.predict_proba(one.given("tells", train.padded("tells", np.array([i]))))[0]
            expected += probability * weight * after[k]
            changes += probability * weight * (after.argmax() != now.argmax())
    assert row["expected"] == pytest.approx(expected)
    assert row["changes"] == pytest.approx(changes)


def test_blocks_of_any_size_give_the_same_numbers(fitted, monkeypatch):
    views, model = fitted
    whole = inspection.value_of_views(model, views[80:], views[:80], n_draws=4)
    monkeypatch.setattr("absentia.methods.inspection._plan._BLOCK_ROWS", 9)
    parts = inspection.value_of_views(model, views[80:], views[:80], n_draws=4)
    pd.testing.assert_frame_equal(whole, parts)


def test_what_is_promised_comes_true_when_the_view_is_revealed():
    """The right class becomes about as much more probable as was said; the model is not quite sure enough."""
    views, y = planted(400, absent=0.0)
    model = AbsentClassifier(C=1.0).fit(views[:200], y[:200])
    hidden = views[200:].hide(np.tile([False, True, True], (200, 1)))
    frame = inspection.value_of_views(model, hidden, views[:200], n_draws=20)
    right = np.searchsorted(model.classes_, y[200:])
    before, after = (model.predict_proba(X)[np.arange(200), right] for X in (hidden, views[200:]))
    realised = (after - before).mean()
    assert 0.5 * realised < frame["gain"].mean() < 1.5 * realised


def test_a_sample_with_all_views_has_no_rows(fitted):
    views, model = fitted
    complete = views[np.flatnonzero(views.observed.all(axis=1))]
    assert len(inspection.value_of_views(model, complete, views)) == 0
    by_itself = inspection.value_of_views(model, views[80:], n_draws=3)
    assert set(by_itself["id"]) == set(views.ids[80:][~views.observed[80:].all(axis=1)])


@pytest.mark.filterwarnings("ignore:.*no view:absentia.data.AbsenceWarning")
def test_who_shares_no_view_with_anybody_is_lent_by_chance(fitted):
    views, model = fitted
    train = views[:80].hide(np.tile([True, False, False], (80, 1)))
    train = train[np.flatnonzero(train.observed[:, 0])]
    lonely = views[np.flatnonzero(~views.observed[:, 0])[:2]]
    one = inspection.value_of_views(model, lonely, train, n_draws=2)
    other = inspection.value_of_views(model, lonely, train, n_draws=2, random_state=7)
    assert one["view"].tolist() == ["tells", "tells"]
    assert not np.allclose(one["expected"], other["expected"])


def test_kernels_and_models_without_probabilities_are_refused(fitted):
    views, model = fitted
    makes = ViewKernels()
    kernels = makes.fit_transform(views)
    with pytest.raises(TypeError, match="features are wanted"):
        inspection.value_of_views(model, kernels)
    y = np.arange(len(views)) % 2
    with pytest.raises(ValueError, match="probability=True"):
        inspection.value_of_views(MMAFClassifier().fit(views, y), views)
    with pytest.raises(ValueError, match="probability=True"):
        inspection.value_of_views(models.Model(MMAFClassifier().fit(views, y)), views)
    with pytest.raises(ValueError, match="n_draws"):
        inspection.value_of_views(model, views, n_draws=0)
    with pytest.raises(ValueError, match="give the same views"):
        inspection.value_of_views(model, views, views.select(["tells"]))
    nameless = Views.from_dict({name: np.ones((4, 2)) for name in views.names})
    with pytest.raises(ValueError, match="no names to find them by"):
        inspection.value_of_views(model, views, nameless)


def test_columns_and_levels_of_lenders_go_by_name():
    """Other files have other orders, columns too many, and levels in another order."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    stage = np.array(["late", "early"])[y]
    tables = {
        "clinic": pd.DataFrame({"stage": stage, "age": rng.normal(size=60)}),
        "lab": pd.DataFrame(rng.normal(size=(60, 2)) + y[:, None], columns=["p", "q"]),
    }
    views = Views.from_dict(tables)
    model = AbsentClassifier(C=1.0).fit(views, y)
    new = views[:9].hide(np.tile([False, True], (9, 1)))
    lenders = {name: table.iloc[20:] for name, table in tables.items()}
    same = inspection.value_of_views(model, new, Views.from_dict(lenders), n_draws=5)
    new = Views.from_dict({"lab": tables["lab"][:9], "clinic": pd.DataFrame({"stage": ["new"]}, [99])})
    new = new[:9].select(["clinic", "lab"])
    lenders["clinic"] = lenders["clinic"][["age", "stage"]].assign(more=1.0)
    lenders["lab"] = lenders["lab"][["q", "p"]]
    with warnings.catch_warnings(action="ignore"):  # of the column that training did not have
        other = inspection.value_of_views(model, new, Views.from_dict(lenders), n_draws=5)
    assert same["id"].tolist() == other["id"].tolist() == list(range(9))
    assert np.allclose(same["expected"], other["expected"], atol=1e-9)


def test_a_model_of_kernels_made_from_features_is_taken():
    from absentia import AverageKernelSVC

    views, y = planted(60)
    makes = ViewKernels()
    machine = AverageKernelSVC(probability=True).fit(makes.fit_transform(views), y)
    frame = inspection.value_of_views(models.Model(machine, makes), views[:10], views, n_draws=3)
    assert len(frame) == (~views[:10].observed).sum()


def test_columns_without_names_go_by_position(fitted):
    views, model = fitted
    nameless = Views.from_dict(views[:80].to_dict())
    assert nameless.features("tells") is None
    by_name = inspection.value_of_views(model, views[80:], views[:80], n_draws=5)
    by_position = inspection.value_of_views(model, views[80:], nameless, n_draws=5)
    assert np.allclose(by_name["gain"], by_position["gain"], atol=1e-9)
