"""absentia.Predictor: one row, without a data frame and from any thread, as the model says of views."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import (
    AbsenceWarning,
    AutoClassifier,
    AutoRegressor,
    MKLClassifier,
    Predictor,
    ViewKernels,
    Views,
    models,
)


@pytest.fixture(scope="module")
def frames():
    """Two views of 60 samples, one with a category; some lack one."""
    rng = np.random.default_rng(0)
    common, ids = rng.normal(size=60), [f"s{k}" for k in range(60)]
    gene = pd.DataFrame({f"g{j}": common + rng.normal(size=60) for j in range(4)}, index=ids)
    clinic = pd.DataFrame({"age": 50 + 9 * rng.normal(size=60)}, index=ids)
    clinic["stage"] = np.where(common > 0.3, "late", "early")
    clinic.iloc[3, 0] = np.nan
    return {"gene": gene.iloc[:50], "clinic": clinic.iloc[5:]}, common


@pytest.fixture(scope="module")
def fitted(frames):
    tables, common = frames
    views = Views.from_dict(tables)
    y = pd.Series(np.where(common > 0, "ill", "well"), [f"s{k}" for k in range(60)])
    return views, AutoClassifier("no-rows").fit(views, views.align(y))


def row_of(tables, sample):
    return {name: table.loc[sample] for name, table in tables.items() if sample in table.index}


def test_a_row_is_predicted_as_in_views(frames, fitted):
    tables, (views, model) = frames[0], fitted
    predictor = Predictor(model)
    for sample in ("s0", "s7", "s55"):  # which lacks clinic, lacks none, lacks gene
        one = views[views.ids == sample]
        proba = predictor.predict_proba(row_of(tables, sample))
        np.testing.assert_array_equal(proba, model.predict_proba(one))
        assert predictor.predict(row_of(tables, sample)) == model.predict(one)
        backwards = {k: dict(reversed(row.to_dict().items())) for k, row in row_of(tables, sample).items()}
        np.testing.assert_array_equal(predictor.predict_proba(backwards), proba)
    np.testing.assert_array_equal(predictor.predict_proba(views[:9]), model.predict_proba(views[:9]))


def test_threads_get_the_answers_that_one_gets(frames, fitted, recwarn):
    tables, (views, model) = frames[0], fitted
    predictor, samples = Predictor(model), [f"s{k}" for k in range(60)] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda s: predictor.predict_proba(row_of(tables, s)), samples))
    wanted = dict(zip(views.ids.tolist(), model.predict_proba(views), strict=True))
    np.testing.assert_allclose(np.concatenate(found), [wanted[s] for s in samples], rtol=1e-9)
    assert not recwarn.list


def test_files_pipelines_and_numbers_are_taken(frames, fitted, tmp_path):
    tables, (views, model) = frames[0], fitted
    absentia.save(model, tmp_path / "m.absentia")
    row = row_of(tables, "s20")
    one = views[views.ids == "s20"]
    loaded = Predictor(tmp_path / "m.absentia")
    np.testing.assert_array_equal(loaded.predict_proba(row), model.predict_proba(one))
    assert loaded.classes_.tolist() == ["ill", "well"]
    numbers = AutoRegressor("no-rows").fit(views, np.arange(60.0))
    np.testing.assert_array_equal(Predictor(numbers).predict(row), numbers.predict(one))
    kernels = ViewKernels()
    machine = MKLClassifier(probability=True).fit(kernels.fit_transform(views), model.predict(views))
    pair = models.Model(machine, kernels)
    np.testing.assert_array_equal(Predictor(pair).predict_proba(row), pair.predict_proba(one))
    with pytest.raises(ValueError, match="learned from kernels"):
        Predictor(machine)


def test_arrays_come_in_the_order_of_training():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3))
    views = Views.from_dict({"a": X, "b": X[:, :2] ** 2})
    model = AutoClassifier("no-rows").fit(views, X[:, 0] > 0)
    got = Predictor(model).predict_proba({"a": X[4], "b": None})
    lacking = views[[4]].hide([[True, False]])
    np.testing.assert_array_equal(got, model.predict_proba(lacking))


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        ({"genes": [1.0]}, "'genes' was not there in training"),
        ([1.0, 2.0], "a mapping from views"),
        ({"gene": {"g0": 1.0, "g1": "high", "g2": 2.0, "g3": 0.0}}, "numbers in training, and now 'high'"),
        ({"gene": ["1", "2", "3", "4"]}, "is a text"),
        ({"gene": {"g0": object()}}, "is no number and no text"),
        ({"gene": {"h0": 1.0}}, "none of its 4 features"),
        ({"gene": [[1.0, 2, 3, 4], [5.0, 6, 7, 8]]}, "one row is wanted"),
        ({"gene": [1.0, 2.0]}, "has 2 features but had 4"),
        ({"gene": {"g0": np.inf, "g1": 0.0, "g2": 0.0, "g3": 0.0}}, "infinite"),
    ],
)
def test_what_is_wrong_with_a_row_is_said(fitted, sample, words):
    with pytest.raises(ValueError, match=words):
        Predictor(fitted[1]).predict(sample)


def test_a_sample_without_any_view_gets_the_frequencies(fitted):
    model = fitted[1]
    proba = Predictor(model).predict_proba({"gene": None})
    with pytest.warns(AbsenceWarning):
        nobody = Views.from_dict({"gene": [[np.nan] * 4]})
    np.testing.assert_allclose(proba, model.predict_proba(nobody))
