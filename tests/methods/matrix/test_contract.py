"""What every estimator for matrices owes its users: scikit-learn's contract, copies, seeds, order, files."""

import numpy as np
import pytest
import threadpoolctl
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import PMF, PMAImputer, models, testing
from absentia.methods import matrix
from absentia.methods.matrix import _estimation as estimation
from absentia.methods.matrix import _inference as mean
from helpers.matrix_registry import (
    CHECKED,
    IMPUTERS,
    REGRESSORS,
    WITH_ROWS,
    drawn,
    every_method,
    every_row_model,
    near,
    takes_kernel,
)


def expected_failures(estimator):
    """Checks that an estimator fails, and why it has to."""
    if getattr(estimator, "kernel", None) != "precomputed":
        return {}
    return dict.fromkeys(
        ("check_positive_only_tag_during_fit", "check_estimators_dtypes"),
        "it passes a matrix that is not positive semidefinite, which is no kernel and is refused",
    )


own = parametrize_with_checks(CHECKED, expected_failed_checks=expected_failures).mark
names, checks = own.args


# scikit-learn 1.6 hands over a generator, which pytest 9 warns of
@pytest.mark.parametrize(names, list(checks), **own.kwargs)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


KERNELS_ESTIMATED = {
    "heldout": PMAImputer(tol=0.01),
    "both": PMAImputer(row_kernel="estimate", tol=0.01),
    "rows alone": PMAImputer(row_kernel="estimate", col_kernel="none", tol=0.01),
    "columns alone": PMAImputer(row_kernel="none", tol=0.01),
    "not standardized": PMAImputer(standardize=False, tol=0.01),
}


@pytest.mark.slow_params("heldout", "rows alone", "not standardized")
@pytest.mark.parametrize("name", list(KERNELS_ESTIMATED))
def test_imputers_have_the_public_invariants(name):
    imputer = KERNELS_ESTIMATED[name]
    assert imputer.scale_equivariant == (name != "not standardized")
    testing.check_imputer(imputer)


def test_factorisation_has_them_but_fits_rows_anew_when_it_transforms():
    testing.check_imputer(PMF(2), without=["fit_then_transform_equals_fit_transform"])


#: These choose by hiding entries, of which forty rows have enough.
HELDOUT = ("imputer", "imputer, column kernel", "pmf")


def answers(name, problem, new=6):
    """All that a fitted model says: dict of arrays whose axes are rows, columns, or neither."""
    X, K1, K2, gaps, labels = problem
    if name in IMPUTERS:
        model = IMPUTERS[name](K1, K2).fit(gaps)
        found = {"completed": model.completed_, "transform": model.transform(gaps[:-1])}
        if name in HELDOUT:
            found["curve"] = np.array(list(model.heldout_curve_.values()))
            assert len(found["curve"])
        if name == "pmf":
            return found
        found |= {"std": model.predict(return_std=True)[1], "sample": model.sample(2)}
        return found | {"N": model.model_.N, "loglik": model.log_marginal_likelihood_}
    model = WITH_ROWS[name](K2)
    train, test = slice(None, -new), slice(-new, None)
    A, B = (K1[train, train], K1[test, train]) if takes_kernel(model) else (X[train], X[test])
    model.fit(A, (gaps if name in REGRESSORS else labels)[train])
    if name in REGRESSORS:
        mean, std = model.predict(B, return_std=True)
        return {"completed": model.completed_, "mean": mean, "std": std, "N": model.model_.N}
    return {"scores": model.decision_function(B), "probabilities": model.predict_proba(B)}


def permuted(problem, rows, columns, features):
    X, K1, K2, gaps, labels = problem
    both = np.ix_(rows, columns)
    return (
        X[np.ix_(rows, features)],
        K1[np.ix_(rows, rows)],
        K2[np.ix_(columns, columns)],
        gaps[both],
        labels[both],
    )


def close(found, expected, rtol=1e-6):
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)


