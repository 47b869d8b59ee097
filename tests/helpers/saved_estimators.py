"""Everything that is sent away and has to come back: fitted estimators, and what they say of data they are given."""

import functools
import warnings

import numpy as np
import scipy.sparse
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC

from absentia import (
    MKMC,
    AbsentRegressor,
    CombineKernels,
    EarlyFusionRegressor,
    MeanFill,
    MKLRegressor,
    ViewKernels,
    Views,
)
from helpers import matrix_registry, registry

N = 48
SAID = ("predict", "decision_function", "predict_proba", "transform", "score_samples")


@functools.cache
def cohort():
    """Views of named samples and features, some absent, and classes that hang on them."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((N, 2))
    tables = {}
    for name, width in [("expression", 6), ("clinical", 3), ("image", 4)]:
        X = z @ rng.standard_normal((2, width)) + 0.3 * rng.standard_normal((N, width))
        tables[name] = np.abs(X) if name == "image" else X
    for v, table in enumerate(tables.values()):
        table[v + 1 :: 7] = np.nan
    views = Views.from_dict(tables, ids=[f"P-{i:03}" for i in range(N)])
    return views, np.array(["Basal", "Her2", "LumA"])[(z > 0).sum(axis=1)], z[:, 0]


@functools.cache
def kernels():
    return ViewKernels().fit_transform(cohort()[0])


def said(estimator, X):
    """All that an estimator says of `X`, by the name of the question."""
    found = {}
    with warnings.catch_warnings(action="ignore"):
        for name in SAID:
            if hasattr(estimator, name):
                found[name] = plain(getattr(estimator, name)(X))
    assert found
    return found


def plain(answer):
    if hasattr(answer, "to_dense"):
        return answer.to_dense()
    return answer.toarray() if scipy.sparse.issparse(answer) else np.asarray(answer)


def same(one, other):
    """Answers to the same questions, the same to the bit."""
    assert one.keys() == other.keys()
    for name, answer in one.items():
        np.testing.assert_array_equal(other[name], answer, err_msg=name)
        assert other[name].dtype == answer.dtype


def _kernel_pipelines():
    base = [ViewKernels(), MeanFill(), CombineKernels()]
    last = {
        "svc": SVC(kernel="precomputed"),
        "svc, probabilities": SVC(kernel="precomputed", probability=True, random_state=0),
        "ridge": KernelRidge(kernel="precomputed"),
        "svr": SVR(kernel="precomputed"),
    }
    return {f"pipeline, {name}": make_pipeline(*base, machine) for name, machine in last.items()}


def _table_pipelines():
    base = [ViewKernels(), MeanFill(), CombineKernels(), KernelPCA(5, kernel="precomputed")]
    last = {
        "pca, logistic": [StandardScaler(), PCA(3), LogisticRegression()],
        "logistic, cv": [LogisticRegressionCV(Cs=3, cv=3)],
        "linear svc": [MinMaxScaler(), LinearSVC(random_state=0)],
        "rbf svc": [SVC()],
        "ridge": [Ridge()],
        "ridge classifier": [RidgeClassifier()],
        "linear": [LinearRegression()],
        "kernel ridge": [KernelRidge(kernel="rbf")],
        "svr": [SVR()],
        "neighbours": [KNeighborsClassifier(3)],
        "neighbours, ball": [KNeighborsClassifier(3, algorithm="ball_tree", metric="manhattan")],
        "neighbours, brute": [KNeighborsClassifier(3, algorithm="brute", weights="distance")],
        "neighbours, regression": [KNeighborsRegressor(3)],
        "passthrough": ["passthrough", LogisticRegression()],
    }
    return {f"pipeline, table, {name}": make_pipeline(*base, *steps) for name, steps in last.items()}


def _targets(estimator):
    _, classes, numbers = cohort()
    return classes if is_classifier(estimator) else numbers


def _fitted(estimator, X):
    with warnings.catch_warnings(action="ignore"):
        estimator = clone(estimator)
        return estimator.fit(X, _targets(estimator)), X


def _of_matrices(name):
    X, K1, _, gaps, _ = matrix_registry.drawn()
    with warnings.catch_warnings(action="ignore"):
        model = matrix_registry.fit_it(name)
    if name in matrix_registry.IMPUTERS:
        return model, gaps
    return model, K1 if matrix_registry.takes_kernel(model) else X


def _all():
    quick = {name: one for name, one in registry.COMPLETERS.items() if name not in registry.COSTLY}
    found = {f"completer {name}": (kernels, one) for name, one in quick.items()}
    for name, one in registry.CLASSIFIERS.items():
        if name == "nearest mean":  # written in the tests: no method of the package
            continue
        takes = kernels if one.__sklearn_tags__().input_tags.pairwise else (lambda: cohort()[0])
        found[f"classifier {name}"] = takes, one
        if "probability" in one.get_params():
            found[f"classifier {name}, probabilities"] = takes, clone(one).set_params(probability=True)
    found["regressor mkl"] = kernels, MKLRegressor()
    for combine in ("average", "mkl"):
        found[f"regressor completed, {combine}"] = lambda: cohort()[0], AbsentRegressor(combine=combine)
    found["regressor forest"] = lambda: cohort()[0], EarlyFusionRegressor(n_trees=10)
    for kernel in ("linear", "polynomial", "laplacian", "cosine"):
        found[f"kernels {kernel}"] = lambda: cohort()[0], ViewKernels(kernel)
    found["kernels nystrom"] = lambda: cohort()[0], ViewKernels(approx="nystrom", n_landmarks=9)
    found["kernels rff"] = lambda: cohort()[0], ViewKernels(approx="rff", n_landmarks=9)
    per_view = {"image": "chi2", "clinical": {"kernel": "rbf", "gamma": 0.1}}
    found["kernels per view"] = lambda: cohort()[0], ViewKernels(per_view=per_view)
    found["combined"] = kernels, CombineKernels()
    steps = [ViewKernels(), MKMC(n_components=3), CombineKernels(), SVC(kernel="precomputed")]
    found["pipeline mkmc"] = lambda: cohort()[0], make_pipeline(*steps)
    for name, one in {**_kernel_pipelines(), **_table_pipelines()}.items():
        found[name] = lambda: cohort()[0], one
    return found


_OF_VIEWS = _all()
_OF_MATRICES = [*matrix_registry.IMPUTERS, *matrix_registry.WITH_ROWS]
NAMES = [*_OF_VIEWS, *(f"matrix {name}" for name in _OF_MATRICES)]


@functools.cache
def traveller(name):
    """A fitted estimator, data that it takes, and what it says of them."""
    if name.startswith("matrix "):
        estimator, X = _of_matrices(name.removeprefix("matrix "))
    else:
        takes, estimator = _OF_VIEWS[name]
        estimator, X = _fitted(estimator, takes())
    return estimator, X, said(estimator, X)
