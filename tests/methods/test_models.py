"""Fitted classifiers as files: what comes back predicts what went in did, and nothing in a file is obeyed."""

import json
import os
import warnings

import numpy as np
import pytest
import scipy.sparse

from absentia import AbsentMKLClassifier, KernelViews, MKLClassifier, ViewKernels, Views, io, models
from absentia.files._rows import read_new
from absentia.methods.learning._machines import KernelClassifier
from absentia.methods.models import Model
from conftest import random_problem

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
    MKLClassifier(norm=2, probability="isotonic"),
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
    back = models.load(models.save(tmp_path / "m.npz", model))
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
        back = models.load(models.save(tmp_path / "m.npz", model))
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
    back = models.load(models.save(tmp_path / "m.npz", model))
    same_predictions(model, back, views[30:])
    turned = Views.from_frame(frame.iloc[30:], {"one": list("cba"), "two": list("fde")})
    np.testing.assert_array_equal(back.predict(turned), model.predict(views[30:]))


def test_sparse_views_come_back(tmp_path):
    X = scipy.sparse.random(40, 10, 0.3, format="csr", random_state=0)
    views = Views.from_dict({"a": X})
    model = fit(views, np.arange(40) % 2, MKLClassifier())
    back = models.load(models.save(tmp_path / "m.npz", model))
    same_predictions(model, back, views)


def test_only_samples_with_a_coefficient_are_kept_and_no_ids(halves, tmp_path):
    train, y, _ = halves
    model = fit(train, np.minimum(y, 1), MKLClassifier(C=1000.0))
    with np.load(models.save(tmp_path / "m.npz", model)) as file:
        assert len(file["observed"]) == len(model.classifier.support_) < len(train)
        assert "ids" not in file.files
        for v in range(train.n_views):
            assert len(file[f"X_{v}"]) == file["observed"][:, v].sum()


