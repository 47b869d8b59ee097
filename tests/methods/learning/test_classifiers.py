"""Laws every classifier obeys, whatever its method; enrolled in tests/market.py."""

import pickle

import numpy as np
import pytest
import threadpoolctl
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from absentia import (
    AbsenceWarning,
    AbsentMKLClassifier,
    KernelViews,
    MKLRegressor,
    ViewKernels,
    Views,
    datasets,
    missingness,
)
from market import CLASSIFIERS

# I-AMKL and MMAF alternate without a guarantee to converge
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
N = 60


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    return clone(CLASSIFIERS[request.param])


@pytest.fixture(scope="module")
def digits():
    """Views with nobody complete, and labels."""
    views, y = datasets.load_digit_views(n_samples=N, return_X_y=True)
    return views.hide(missingness.fixed_per_sample(views, 3, random_state=0)), y


@pytest.fixture(scope="module")
def kernels(digits):
    return ViewKernels().fit_transform(digits[0])


def takes_kernels(classifier):
    return get_tags(classifier).input_tags.pairwise


@pytest.fixture
def data(classifier, digits, kernels):
    """What the classifier takes, kernels or features, and labels."""
    return (kernels if takes_kernels(classifier) else digits[0]), digits[1]


def subset(X, rows, columns=None):
    """Samples `rows`; of kernels, against the samples `columns`."""
    square = hasattr(X, "column_ids")
    return X[np.ix_(rows, rows if columns is None else columns)] if square else X[rows]


def exact(classifier):
    """The same method, solved so far that only rounding is left to differ."""
    options = {"tol": 1e-8}
    if "max_iter" in classifier.get_params():
        options["max_iter"] = 200
    return clone(classifier).set_params(**options)


def assert_same_scores(found, wanted, slack=2e-3):
    np.testing.assert_allclose(found, wanted, atol=slack * np.abs(wanted).max())


# ------------------------------------------------------------------------------- what must not matter


# at their own tolerance: what is learned from is brought into an order of its own first
EVERY = CLASSIFIERS | {
    "regression": MKLRegressor(),
    "two steps": AbsentMKLClassifier("penalized", two_step=True),
    "sigmoid": clone(CLASSIFIERS["mkl"]).set_params(probability=True),
    "isotonic": clone(CLASSIFIERS["convex, mean"]).set_params(probability="isotonic"),
}


@pytest.fixture(params=EVERY)
def anyone(request):
    return clone(EVERY[request.param])


def answers(machine, X):
    """Numbers that a fitted machine gives: chances, scores or targets."""
    ways = ("predict_proba", "decision_function", "predict")
    return getattr(machine, next(way for way in ways if hasattr(machine, way)))(X)


def assert_equal_but_for_rounding(found, wanted):
    np.testing.assert_allclose(found, wanted, atol=1e-9 * np.abs(wanted).max())


def without_ids(X):
    """The same data as if it came for the first time, ids counted from zero."""
    if hasattr(X, "column_ids"):
        return KernelViews.from_dense(np.nan_to_num(X.to_dense()), observed=X.observed, names=X.names)
    return Views.from_dict(
        {
            name: np.where(seen[:, None], table, np.nan)
            for (name, table), seen in zip(X.to_dict().items(), X.observed.T, strict=True)
        }
    )


@pytest.mark.parametrize("many", [False, True])
def test_permuting_samples_permutes_the_answers(anyone, digits, kernels, rng, many):
    X, y = (kernels if takes_kernels(anyone) else digits[0]), digits[1]
    labels = y % 3 if many else y < 5
    order = rng.permutation(N)
    straight = clone(anyone).fit(X, labels)
    permuted = subset(X, order)
    for data in (permuted, without_ids(permuted)):
        other = clone(anyone).fit(data, labels[order])
        assert_equal_but_for_rounding(answers(other, data), answers(straight, X)[order])
        if takes_kernels(anyone):
            assert_equal_but_for_rounding(other.weights_, straight.weights_)
            np.testing.assert_array_equal(other.unusable(data), straight.unusable(X)[order])


