"""Laws of all classifiers on incomplete data: functions of an unfitted one that raise if it breaks them.

Data are made inside; nothing of pytest is needed.
"""

import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline

from absentia import AbsenceWarning, ViewKernels, Views, datasets, missingness, models
from absentia.methods.base import parameters_of
from absentia.testing._tools import (
    N,
    answers,
    assert_close,
    data,
    digits,
    exact,
    law,
    refused,
    said,
    subset,
    takes_kernels,
    without_ids,
)

# -------------------------------------------------------------------------------- what must not matter


@law("every")
def permuting_samples_permutes_the_answers(anyone: Any) -> None:
    """At its own tolerance: what is learned from is brought into an order of its own first."""
    X, y = data(anyone)
    order = np.random.default_rng(0).permutation(N)
    for labels in (y < 5, y % 3):
        straight = clone(anyone).fit(X, labels)
        permuted = subset(X, order)
        for same in (permuted, without_ids(permuted)):
            other = clone(anyone).fit(same, labels[order])
            assert_close(answers(other, same), answers(straight, X)[order], 1e-9)
            np.testing.assert_array_equal(other.unusable(same), straight.unusable(X)[order])
            if hasattr(straight, "weights_"):
                assert_close(other.weights_, straight.weights_, 1e-9)


@law("every")
def reordering_views_changes_no_answer(anyone: Any) -> None:
    X, y = data(anyone)
    turned = X.select([X.names[v] for v in (3, 0, 5, 1, 4, 2)])
    straight, other = clone(anyone).fit(X, y < 5), clone(anyone).fit(turned, y < 5)
    assert_close(answers(other, turned), answers(straight, X), 1e-9)
    if hasattr(straight, "weights_"):
        assert_close(other.weights_, straight.weights_[[3, 0, 5, 1, 4, 2]], 1e-9)


@law("every")
def threads_change_no_answer(anyone: Any) -> None:
    """BLAS adds up in another order with two threads, once matrices are large enough for it to use them."""
    X, y = data(anyone, 240)
    found = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            found.append(answers(clone(anyone).fit(X, y < 5), X))
    assert_close(found[1], found[0], 1e-6)


@law("every")
def renaming_classes_permutes_scores_and_probabilities(classifier: Any) -> None:
    """To 1e-8, at its own tolerance: no fold, start or sign hangs on what classes are called."""
    X, y = data(classifier)
    if "probability" in classifier.get_params():
        classifier.set_params(probability=True)
    for codes, names in ((y < 5).astype(int), ["yes", "no"]), (y % 3, ["c", "a", "b"]):
        by_number = clone(classifier).fit(X, codes)
        by_name = clone(classifier).fit(X, np.array(names)[codes])
        assert by_name.classes_.tolist() == sorted(names)
        place = np.searchsorted(by_name.classes_, names)  # of each number among the names
        np.testing.assert_array_equal(by_name.predict(X), np.array(names)[by_number.predict(X)])
        found, wanted = by_name.decision_function(X), by_number.decision_function(X)
        assert_close(-found if len(names) == 2 else found[:, place], wanted, 1e-8)
        if hasattr(classifier, "predict_proba"):
            assert_close(by_name.predict_proba(X)[:, place], by_number.predict_proba(X), 1e-8)


@law("every")
def inputs_are_left_as_they_were(classifier: Any) -> None:
    X, y = data(classifier)
    before, labels = pickle.dumps(X), y % 2
    kept = labels.copy()
    classifier.fit(X, labels).predict(X)
    assert pickle.dumps(X) == before
    np.testing.assert_array_equal(labels, kept)


@law("every")
def repeating_a_fit_repeats_it_to_the_bit(classifier: Any) -> None:
    X, y = data(classifier)
    one = clone(classifier).fit(X, y < 5).decision_function(X)
    np.testing.assert_array_equal(one, clone(classifier).fit(X, y < 5).decision_function(X))


# ------------------------------------------------------------------------------ scikit-learn's contract


def parameters_in_words(estimator: Any) -> dict[str, str]:
    """Parameters as they are shown: other estimators among them are equal in nothing else."""
    return {name: repr(value) for name, value in estimator.get_params().items()}


@law("every")
def clone_pickle_and_parameters_round_trip(classifier: Any) -> None:
    X, y = data(classifier)
    given = parameters_in_words(classifier)
    assert is_classifier(classifier)
    assert parameters_in_words(clone(classifier)) == given
    again = type(classifier)().set_params(**classifier.get_params(deep=False))
    assert parameters_in_words(again) == given
    fitted = classifier.fit(X, y < 5)
    assert fitted is classifier
    assert parameters_in_words(classifier) == given
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.decision_function(X), fitted.decision_function(X))


