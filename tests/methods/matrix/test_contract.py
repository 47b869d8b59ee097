"""What every estimator for matrices owes its users: scikit-learn's contract, names, copies, refusals, order."""

import functools
import itertools

import numpy as np
import pytest
import scipy.sparse
import threadpoolctl
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from absentia import (
    IBLR,
    MLKNN,
    PMF,
    LabelGP,
    MatrixLMC,
    PartialLabelSVM,
    PMAClassifier,
    PMAImputer,
    PMARegressor,
    PMATensorImputer,
)
from absentia.methods.matrix import _estimate as estimate
from absentia.methods.matrix import _inference as inference
from absentia.methods.matrix import _tensor as tensor
from absentia.methods.matrix._model import RowKernel, nystrom_factor
from absentia.methods.matrix._order import canonical

# ------------------------------------------------------------------------------ scikit-learn's own checks

CHECKED = [  # a tolerance that labels without any structure reach too
    PMAImputer(tol=0.02),
    PMF(2),
    PMARegressor(gamma="median", tol=0.02),
    PMARegressor("precomputed", tol=0.02),
    PMAClassifier(gamma="median", tol=0.02),
    PMAClassifier("precomputed", tol=0.02),
    MatrixLMC(gamma="median", tol=0.02),
    LabelGP(gamma="median", tol=0.02),
    MLKNN(3),
    IBLR(3),
    PartialLabelSVM(),
    PartialLabelSVM(kernel="precomputed"),
]


def expected_failures(estimator):
    """Checks that an estimator fails, and why it has to.  (PMATensorImputer takes no table: nothing applies.)"""
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


# --------------------------------------------------------------------------------------- problems to fit


def near(points, gamma=0.5):
    return np.exp(-gamma * ((points[:, None] - points) ** 2).sum(axis=2))


