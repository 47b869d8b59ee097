"""Models without training samples: nothing of these is in the file, and they predict the same."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from absentia import (
    AbsentClassifier,
    AutoClassifier,
    AutoRegressor,
    AutoSurvival,
    ViewKernels,
    Views,
    datasets,
    missingness,
    models,
)
from absentia.files import read_state
from absentia.methods import catalogue
from absentia.methods.models import Model
from absentia.methods.prediction import without_landmarks
from helpers.found_rows import count_columns, count_rows, read_floats

N, WIDTHS = 61, {"a": 7, "b": 11, "c": 5}  # no two sizes alike
EXPORTED = {
    "classifier": ("linear", "complete-cases", "cvkt-linear", "cvkt-rbf", "zero-rbf", "fusion-linear", "fusion-rbf"),
    "regressor": ("linear-regression", "ridge-cvkt-linear", "ridge-cvkt-rbf", "ridge-zero", "ridge-fusion-linear",
                  "ridge-fusion-rbf"),
    "survival": ("linear-cox", "cox-cvkt-linear", "cox-cvkt-rbf", "cox-zero", "cox-fusion-linear", "cox-fusion-rbf"),
}  # fmt: skip
CASES = [(family, name) for family, names in EXPORTED.items() for name in (*names, "auto")]
SHARED = ("classifier", "regressor", "survival")


def make_views(seed=0, n=N):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    weights = np.random.default_rng(7)
    tables = {
        k: z @ weights.standard_normal((3, p)) + rng.standard_normal((n, p)) for k, p in WIDTHS.items()
    }
    has = np.ones((n, 3), dtype=bool)
    has[:9, 0] = has[9:21, 1] = has[21:25, 2] = has[25:30, :2] = False
    return Views.from_dict(tables, ids=[f"patient-{seed}-{k}" for k in range(n)]).hide(has), z


@pytest.fixture(scope="module")
def training():
    views, z = make_views()
    rng = np.random.default_rng(1)
    times = np.exp(0.8 * z[:, 0] + 0.3 * rng.standard_normal(N))
    targets = {
        "classifier": np.digitize(z[:, 0], [-0.5, 0.5]),
        "regressor": z[:, 0] + 0.1 * rng.standard_normal(N),
        "survival": np.column_stack([times, rng.random(N) < 0.8]),
    }
    return views, targets


def fit(family, name, training, **parameters):
    views, targets = training
    model = catalogue.find(name, family).make(**parameters)
    if name == "auto":
        model.set_params(candidates="no-rows")
    elif "kernel" in model.get_params():
        model.set_params(kernel=without_landmarks(model.kernel))
    return model.fit(views, targets[family])


@pytest.mark.slow_params(  # of kernels, "zero-rbf" and the linear ones are quick
    *(
        "classifier-cvkt-rbf",
        "classifier-fusion-rbf",
        "regressor-ridge-cvkt-rbf",
        "regressor-ridge-fusion-rbf",
    ),
    *("survival-cox-cvkt-rbf", "survival-cox-fusion-rbf"),
)
@pytest.mark.parametrize(("family", "name"), CASES, ids=[f"{f}-{n}" for f, n in CASES])
def test_an_exported_model_predicts_the_same_and_holds_nothing_of_a_sample(
    family, name, training, tmp_path
):
    model = fit(family, name, training)
    path = models.save(models.export(model), tmp_path / "shared.absentia")
    shared, (new, _) = models.load(path), make_views(seed=5, n=40)
    predict = "predict_proba" if family == "classifier" else "predict"
    np.testing.assert_allclose(getattr(shared, predict)(new), getattr(model, predict)(new), atol=1e-8)
    assert count_rows(path, training[0]) == count_columns(path, training[0]) == 0
    counts = {N, *training[0].observed.sum(axis=0).tolist()}
    assert not [a.shape for a in read_floats(path) if counts.intersection(a.shape)]
    text = json.dumps(read_state(path)[0].tree) + "".join(map(str, np.load(path)["model"].tolist()))
    assert "patient" not in text
    arrays = read_state(path)[0].arrays.values()
    assert not any(
        "patient" in str(x) for array in arrays if array.dtype.kind in "US" for x in array.ravel()
    )
    found = models.describe(path)
    assert not any(found["holds"].values())
    assert found["samples"] is None
    assert "no id, feature row" in found["personal data"]


@pytest.mark.parametrize("family", SHARED)
def test_times_and_targets_of_samples_are_not_in_an_exported_model(family, training, tmp_path):
    path = models.save(models.export(fit(family, "auto", training)), tmp_path / "shared.absentia")
    values = np.concatenate([array.ravel() for array in read_floats(path)])
    if family != "classifier":
        targets = np.asarray(training[1][family], dtype=float).reshape(N, -1)[:, 0]
        assert np.abs(values[:, None] - targets).min() > 1e-9


def test_the_search_finds_rows_where_they_are(training, tmp_path):
    path = models.save(
        AutoClassifier(["zero-rbf"]).fit(training[0], training[1]["classifier"]), tmp_path / "m"
    )
    assert count_rows(path, training[0]) == training[0].observed.sum()
    assert count_columns(path, training[0]) == sum(WIDTHS.values())


def fit_any(entry, training):
    """A method of the catalogue, kernels before it if it takes these."""
    views, targets = training
    target, model = targets[entry.family], entry.make()
    if model.get_params().get("C") == "cv":
        model.set_params(C=1.0)  # what a file holds does not hang on it, and selecting it takes 35 fits
    if entry.takes != "kernels":
        return model.fit(views, target)
    if entry.family != "classifier":
        return make_pipeline(ViewKernels(), model).fit(views, target)
    kernels = ViewKernels()
    return Model(model.fit(kernels.fit_transform(views), target), kernels)


ENTRIES = {f"{e.family}-{e.name}": e for e in catalogue.CATALOGUE if e.family in SHARED}
SLOW = {  # and one quick method of each class
    f"classifier-{name}"
    for completer in ("cvkt", "em", "knn", "mean", "mkmc", "svt", "zero")
    for name in (
        f"{completer}-mkl",
        f"{completer}-svm",
        "amkl-iterative",
        "amkl-mean",
        "amkl-penalized",
        "mmaf",
        "stacking",
    )
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] if n in SLOW - {"classifier-zero-svm"} else [])
        for n in ENTRIES
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_file_says_that_it_holds_rows_exactly_if_it_does(name, training, tmp_path):
    path = models.save(fit_any(ENTRIES[name], training), tmp_path / "m.absentia")
    holds = models.describe(path)["holds"]
    assert (count_rows(path, training[0]) > 0) == (holds["feature rows"] > 0)
    assert holds["ids"] == len(set(training[0].ids.tolist()) & set(_read_ids(path)))
    assert holds["presence"] == holds["ids"] > 0


def _read_ids(path):
    arrays = read_state(path)[0].arrays.values()
    return [x for array in arrays if array.dtype.kind == "U" for x in array.ravel().tolist()]


def test_landmarks_and_kernels_are_told(training, tmp_path):
    views = training[0]
    found = models.describe(
        models.save(ViewKernels(approx="nystrom", n_landmarks=17).fit(views), tmp_path / "n")
    )
    assert found["holds"]["feature rows"] == 17
    kernels = ViewKernels().fit_transform(views)
    completer = catalogue.find("knn", "completer").make().fit(kernels)
    holds = models.describe(models.save(completer, tmp_path / "k"))["holds"]
    assert holds["kernel values"] == training[0].observed.sum(axis=0).max()
    assert not holds["feature rows"]


def test_long_predictions_alone_are_another_than_before():
    """With few features some absent views are predicted longer than any that was seen; CVKT shortens them."""
    data = datasets.make_multiview(120, 3, random_state=0)
    views = data.views.hide(missingness.mcar(data.views, 0.3, random_state=0))
    model = AbsentClassifier(kernel="linear").fit(views, data.target)
    shared = models.export(model).predict_proba(views)
    assert np.abs(shared - model.predict_proba(views)).max() > 1e-4
    model._kernels.completer_ = model.completer_.without_shortening()
    np.testing.assert_allclose(shared, model.predict_proba(views), atol=1e-9)


# ------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("family", "name", "words"),
    [
        ("classifier", "forest", "leaves may hold one"),
        ("regressor", "boosting-regression", "leaves may hold one"),
        ("classifier", "cvkt-svm", "support vector machine"),
        ("regressor", "mkl-regression", "support vector machine"),
        ("classifier", "stacking", "predicts from training samples"),
        ("regressor", "ridge-mean", "take CVKT, completer=None"),
    ],
)
def test_what_needs_samples_is_refused(family, name, words, training):
    with pytest.raises(ValueError, match=words):
        models.export(fit(family, name, training))


def test_kernels_that_need_samples_are_refused(training):
    views, y = training[0], training[1]["classifier"]
    for kernel, words in (
        (ViewKernels(), "random Fourier features"),
        (ViewKernels(approx="nystrom", n_landmarks=9), "landmarks are training samples"),
        (ViewKernels("linear", center=True), "center=False"),
    ):
        with pytest.raises(ValueError, match=words):
            models.export(AbsentClassifier(None, kernel=kernel).fit(views, y))
    kernels = ViewKernels().fit_transform(views)
    with pytest.raises(ValueError, match="whose columns are training samples"):
        models.export(AbsentClassifier(None, kernel="precomputed").fit(kernels, y))
    with pytest.raises(ValueError, match="features are wanted"):
        AutoClassifier("no-rows", kernel="precomputed").fit(kernels, y)
    with pytest.raises(ValueError, match="presence=False"):
        models.export(AbsentClassifier(None, kernel="linear", presence=True).fit(views, y))
    with pytest.raises(ValueError, match=r"member 'zero-rbf'.*candidates='no-rows'"):
        models.export(AutoClassifier(["zero-rbf"]).fit(views, y))


def test_a_view_of_few_samples_would_give_them_away(training):
    views, targets = training
    has = np.column_stack([np.cumsum(views.observed[:, 0]) <= 4, np.ones((N, 2), dtype=bool)])
    with pytest.raises(ValueError, match=r"view 'a': 4 sample\(s\) have it"):
        models.export(AutoClassifier(["linear"]).fit(views.hide(has), targets["classifier"]))


def test_few_events_are_not_told(training):
    views, targets = training
    y = targets["survival"].copy()
    y[:, 1] = np.arange(N) < 3
    with pytest.raises(ValueError, match=r"events came at 3 time\(s\)"):
        models.export(catalogue.find("linear-cox", "survival").make().fit(views, y))


def test_many_views_are_not_completed():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    views = Views.from_dict({f"v{k}": rng.standard_normal((40, 3)) + y[:, None] for k in range(7)})
    auto = AutoClassifier("no-rows").fit(views, y)
    assert not [name for name in auto.estimators_ if "cvkt" in name]
    np.testing.assert_allclose(
        models.export(auto).predict_proba(views), auto.predict_proba(views), atol=1e-10
    )
    with pytest.raises(ValueError, match="up to 6 views"):
        models.export(AbsentClassifier(kernel="linear").fit(views, y))


@pytest.mark.parametrize("auto", [AutoClassifier, AutoRegressor, AutoSurvival])
def test_prediction_sets_are_left_out(auto, training):
    family = auto._family
    model = auto("no-rows").fit(training[0], training[1][family])
    model.calibration_ = np.arange(N)
    assert not hasattr(models.export(model), "calibration_")