@law("every")
def what_is_saved_comes_back(classifier: Any) -> None:
    """With probabilities, if it has them: to the bit, as plain data and from a file."""
    X, y = data(classifier)
    if "probability" in classifier.get_params():
        classifier.set_params(probability=True)
    fitted = classifier.fit(X, np.where(y < 5, "few", "many"))
    with tempfile.TemporaryDirectory() as folder:
        loaded = models.load(models.save(fitted, Path(folder) / "c.npz"))
    for back in (type(classifier).from_state(fitted.state()), loaded):
        assert type(back) is type(fitted)
        assert parameters_in_words(back) == parameters_in_words(fitted)
        np.testing.assert_array_equal(answers(back, X), answers(fitted, X))
        np.testing.assert_array_equal(back.predict(X), fitted.predict(X))
        np.testing.assert_array_equal(back.unusable(X), fitted.unusable(X))


@law("every")
def who_was_there_is_said(classifier: Any) -> None:
    X, y = data(classifier)
    classifier.fit(X, y < 5)
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.names_in_ == X.names
    np.testing.assert_array_equal(classifier.ids_, X.ids)
    features = N if takes_kernels(classifier) else sum(X.block(name).shape[1] for name in X.names)
    assert classifier.n_features_in_ == features


@law("every")
def in_a_pipeline_on_views(classifier: Any) -> None:
    views, y = digits()
    steps = [("kernels", ViewKernels())] if takes_kernels(classifier) else []
    pipeline = Pipeline([*steps, ("classifier", classifier)])
    scores = cross_val_score(pipeline, views, y < 5, cv=3, error_score="raise")
    assert scores.mean() > 0.6


@law("every")
def a_search_over_c(classifier: Any) -> None:
    if "C" not in classifier.get_params():
        return
    X, y = data(classifier)
    search = GridSearchCV(classifier, {"C": [0.03, 3.0]}, cv=3, error_score="raise").fit(X, y < 5)
    assert search.best_score_ > 0.55  # guessing: 0.5
    assert search.predict(X).shape == (N,)


@law("every")
def what_is_not_fitted_says_so(classifier: Any) -> None:
    X, _ = data(classifier)
    for way in ("predict", "decision_function", "unusable"):
        with refused(NotFittedError, "not fitted"):
            getattr(classifier, way)(X)


@law("every")
def no_rows_get_no_answers(classifier: Any) -> None:
    X, y = data(classifier)
    nobody = np.zeros(0, int)
    for labels, shape in ((y < 5, (0,)), (y % 3, (0, 3))):
        fitted = clone(classifier).fit(X, labels)
        rows = subset(X, nobody, np.arange(N))
        assert fitted.decision_function(rows).shape == shape
        assert fitted.predict(rows).shape == fitted.unusable(rows).shape == (0,)


# ------------------------------------------------------------------------------------- labels and weights

BAD_LABELS = {
    "nan": (np.full(N, np.nan), r"60 label\(s\) are NaN or None, e.g. of"),
    "one nan": (
        np.where(np.arange(N) == 3, np.nan, np.arange(N) % 2.0),
        r"1 label\(s\) are NaN or None, e.g. of 3;",
    ),
    "complex": (np.arange(N) % 2 + 1j, "labels are complex numbers"),
    "continuous": (np.linspace(0, 1, N), r"continuous|label type"),
    "two columns": (np.column_stack([np.arange(N) % 2] * 2), r"1d array|shape"),
    "too few": (np.arange(N - 1) % 2, f"{N - 1} labels came for {N}"),
    "one class": (np.ones(N, int), r"class\(es\) \[1.*two classes or more"),
}


@law("every")
def labels_that_are_none_are_refused(classifier: Any) -> None:
    X, _ = data(classifier)
    for labels, sentence in BAD_LABELS.values():
        with refused(ValueError, sentence):
            clone(classifier).fit(X, labels)


KINDS: dict[Any, list[Any]] = {
    str: ["no", "yes"],
    bool: [False, True],
    float: [0.0, 1.0],
    object: ["a", "b"],
    np.int8: [3, 7],
}


@law("every")
def labels_of_any_kind_come_back(classifier: Any) -> None:
    X, y = data(classifier)
    for kind, names in KINDS.items():
        labels = np.array(names, dtype=kind)[(y < 5).astype(int)]
        fitted = clone(classifier).fit(X, labels)
        assert fitted.classes_.tolist() == names
        predicted = fitted.predict(X)
        assert set(predicted.tolist()) <= set(names)
        assert predicted.dtype == labels.dtype
        as_list = clone(classifier).fit(X, labels.tolist()).predict(X)
        np.testing.assert_array_equal(as_list, predicted)