def test_reordering_views_changes_no_answer(anyone, digits, kernels):
    X, y = (kernels if takes_kernels(anyone) else digits[0]), digits[1]
    turned = X.select([X.names[v] for v in (3, 0, 5, 1, 4, 2)])
    straight, other = clone(anyone).fit(X, y < 5), clone(anyone).fit(turned, y < 5)
    assert_equal_but_for_rounding(answers(other, turned), answers(straight, X))
    if takes_kernels(anyone):
        assert_equal_but_for_rounding(other.weights_, straight.weights_[[3, 0, 5, 1, 4, 2]])


def test_calibration_leaves_nothing_for_rounding_to_decide():
    """Scores of views in another order differ in the last digits; calibrated to a loose end, chances by 5e-3."""
    views, y = datasets.load_digit_views(n_samples=90, return_X_y=True)
    X = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.35, random_state=3)))
    turned = X.select([X.names[v] for v in (3, 0, 5, 1, 4, 2)])
    chances = [
        AbsentMKLClassifier("penalized", probability=True).fit(kernels, y).predict_proba(kernels)
        for kernels in (X, turned)
    ]
    np.testing.assert_allclose(chances[1], chances[0], atol=1e-9)


def test_threads_change_no_answer(anyone):
    """BLAS adds up in another order with two threads, once matrices are large enough for it to use them."""
    views, y = datasets.load_digit_views(n_samples=240, return_X_y=True)
    views = views.hide(missingness.fixed_per_sample(views, 3, random_state=0))
    X = ViewKernels().fit_transform(views) if takes_kernels(anyone) else views
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(answers(clone(anyone).fit(X, y < 5), X))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6 * np.abs(found[0]).max())


def test_names_of_classes_do_not_matter_but_their_order_turns_the_sign(classifier, data):
    X, y = data
    truth = exact(classifier).fit(X, y < 5)
    words = exact(classifier).fit(X, np.where(y < 5, "yes", "no"))
    turned = exact(classifier).fit(X, y >= 5)
    np.testing.assert_array_equal(truth.decision_function(X), words.decision_function(X))
    assert_same_scores(-turned.decision_function(X), truth.decision_function(X))
    assert words.classes_.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(words.predict(X) == "yes", truth.predict(X))


def test_names_of_several_classes_do_not_matter(classifier, data):
    X, y = data
    names = np.array(["c", "a", "b"])
    by_number = clone(classifier).fit(X, y % 3)
    by_name = clone(classifier).fit(X, names[y % 3])
    assert by_name.decision_function(X).shape == (N, 3)
    assert by_name.classes_.tolist() == ["a", "b", "c"]
    agree = np.mean(by_name.predict(X) == names[by_number.predict(X)])
    assert agree == 1.0


def test_inputs_are_left_as_they_were(classifier, data):
    X, y = data
    before, labels = pickle.dumps(X), y % 2
    kept = labels.copy()
    classifier.fit(X, labels).predict(X)
    assert pickle.dumps(X) == before
    np.testing.assert_array_equal(labels, kept)


def test_repeating_a_fit_repeats_it_to_the_bit(classifier, data):
    X, y = data
    one = clone(classifier).fit(X, y < 5).decision_function(X)
    np.testing.assert_array_equal(one, clone(classifier).fit(X, y < 5).decision_function(X))


# ----------------------------------------------------------------------------- scikit-learn's contract


def test_clone_pickle_and_parameters_round_trip(classifier, data):
    X, y = data
    given = classifier.get_params()
    assert is_classifier(classifier)
    assert clone(classifier).get_params() == given
    assert type(classifier)().set_params(**given).get_params() == given
    fitted = classifier.fit(X, y < 5)
    assert fitted is classifier
    assert classifier.get_params() == given
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


def test_what_was_learned_is_said(classifier, data):
    X, y = data
    classifier.fit(X, y < 5)
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.names_in_ == X.names
    np.testing.assert_array_equal(classifier.ids_, X.ids)
    assert classifier.n_iter_ >= 1
    assert len(classifier.objective_) == classifier.n_iter_
    assert isinstance(classifier.status_, str)
    if takes_kernels(classifier):
        assert classifier.weights_.shape == (6,)
        assert (classifier.weights_ >= 0).all()
        assert classifier.gap_ <= classifier.tol


def test_a_search_over_c(classifier, data):
    X, y = data
    search = GridSearchCV(classifier, {"C": [0.03, 3.0]}, cv=3, error_score="raise").fit(X, y < 5)
    assert search.best_score_ > 0.55  # guessing: 0.5
    assert search.predict(X).shape == (N,)