def test_views_without_weight_are_not_kept(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    views = Views.from_dict({"signal": X, "noise": rng.normal(size=(60, 30))})
    model = fit(views, X[:, 0] > 0, MKLClassifier())
    assert model.classifier.weights_[1] == 0
    path = models.save(tmp_path / "m.npz", model)
    with np.load(path) as file:
        assert file["X_1"].shape == (0, 30)
    back = models.load(path)
    same_predictions(model, back, views)
    assert back.classifier.unusable(back.rows(views.select(["noise"]))).all()


# ---------------------------------------------------------------------------------------------- kernels


@pytest.fixture
def kernel_model(tmp_path):
    kv = random_problem(50, 3)
    ids = np.array([f"p{i}" for i in range(50)])
    kv = KernelViews.from_dense(kv.to_dense(), ids=ids)
    y = np.arange(50) % 2
    model = Model(MKLClassifier(C=0.1, probability=True).fit(kv[np.ix_(range(40), range(40))], y[:40]))
    return kv, model, models.load(models.save(tmp_path / "m.npz", model))


def write_rows(path, kv, rows, columns, **changes):
    K = kv.to_dense()[:, rows][:, :, columns]
    arrays = {"K": K, "ids": kv.ids[rows], "column_ids": kv.ids[columns], "names": np.array(kv.names)}
    np.savez(path, **{key: value for key, value in (arrays | changes).items() if value is not None})
    return path


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


BAD_ROWS = [
    ({"column_ids": None}, "10 rows and 40 columns; say with 'column_ids'"),
    ({"K": np.ones((2, 3))}, r"'K' is float64 of shape \(2, 3\)"),
    ({"K": np.array([[["a"]]])}, "'K' is <U1"),
    ({"ids": ["a"]}, "1 ids for 10 samples"),
    ({"column_ids": ["a"]}, "column_ids: 1 ids for 40"),
    ({"names": ["a"]}, "1 names for 3 kernels"),
    ({"mask": np.ones((3, 10))}, "it looks transposed"),
    ({"mask": np.ones((10, 3))}, "the kernel is NaN or infinite against"),
    ({"K": None}, "'K' is"),
]


@pytest.mark.parametrize(("changes", "sentence"), BAD_ROWS, ids=[s[:20] for _, s in BAD_ROWS])
def test_bad_rows_are_named_with_one_sentence(tmp_path, changes, sentence):
    path = tmp_path / "r.npz"
    kv = random_problem(50, 3)
    write_rows(path, kv, np.arange(40, 50), np.arange(40), **changes)
    with pytest.raises(io.FileError, match=sentence) as caught:
        read_new(path)
    assert str(caught.value).startswith(f"{path}: ")


# ---------------------------------------------------------------------------------- what cannot be saved


def test_what_a_file_could_not_bring_back_is_not_saved(halves, tmp_path):
    train, y, _ = halves
    path = tmp_path / "m.npz"
    own = ViewKernels(lambda a, b: a @ b.T)
    for kernels in (ViewKernels(center=True), ViewKernels(approx="nystrom"), own):
        with pytest.raises(ValueError, match=r"view 'pixels': .*saved"):
            models.save(path, fit(train, y, MKLClassifier(), kernels))

    class Own(MKLClassifier):
        recipes = {}

    with pytest.raises(ValueError, match="Own cannot be saved"):
        models.save(path, fit(train, y, Own()))
    with pytest.raises(ValueError, match="not fitted"):
        models.save(path, Model(MKLClassifier()))
    model = fit(train, y, MKLClassifier())
    with pytest.raises(TypeError, match="description cannot hold Own"):
        models.save(path, Model(model.classifier, model.kernels, {"x": Own()}))
    assert os.listdir(tmp_path) == []


def test_features_and_kernels_are_not_taken_for_one_another(halves, kernel_model, tmp_path):
    train, y, _ = halves
    with pytest.raises(ValueError, match=r"learned from features of the views .*but kernels came"):
        fit(train, y).predict(kernel_model[0])
    with pytest.raises(ValueError, match="learned from kernels, but features came"):
        kernel_model[2].predict(train)


# --------------------------------------------------------------------------------- files from strangers


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A small valid model and its arrays."""
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(12, 2)), "b": rng.normal(size=(12, 3))})
    model = fit(views, np.arange(12) % 2, AbsentMKLClassifier(probability=True))
    path = models.save(tmp_path_factory.mktemp("model") / "m.npz", model)
    with np.load(path) as file:
        return path.read_bytes(), {key: file[key] for key in file.files}, views


class Bomb:
    def __reduce__(self):
        return (os.mkdir, ("bomb-went-off",))


def described(**changes):
    """The description with something in it changed: a value, or a function of the old one."""

    def change(arrays):
        text = json.loads(str(arrays["model"]))
        for key, value in changes.items():
            text[key] = value(text[key]) if callable(value) else value
        return {"model": np.array(json.dumps(text))}

    return change


def view_changed(**changes):
    return described(views=lambda views: [views[0] | changes, *views[1:]])


def option_changed(**changes):
    return described(
        views=lambda views: [views[0] | {"options": views[0]["options"] | changes}, *views[1:]]
    )


def scaled(key, factor):
    return lambda arrays: {key: arrays[key] * factor}


BAD = [
    (lambda a: {"model": None}, "holds no model but .*make one with absentia fit"),
    (lambda a: {"model": np.array("{")}, "not a valid model"),
    (lambda a: {"model": np.array("[]")}, "does not say 'absentia model'"),
    (lambda a: {"model": np.arange(3)}, "'model' is int64"),
    (lambda a: {"model": np.array("[" * 100_000)}, "damaged model|not a valid model"),
    (lambda a: {"model": np.array([Bomb()], dtype=object)}, "pickled Python objects"),
    (described(version=2), "its format is version 2"),
    (described(classifier="os.system"), "'os.system' is none of"),
    (described(parameters={"callback": "x"}), "no parameter 'callback'"),
    (described(parameters={"magic": 1}), "no parameter 'magic'"),
    (described(parameters={"tau_min": 0}), "its tau_min is 0"),
    (described(parameters={"tau_min": "a"}), "its tau_min is 'a'"),
    (described(parameters={"probability": "odd"}), "its probability is 'odd'"),
    (described(parameters={"paper_form": True}), "paper's forms"),
    (described(parameters=None), "is none of"),
    (described(names=["a", "a"]), "view names must differ"),
    (described(names="ab"), "names no views"),
    (described(names=["a"]), r"'observed' is bool of shape"),
    (described(views=[]), "not one of 2 views"),
    (described(views=[1, 2]), "how its kernel is computed"),
    (described(views=None), "'ids' is missing"),
    (described(fit={}), "how the fit went"),
    (view_changed(gamma=-1.0), "gamma -1.0 does not go"),
    (view_changed(gamma=None), "gamma None does not go"),
    (view_changed(mean_diagonal="x"), "mean_diagonal is 'x'"),
    (option_changed(kernel="eval"), "its kernel cannot be"),
    (option_changed(kernel=["rbf"]), "damaged model|its kernel cannot be"),
    (option_changed(approx="nystrom"), "its kernel cannot be"),
    (option_changed(degree="3"), "its kernel cannot be"),
    (lambda a: {"classes": np.array([1, 0])}, "'classes' are not two"),
    (lambda a: {"classes": np.array([1])}, "'classes' are not two"),
    (lambda a: {"classes": np.array(["a", "b", "c"])}, "wanted 3"),
    (lambda a: {"bias": None}, "'bias' is missing"),
    (scaled("bias", np.nan), "'bias' holds values that are not finite"),
    (scaled("weights", -1), "must not be negative"),
    (scaled("scale_0", 0), "'scale_0' must be positive"),
    (scaled("chances_spread", 0), "'chances_spread' must be positive"),
    (lambda a: {"dual_coef": a["dual_coef"][:, :-1]}, "'dual_coef' is float64 of shape"),
    (lambda a: {"X_1": a["X_1"][:-1]}, "'X_1' is float64 of shape"),
    (lambda a: {"X_1": a["X_1"][:, :-1]}, "'scale_1' is float64 of shape"),
    (lambda a: {"X_1": a["X_1"].astype(str)}, "'X_1' is <U32"),
    (lambda a: {"fill_0": None}, "'fill_0' is missing"),
    (lambda a: {"chances_coef": None}, "'chances_coef' is missing"),
    (lambda a: {"bias": np.full(1, 1e308)}, r"'bias' holds values beyond 1e\+40"),
    (lambda a: {"X_1": np.full_like(a["X_1"], -1e308)}, r"'X_1' holds values beyond"),
    (lambda a: {"dual_coef": np.full_like(a["dual_coef"], 1e308)}, r"'dual_coef' holds values beyond"),
    (lambda a: {"chances_coef": np.full((1, 1), 1e300)}, r"'chances_coef' holds values beyond"),
    (lambda a: {"scale_0": np.full_like(a["scale_0"], 1e-300)}, "'scale_0' must be positive"),
    (lambda a: {"diagonal_1": np.full_like(a["diagonal_1"], 1e-300)}, "'diagonal_1' .*too small to divide"),
    (lambda a: {"prior": a["prior"] * 3}, "'prior' must add up to one"),
    (lambda a: {"features_0": np.array(["f", "f"])}, "'features_0' are not all different"),
    (lambda a: {"features_0": np.array(["f" * 2000, "g"])}, "'features_0' holds texts of more than 1000"),
    (lambda a: {"classes": np.array(["f" * 2000, "g"])}, "'classes' holds texts of more than 1000"),
    (lambda a: {"model": np.array("[" * 1_000_000)}, "damaged model|not a valid model"),
    (lambda a: {"model": np.array("9" * 5000)}, "not a valid model"),
    (lambda a: {"model": np.array('{"a": ' * 50_000)}, "damaged model|not a valid model"),
    (described(version="x" * 10_000), "its format is version xxxxx"),
    (described(names=["a", "b" * 2000]), "names no views"),
    (described(names=["a", "\ud800"]), "names no views|characters"),
    (described(parameters={"C": [1] * 9}), "its parameter C is neither"),
    (described(parameters={"tol": {"a": 1}}), "its parameter tol is neither"),
    (described(parameters={"lam": 10**400}), "its parameter lam is neither"),
    (described(parameters={"tau_min": 1e-300}), "its tau_min is 1e-300"),
    (described(parameters={"tau_min": True}), "its tau_min is True"),
    (described(parameters={"probability": 1}), "its probability is 1"),
    (described(fit=lambda fit: fit | {"status_": 7}), "how the fit went"),
    (described(fit=lambda fit: fit | {"status_": "x" * 2000}), "how the fit went"),
    (described(fit=lambda fit: fit | {"n_iter_": -1}), "how the fit went"),
    (described(fit=lambda fit: fit | {"gap_": "0"}), "how the fit went"),
    (view_changed(gamma=1e300), "gamma 1e\\+300 does not go"),
    (view_changed(gamma=10**400), "does not go"),
    (view_changed(gamma=True), "gamma True does not go"),
    (view_changed(mean_diagonal=1e-300), "mean_diagonal is 1e-300"),
    (option_changed(degree=1e9), "its kernel cannot be"),
    (option_changed(coef0=1e300), "its kernel cannot be"),
    (option_changed(kernel={"a": "x" * 10_000}), "its kernel cannot be"),
]


@pytest.mark.parametrize(("change", "sentence"), BAD, ids=[s[:30] for _, s in BAD])
def test_bad_models_are_named_with_one_sentence(tmp_path, monkeypatch, whole, change, sentence):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "m.npz"
    arrays = whole[1] | change(whole[1])
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    with pytest.raises(io.FileError, match=sentence) as caught:
        models.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1200
    assert not (tmp_path / "bomb-went-off").exists()


def test_chances_that_do_not_rise_are_refused(tmp_path, halves):
    train, y, new = halves
    model = fit(train, np.minimum(y, 1), MKLClassifier(probability="isotonic"))
    path = models.save(tmp_path / "m.npz", model)
    same_predictions(model, models.load(path), new)
    arrays = io.read_arrays(path)
    for key, value in [("chances_y_0", arrays["chances_y_0"][::-1]), ("chances_x_0", arrays["chances_x_0"][::-1]),
                       ("chances_y_0", arrays["chances_y_0"] + 1)]:  # fmt: skip
        np.savez(path, **(arrays | {key: value}))
        with pytest.raises(io.FileError, match="are no rising chances"):
            models.load(path)


@pytest.mark.parametrize("normalize", [None, "trace"])
def test_a_kernel_value_that_is_nearly_infinite_is_an_error_and_no_score(tmp_path, normalize):
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(20, 2))})
    kernels = ViewKernels("linear", normalize=normalize, standardize=False)
    back = models.load(
        models.save(tmp_path / "m.npz", fit(views, np.arange(20) % 2, MKLClassifier(), kernels))
    )
    new = Views.from_dict({"a": [[1.0, 1.0], [-1e140, 1e140]]}, ids=["fine", "huge"])
    for predict in (back.rows, back.predict, back.decision_function):
        with pytest.raises(ValueError, match=r"view 'a', sample 'huge': .*not finite or beyond 1e\+100"):
            predict(new)
    assert np.isfinite(back.decision_function(new[:1])).all()


def test_a_model_at_the_bounds_predicts_numbers(tmp_path, whole):
    """Whatever loads predicts numbers: the largest machine, the smallest divisors."""
    path, largest = tmp_path / "m.npz", 0.99 * models.LARGEST
    extreme = {
        key: whole[1][key] / np.abs(whole[1][key]).max() * largest
        for key in ("dual_coef", "weights", "chances_coef", "chances_intercept")
    }
    extreme |= {"chances_spread": np.full(1, 1.01 / models.LARGEST)}
    np.savez(
        path,
        **(
            whole[1] | extreme | described(parameters=lambda p: p | {"tau_min": models.LEAST_TAU})(whole[1])
        ),
    )
    model = models.load(path)
    assert np.abs(model.decision_function(whole[2])).max() > models.LARGEST
    assert np.isfinite(model.decision_function(whole[2])).all()
    assert np.isfinite(model.predict_proba(whole[2])).all()


def test_a_prediction_that_is_no_number_is_an_error(whole, halves, monkeypatch):
    train, y, new = halves
    model = fit(train, y, MKLClassifier())
    model.classifier.bias_ = np.array([np.nan, 0.0, 0.0])
    with pytest.raises(ValueError, match="the prediction is not finite"):
        model.decision_function(new)
    with pytest.raises(ValueError, match="the prediction is not finite"):
        model.predict(new)


def test_what_would_not_load_is_not_saved(tmp_path):
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(20, 2))})
    model = fit(views, np.arange(20) % 2, MKLClassifier())
    model.classifier.bias_ = np.array([1e50])
    with pytest.raises(ValueError, match=r"'bias' holds values beyond 1e\+40"):
        models.save(tmp_path / "m.npz", model)
    assert os.listdir(tmp_path) == []


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
    np.savez(path, **whole[1])
    assert models.load(path).predict(whole[2]).shape == (12,)


def test_damage_anywhere_in_a_model_is_a_file_error(tmp_path, whole):
    rng = np.random.default_rng(0)
    path, refused = tmp_path / "m.npz", 0
    for _ in range(120):
        damaged = bytearray(whole[0])
        for position in rng.integers(0, len(damaged), 3):
            damaged[position] = rng.integers(0, 256)
        path.write_bytes(bytes(damaged))
        try:
            models.load(path).predict_proba(whole[2])
        except io.FileError:
            refused += 1
    assert refused > 60


def test_a_data_file_is_no_model_and_a_model_is_no_data_file(tmp_path, whole):
    data = io.write(tmp_path / "v.npz", whole[2])
    with pytest.raises(io.FileError, match="holds no model but"):
        models.load(data)
    np.savez(tmp_path / "m.npz", **whole[1])
    with pytest.raises(io.FileError, match="neither 'K' nor 'view_<name>'"):
        io.read(tmp_path / "m.npz")
    with pytest.raises(io.FileError, match="no such file"):
        models.load(tmp_path / "gone.npz")


def test_every_classifier_that_is_offered_by_name_can_be_saved():
    from absentia.methods.catalogue import recipes

    assert {cls for cls, _ in recipes(KernelClassifier).values()} <= set(models.CLASSIFIERS.values())
