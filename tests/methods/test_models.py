"""Fitted classifiers as files: what comes back predicts what went in did, and nothing in a file is obeyed."""

import copy
import datetime
import json
import os
import pickle
import re
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import joblib
import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC
from sklearn.utils import get_tags

import absentia
from absentia import (
    CVKT,
    AbsentMKLClassifier,
    CombineKernels,
    KernelViews,
    MKLClassifier,
    PMAImputer,
    ViewKernels,
    Views,
    io,
    missingness,
    models,
)
from absentia.core import Serialized, serialize
from absentia.files import read_new, write_state
from absentia.methods import catalogue
from absentia.methods.catalogue import list_entries
from absentia.methods.models import Model
from conftest import random_problem
from helpers.crafted_archives import described, refused, write_rows
from helpers.digit_samples import half_seen_digits
from helpers.registry import CLASSIFIERS as CLASSIFIERS_OF_ALL_KINDS
from helpers.registry import COMPLETERS
from helpers.saved_estimators import NAMES, cohort, said, same, traveller

pytestmark = pytest.mark.filterwarnings("ignore:.*have every view, which makes this identical")


@pytest.fixture
def halves(digits):
    views, y = digits
    return views[:90], y[:90] % 3, views[90:]


def fit(train, y, classifier=None, kernels=None):
    kernels = kernels or ViewKernels()
    classifier = classifier or AbsentMKLClassifier(probability=True)
    return Model(classifier.fit(kernels.fit_transform(train), y), kernels, {"method": "a test"})


def same_predictions(model, back, new):
    np.testing.assert_array_equal(back.predict(new), model.predict(new))
    tight = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(back.decision_function(new), model.decision_function(new), **tight)
    if model.classifier.probability:
        np.testing.assert_allclose(back.predict_proba(new), model.predict_proba(new), **tight)
    np.testing.assert_array_equal(
        back.classifier.unusable(back.rows(new)), model.classifier.unusable(model.rows(new))
    )


CLASSIFIERS = [
    MKLClassifier(probability=True),
    MKLClassifier(norm=2, probability=True),
    AbsentMKLClassifier("convex", constraint="mean", probability=True),
    AbsentMKLClassifier("iterative", tau_min=0.4, max_iter=2),
    AbsentMKLClassifier("penalized", class_weight={0: 2.0, 1: 1.0, 2: 1.0}),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=lambda c: str(c)[:45])
def test_a_model_that_comes_back_predicts_the_same(halves, tmp_path, classifier, n_classes):
    train, y, new = halves
    y = y if n_classes == 3 else np.minimum(y, 1)
    if n_classes == 2 and isinstance(classifier.class_weight, dict):
        classifier.set_params(class_weight={0: 2.0, 1: 1.0})
    model = fit(train, y, classifier)
    back = models.load(models.save(model, tmp_path / "m.npz"))
    same_predictions(model, back, new)
    same_predictions(model, back, new.select(["moments", "pixels"]))  # others left out, another order
    assert back.about == {"method": "a test"}
    np.testing.assert_array_equal(back.classifier.weights_, model.classifier.weights_)
    assert back.classifier.gap_ == model.classifier.gap_
    assert type(back.classifier.weight_table()) is type(model.classifier.weight_table())


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "laplacian", "chi2", "cosine", "tanimoto"])
def test_every_kernel_comes_back(halves, tmp_path, kernel):
    train, y, new = halves
    if kernel == "chi2":
        train, new = train.select(["pixels", "profiles"]), new.select(["pixels", "profiles"])
    with warnings.catch_warnings(action="ignore"):
        model = fit(train, y, MKLClassifier(), ViewKernels(kernel, normalize="trace"))
        back = models.load(models.save(model, tmp_path / "m.npz"))
        same_predictions(model, back, new)


def test_missing_values_feature_names_and_text_classes_come_back(tmp_path):
    rng = np.random.default_rng(0)
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(
        rng.normal(size=(40, 6)), columns=list("abcdef"), index=[f"s{i}" for i in range(40)]
    )
    y = np.where(frame["a"] + frame["e"] > 0, "ill", "well")
    frame.iloc[::7, 2] = np.nan
    views = Views.from_frame(frame, {"one": list("abc"), "two": list("def")})
    model = fit(views[:30], y[:30])
    back = models.load(models.save(model, tmp_path / "m.npz"))
    same_predictions(model, back, views[30:])
    turned = Views.from_frame(frame.iloc[30:], {"one": list("cba"), "two": list("fde")})
    np.testing.assert_array_equal(back.predict(turned), model.predict(views[30:]))