def test_in_a_pipeline_on_views(classifier, digits):
    views, y = digits
    steps = [("kernels", ViewKernels())] if takes_kernels(classifier) else []
    pipeline = Pipeline([*steps, ("machine", classifier)])
    scores = cross_val_score(pipeline, views, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.6


def test_what_is_not_fitted_says_so(classifier, data):
    X, _ = data
    for method in ("predict", "decision_function", "unusable"):
        with pytest.raises(NotFittedError):
            getattr(classifier, method)(X)


def test_what_was_there_is_counted(classifier, data):
    X, y = data
    wanted = N if takes_kernels(classifier) else sum(X.block(name).shape[1] for name in X.names)
    assert classifier.fit(X, y < 5).n_features_in_ == wanted


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        (np.full(N, np.nan), r"NaN"),
        (np.where(np.arange(N) == 3, np.nan, np.arange(N) % 2.0), r"NaN"),
        (np.arange(N) % 2 + 1j, r"[Cc]omplex|label type"),
        (np.linspace(0, 1, N), r"continuous|label type"),
        (np.column_stack([np.arange(N) % 2] * 2), r"1d array|shape"),
        (np.arange(N - 1) % 2, rf"{N - 1} labels came for {N}"),
        (np.ones(N, int), "two classes or more"),
    ],
    ids=["nan", "one nan", "complex", "continuous", "two columns", "too few", "one class"],
)
def test_labels_that_are_none_are_refused(classifier, data, labels, says):
    with pytest.raises(ValueError, match=says):
        classifier.fit(data[0], labels)


@pytest.mark.parametrize("kind", [str, bool, float, object, np.int8])
def test_labels_of_any_kind_come_back(classifier, data, kind):
    X, y = data
    names = {
        str: ["no", "yes"],
        bool: [False, True],
        float: [0.0, 1.0],
        object: ["a", "b"],
        np.int8: [3, 7],
    }
    labels = np.array(names[kind], dtype=kind)[(y < 5).astype(int)]
    fitted = classifier.fit(X, labels)
    assert fitted.classes_.tolist() == names[kind]
    predicted = fitted.predict(X)
    assert set(predicted.tolist()) <= set(names[kind])
    assert predicted.dtype == labels.dtype
    as_list = clone(classifier).fit(X, labels.tolist()).predict(X)
    np.testing.assert_array_equal(as_list, predicted)


@pytest.mark.parametrize(
    "weight",
    [-np.ones(N), np.ones(N - 1), np.zeros(N), np.full(N, np.nan), np.full(N, np.inf), np.ones((N, 1))],
)
def test_sample_weights_that_make_no_sense_are_refused(classifier, data, weight):
    with pytest.raises(ValueError, match="sample_weight must be"):
        classifier.fit(data[0], data[1] < 5, sample_weight=weight)


def test_weights_of_one_are_no_weights_and_the_second_fit_forgets_the_first(classifier, data):
    X, y = data
    plain = clone(classifier).fit(X, y < 5).decision_function(X)
    weighed = clone(classifier).fit(X, y < 5, sample_weight=np.ones(N))
    np.testing.assert_array_equal(weighed.decision_function(X), plain)
    weighed.fit(X, y % 3)
    np.testing.assert_array_equal(weighed.fit(X, y < 5).decision_function(X), plain)


# ----------------------------------------------------------------------------------------- absence


def with_an_empty_sample(digits, classifier, empty=(0, 7)):
    views, y = digits
    keep = np.ones(views.shape, bool)
    keep[list(empty)] = False
    gone = views.hide(keep)
    if not takes_kernels(classifier):
        return gone, y
    with pytest.warns(AbsenceWarning):
        return ViewKernels().fit_transform(gone), y


def test_a_sample_without_any_view_is_named_flagged_and_changes_nothing(classifier, digits):
    X, y = with_an_empty_sample(digits, classifier)
    labels = np.where(y < 4, "few", "many")
    with pytest.warns(AbsenceWarning, match=r"2 sample\(s\) without any .* take no part"):
        fitted = exact(classifier).fit(X, labels)
    np.testing.assert_array_equal(np.flatnonzero(fitted.unusable(X)), [0, 7])
    assert (fitted.predict(X)[[0, 7]] == "many").all()
    assert np.isfinite(fitted.decision_function(X)).all()
    rest = np.setdiff1d(np.arange(N), [0, 7])
    without = exact(classifier).fit(subset(X, rest), labels[rest])
    assert_same_scores(
        fitted.decision_function(X)[rest], without.decision_function(subset(X, rest)), slack=5e-3
    )