@law("every")
def sample_weights_that_make_no_sense_are_refused(classifier: Any) -> None:
    X, y = data(classifier)
    one = np.ones(N)
    for weight in (-one, one[1:], 0 * one, np.nan * one, np.inf * one, one[:, None]):
        with refused(ValueError, "sample_weight must be"):
            clone(classifier).fit(X, y < 5, sample_weight=weight)


@law("every")
def weights_of_one_are_no_weights_and_the_second_fit_forgets_the_first(classifier: Any) -> None:
    X, y = data(classifier)
    plain = clone(classifier).fit(X, y < 5).decision_function(X)
    weighed = clone(classifier).fit(X, y < 5, sample_weight=np.ones(N))
    np.testing.assert_array_equal(weighed.decision_function(X), plain)
    weighed.fit(X, y % 3)
    np.testing.assert_array_equal(weighed.fit(X, y < 5).decision_function(X), plain)


@law("every")
def a_sample_of_weight_zero_might_as_well_not_be_there(classifier: Any) -> None:
    """Not even if nobody else has its class."""
    X, y = data(classifier)
    keep = np.arange(N) >= 15
    labels = np.where(keep, np.where(y < 5, 1, 0), 7)
    index = np.flatnonzero(keep)
    weighed = exact(classifier).fit(X, labels, sample_weight=keep.astype(float))
    without = exact(classifier).fit(subset(X, index), labels[index])
    assert weighed.classes_.tolist() == [0, 1]
    rows = subset(X, index, np.arange(N))
    assert_close(weighed.decision_function(rows), without.decision_function(subset(X, index)), 5e-3)


@law("every")
def weights_of_classes_are_weights_of_their_samples(classifier: Any) -> None:
    """But for the prior, which is how frequent the classes are, not how much their errors cost."""
    if "class_weight" not in classifier.get_params():
        return
    X, y = data(classifier)
    low = y < 4
    by_class = exact(classifier).set_params(class_weight={True: 2.0, False: 1.0}).fit(X, low)
    by_sample = exact(classifier).fit(X, low, sample_weight=np.where(low, 2.0, 1.0))
    rows = (by_class._reach(X) >= 0.01).all(axis=1)
    assert rows.sum() > N / 2
    assert_close(by_class.decision_function(X)[rows], by_sample.decision_function(X)[rows], 1e-6)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    np.testing.assert_allclose(by_class.decision_function(nothing), 2 * low.mean() - 1)


# ----------------------------------------------------------------------------------------------- absence


@law("every")
def a_sample_without_any_view_is_named_flagged_and_changes_nothing(classifier: Any) -> None:
    views, y = digits()
    keep = np.ones(views.observed.shape, bool)
    keep[[0, 7]] = False
    X: Any = views.hide(keep)
    if takes_kernels(classifier):
        with said(AbsenceWarning, "no view at all"):
            X = ViewKernels().fit_transform(X)
    labels = np.where(y < 4, "few", "many")
    fitted = exact(classifier)
    with said(AbsenceWarning, r"2 sample\(s\) without any view, e.g. 0, take no part"):
        fitted.fit(X, labels)
    np.testing.assert_array_equal(np.flatnonzero(fitted.unusable(X)), [0, 7])
    assert (fitted.predict(X)[[0, 7]] == "many").all()
    assert np.isfinite(fitted.decision_function(X)).all()
    rest = np.setdiff1d(np.arange(N), [0, 7])
    without = exact(classifier).fit(subset(X, rest), labels[rest])
    assert_close(fitted.decision_function(X)[rest], without.decision_function(subset(X, rest)), 5e-3)


@law("every")
def a_class_without_a_view_is_refused(classifier: Any) -> None:
    X, y = data(classifier)
    with refused(ValueError, r"the class\(es\) \[0, 1\] of \[0, 1, 2\]; .* each with a view somewhere"):
        classifier.fit(X.hide(np.repeat(y[:, None] != 3, 6, axis=1)), np.where(y == 3, 2, y % 2))