def test_sparse_views_come_back(tmp_path):
    X = scipy.sparse.random(40, 10, 0.3, format="csr", random_state=0)
    views = Views.from_dict({"a": X})
    model = fit(views, np.arange(40) % 2, MKLClassifier())
    back = models.load(models.save(model, tmp_path / "m.npz"))
    same_predictions(model, back, views)


def test_only_samples_with_a_coefficient_are_kept(halves, tmp_path):
    train, y, new = halves
    model = fit(train, np.minimum(y, 1), MKLClassifier(C=1000.0))
    back = models.load(models.save(model, tmp_path / "m.npz"))
    assert len(back.classifier.ids_) == len(model.classifier.support_) < len(train)
    for v, name in enumerate(train.names):
        assert len(back.kernels._raw[name].X) == back.classifier._observed[:, v].sum()
    same_predictions(model, back, new)


def test_views_without_weight_are_not_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    views = Views.from_dict({"signal": X, "noise": rng.normal(size=(60, 30))})
    model = fit(views, X[:, 0] > 0, MKLClassifier())
    assert model.classifier.weights_[1] == 0
    back = models.load(models.save(model, tmp_path / "m.npz"))
    assert back.kernels._raw["noise"].X.shape == (0, 30)
    same_predictions(model, back, views)
    assert back.classifier.unusable(back.rows(views.select(["noise"]))).all()


@pytest.mark.parametrize(
    "kernels", [ViewKernels(center=True), ViewKernels(approx="nystrom", n_landmarks=20)]
)
def test_centred_and_approximate_kernels_come_back(halves, tmp_path, kernels):
    train, y, new = halves
    model = fit(train, y, MKLClassifier(), kernels)
    same_predictions(model, models.load(models.save(model, tmp_path / "m.npz")), new)


# ---------------------------------------------------------------------------------------------- kernels


@pytest.fixture
def kernel_model(tmp_path):
    kv = random_problem(50, 3)
    ids = np.array([f"p{i}" for i in range(50)])
    kv = KernelViews.from_dense(kv.to_dense(), ids=ids)
    y = np.arange(50) % 2
    model = Model(MKLClassifier(C=0.1, probability=True).fit(kv[np.ix_(range(40), range(40))], y[:40]))
    return kv, model, models.load(models.save(model, tmp_path / "m.npz"))


def test_a_model_of_kernels_takes_rows_in_any_order_of_columns(kernel_model, tmp_path):
    kv, model, back = kernel_model
    new = np.arange(40, 50)
    wanted = model.classifier.decision_function(kv[np.ix_(new, range(40))])
    rows = read_new(write_rows(tmp_path / "r.npz", kv, new, np.random.default_rng(0).permutation(50)))
    np.testing.assert_allclose(back.decision_function(rows), wanted, rtol=1e-12, atol=1e-12)
    square = read_new(io.write(tmp_path / "s.npz", kv))
    np.testing.assert_allclose(back.decision_function(square)[40:], wanted, rtol=1e-12, atol=1e-12)


def test_a_view_that_new_kernels_lack_altogether_is_absent(kernel_model):
    kv, model, back = kernel_model
    part = kv.select(["view2", "view0"])
    keep = np.ones((50, 3), bool)
    keep[40:, 1] = False
    wanted = model.classifier.predict_proba(kv.hide(keep)[np.ix_(range(40, 50), range(40))])
    np.testing.assert_allclose(back.predict_proba(part)[40:], wanted, rtol=1e-12)


def test_rows_against_others_than_the_training_samples_are_refused(kernel_model, tmp_path):
    kv, _, back = kernel_model
    path = tmp_path / "r.npz"
    rows = read_new(write_rows(path, kv, np.arange(40, 50), np.arange(5, 40)))
    with pytest.raises(
        ValueError, match=r"training samples that the model needs, e.g. 'p\d'.* are not among"
    ):
        back.predict(rows)
    K = kv.to_dense()[:, 40:, :40]
    K[:, :, 7] = np.nan
    assert back.classifier._observed[list(back.classifier.ids_).index("p7")].any()
    rows = read_new(write_rows(path, kv, np.arange(40, 50), np.arange(40), K=K))
    with pytest.raises(ValueError, match=r"no values against training sample 'p7'"):
        back.predict(rows)
    names = ["view0", "view1", "view9"]
    rows = read_new(write_rows(path, kv, np.arange(40, 50), np.arange(40), names=names))
    with pytest.raises(ValueError, match=r"view 'view9' was not there in training: \['view0'"):
        back.predict(rows)


