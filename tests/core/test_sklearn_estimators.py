"""Estimators of scikit-learn as attributes: they say what they said, and those that nobody fitted are refused."""

import json
import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import is_classifier
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.utils import all_estimators

from absentia.core import deserialize, serialize
from absentia.core._sklearn_estimators import SKLEARN_CLASSES, build_sklearn, is_sklearn, sklearn_state

ESTIMATORS = dict(all_estimators())
X, Y = make_classification(60, 5, n_classes=3, n_informative=4, n_redundant=0, random_state=0)
SAID = ("predict", "decision_function", "predict_proba", "transform")


def fit(estimator, data=X):
    with warnings.catch_warnings(action="ignore"):
        if type(estimator).__name__ == "IsotonicRegression":
            return estimator.fit(data[:, 0], Y), data[:, 0]
        if type(estimator).__name__ == "LabelBinarizer":
            return estimator.fit(Y), Y
        texts = np.array(["a", "b", "c"])[Y]
        return estimator.fit(data, texts if is_classifier(estimator) else Y.astype(float)), data


def back(value):
    found = serialize(value)
    return deserialize(json.loads(json.dumps(found.tree, allow_nan=False)), found.arrays)


def check_same(estimator, other, data):
    asked = [name for name in SAID if hasattr(estimator, name)]
    assert asked
    for name in asked:
        one, two = getattr(estimator, name)(data), getattr(other, name)(data)
        np.testing.assert_array_equal(two, one)
        assert two.dtype == one.dtype
    assert other.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()


@pytest.mark.parametrize("name", sorted(set(SKLEARN_CLASSES) - {"Pipeline", "KernelCenterer"}))
def test_every_estimator_of_the_list_says_what_it_said(name):
    estimator, data = fit(ESTIMATORS[name]())
    check_same(estimator, back(estimator), data)


VARIANTS = [
    SVC(kernel="linear"),
    SVC(kernel="poly", probability=True, random_state=0),
    SVC(decision_function_shape="ovo", class_weight="balanced"),
    KNeighborsClassifier(algorithm="ball_tree", metric="minkowski", p=3),
    KNeighborsClassifier(algorithm="brute", weights="distance"),
    make_pipeline(StandardScaler(), "passthrough", SVC()),
]


@pytest.mark.parametrize("estimator", VARIANTS, ids=str)
def test_variants_say_what_they_said(estimator):
    estimator, data = fit(estimator)
    check_same(estimator, back(estimator), data)


@pytest.mark.parametrize("machine", [SVC(), SVR()], ids=str)
def test_machines_of_kernels_say_what_they_said_and_those_of_sparse_data_are_refused(machine):
    machine, data = fit(machine.set_params(kernel="precomputed"), X @ X.T)
    check_same(machine, back(machine), data)
    sparse, _ = fit(type(machine)(), scipy.sparse.csr_matrix(X))
    with pytest.raises(TypeError, match="of sparse data cannot be stored in a file; fit it on an array"):
        serialize(sparse)
    with pytest.raises(ValueError, match="do not go together"):
        build_sklearn(type(machine).__name__, sparse.__getstate__())


def test_neighbours_of_distances_say_what_they_said():
    distances = np.abs(X[:, :1] - X[:, 0])
    estimator, data = fit(KNeighborsClassifier(metric="precomputed"), distances)
    check_same(estimator, back(estimator), data)


def test_a_cache_stays_where_it_is(tmp_path):
    pipeline = Pipeline([("scale", StandardScaler()), ("svc", SVC())], memory=str(tmp_path)).fit(X, Y)
    assert back(pipeline).memory is None
    assert pipeline.memory == str(tmp_path)
    with pytest.raises(ValueError, match="names a folder"):
        build_sklearn("Pipeline", {"memory": str(tmp_path)})


def test_parameters_that_were_unknown_when_a_file_was_written_have_their_defaults():
    machine, _ = fit(SVC())
    state = sklearn_state(machine)
    del state["break_ties"]
    assert build_sklearn("SVC", state).break_ties is False


def test_a_class_of_the_same_name_is_another_class():
    assert is_sklearn(SVC)
    assert not is_sklearn(type("SVC", (SVC,), {"__module__": "mine"}))
    assert not is_sklearn(type("Mine", (SVC,), {"__module__": "sklearn.svm"}))


# ------------------------------------------------------------------------------------ what nobody fitted