@law("every")
def what_is_absent_is_never_read(classifier: Any) -> None:
    """Hidden cells turned to nonsense before they are hidden, in training and beyond: the same bits."""
    views, y = datasets.load_digit_views(n_samples=N, return_X_y=True)
    keep = missingness.fixed_per_sample(views, 3, random_state=0)
    tables = zip(views.to_dict().items(), keep.T, strict=True)
    nonsense = {name: np.where(seen[:, None], table, 1e6) for (name, table), seen in tables}
    train, test = np.arange(40), np.arange(40, N)
    scores = []
    for source in (views, Views.from_dict(nonsense)):
        hidden, fitted = source.hide(keep), clone(classifier)
        learned_from: Any = hidden[train]
        asked: Any = hidden[test]
        if takes_kernels(classifier):
            kernels = ViewKernels()
            learned_from, asked = kernels.fit_transform(learned_from), kernels.transform(asked)
        scores.append(fitted.fit(learned_from, y[train] < 5).decision_function(asked))
    np.testing.assert_array_equal(*scores)


@law("every")
def a_view_that_nobody_has_changes_nothing(classifier: Any) -> None:
    views, y = digits()
    keep = np.ones(views.observed.shape, bool)
    keep[:, 5] = False
    assert (views.observed & keep).any(axis=1).all()
    gone: Any = views.hide(keep)
    without: Any = views.select(views.names[:5])
    if takes_kernels(classifier):
        with said(AbsenceWarning, "view"):
            gone = ViewKernels().fit_transform(gone)
        without = ViewKernels().fit_transform(without)
    found = exact(classifier).fit(gone, y < 5).decision_function(gone)
    assert_close(found, exact(classifier).fit(without, y < 5).decision_function(without), 2e-3)


@law("every")
def rows_to_predict_may_lack_views_that_training_had(classifier: Any) -> None:
    X, y = data(classifier)
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
    found, wanted = fitted.decision_function(poor), fitted.decision_function(rows)
    np.testing.assert_allclose(found[untouched], wanted[untouched], atol=1e-12)


@law("every")
def without_any_view_there_is_the_prior(classifier: Any) -> None:
    X, y = data(classifier)
    nothing = X.hide(np.zeros(X.observed.shape, bool))
    for labels, weight in ((y < 4, None), (y % 3, None), (y % 3, 1.0 + y)):
        fitted = clone(classifier).fit(X, labels, sample_weight=weight)
        weight = np.ones(N) if weight is None else weight
        pi = np.array([weight[labels == k].sum() for k in fitted.classes_]) / weight.sum()
        wanted = 2 * pi - 1 if len(pi) > 2 else 2 * pi[1] - 1
        np.testing.assert_allclose(
            fitted.decision_function(nothing), np.broadcast_to(wanted, (N, *np.shape(wanted)))
        )
        assert fitted.unusable(nothing).all()
        assert (fitted.predict(nothing) == fitted.classes_[pi.argmax()]).all()


# --------------------------------------------------------------------------------------------- bad input


@law("every")
def parameters_that_make_no_sense_are_refused_by_name(classifier: Any) -> None:
    X, y = data(classifier)
    for name, parameter in parameters_of(classifier).items():
        if "anything" not in parameter.wanted:
            with refused(ValueError, f"^{type(classifier).__name__}: {name} must be .*, not <object"):
                clone(classifier).set_params(**{name: object()}).fit(X, y < 5)
    for name in {"C", "tol"} & set(classifier.get_params()):
        with refused(ValueError, f"{name} must be a number above 0( or 'cv')?, not -1.0"):
            clone(classifier).set_params(**{name: -1.0}).fit(X, y < 5)


@law("every")
def what_came_is_named_and_what_is_wanted(classifier: Any) -> None:
    X, y = data(classifier)
    with refused(TypeError, r"Views are wanted, not ndarray"):
        classifier.fit(np.eye(3), [0, 1, 1])
    with refused(ValueError, "no sample to learn from"):
        classifier.fit(subset(X, np.zeros(0, int)), [])
    with refused(TypeError, r"Views are wanted, not ndarray"):
        classifier.fit(X, y < 5).predict(np.eye(N))


@law("every")
def rows_that_do_not_go_with_training_are_refused(classifier: Any) -> None:
    X, y = data(classifier)
    fitted = classifier.fit(X, y < 5)
    if takes_kernels(classifier):
        some = np.arange(10)
        with refused(ValueError, f"columns must be the {N} training samples"):
            fitted.predict(X[np.ix_(some, some)])
        with refused(ValueError, "columns must be"):
            fitted.predict(X[np.ix_(some, np.arange(N)[::-1])])
        strange = X.select(X.names[1:])
    else:  # of features, views that are left out may count as absent
        strange = X.renamed({name: f"other {name}" for name in X.names})
    with refused(ValueError, "were there in training"):
        fitted.predict(strange)