# ---------------------------------------------------------------------------------- what cannot be saved


def test_what_a_file_could_not_bring_back_is_not_saved(halves, tmp_path):
    train, y, _ = halves
    path = tmp_path / "m.npz"
    with pytest.raises(
        TypeError, match=r"model.kernels.kernel is a builtins.function, which cannot be stored"
    ):
        models.save(fit(train, y, MKLClassifier(), ViewKernels(lambda a, b: a @ b.T)), path)
    with pytest.raises(NotFittedError, match="not fitted"):
        models.save(Model(MKLClassifier()), path)
    for nobody in (CVKT(), make_pipeline(ViewKernels(), MKLClassifier())):
        with pytest.raises(NotFittedError, match=r"this \w+ is not fitted: .* call fit first"):
            models.save(nobody, path)
    for other in (train, CVKT, {"a": 1}):
        with pytest.raises(TypeError, match=r"came, a fitted estimator is wanted; .*absentia.io.write"):
            models.save(other, path)
    model = fit(train, y, MKLClassifier())
    with pytest.raises(TypeError, match=r"model.about.x is a .*, which cannot be stored"):
        models.save(Model(model.classifier, model.kernels, {"x": object()}), path)
    assert os.listdir(tmp_path) == []


def test_features_and_kernels_are_not_taken_for_one_another(halves, kernel_model, tmp_path):
    train, y, _ = halves
    with pytest.raises(
        ValueError, match=r"learned from features of the views .*but kernels came; give features"
    ):
        fit(train, y).predict(kernel_model[0])
    with pytest.raises(
        ValueError,
        match=r"learned from kernels of the views .*but features came; give kernels of the new samples against",
    ):
        kernel_model[2].predict(train)


# --------------------------------------------------------------------------------- files from strangers


@pytest.fixture
def whole(tmp_path):
    """A model's file: bytes, arrays, new samples."""
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(30, 2)), "b": rng.normal(size=(30, 3))})
    model = fit(views, np.arange(30) % 2, MKLClassifier(probability=True))
    path = models.save(model, tmp_path / "whole.npz")
    found = path.read_bytes(), io.read_arrays(path), views[:12]
    path.unlink()
    return found


def nested(depth):
    return {"a": nested(depth - 1)} if depth else 1


BAD = [
    (described(tree={"is": "subprocess.Popen", "items": ["touch bomb-went-off"]}), "unknown here"),
    (described(tree={"is": "models.Model", "items": [1]}), "not a valid model"),
    (described(tree={"is": "models.Model", "state": [1]}), "no attributes"),
    (described(tree={"is": "array", "number": "99"}), "array '99' is missing"),
    (described(version=1), "fit it again"),
    (described(version=99), "up to 2 can be read here: update absentia"),
    (lambda arrays: {"0": arrays["0"] + 1}, "its checksum is another"),
    (described(tree=nested(200)), "nested too deeply"),
    (described(tree={"is": "builtins.eval", "state": {"x": "1"}}), "unknown here"),
    (described(tree={"is": "sklearn.svm.SVC", "state": {}}), "unknown here"),
    (described(tree={"is": "RandomForestClassifier", "state": {}}), "unknown here"),
    (described(tree={"is": "SVC", "state": {}}), "its SVC is not complete"),
    (described(tree={"is": "SVC", "state": {"predict": 1}}), "'predict' among its attributes"),
    (described(tree={"is": "models.Model", "state": {"predict": 1}}), "'predict' among its attributes"),
    (described(tree={"is": "dict", "items": [[], 1]}), "not a valid model"),
    (described(tree={"is": "objects", "shape": [1e400], "items": []}), "not a valid model"),
    (described(made=3), "not complete"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD)
def test_bad_models_are_named_with_one_sentence(tmp_path, monkeypatch, whole, change, sentence):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.npz"
    np.savez(path, **(whole[1] | change(whole[1])))
    refused(models.load, path, sentence)
    assert not (tmp_path / "bomb-went-off").exists()


@pytest.mark.parametrize("normalize", [None, "trace"])
def test_a_kernel_value_that_is_nearly_infinite_is_an_error_and_no_score(tmp_path, normalize):
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(20, 2))})
    kernels = ViewKernels("linear", normalize=normalize, standardize=False)
    back = models.load(
        models.save(fit(views, np.arange(20) % 2, MKLClassifier(), kernels), tmp_path / "m.npz")
    )
    new = Views.from_dict({"a": [[1.0, 1.0], [-1e140, 1e140]]}, ids=["fine", "huge"])
    for predict in (back.rows, back.predict, back.decision_function):
        with pytest.raises(ValueError, match=r"view 'a', sample 'huge': .*not finite or beyond 1e\+100"):
            predict(new)
    assert np.isfinite(back.decision_function(new[:1])).all()