def drawn(n=24, m=4, absent=0.3, seed=0):
    """Features, kernels of rows and columns, a matrix with gaps, labels with gaps."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    K1, K2 = near(X), near(rng.standard_normal((m, 2))) + 0.1 * np.eye(m)
    noise = rng.multivariate_normal(np.zeros(m), K2, n)
    M = np.linalg.cholesky(K1 + 1e-9 * np.eye(n)) @ rng.standard_normal((n, m)) + noise
    gaps = np.where(rng.random((n, m)) < absent, np.nan, M)
    gaps[0] = M[0]
    labels = np.where(np.isnan(gaps), np.nan, (gaps > 0).astype(float))
    labels[:2] = [[0.0] * m, [1.0] * m]
    return X, K1, K2, gaps, labels


IMPUTERS = {
    "imputer": lambda K1, K2: PMAImputer(tol=0.01),
    "imputer, row kernel": lambda K1, K2: PMAImputer(row_kernel=K1, tol=0.01),
    "imputer, both kernels": lambda K1, K2: PMAImputer(row_kernel=K1, col_kernel=K2, tol=0.01),
    "imputer, map": lambda K1, K2: PMAImputer(row_kernel=K1, inference="map", tol=0.01),
    "imputer, gibbs": lambda K1, K2: PMAImputer(row_kernel=K1, inference="gibbs", n_samples=20, tol=0.01),
    "pmf": lambda K1, K2: PMF(),
}
REGRESSORS = {
    "regressor": lambda K2: PMARegressor(tol=0.01),
    "regressor, label covariance": lambda K2: PMARegressor(gamma="median", label_covariance=True, tol=0.01),
    "regressor, column kernel": lambda K2: PMARegressor(gamma=0.5, col_kernel=K2, tol=0.01),
    "regressor, landmarks": lambda K2: PMARegressor(gamma="median", n_landmarks=9, tol=0.01),
    "regressor, precomputed": lambda K2: PMARegressor("precomputed", tol=0.01),
}
CLASSIFIERS = {
    "classifier": lambda K2: PMAClassifier(tol=0.01),
    "classifier, precomputed": lambda K2: PMAClassifier("precomputed", tol=0.01),
    "lmc": lambda K2: MatrixLMC(gamma="median", tol=0.01),
    "gp": lambda K2: LabelGP(gamma="median", tol=0.01),
    "mlknn": lambda K2: MLKNN(3),
    "iblr": lambda K2: IBLR(3),
    "svm": lambda K2: PartialLabelSVM(),
    "svm, precomputed": lambda K2: PartialLabelSVM(kernel="precomputed"),
}
WITH_ROWS = REGRESSORS | CLASSIFIERS


def takes_kernel(model):
    return getattr(model, "kernel", None) == "precomputed"


def random_tensor(seed=0):
    rng = np.random.default_rng(seed)
    kernels = [near(rng.standard_normal((n, 2))) + 0.05 * np.eye(n) for n in (4, 3, 5)]
    X = rng.standard_normal((4, 3, 5))
    X[rng.random(X.shape) < 0.3] = np.nan
    return X, kernels


def answers(name, problem, new=6):
    """All that a fitted model says: dict of arrays whose axes are rows, columns, or neither."""
    X, K1, K2, gaps, labels = problem
    if name in IMPUTERS:
        model = IMPUTERS[name](K1, K2).fit(gaps)
        if name == "pmf":
            return {"completed": model.completed_, "transform": model.transform(gaps[:-1])}
        completed, std = model.predict(return_std=True)
        found = {"completed": completed, "std": std, "sample": model.sample(2), "N": model.model_.N}
        return found | {"transform": model.transform(gaps[:-1]), "loglik": model.log_marginal_likelihood_}
    model = WITH_ROWS[name](K2)
    train, test = slice(None, -new), slice(-new, None)
    A, B = (K1[train, train], K1[test, train]) if takes_kernel(model) else (X[train], X[test])
    model.fit(A, (gaps if name in REGRESSORS else labels)[train])
    if name in REGRESSORS:
        mean, std = model.predict(B, return_std=True)
        return {"completed": model.completed_, "mean": mean, "std": std, "N": model.model_.N}
    return {"scores": model.decision_function(B), "probabilities": model.predict_proba(B)}


every_method = pytest.mark.parametrize("name", [*IMPUTERS, *WITH_ROWS])
every_row_model = pytest.mark.parametrize("name", list(WITH_ROWS))


# ------------------------------------------------------------------------------------- order and threads


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
        elif what == "loglik":
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


@every_method
def test_a_permutation_permutes_the_answer_and_changes_nothing_else(name):
    problem = drawn()
    assert_same_but_for_order(name, problem, *shuffled(24, 4, 3))


@pytest.mark.parametrize("name", ["imputer", "imputer, row kernel", "regressor", "classifier, precomputed"])
def test_a_permutation_changes_nothing_where_inference_is_sampled(name, monkeypatch):
    for module, limit in [(estimate, "EXACT"), (estimate, "SMALL"), (inference, "SMALL")]:
        monkeypatch.setattr(module, limit, 3)
    assert_same_but_for_order(name, drawn(), *shuffled(24, 4, 3))


@pytest.mark.parametrize("name", ["mlknn", "iblr", "svm", "pmf", "classifier, precomputed"])
def test_a_permutation_changes_nothing_where_values_are_tied(name):
    X, _, K2, gaps, labels = drawn(absent=0.15)
    X, gaps = np.round(X), np.where(np.isnan(gaps), np.nan, np.sign(gaps))
    problem = X, near(X), K2, gaps, labels
    assert_same_but_for_order(name, problem, *shuffled(24, 4, 3))


def test_a_permutation_of_a_tensor_permutes_the_answer(monkeypatch):
    X, kernels = random_tensor()
    rng = np.random.default_rng(1)
    orders = [rng.permutation(n) for n in X.shape]
    turned = [K[np.ix_(o, o)] for K, o in zip(kernels, orders, strict=True)]
    for small in (inference.SMALL, 3):
        monkeypatch.setattr(tensor, "SMALL", small)
        one, other = PMATensorImputer(kernels).fit(X), PMATensorImputer(turned).fit(X[np.ix_(*orders)])
        for a, b in zip(one.predict(return_std=True), other.predict(return_std=True), strict=True):
            close(b, a[np.ix_(*orders)])
        close(other.sample()[0], one.sample()[0][np.ix_(*orders)])


QUICK = ("imputer, both kernels", "regressor, column kernel", "mlknn", "iblr", "svm")
LONG = [name for name in [*IMPUTERS, *WITH_ROWS] if name not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(n, marks=pytest.mark.slow) for n in LONG)])
def test_two_threads_change_nothing(name):
    problem = drawn(n=90, m=5)
    with threadpoolctl.threadpool_limits(1):
        one = answers(name, problem)
    with threadpoolctl.threadpool_limits(2):
        two = answers(name, problem)
    for what, expected in one.items():
        close(two[what], expected)


@pytest.mark.parametrize("kind", ["real", "labels", "diagonal", "equal"])
def test_the_order_is_that_of_the_content(kind, rng):
    X = {
        "real": rng.standard_normal((12, 5)),
        "labels": np.where(rng.random((40, 5)) < 0.2, np.nan, rng.random((40, 5)) < 0.5),
        "diagonal": np.eye(4),
        "equal": np.ones((3, 4)),
    }[kind]
    rows, columns = canonical(X.shape, [(X, (0, 1))])
    for seed in range(5):
        p, q = (np.random.default_rng(seed).permutation(n) for n in X.shape)
        Z = X[np.ix_(p, q)]
        again = canonical(X.shape, [(Z, (0, 1))])
        np.testing.assert_array_equal(Z[np.ix_(*again)], X[np.ix_(rows, columns)])
    assert sorted(rows) == list(range(len(X)))


def test_kernels_decide_the_order_where_tables_do_not(rng):
    X, K = np.ones((8, 2)), near(rng.standard_normal((8, 2)))
    rows, _ = canonical(X.shape, [(X, (0, 1)), (K, (0, 0))])
    p = rng.permutation(8)
    again, _ = canonical(X.shape, [(X, (0, 1)), (K[np.ix_(p, p)], (0, 0))])
    np.testing.assert_array_equal(K[np.ix_(rows, rows)], K[np.ix_(p, p)][np.ix_(again, again)])


# ------------------------------------------------------------------------------------------------ cliffs


def test_an_eigenvalue_at_the_edge_of_rounding_moves_no_estimate():
    """Kernels that differ by 1e-12 of their size have estimates that differ by little more."""
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    Y = rng.standard_normal((12, 3))
    seen = np.ones(Y.shape, dtype=bool)
    what = estimate.What()
    found = []
    for edge in (0.99e-10, 1.01e-10):
        values = np.concatenate([np.full(6, edge), np.linspace(0.2, 1, 6)])
        rows = RowKernel.dense((U * values) @ U.T)
        start = estimate.starting(rows, Y, seen, what)
        found.append(estimate.learn(start, Y, seen, what, max_iter=2).state.model.C[0, 0])
    np.testing.assert_allclose(found[0], found[1], rtol=0.01)


def test_a_landmark_at_the_edge_of_rounding_moves_no_kernel():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    kernels = []
    for edge in (0.999e-9, 1.001e-9):
        half = np.sqrt([edge, 0.3, 0.5, 1.0])
        K_nm = rng.permuted(np.eye(4)) * 0 + (Q * half) @ Q.T @ (Q * half) @ Q.T
        Phi = nystrom_factor(np.vstack([K_nm, (Q[:, 0] * np.sqrt(edge))]), K_nm)
        kernels.append(Phi @ Phi.T)
    np.testing.assert_allclose(*kernels, atol=0.01)


def test_a_score_that_is_zero_to_rounding_has_the_first_class():
    """Samples far from all others of a balanced label: only rounding gives their scores a sign."""
    X, Y = np.linspace(0, 1, 10)[:, None], np.repeat([[0.0], [1.0]], 5, axis=0)
    model = PMAClassifier(gamma=1.0).fit(X, Y)
    new = np.array([[30.0], [-30.0], [6.2], [-5.2]])
    assert (np.abs(model.decision_function(new)) < 1e-9).all()
    np.testing.assert_array_equal(model.predict(new), np.zeros((4, 1)))


def test_what_conjugate_gradients_do_not_reach_is_said(monkeypatch):
    _, K1, K2, gaps, _ = drawn()
    monkeypatch.setattr(inference, "SMALL", 0)
    hard = inference.complete
    monkeypatch.setattr(inference, "complete", lambda *a, **k: hard(*a, **(k | {"max_iter": 2})))
    with pytest.warns(ConvergenceWarning, match="relative residual of .* only"):
        PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)


# ------------------------------------------------------------------------------------------- randomness


@every_method
def test_none_is_one_seed_and_the_global_state_is_left_alone(name):
    problem = drawn()
    np.random.seed(3)  # noqa: NPY002
    first = answers(name, problem)
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    second = answers(name, problem)
    for what in first:
        np.testing.assert_array_equal(first[what], second[what])
    np.random.seed(3)  # noqa: NPY002
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


def test_a_tensor_leaves_the_global_state_alone():
    X, kernels = random_tensor()
    np.random.seed(3)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    one, other = (PMATensorImputer(kernels).fit(X).sample(2) for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002


# ------------------------------------------------------------------------------------------------ copies


def spoil(*arrays):
    for A in arrays:
        A[...] = np.where(np.isnan(A), 7.0, -3.0 * A + 1)


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


def test_a_tensor_changed_after_the_fit_changes_no_answer():
    X, kernels = random_tensor()
    mine, theirs = X.copy(), [K.copy() for K in kernels]
    model = PMATensorImputer(theirs).fit(mine)
    before, draw = model.predict(return_std=True), model.sample()
    spoil(mine, *theirs)
    for a, b in zip(model.predict(return_std=True), before, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(model.sample(), draw)


# ------------------------------------------------------------------------------------------------- names


def frames(name):
    pd = pytest.importorskip("pandas")
    X, K1, K2, gaps, labels = drawn()
    ids, columns = [f"s{i}" for i in range(len(X))], list("abcd")
    if name in IMPUTERS:
        return IMPUTERS[name](K1, K2), pd.DataFrame(gaps, index=ids, columns=columns), None
    model = WITH_ROWS[name](K2)
    A = (
        pd.DataFrame(K1, index=ids, columns=ids)
        if takes_kernel(model)
        else pd.DataFrame(X, index=ids, columns=list("xyz"))
    )
    return model, A, pd.DataFrame(gaps if name in REGRESSORS else labels, index=ids, columns=columns)


@every_method
def test_columns_in_another_order_or_of_other_names_are_refused(name):
    model, X, Y = frames(name)
    model.fit(X) if Y is None else model.fit(X, Y)
    ask = model.transform if Y is None else model.predict
    turned = X[X.columns[::-1]]
    with pytest.raises(ValueError, match="feature names should match"):
        ask(turned)
    with pytest.raises(ValueError, match="feature names should match"):
        ask(X.rename(columns={X.columns[0]: "other"}))
    assert ask(X).shape == (X if Y is None else Y).shape


@every_row_model
def test_rows_of_other_names_are_refused_and_equal_ones_are_not(name):
    model, X, Y = frames(name)
    with pytest.raises(ValueError, match=r"rows of Y and those of X .*'s23' and 's0'.*Y\.loc\[X\.index\]"):
        clone(model).fit(X, Y[::-1])
    model.fit(X, Y)
    with pytest.raises(ValueError, match=r"Y\.loc\[X\.index\]"):
        model.score(X, Y[::-1])
    with pytest.raises(ValueError, match="columns of Y and those of the fit"):
        model.score(X, Y[Y.columns[::-1]])
    np.testing.assert_array_equal(model.predict(X), clone(model).fit(X, Y.to_numpy()).predict(X))


@pytest.mark.parametrize("name", ["regressor, precomputed", "classifier, precomputed", "svm, precomputed"])
def test_a_kernel_whose_rows_and_columns_have_different_names_is_refused(name):
    model, K, Y = frames(name)
    with pytest.raises(ValueError, match="rows of the kernel and its columns"):
        model.fit(K[::-1], Y[::-1])


def test_kernels_of_other_rows_or_columns_are_refused():
    pd = pytest.importorskip("pandas")
    _, X, _ = frames("imputer")
    _, K1, K2, _, _ = drawn()
    rows, columns = pd.DataFrame(K1, X.index, X.index), pd.DataFrame(K2, X.columns, X.columns)
    PMAImputer(row_kernel=rows, col_kernel=columns).fit(X)
    for wrong in (
        {"row_kernel": rows.iloc[::-1, ::-1]},
        {"row_kernel": rows.iloc[::-1]},
        {"col_kernel": columns.iloc[::-1, ::-1]},
    ):
        with pytest.raises(ValueError, match="different names or another order"):
            PMAImputer(**wrong).fit(X)


def test_imputers_say_the_names_of_what_they_give():
    pytest.importorskip("pandas")
    for name in ("imputer", "pmf"):
        model, X, _ = frames(name)
        done = model.set_output(transform="pandas").fit_transform(X)
        assert list(done.columns) == list(X.columns)


# ---------------------------------------------------------------------------------------------- refusals


@functools.cache
def fitted(name):
    return fit_it(name)


def fit_it(name, X=None, Y=None, **parameters):
    A, K1, K2, gaps, labels = drawn()
    if name in IMPUTERS:
        return IMPUTERS[name](K1, K2).set_params(**parameters).fit(gaps if X is None else X)
    model = WITH_ROWS[name](K2).set_params(**parameters)
    A = (K1 if takes_kernel(model) else A) if X is None else X
    return model.fit(A, (gaps if name in REGRESSORS else labels) if Y is None else Y)


WRONG_TABLES = {
    "1-d": (np.ones(24), "2D array"),
    "complex": (np.ones((24, 4)) + 1j, "Complex data not supported"),
    "no columns": (np.ones((24, 0)), "0 feature"),
    "no rows": (np.ones((0, 4)), "0 sample"),
    "sparse": (scipy.sparse.csr_matrix(np.ones((24, 4))), "[Ss]parse"),
    "objects": (np.full((24, 4), "a", dtype=object), "could not convert string to float"),
    "infinite": (np.full((24, 4), np.inf), "infinity"),
}


@every_method
@pytest.mark.parametrize("wrong", list(WRONG_TABLES))
def test_tables_that_are_none_are_refused(name, wrong):
    X, message = WRONG_TABLES[wrong]
    with pytest.raises((ValueError, TypeError), match=message):
        fit_it(name, X)


@every_method
@pytest.mark.parametrize("wrong", [*WRONG_TABLES, "other columns"])
def test_new_tables_that_are_none_are_refused(name, wrong):
    model = fitted(name)
    X, message = WRONG_TABLES.get(wrong, (np.ones((5, 9)), "X has 9 features, but .* is expecting"))
    if wrong in ("infinite", "objects", "no rows"):  # of the right width
        X = np.resize(X, (len(X), model.n_features_in_))
    with pytest.raises((ValueError, TypeError), match=message):
        (model.transform if name in IMPUTERS else model.predict)(X)


@every_row_model
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.full((24, 4), np.inf), "contains infinity.*sample 0, column 0"),
        (np.ones((24, 4)) + 1j, "Complex data not supported"),
        (np.ones((23, 4)), "one row for each sample"),
        (np.ones((24, 2, 2)), "dim 3|shape"),
        (np.full((24, 4), np.nan), "column 0 is unknown for every sample"),
        (np.ones((24, 0)), "0 feature"),
        (np.full((24, 4), "a", dtype=object), "could not convert string to float"),
        (scipy.sparse.csr_matrix(np.ones((24, 4))), "[Ss]parse"),
    ],
)
def test_targets_that_are_none_are_refused(name, wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fit_it(name, Y=wrong)


COMMON = [("max_iter", v) for v in (-1, 0, 1.5, "many")] + [
    ("tol", v) for v in (np.nan, -1e-3, np.inf, None)
]
PMA = [("n_samples", 0), ("shrinkage", -1.0), ("nugget", np.nan), ("inference", "vb"), ("center", "yes")]
GIVEN = [("col_kernel", "rbf"), ("amplitude", -1.0), ("amplitude", "free")]
ROWS = [("kernel", "poly"), ("gamma", 0.0), ("gamma", "mle"), ("gamma", np.nan), ("n_landmarks", 0)]
ROWS += [("discard", "no"), ("label_covariance", 2)]
WRONG_PARAMETERS = {
    "imputer": COMMON + PMA + GIVEN + [("row_kernel", "rbf"), ("amplitude", 1.0)],
    "imputer, both kernels": COMMON + PMA + GIVEN,
    "pmf": [*COMMON, ("n_components", 0), ("n_components", "cv"), ("ridge", 0.0), ("ridge", "cv")],
    "regressor": COMMON + PMA + GIVEN + ROWS + [("standardize", 1)],
    "classifier": COMMON + PMA + GIVEN + ROWS,
    "lmc": COMMON + PMA + ROWS + [("col_kernel", np.eye(4)), ("amplitude", 1.0)],
    "gp": COMMON + PMA + ROWS + [("col_kernel", np.eye(4)), ("label_covariance", True)],
    "mlknn": [("n_neighbors", 0), ("n_neighbors", 2.5), ("smooth", 0.0), ("discard", "no")],
    "iblr": [("n_neighbors", -1), ("C", 0.0), ("C", np.inf), ("discard", "no")],
    "svm": [("C", -1.0), ("kernel", "gauss"), ("gamma", "ml"), ("gamma", -1.0), ("discard", "no")],
}


@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [(name, *wrong) for name, several in WRONG_PARAMETERS.items() for wrong in several],
)
def test_parameters_out_of_range_are_named(name, parameter, value):
    word = {"row_kernel": "a kernel is", "col_kernel": "a kernel is|always estimates"}.get(
        parameter, parameter
    )
    with pytest.raises(ValueError, match=word):
        fit_it(name, **{parameter: value})


def no_kernels(n):
    skew = np.eye(n)
    skew[0, 1] = 0.3
    below = np.eye(n)
    below[0, 0] = -0.5
    hole = np.eye(n)
    hole[0, 0] = np.nan
    return [
        (skew, r"not symmetric: entry \(0, 1\)"),
        (below, "not positive semidefinite"),
        (hole, "NaN"),
        (np.eye(n) + 1j, "Complex"),
        (np.ones(n), "2D array"),
        (scipy.sparse.identity(n), "[Ss]parse"),
    ]


@pytest.mark.parametrize("k", range(6))
def test_kernels_that_are_none_are_refused(k):
    for name, parameter, n in [
        ("imputer", "row_kernel", 24),
        ("imputer", "col_kernel", 4),
        ("regressor", "col_kernel", 4),
        ("classifier", "col_kernel", 4),
    ]:
        K, message = no_kernels(n)[k]
        with pytest.raises((ValueError, TypeError), match=message):
            fit_it(name, **{parameter: K})
    for name in ("regressor, precomputed", "classifier, precomputed", "svm, precomputed"):
        K, message = no_kernels(24)[k]
        with pytest.raises((ValueError, TypeError), match=message):
            fit_it(name, K)
    X, kernels = random_tensor()
    K, message = no_kernels(3)[k]
    with pytest.raises((ValueError, TypeError), match=f"{message}|one square kernel per mode"):
        PMATensorImputer([kernels[0], K, kernels[2]]).fit(X)


def test_tensors_that_are_none_are_refused():
    X, kernels = random_tensor()
    infinite = np.where(np.isnan(X), np.inf, X)
    for wrong, message in [
        (X[0], "three modes"),
        (X + 1j, "Complex"),
        (infinite, "infinity"),
        (np.ones((4, 0, 5)), "three modes|0 feature"),
        (np.full(X.shape, "a", dtype=object), "could not convert"),
    ]:
        with pytest.raises(ValueError, match=message):
            PMATensorImputer(kernels).fit(wrong)
        with pytest.raises(ValueError, match=message):
            PMATensorImputer(kernels).fit(X).transform(wrong)
    with pytest.raises(ValueError, match=r"is wanted"):
        PMATensorImputer(kernels).fit(X).transform(X[:, :, :2])
    for parameters in ({"n_samples": 0}, {"center": "no"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            PMATensorImputer(kernels, **parameters).fit(X)
    with pytest.raises(ValueError, match="n_samples"):
        PMATensorImputer(kernels).fit(X).sample(0)
    with pytest.raises(ValueError, match="n_samples"):
        fitted("imputer").sample(-1)


@pytest.mark.parametrize("name", ["regressor", "mlknn"])
def test_scores_are_of_what_is_known(name):
    X, _, _, gaps, labels = drawn()
    Y, model = (gaps if name in REGRESSORS else labels), fitted(name)
    part = Y.copy()
    part[:, 2:] = np.nan
    assert np.isfinite(model.score(X, part))
    with pytest.raises(ValueError, match="no known entry"):
        model.score(X, np.full(Y.shape, np.nan))


def test_whatever_was_learned_before_is_forgotten():
    """A second fit without estimation leaves nothing of the first."""
    _, K1, K2, gaps, _ = drawn()
    model = PMAImputer().fit(gaps)
    assert model.n_iter_ == len(model.kernel_changes_)
    assert model.status_ == "converged: the kernels' relative change fell below tol"
    model.set_params(row_kernel=K1, col_kernel=K2).fit(gaps)
    for name in ("n_iter_", "kernel_changes_", "status_", "converged_", "objective_"):
        assert not hasattr(model, name)


def test_every_estimator_is_checked_here():
    checked = {type(model).__name__ for model in CHECKED}
    fitted = {type(make(None)).__name__ for make in WITH_ROWS.values()}
    fitted |= {type(make(None, None)).__name__ for make in IMPUTERS.values()}
    from absentia.methods.matrix import _comparators as baselines
    from absentia.methods.matrix import _pma as pma

    named = {
        name
        for module, name in itertools.chain(*([(m, n) for n in vars(m)] for m in (baselines, pma)))
        if isinstance(getattr(module, name), type)
        and not name.startswith("_")
        and hasattr(getattr(module, name), "fit")
        and getattr(module, name).__module__.startswith("absentia")
    }
    assert named == checked == fitted