def assert_same_but_for_order(name, problem, rows, columns, features, new=6):
    first = answers(name, problem)
    second = answers(name, permuted(problem, rows, columns, features))
    train = rows[:-new]
    for what, expected in first.items():
        found = second[what]
        if what == "N":
            close(found, expected[np.ix_(columns, columns)])
        elif what in ("loglik", "curve"):
            close(found, expected)
        elif what == "transform":  # all but the last row, which is in its place
            close(found, expected[np.ix_(rows[:-1], columns)])
        elif what == "sample":
            close(found, expected[:, rows[:, None], columns])
        elif what in ("completed", "std") and len(expected) == len(rows):
            close(found, expected[np.ix_(rows, columns)])
        elif what == "completed":
            close(found, expected[np.ix_(train, columns)])
        else:  # of new samples
            close(found, expected[np.ix_(rows[-new:] - len(train), columns)])


def shuffled(n, m, p, new=6, seed=0):
    """New orders of rows (training and new ones apart, the last in its place), columns and features."""
    rng = np.random.default_rng(seed)
    late = n - new + rng.permutation(new - 1)
    rows = np.concatenate([rng.permutation(n - new), late, [n - 1]])
    return rows, rng.permutation(m), rng.permutation(p)


@pytest.mark.slow_params(
    "imputer, column kernel", "imputer, row kernel", "imputer, map", "imputer, gibbs", "classifier"
)
@every_method
def test_a_permutation_permutes_the_answer_and_changes_nothing_else(name):
    assert_same_but_for_order(name, drawn(40), *shuffled(40, 4, 3))


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("imputer", marks=pytest.mark.slow),
        pytest.param("imputer, estimated", marks=pytest.mark.slow),
        pytest.param("imputer, row kernel", marks=pytest.mark.slow),
        pytest.param("regressor", marks=pytest.mark.slow),
        "classifier, precomputed",
    ],
)
def test_a_permutation_changes_nothing_where_inference_is_sampled(name, monkeypatch):
    for module, limit in [(estimation, "_MAX_EXACT_MISSING"), (mean, "_MAX_FACTORIZED")]:
        monkeypatch.setattr(module, limit, 3)
    assert_same_but_for_order(name, drawn(40), *shuffled(40, 4, 3))


@pytest.mark.parametrize("name", ["mlknn", "iblr", "svm", "pmf", "classifier, precomputed"])
def test_a_permutation_changes_nothing_where_values_are_tied(name):
    X, _, K2, gaps, labels = drawn(40, absent=0.15)
    X, gaps = np.round(X), np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    problem = X, near(X), K2, gaps, labels
    assert_same_but_for_order(name, problem, *shuffled(40, 4, 3))


QUICK = ("imputer, both kernels", "regressor, column kernel", "mlknn", "iblr", "svm")
LONG = [name for name in [*IMPUTERS, *WITH_ROWS] if name not in QUICK]


@pytest.mark.slow_params("imputer, both kernels")
@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in LONG)])
def test_two_threads_change_nothing(name):
    problem = drawn(n=90, m=5)
    with threadpoolctl.threadpool_limits(1):
        one = answers(name, problem)
    with threadpoolctl.threadpool_limits(2):
        two = answers(name, problem)
    for what, expected in one.items():
        close(two[what], expected)


@pytest.mark.slow_params(
    "imputer, column kernel", "imputer, row kernel", "imputer, map", "imputer, gibbs", "classifier"
)
@every_method
def test_none_is_one_seed_and_the_global_state_is_left_alone(name):
    problem = drawn(40)
    np.random.seed(3)  # noqa: NPY002
    first = answers(name, problem)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    second = answers(name, problem)
    for what in first:
        np.testing.assert_array_equal(first[what], second[what])
    np.random.seed(3)  # noqa: NPY002
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def spoil(*arrays):
    for A in arrays:
        A[...] = np.where(np.isnan(A), 7.0, -3.0 * A + 1)


@pytest.mark.slow_params("imputer, row kernel", "imputer, map", "imputer, gibbs")
@pytest.mark.parametrize("name", list(IMPUTERS))
def test_a_matrix_changed_after_the_fit_changes_no_answer(name):
    problem = drawn()
    _, K1, K2, gaps, _ = problem
    model = IMPUTERS[name](K1.copy(), K2.copy())
    mine = gaps.copy()
    model.fit(mine)
    mean, std = model.predict(return_std=True) if name != "pmf" else (model.completed_.copy(), 0.0)
    before = model.transform(gaps)
    spoil(mine)
    np.testing.assert_array_equal(model.transform(gaps), before)
    np.testing.assert_array_equal(model.completed_, mean)
    if name != "pmf":
        if not isinstance(model.row_kernel, str):
            spoil(model.row_kernel)
        np.testing.assert_array_equal(model.predict(return_std=True)[1], std)
        np.testing.assert_array_equal(model.predict(gaps), mean)
        observed = ~np.isnan(gaps)
        np.testing.assert_array_equal(model.sample()[0][observed], gaps[observed])