def test_what_is_absent_is_never_read(classifier):
    """Hidden cells of training and test samples turned to nonsense before they are hidden: the same bits."""
    views, y = datasets.load_digit_views(n_samples=N, return_X_y=True)
    keep = missingness.fixed_per_sample(views, 3, random_state=0)
    nonsense = {
        name: np.where(seen[:, None], table, 1e6)
        for (name, table), seen in zip(views.to_dict().items(), keep.T, strict=True)
    }
    train, test = np.arange(40), np.arange(40, N)
    scores = []
    for source in (views, Views.from_dict(nonsense)):
        hidden, machine = source.hide(keep), clone(classifier)
        learned_from, asked = hidden[train], hidden[test]
        if takes_kernels(machine):
            kernels = ViewKernels()
            learned_from, asked = kernels.fit_transform(learned_from), kernels.transform(asked)
        scores.append(machine.fit(learned_from, y[train] < 5).decision_function(asked))
    np.testing.assert_array_equal(*scores)


def test_a_view_that_nobody_has_changes_nothing(classifier, digits):
    views, y = digits
    keep = np.ones(views.shape, bool)
    keep[:, 5] = False
    keep[~views.observed[:, :5].any(axis=1), 5] = True
    assert not (views.observed & keep)[:, 5].any()
    gone, without = views.hide(keep), views.select(views.names[:5])
    if takes_kernels(classifier):
        with pytest.warns(AbsenceWarning):
            gone = ViewKernels().fit_transform(gone)
        without = ViewKernels().fit_transform(without)
    found = exact(classifier).fit(gone, y < 5).decision_function(gone)
    assert_same_scores(found, exact(classifier).fit(without, y < 5).decision_function(without))


def test_rows_to_predict_may_lack_views_that_training_had(classifier, data):
    X, y = data
    a, b = np.arange(0, N, 2), np.arange(1, N, 2)
    fitted = classifier.fit(subset(X, a), y[a] < 5)
    rows = subset(X, b, a)
    keep = np.ones((N // 2, 6), bool)
    keep[:, :2] = False
    keep[0] = False
    poor = rows.hide(keep)
    assert np.isfinite(fitted.decision_function(poor)).all()
    assert fitted.unusable(poor)[0]
    untouched = ~(rows.observed & ~keep).any(axis=1)
    np.testing.assert_allclose(
        fitted.decision_function(poor)[untouched], fitted.decision_function(rows)[untouched], atol=1e-12
    )


# ---------------------------------------------------------------------------------------- bad input


def test_one_class_is_an_error_that_says_so(classifier, data):
    X, _ = data
    with pytest.raises(ValueError, match=r"class\(es\) \[1.*two classes or more"):
        classifier.fit(X, np.ones(N, int))


def test_what_came_is_named_and_what_is_wanted(classifier, data):
    X, y = data
    with pytest.raises(TypeError, match=r"Views are wanted, not ndarray"):
        classifier.fit(np.eye(3), [0, 1, 1])
    with pytest.raises(ValueError, match=f"{N - 1} labels came for {N}"):
        classifier.fit(X, y[1:])
    with pytest.raises(ValueError, match="C and tol must be positive"):
        clone(classifier).set_params(C=-1.0).fit(X, y < 5)
    with pytest.raises(TypeError, match=r"Views are wanted, not ndarray"):
        classifier.fit(X, y < 5).predict(np.eye(N))


def test_rows_against_other_columns_are_refused(classifier, data):
    X, y = data
    fitted = classifier.fit(X, y < 5)
    if takes_kernels(classifier):
        some = np.arange(10)
        with pytest.raises(ValueError, match=f"columns must be the {N} training samples"):
            fitted.predict(X[np.ix_(some, some)])
        with pytest.raises(ValueError, match="columns must be"):
            fitted.predict(X[np.ix_(some, np.arange(N)[::-1])])
    with pytest.raises(ValueError, match="were there in training"):
        fitted.predict(X.select(X.names[::-1]))