@pytest.mark.parametrize("key", ["predict", "_impl", "__class__", "__sklearn_tags__", "n_support_"])
def test_attributes_that_would_hide_code_are_refused(key):
    with pytest.raises(ValueError, match=f"'{key}' among its attributes"):
        build_sklearn("SVC", sklearn_state(fit(SVC())[0]) | {key: "x"})


WRONG_MACHINES = [
    {"_n_support": np.array([10**6] * 3, np.int32)},
    {"_n_support": np.array([-5, 5, 10**6], np.int32)},
    {"_n_support": np.array([60], np.int32)},
    {"support_": np.arange(10**4, dtype=np.int32)},
    {"support_vectors_": np.zeros((2, 5))},
    {"support_vectors_": np.zeros((0, 0))},
    {"n_features_in_": 10**6},
    {"_dual_coef_": np.zeros((2, 3))},
    {"_dual_coef_": scipy.sparse.csr_matrix((2, 3))},
    {"_sparse": True},
    {"_sparse": 0},
    {"_intercept_": np.zeros(1)},
    {"_probA": np.zeros(1), "_probB": np.zeros(1)},
    {"_probA": np.zeros(3)},
    {"kernel": "precomputed", "shape_fit_": (3, 3)},
]


@pytest.mark.parametrize("change", WRONG_MACHINES, ids=lambda change: ",".join(change))
def test_machines_whose_parts_do_not_go_together_are_refused(change):
    with pytest.raises(ValueError, match="do not go together"):
        build_sklearn("SVC", sklearn_state(fit(SVC())[0]) | change)


def test_the_same_of_regression():
    state = sklearn_state(fit(SVR())[0])
    for counts in ([10**6, 0], [len(state["support_"])], [len(state["support_"])] * 3):
        with pytest.raises(ValueError, match="do not go together"):
            build_sklearn("SVR", state | {"_n_support": np.array(counts, np.int32)})


@pytest.mark.parametrize(
    "change",
    [
        {"_fit_X": X[:, :2]},
        {"_fit_X": X.astype(str)},
        {"_y": Y + 100},
        {"_y": Y[:5]},
        {"n_samples_fit_": 10**6},
    ],
    ids=lambda change: ",".join(change),
)
def test_neighbours_whose_parts_do_not_go_together_are_refused(change):
    with pytest.raises(ValueError, match="do not go together"):
        build_sklearn("KNeighborsClassifier", sklearn_state(fit(KNeighborsClassifier())[0]) | change)


@pytest.mark.parametrize(
    "change", [{"effective_metric_": "os.system"}, {"leaf_size": -1}, {"_fit_X": None}]
)
def test_trees_that_cannot_be_built_are_refused(change):
    with pytest.raises(ValueError, match=r"os\.system|leaf_size|not complete"):
        build_sklearn("KNeighborsClassifier", sklearn_state(fit(KNeighborsClassifier())[0]) | change)


def test_what_is_not_complete_is_refused():
    for name in ("SVC", "SVR", "KNeighborsClassifier"):
        with pytest.raises(ValueError, match=f"its {name} is not complete"):
            build_sklearn(name, {})


@pytest.mark.parametrize("name", sorted(name for name, (_, shapes) in SKLEARN_CLASSES.items() if shapes))
def test_documented_arrays_of_other_shapes_or_kinds_are_refused(name):
    """Somebody who can compute checksums changes an array: it is seen where it is read, in one sentence."""
    estimator = ESTIMATORS[name]()
    state = sklearn_state(fit(estimator, X @ X.T if name == "KernelCenterer" else X)[0])
    documented = [key for key in SKLEARN_CLASSES[name][1] if isinstance(state.get(key), np.ndarray)]
    assert documented
    for key in documented:
        array = state[key]
        wrong = [array.astype(str), array[None, None, None]]
        wrong += [array * np.nan] if array.dtype.kind == "f" and array.size else []
        for value in wrong:
            with pytest.raises(
                ValueError, match=rf"its {name} has parts that do not go together: {key} is"
            ):
                build_sklearn(name, state | {key: value})
    longer = [key for key in documented if state[key].ndim]
    if len(longer) > 1 or "n_features_in_" in state:
        key = longer[0]
        value = np.concatenate([state[key]] * 2, axis=-1)
        with pytest.raises(ValueError, match="do not go together"):
            build_sklearn(name, state | {key: value})