@every_row_model
def test_samples_changed_after_the_fit_change_no_answer(name):
    X, K1, K2, gaps, labels = drawn()
    model = WITH_ROWS[name](K2.copy())
    A = (K1 if takes_kernel(model) else X).copy()
    B, Y = A[:5].copy(), (gaps if name in REGRESSORS else labels).copy()
    before = model.fit(A, Y).predict(B)
    spoil(A, Y)
    np.testing.assert_array_equal(model.predict(B), before)


def test_every_estimator_is_checked_here():
    checked = {type(model).__name__ for model in CHECKED}
    fitted = {type(make(None)).__name__ for make in WITH_ROWS.values()}
    fitted |= {type(make(None, None)).__name__ for make in IMPUTERS.values()}
    named = {name for name in vars(matrix) if hasattr(getattr(matrix, name), "fit")}
    assert named == checked == fitted


def save_and_load(model, folder):
    return models.load(models.save(model, folder / "model.npz"))


def same(found, expected):
    assert type(found) is type(expected)
    if isinstance(expected, tuple):
        for a, b in zip(found, expected, strict=True):
            same(a, b)
    else:
        np.testing.assert_array_equal(found, expected)


def same_attributes(back, model):
    """Everything that is public and fitted, and all parameters."""
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_") and name not in ("model_", "gamma_curve_"):
            same(getattr(back, name), value)
    assert {type(v) for v in back.get_params().values()} == {type(v) for v in model.get_params().values()}


@pytest.mark.slow_params("imputer, column kernel", "imputer, row kernel", "imputer, map", "imputer, gibbs")
@pytest.mark.parametrize("name", list(IMPUTERS))
def test_an_imputer_that_comes_back_completes_the_same(name, tmp_path):
    _, K1, K2, gaps, _ = drawn(40)
    model = IMPUTERS[name](K1, K2).fit(gaps)
    back = save_and_load(model, tmp_path)
    same_attributes(back, model)
    same(back.transform(gaps[::-1] * 1.1), model.transform(gaps[::-1] * 1.1))
    same(back.transform(gaps), model.transform(gaps))
    if name != "pmf":
        same(back.predict(return_std=True), model.predict(return_std=True))
        same(back.predict(gaps[5:] * 0.9, return_std=True), model.predict(gaps[5:] * 0.9, return_std=True))
        same(back.sample(3), model.sample(3))
        assert back.log_marginal_likelihood_ == model.log_marginal_likelihood_
        same(back.model_.solve(model.completed_), model.model_.solve(model.completed_))


@pytest.mark.slow_params("classifier")
@pytest.mark.parametrize("name", list(WITH_ROWS))
def test_a_model_of_samples_that_comes_back_predicts_the_same(name, tmp_path):
    X, K1, K2, gaps, labels = drawn()
    model = WITH_ROWS[name](K2)
    A = K1 if takes_kernel(model) else X
    Y = (gaps if name in REGRESSORS else labels)[:20]
    model.fit(A[:20, :20] if takes_kernel(model) else A[:20], Y)
    new = A[20:, :20] if takes_kernel(model) else A[20:]
    back = save_and_load(model, tmp_path)
    same_attributes(back, model)
    if name in REGRESSORS:
        same(back.predict(new, return_std=True), model.predict(new, return_std=True))
    else:
        same(back.decision_function(new), model.decision_function(new))
        same(back.predict_proba(new), model.predict_proba(new))
    same(back.predict(new), model.predict(new))


def test_names_of_columns_come_back(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(drawn()[3], columns=list("abcd"))
    back = save_and_load(PMAImputer().fit(frame), tmp_path)
    assert list(back.get_feature_names_out()) == list("abcd")
    with pytest.raises(ValueError, match="feature names should match"):
        back.transform(frame[list("dcba")])
