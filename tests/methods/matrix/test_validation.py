"""What is refused, and in which words: names, tables, targets, kernels, parameters."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.base import clone

from absentia import PMAImputer
from absentia.core.linalg import NotPositiveDefiniteError
from helpers.matrices import from_model
from helpers.matrix_registry import (
    IMPUTERS,
    REGRESSORS,
    WITH_ROWS,
    drawn,
    every_method,
    every_row_model,
    fit_it,
    fitted,
    takes_kernel,
)


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


@pytest.mark.slow_params("imputer, row kernel", "imputer, map", "imputer, gibbs")
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


@pytest.mark.slow_params("classifier")
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


@pytest.mark.parametrize("name", ["regressor, precomputed", "classifier, precomputed"])
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


@pytest.mark.slow_params("1-d-imputer, row kernel", "1-d-imputer, map", "1-d-imputer, gibbs")
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
    "imputer": COMMON + PMA + GIVEN + [("row_kernel", "rbf"), ("row_kernel", None), ("amplitude", 1.0)],
    "imputer, no row kernel": [("standardize", 1), ("standardize", "yes"), ("amplitude", "estimate")],
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
    with pytest.raises(ValueError, match=rf"\b{parameter}\b"):
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
    for name in ("regressor, precomputed", "classifier, precomputed"):
        K, message = no_kernels(24)[k]
        with pytest.raises((ValueError, TypeError), match=message):
            fit_it(name, K)


def test_a_number_of_draws_that_is_none_is_refused():
    with pytest.raises(ValueError, match="n_samples"):
        fitted("imputer").sample(-1)


def test_a_singular_column_kernel_is_lifted_by_little_and_a_regular_one_not_at_all():
    _, gaps, K1, K2 = from_model(n=14, m=5)
    given = PMAImputer(row_kernel=K1, col_kernel=K2).fit(gaps)
    np.testing.assert_array_equal(given.model_.N, K2)
    np.testing.assert_allclose(given.model_.C, np.eye(5))
    one = np.ones((5, 5))
    values = np.linalg.eigvalsh(PMAImputer(row_kernel=K1, col_kernel=one).fit(gaps).model_.N)
    assert 0 < values[0] < 1e-9
    twice = PMAImputer(row_kernel=K1, col_kernel=K2, amplitude=2.0).fit(gaps)
    doubled = PMAImputer(row_kernel=2 * K1, col_kernel=K2).fit(gaps)
    np.testing.assert_allclose(twice.completed_, doubled.completed_, rtol=1e-9)


def test_the_units_of_a_column_kernel_do_not_decide_what_is_lifted():
    K = np.array([[1.0, 0.5], [0.5, 1.0]])
    units = np.array([1e-4, 1e4])
    small = K * np.multiply.outer(units, units)

    def used(kernel):
        return PMAImputer(row_kernel="none", col_kernel=kernel).fit([[1.0, 2.0], [3.0, np.nan]]).model_.N

    np.testing.assert_array_equal(used(small), small)
    one = np.multiply.outer(units, units)  # singular
    np.testing.assert_allclose(used(one), one, rtol=1e-9)
    assert np.linalg.eigvalsh(used(one) / one)[0] > 0.9e-10
    np.testing.assert_allclose(used(np.diag([2.0, 0.0])), np.diag([2.0, 1e-10]))


def test_a_column_kernel_of_zeros_is_refused():
    _, gaps, K1, _ = from_model(n=14, m=5)
    with pytest.raises(NotPositiveDefiniteError, match=r"column kernel .* add a nugget"):
        PMAImputer(row_kernel=K1, col_kernel=np.zeros((5, 5))).fit(gaps)