def test_a_prediction_that_is_no_number_is_an_error(whole, halves, monkeypatch):
    train, y, new = halves
    model = fit(train, y, MKLClassifier())
    model.classifier.bias_ = np.array([np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match="would get scores that are not finite"):
        model.decision_function(new)
    with pytest.raises(ValueError, match="would get scores that are not finite"):
        model.predict(new)


def test_blocks_of_samples_are_predicted_as_all_at_once(halves, kernel_model):
    train, y, new = halves
    model = fit(train, y)
    whole = model.classifier.decision_function(model.rows(new))
    for entries in (1, 500, 10**9):
        parts = list(model.blocks(new, entries))
        assert sum(len(part) for part in parts) == len(new)
        assert len(parts) == 1 or max(part.shape[0] for part in parts) * len(train) * new.n_views <= max(
            entries, 540
        )
        scores = np.concatenate([model.classifier.decision_function(part) for part in parts])
        np.testing.assert_allclose(scores, whole, rtol=1e-10, atol=1e-10)
        np.testing.assert_array_equal(np.concatenate([part.ids for part in parts]), new.ids)
    kv, _, back = kernel_model
    parts = [back.classifier.predict(part) for part in back.blocks(kv, 200)]
    np.testing.assert_array_equal(np.concatenate(parts), back.predict(kv))
    assert len(parts) > 1


def test_the_model_that_those_are_changes_of_is_fine(tmp_path, whole):
    path = tmp_path / "m.npz"
    np.savez(path, **(whole[1] | described()(whole[1])))
    assert models.load(path).predict(whole[2]).shape == (12,)


def test_damage_anywhere_in_a_model_is_a_file_error_or_changes_nothing(tmp_path, whole):
    rng = np.random.default_rng(0)
    path = tmp_path / "m.npz"
    path.write_bytes(whole[0])
    wanted, said = models.load(path).predict_proba(whole[2]), models.describe(path)
    for _ in range(120):
        damaged = bytearray(whole[0])
        for position in rng.choice(len(damaged), 3, replace=False):
            damaged[position] ^= rng.integers(1, 256)
        path.write_bytes(bytes(damaged))
        with suppress(io.FileError):  # or it was in a byte that says nothing, a time for instance
            np.testing.assert_array_equal(models.load(path).predict_proba(whole[2]), wanted)
            assert models.describe(path) == said


def test_a_data_file_is_no_model_and_a_model_is_no_data_file(tmp_path, whole):
    data = io.write(tmp_path / "v.npz", whole[2])
    with pytest.raises(io.FileError, match="holds no model but"):
        models.load(data)
    np.savez(tmp_path / "m.npz", **whole[1])
    with pytest.raises(io.FileError, match="neither 'K' nor 'view_<name>'"):
        io.read(tmp_path / "m.npz")
    with pytest.raises(io.FileError, match="no such file"):
        models.load(tmp_path / "gone.npz")


# ------------------------------------------------------------------------------------- every estimator


@pytest.mark.slow_params("auto completer")
@pytest.mark.parametrize("name", COMPLETERS)
def test_every_completer_comes_back(tmp_path, name):
    kv = random_problem(30, 3, 0.3)
    train, new = np.arange(22), np.arange(22, 30)
    with warnings.catch_warnings(action="ignore"):
        completer = clone(COMPLETERS[name]).fit(kv[np.ix_(train, train)])
        back = models.load(models.save(completer, tmp_path / "c.npz"))
        assert type(back) is type(completer)
        assert str(back) == str(completer)
        for X in (kv[np.ix_(train, train)], kv[np.ix_(new, train)]):
            np.testing.assert_array_equal(back.transform(X).to_dense(), completer.transform(X).to_dense())


@pytest.mark.slow_params(
    "completed by the others",
    "completed kernels",
    "average, searched",
    "fusion",
    "fusion, skill",
    "stacking",
    "chooser",
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CLASSIFIERS_OF_ALL_KINDS)
def test_every_classifier_comes_back(halves, tmp_path, name):
    train, y, new = halves
    classifier = clone(CLASSIFIERS_OF_ALL_KINDS[name])
    features = not classifier.__sklearn_tags__().input_tags.pairwise
    kernels = None if features else ViewKernels()
    X = train if features else kernels.fit_transform(train)
    model = Model(classifier.fit(X, y), kernels)
    back = models.load(models.save(model, tmp_path / "m.npz"))
    np.testing.assert_allclose(
        back.decision_function(new), model.decision_function(new), rtol=1e-12, atol=1e-12
    )
    alone = models.load(models.save(classifier, tmp_path / "c.npz"))
    rows = model.rows(new)
    np.testing.assert_array_equal(alone.decision_function(rows), classifier.decision_function(rows))


@pytest.mark.slow_params(
    "completer mkmc full",
    "completer cvkt, 3 rounds",
    "classifier iterative, probabilities",
    "classifier fusion",
    "classifier chooser",
    "matrix imputer, row kernel",
    "matrix imputer, map",
    "matrix imputer, gibbs",
)
@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_travels_to_the_bit(tmp_path, name):
    """In a file of ours, pickled, by joblib, and copied."""
    estimator, X, wanted = traveller(name)
    path = absentia.save(estimator, tmp_path / "any name.absentia")
    assert os.listdir(tmp_path) == ["any name.absentia"]
    back = absentia.load(path)
    assert type(back) is type(estimator)
    assert str(back) == str(estimator)
    same(wanted, said(back, X))
    joblib.dump(estimator, tmp_path / "j")
    for other in (
        pickle.loads(pickle.dumps(estimator)),
        joblib.load(tmp_path / "j"),
        copy.deepcopy(estimator),
    ):
        same(wanted, said(other, X))
    described = models.describe(path)
    assert described["class"] == type(estimator).__name__
    assert json.loads(json.dumps(described)) == described


def test_what_comes_back_travels_again(tmp_path):
    estimator, X, wanted = traveller("pipeline, table, neighbours")
    once = absentia.load(absentia.save(estimator, tmp_path / "a"))
    same(wanted, said(absentia.load(absentia.save(once, tmp_path / "b")), X))


def objects(values):
    """An array of anything."""
    return np.fromiter(values, dtype=object)


IDS = {
    "texts": [f"P-{i}" for i in range(20)],
    "numbers": list(range(100, 120)),
    "dates": np.arange("2024-01-01", "2024-01-21", dtype="M8[D]"),
    "dates of Python": [datetime.date(2024, 1, i + 1) for i in range(20)],
    "tuples": objects(("a", i) for i in range(20)),
    "several types": objects(["a", 1, (2, "b"), 2.5, *range(10, 26)]),
}
CLASSES = {
    "texts": np.array(["ill", "well"]),
    "objects": np.array(["ill", "well"], dtype=object),
    "numbers": np.array([-1, 7]),
    "booleans": np.array([False, True]),
    "dates": np.array(["2024", "2025"], "M8[Y]"),
}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("classes", CLASSES)
def test_ids_and_classes_of_any_kind_come_back(tmp_path, ids, classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    views = Views.from_dict({"a": X, "b": rng.standard_normal((20, 3))}, ids=IDS[ids])
    y = CLASSES[classes][(X[:, 0] > 0).astype(int)]
    pipeline = make_pipeline(ViewKernels(), MKLClassifier()).fit(views, y)
    back = absentia.load(absentia.save(pipeline, tmp_path / "m"))
    assert back[-1].ids_.tolist() == views.ids.tolist()
    assert back[-1].ids_.dtype == views.ids.dtype
    assert back.classes_.dtype == pipeline.classes_.dtype
    found = back.predict(views)
    np.testing.assert_array_equal(found, pipeline.predict(views))
    dates = CLASSES[classes].dtype.kind == "M"
    wanted = CLASSES[classes].astype(str) if dates else CLASSES[classes]
    assert models.describe(tmp_path / "m")["classes"] == wanted.tolist()


def size_problem(n, widths, hidden=0.3):
    """Views with some absent, classes, and a number that goes with them."""
    rng = np.random.default_rng(0)
    y, latent = np.arange(n) % 2, rng.standard_normal((n, 6))
    blocks = [(latent + y[:, None]) @ rng.standard_normal((6, w)) for w in widths]
    views = Views.from_dict({f"{v}": X + rng.standard_normal(X.shape) for v, X in enumerate(blocks)})
    return views.hide(missingness.mcar(views, hidden, random_state=0)), y, latent[:, 0]


def count_bytes(X):
    return sum(X.block(name).nbytes for name in X.names)


@pytest.mark.parametrize(
    ("n", "widths"), [(140, (5, 200, 120)), (120, (50, 50, 50))], ids=["wide views", "narrow views"]
)
def test_a_file_of_the_default_takes_little_more_than_its_data(tmp_path, n, widths):
    views, y, _ = size_problem(n, widths)
    model = absentia.AutoClassifier().fit(views, y)
    path = absentia.save(model, tmp_path / "model.absentia")
    assert path.stat().st_size <= 1.2 * count_bytes(views) + 60_000
    back = absentia.load(path)
    np.testing.assert_array_equal(back.predict_proba(views), model.predict_proba(views))


#: How many times what came a file may take, beside 40 kB of ids, coefficients and names.
FILE_SIZES = {
    "svt-svm": 1.8,  # features, and axes of every view as combinations of samples
    "svt-mkl": 1.8,
    "cvkt-descent": 4.5,  # a map from all other views' features for every view
    "factors": 2.2,  # landmarks, here all samples, and the root of their kernel
    "factors-ridge": 2.2,
    "factors-cox": 2.2,
    "mkc-ht": 2.0,  # coordinates, and combinations of all samples
    "mkc-sdp": 2.0,
    "mkc-app": 2.0,
}


def sized_entries():
    quick = ("cvkt", "mkc-sdp", "em", "completed", "fusion", "average", "ridge", "cox")
    for entry in catalogue.CATALOGUE:
        if entry.takes != "a matrix":
            marks = () if entry.name in quick else pytest.mark.slow
            yield pytest.param(entry, id=f"{entry.family} {entry.name}", marks=marks)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", list(sized_entries()))
def test_a_file_takes_little_more_than_what_it_holds(tmp_path, entry):
    views, y, number = size_problem(100, (120, 60, 10))
    X = ViewKernels().fit_transform(views) if entry.takes == "kernels" else views
    survived = np.column_stack([np.exp(number), y])
    targets = {"kernels": None, "classes": y, "numbers": number, "risks": survived}
    model = entry.make().fit(X, targets[entry.gives])
    path = absentia.save(model, tmp_path / "model.absentia")
    default = 3.0 if entry.name in ("auto", "forest-regression") else 1.3  # several methods, or trees
    assert path.stat().st_size <= FILE_SIZES.get(entry.name, default) * count_bytes(X) + 40_000


def test_a_completer_of_kernels_is_stored_as_these(tmp_path):
    kernels = random_problem(60, 3, 0.3)
    completer = CVKT(rounds=4).fit(kernels[np.ix_(range(50), range(50))])
    path = absentia.save(completer, tmp_path / "model.absentia")
    training = kernels[np.ix_(range(50), range(50))]
    assert path.stat().st_size <= 0.65 * count_bytes(training)
    rows = kernels[np.ix_(range(50, 60), range(50))]
    expected, back = completer.transform(rows), absentia.load(path).transform(rows)
    np.testing.assert_allclose(back.to_dense(), expected.to_dense(), rtol=0, atol=1e-10)


def test_names_of_features_come_back_and_align(tmp_path):
    pd = pytest.importorskip("pandas")
    views, y, _ = cohort()
    tables = {}
    for name, table in views.to_dict().items():
        tables[name] = pd.DataFrame(table, columns=[f"{name}{i}" for i in range(table.shape[1])])
    named = Views.from_dict(tables)
    pipeline = make_pipeline(ViewKernels(), MKLClassifier()).fit(named, y)
    path = absentia.save(pipeline, tmp_path / "m")
    turned = Views.from_dict({name: table.iloc[:, ::-1] for name, table in tables.items()})
    back = absentia.load(path)
    wanted = pipeline.decision_function(named)
    np.testing.assert_allclose(back.decision_function(turned), wanted, rtol=1e-9, atol=1e-12)
    assert models.describe(path)["features"] == {name: list(table) for name, table in tables.items()}


# ------------------------------------------------------------------------------------ pipelines, versions


def test_what_is_not_on_the_list_is_refused_by_place(tmp_path):
    views, y, _ = cohort()
    code = FunctionTransformer(np.log1p, validate=False)
    pipeline = make_pipeline(ViewKernels(), CombineKernels(), code, SVC(kernel="precomputed")).fit(views, y)
    with pytest.raises(
        TypeError, match=r"Pipeline.steps\[2\]\[1\] is a .*FunctionTransformer, .*these can: .*SVC"
    ):
        absentia.save(pipeline, tmp_path / "m")
    search = GridSearchCV(
        make_pipeline(ViewKernels(), MKLClassifier()), {"mklclassifier__C": [1, 10]}, cv=2
    )
    search.fit(views, y)
    with pytest.raises(TypeError, match=r"GridSearchCV.*save its best_estimator_"):
        absentia.save(search, tmp_path / "m")
    assert os.listdir(tmp_path) == []
    back = absentia.load(absentia.save(search.best_estimator_, tmp_path / "m"))
    np.testing.assert_array_equal(back.predict(views), search.predict(views))


def test_another_version_of_scikit_learn_is_said_where_it_matters(tmp_path):
    path = tmp_path / "m.npz"
    for name, warns in {"pipeline, svc": True, "classifier mkl": False}.items():
        arrays = io.read_arrays(absentia.save(traveller(name)[0], path))
        np.savez(path, **(arrays | described(made={"scikit-learn": "0.99"})(arrays)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            same(traveller(name)[2], said(absentia.load(path), traveller(name)[1]))
        sentences = [str(one.message) for one in caught]
        assert len(sentences) == warns
        if warns:
            assert "Pipeline, SVC was written with scikit-learn 0.99 and is read with" in sentences[0]
            assert sentences[0].count(str(path)) == 1


# ------------------------------------------------------------------------------------------ descriptions


def test_a_file_is_described_without_being_built(tmp_path, monkeypatch):
    views, y, _ = cohort()
    pipeline = make_pipeline(ViewKernels(), MKLClassifier()).fit(views, y)
    path = absentia.save(pipeline, tmp_path / "m.absentia", {"who": "me"})

    def refuse(*_):
        raise AssertionError("nothing is to be built")

    monkeypatch.setattr("absentia.core._serialization._build_object", refuse)
    monkeypatch.setattr("absentia.core._serialization.build_sklearn", refuse)
    found = models.describe(path)
    assert found["class"] == "Pipeline"
    assert found["steps"] == ["ViewKernels", "MKLClassifier"]
    assert found["about"] == {"who": "me"}
    assert found["views"] == ["expression", "clinical", "image"]
    assert found["features"] == {"expression": 6, "clinical": 3, "image": 4}
    assert found["classes"] == ["Basal", "Her2", "LumA"]
    assert found["samples"] == len(views)
    assert found["size"] == path.stat().st_size
    assert found["made"]["absentia"] == absentia.__version__


def test_models_and_matrices_are_described_too(halves, tmp_path):
    train, y, _ = halves
    found = models.describe(models.save(fit(train, y), tmp_path / "m"))
    assert (found["class"], found["steps"]) == ("Model", ["ViewKernels", "AbsentMKLClassifier"])
    assert found["views"] == list(train.names)
    X = np.where(np.arange(40).reshape(10, 4) % 7 == 3, np.nan, np.arange(40.0).reshape(10, 4) ** 0.5)
    with warnings.catch_warnings(action="ignore"):
        found = models.describe(models.save(PMAImputer().fit(X), tmp_path / "m"))
    assert (found["views"], found["features"], found["classes"]) == ([], {"X": 4}, None)


@pytest.mark.parametrize(
    "tree", [1, {"is": "Pipeline", "state": {}}, {"is": "Pipeline", "state": {"steps": [1]}}]
)
def test_a_description_of_nonsense_is_a_file_error(tmp_path, whole, tree):
    path = tmp_path / "m.npz"
    np.savez(path, **(whole[1] | described(tree=tree)(whole[1])))
    refused(models.describe, path, "not a valid model")


def test_the_documentation_runs_when_pasted_and_lists_what_can_be_kept(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text()
    blocks = re.findall("```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 3
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(block, names)
    assert capsys.readouterr().out == "['ViewKernels', 'AbsentMKLClassifier']\n(1, 2) [ True]\n"
    views = names["views"]
    np.testing.assert_array_equal(names["again"].predict(views), names["model"].predict(views))
    with pytest.raises(TypeError, match="of scikit-learn's estimators these can: ") as refusal:
        absentia.save(FunctionTransformer().fit([[1.0]]), tmp_path / "model.absentia")
    names = str(refusal.value).partition("these can: ")[2].split(", ")
    assert len(names) > 10
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_name_that_can_be_fitted_predicts_the_same_in_another_process(tmp_path):
    """Classes, numbers and survival: new incomplete samples, to the bit."""
    views, y = half_seen_digits(90)
    train, new = views[:60], views[60:]
    io.write(tmp_path / "new.npz", new)
    rng = np.random.default_rng(0)
    targets = {
        "classifier": y[:60] % 3,
        "regressor": y[:60] + rng.normal(size=60),
        "survival": np.column_stack([rng.exponential(2.0 + y[:60]), rng.random(60) < 0.7]),
    }
    wanted = {}
    for family, target in targets.items():
        for name, entry in list_entries(family).items():
            if name in ("complete-cases", "complete-regression"):  # there are no complete cases here
                continue
            fitted = entry.make()
            kernels = None
            if get_tags(fitted).input_tags.pairwise:
                kernels = ViewKernels()
                fitted.fit(kernels.fit_transform(train), target)
            else:
                fitted.fit(train, target)
            model = models.Model(fitted, kernels) if family == "classifier" else fitted
            if family == "regressor" and kernels is not None:
                continue
            absentia.save(model, tmp_path / f"{name}.absentia")
            wanted[name] = np.asarray(absentia.load(tmp_path / f"{name}.absentia").predict(new))
            np.testing.assert_array_equal(model.predict(new), wanted[name])
    code = (
        "import sys, pathlib, numpy as np, absentia\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "new = absentia.read(folder / 'new.npz')\n"
        "for path in folder.glob('*.absentia'):\n"
        "    np.save(path.with_suffix('.npy'), absentia.load(path).predict(new))\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    for name, before in wanted.items():
        np.testing.assert_array_equal(np.load(tmp_path / f"{name}.npy"), before, err_msg=name)
    assert len(wanted) > 25


# ------------------------------------------------------------------------ changed, with a valid checksum

BENT = {
    "short": lambda a: a[:-1],
    "long": lambda a: np.concatenate([a, a[:1]]),
    "flat": lambda a: a.ravel() if a.ndim > 1 else a[:, None],
    "none": lambda a: a[:0],
    "texts": lambda a: a.astype(str),
    "nan": lambda a: a * np.nan,
}


@pytest.mark.slow_params(
    "completer cvkt-short", "completer cvkt-flat", "completer cvkt-none", "completer cvkt-texts"
)
@pytest.mark.parametrize("bend", BENT)
@pytest.mark.parametrize(
    "name",
    ["classifier completed", "classifier linear", "classifier forest", "completer cvkt", "kernels rff"],
)
def test_arrays_that_were_changed_are_refused_in_one_sentence(tmp_path, name, bend):
    """Each of some arrays of a model, as somebody would change it who can compute checksums."""
    state = serialize(traveller(name)[0])
    bendable = [key for key, one in state.arrays.items() if one.dtype.kind == "f" and one.size and one.ndim]
    for key in bendable[:: max(1, len(bendable) // 4)]:
        arrays = state.arrays | {key: BENT[bend](state.arrays[key])}
        path = write_state(tmp_path / "m.absentia", Serialized(state.tree, arrays), {})
        with pytest.raises(io.FileError, match=r"m\.absentia: not a valid model: its ") as caught:
            absentia.load(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["classifier completed", "classifier linear", "completer mean"])
def test_objects_that_were_changed_are_refused_in_one_sentence(tmp_path, name):
    """Attributes of everything that declares them, dropped or replaced by a number."""
    state = serialize(traveller(name)[0])
    inner = [
        (i, key)
        for i, (kind, attributes) in enumerate(state.parts())
        if kind in ("data.ViewCoding", "completion.Basis", "completion.Coordinates")
        for key in attributes
        if key in ("name", "C", "W")
    ]
    assert inner or name == "classifier linear"
    for i, key in inner[:: max(1, len(inner) // 8)]:
        tree = copy.deepcopy(state.tree)
        del list(Serialized(tree).parts())[i][1][key]
        path = write_state(tmp_path / "m.absentia", Serialized(tree, state.arrays), {})
        with pytest.raises(io.FileError, match=r"m\.absentia: not a valid model: .* is missing"):
            absentia.load(path)
