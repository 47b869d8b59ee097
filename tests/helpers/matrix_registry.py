"""Every estimator for matrices in the forms that differ in code, and small problems to fit it to."""

import functools

import numpy as np
import pytest

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
)


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
    "imputer, estimated": lambda K1, K2: PMAImputer(row_kernel="estimate", tol=0.01),
    "imputer, rows alone": lambda K1, K2: PMAImputer(row_kernel="estimate", col_kernel="none", tol=0.01),
    "imputer, no row kernel": lambda K1, K2: PMAImputer(row_kernel="none", tol=0.01),
    "imputer, column kernel": lambda K1, K2: PMAImputer(col_kernel=K2, standardize=True, tol=0.01),
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
}
WITH_ROWS = REGRESSORS | CLASSIFIERS


def takes_kernel(model):
    return getattr(model, "kernel", None) == "precomputed"


every_method = pytest.mark.parametrize("name", [*IMPUTERS, *WITH_ROWS])
every_row_model = pytest.mark.parametrize("name", list(WITH_ROWS))


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


LABELLERS = {
    "pma": PMAClassifier(gamma="median", random_state=0),
    "pma, label covariance": PMAClassifier(gamma="median", label_covariance=True, random_state=0),
    "lmc": MatrixLMC(gamma="median", random_state=0),
    "gp": LabelGP(gamma="median", random_state=0),
    "mlknn": MLKNN(7),
    "iblr": IBLR(7),
    "svm": PartialLabelSVM(),
}

#: Those that scikit-learn's own checks are run on.
CHECKED = [  # a tolerance that labels without any structure reach too
    PMAImputer(tol=0.02),
    PMAImputer(row_kernel="estimate", tol=0.02),
    PMAImputer(row_kernel="estimate", col_kernel="none", tol=0.02),
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
]
