"""Completion as in the paper on cross-view kernel transfer (Huusari et al., 2022), section 4.

A trial hides samples of views, completes, and scores the views that had something hidden, one number each:
CA (eq. 7), ARE (eq. 8), Fro (eq. 9) and structural similarity.  Where there are labels, an SVM with each
completed kernel is learned from one half of the samples, and ``right`` says of every sample of the other
half, by view, whether it was told right.  Repeat 0 of the data that come with the authors' masks uses them;
later repeats, and data without, draw masks of the same kind.

MIC, which the paper compares with, does here what its figures need, and no more: one non-negative
representation of samples that lack views (W. Shao, L. He, P. S. Yu, Multiple incomplete views clustering
via weighted nonnegative matrix factorization with L2,1 regularization, ECML PKDD 2015, 318-334).

Model: each view is a product of non-negative factors, ``X_v ~ U_v V_v'``, and the U_v of all views are near
one common U*.  Rows of samples that lack a view are the view's mean, and count less: their weight is the
share of samples that have the view.

Objective: with w_v the samples' weights in view v (one where observed), and W_v = diag(w_v),

    sum_v |W_v (X_v - U_v V_v')|^2 + alpha_v |W_v (U_v - U*)|^2 + beta_v sum_i |U_v(i, :)|

over non-negative U_v, V_v, U*, where columns of V_v add up to one: without that the second and third term
would be made small by making V large.  Each step lowers it, because it minimises a bound of it that touches
it where it stands:

* U_v: for non-negative u and u0, ``u A u' - 2 u b'`` with a non-negative matrix A is at most
  ``sum_j (u0 A)_j u_j^2 / u0_j - 2 b_j u_j`` (Lee and Seung), and ``|u| <= |u|^2 / (2 |u0|) + |u0| / 2``.
  Together they give ``U <- U (W^2 X V + alpha W^2 U*) / (W^2 U V'V + alpha W^2 U + beta/2 D U)``,
  ``D = diag(1 / |U(i, :)|)``.
* V_v: the same bound, kept on the constraint: ``V(k, j) = V0(k, j) max(N(k, j) + lam_j, 0) / M(k, j)`` with
  ``N = X' W^2 U``, ``M = V0 U' W^2 U`` and lam_j such that the column adds up to one.
* U*: the mean of the U_v with weights ``alpha_v w_v^2``, exactly.

Departures from MIC's paper: it updates V freely, divides its columns by their sums and multiplies U by
them.  The product stays, but the other two terms change with U, and the objective can rise.  Here V never
leaves the constraint.  Its updates are the square roots of these factors: shorter steps on a looser bound.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from absentia import KernelViews, Views, metrics, missingness
from absentia.datasets import load_benchmark
from absentia.methods.base import (
    Array,
    RandomState,
    Solution,
    Status,
    StoppingRule,
    check_name,
    iterate,
    make_generator,
    warn,
)
from absentia.papers.protocols import Protocol, make_method

_MEASURES = {"CA": metrics.ca_error, "Fro": metrics.frobenius_error, "S.sim": metrics.structural_similarity}
#: Views of the digits in the order of the authors' file, which has no names.
_DIGITS = ("fou", "fac", "kar", "pix", "zer", "mor")
_DIGITS_PER_CLASS = 20
_HOLDOUT_SHARE = 0.1  # share of what is observed that is hidden to choose by


@dataclass(frozen=True)
class _Problem:
    """Kernels, which samples of which view are shown, and, for classification, features and labels."""

    kernels: KernelViews
    keep: np.ndarray
    views: Views | None = None
    y: np.ndarray | None = None

    @property
    def shown(self) -> KernelViews:
        return self.kernels.hide(self.keep)

    @property
    def hidden(self) -> list[str]:
        """Views that had something hidden: those that are scored."""
        return [n for n, shown in zip(self.kernels.names, self.keep.T, strict=True) if not shown.all()]


def _perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Scores of one method under one mask, by view."""
    check_name("data set of the paper", key["data"], _SETS)
    problem, method = _SETS[key["data"]](key), key["method"]
    if method == "MIC, SVM":
        common = dict.fromkeys(problem.kernels.names, _kernel_of_representation(problem, key))
        return _classify(problem, common, key)
    completed = problem.kernels if method == "full" else _complete_problem(problem, key)
    scores = {} if method == "full" else _score_completion(problem, completed)
    if problem.y is None:
        return {"scores": scores}
    answers = _classify(problem, dict(zip(completed.names, completed.to_dense(), strict=True)), key)
    return answers | {"scores": scores | answers["scores"]}


def _score_completion(problem: _Problem, completed: KernelViews) -> dict[str, dict[str, float]]:
    """By measure and view, of the views that had something hidden."""
    truth, hidden = problem.kernels, problem.hidden
    expected, got = (kernels.select(hidden).to_dense() for kernels in (truth, completed))
    shown = problem.keep[:, [truth.names.index(name) for name in hidden]]
    scores = {name: measure(expected, got, average=False) for name, measure in _MEASURES.items()}
    scores["ARE"] = metrics.are(expected, got, shown, average=False)
    return {name: dict(zip(hidden, np.asarray(x).tolist(), strict=True)) for name, x in scores.items()}


# ------------------------------------------------------------------------------------------- methods


def _complete_problem(problem: _Problem, key: Mapping[str, Any]) -> KernelViews:
    """The kernels as a method completes them from what is shown."""
    if key["method"] == "MKC, chosen":
        return _complete_by_selected_mkc(problem, key)
    if key["method"] == "CVKT, best":
        return _complete_by_best_cvkt(problem, key)
    return _complete(problem.shown, key["method"], key["parameters"], key["seed"])


def _complete(shown: KernelViews, method: str, parameters: Mapping[str, Any], seed: int) -> KernelViews:
    completed: KernelViews = make_method(method, parameters, seed).fit_transform(shown)
    return completed


def _complete_by_selected_mkc(problem: _Problem, key: Mapping[str, Any]) -> KernelViews:
    """MKC with those of the given weights that best complete a tenth of what is shown, by CA of all views.

    The error is that of the blocks that are shown, observed rows and those hidden for the purpose, as eq. 7
    has it; nothing that the trial hides is looked at.
    """
    shown = problem.shown
    fixed, grid = _grid(key["parameters"], ("c1", "c2", "c3"))
    part = shown.hide(missingness.mcar(shown.observed, _HOLDOUT_SHARE, random_state=key["seed"]))
    errors = []
    for weights in grid:
        done = _complete(part, "MKC", {**fixed, **weights}, key["seed"])
        errors.append(np.mean(list(_ca_of_blocks(shown, done).values())))
    best = grid[int(np.argmin(errors))]
    return _complete(shown, "MKC", {**fixed, **best}, key["seed"])


def _complete_by_best_cvkt(problem: _Problem, key: Mapping[str, Any]) -> KernelViews:
    """The paper's descent with landmarks and rank that are best for each view by CA, against the truth."""
    fixed, grid = _grid(key["parameters"], ("n_landmarks", "rank"))
    best: dict[str, tuple[float, np.ndarray]] = {}
    shown = problem.shown
    for options in grid:
        done = _complete(shown, "CVKT", {"solver": "descent", **fixed, **options}, key["seed"])
        errors = _ca_of_blocks(problem.kernels, done)
        for name in problem.hidden:
            if name not in best or errors[name] < best[name][0]:
                best[name] = errors[name], np.asarray(done.block(name))
    return done.completed(
        {**{n: done.operator(n) for n in done.names}, **{n: K for n, (_, K) in best.items()}}
    )


def _ca_of_blocks(truth: KernelViews, done: KernelViews) -> dict[str, float]:
    """Completion error of each view over the samples of which `truth` has it."""
    errors = {}
    for name, has in zip(truth.names, truth.observed.T, strict=True):
        expected, got = np.asarray(truth.block(name)), np.asarray(done.block(name))[np.ix_(has, has)]
        norms = float(np.linalg.norm(expected)) * float(np.linalg.norm(got))
        errors[name] = 1 - float(np.vdot(expected, got)) / norms if norms > 0 else 1.0
    return errors


def _grid(
    parameters: Mapping[str, Any], names: Sequence[str]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Parameters that are fixed, and every combination of those given as lists."""
    fixed = {name: value for name, value in parameters.items() if name not in names}
    combined = product(*(parameters[name] for name in names))
    return fixed, [dict(zip(names, values, strict=True)) for values in combined]


# ------------------------------------------------------------------------------------ classification


def _split_halves(problem: _Problem, key: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Samples to learn from and to judge on, the same for all methods, views and levels of a repeat."""
    seed = np.random.SeedSequence([key["seed"], key["repeat"]]).generate_state(1)[0]
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=int(seed))
    train, test = next(split.split(np.zeros((len(problem.keep), 1)), problem.y))
    return train, test


def _classify(
    problem: _Problem, kernels: Mapping[str, np.ndarray], key: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Accuracy by view of an SVM with the view's kernel, and which samples of the other half were right."""
    assert problem.y is not None
    train, test = _split_halves(problem, key)
    right = {}
    for name, K in kernels.items():
        svm = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], problem.y[train])
        right[name] = svm.predict(K[np.ix_(test, train)]) == problem.y[test]
    return {
        "scores": {"accuracy": {name: float(np.mean(answers)) for name, answers in right.items()}},
        "right": {name: "".join("01"[int(one)] for one in answers) for name, answers in right.items()},
    }


def _kernel_of_representation(problem: _Problem, key: Mapping[str, Any]) -> np.ndarray:
    """RBF kernel, of scikit-learn's usual width, of a representation that all views have in common.

    It has as many components as there are classes.
    """
    assert problem.views is not None
    assert problem.y is not None
    parameters = {
        "n_components": len(np.unique(problem.y)),
        "random_state": key["seed"],
        **key["parameters"],
    }
    U = fit_mic(problem.views.hide(problem.keep), **parameters).state.star
    return _rbf(U, 1 / (U.shape[1] * float(U.var())))


# ---------------------------------------------------------------------------------------------- data


def _rbf(X: np.ndarray, gamma: float | None = None) -> np.ndarray:
    """``exp(-gamma d^2)``; by default gamma is a half over the squared mean of all distances, own ones too.

    The paper does not say which; this one gives the RBF kernels of the digits in the authors' file.
    """
    squares = squareform(pdist(np.asarray(X, dtype=np.float64), "sqeuclidean"))
    gamma = 0.5 / float(np.sqrt(squares).mean()) ** 2 if gamma is None else gamma
    return np.exp(-gamma * squares)


def _draw_mask(shape: tuple[int, int], key: Mapping[str, Any]) -> np.ndarray:
    """Each sample of each view is hidden by the toss of a coin; one left without any gets one view back."""
    rng = np.random.default_rng([key["seed"], key["repeat"], key["missing"]])
    keep = rng.random(shape) >= key["missing"] / 100
    lost = np.flatnonzero(~keep.any(axis=1))
    keep[lost, rng.integers(shape[1], size=len(lost))] = True
    return keep


def _make_simulated(key: Mapping[str, Any]) -> _Problem:
    """Every sample lacks so many of seven views."""
    data = load_benchmark("cvkt_simulated_kernels")
    if key["repeat"] == 0:
        return _Problem(data.kernels, np.asarray(data.extra["masks"][key["missing"] - 1], dtype=bool))
    seed = np.random.SeedSequence([key["seed"], key["repeat"]]).generate_state(1)[0]
    shape = data.kernels.observed.shape
    return _Problem(
        data.kernels, missingness.fixed_per_sample(shape, key["missing"], random_state=int(seed))
    )


def _embryo(key: Mapping[str, Any]) -> _Problem:
    """Samples that have a view, of which the authors' 30 % are hidden in it.

    Later repeats hide as many at random.  The other views stay as incomplete as they are, and are not
    scored; those that none of these samples has are left out.
    """
    data, view = load_benchmark("embryo_kernels"), f"view{key['view']}"
    rows = np.flatnonzero(data.kernels.observed[:, key["view"]])
    kernels = data.kernels[np.ix_(rows, rows)]
    names = [n for n, has in zip(kernels.names, kernels.observed.T, strict=True) if has.any()]
    kernels = kernels.select(names)
    keep = np.ones(kernels.observed.shape, dtype=bool)
    hidden = data.extra[f"holdout_{view}_30"][rows]
    if key["repeat"]:
        hidden = np.random.default_rng([key["seed"], key["repeat"], key["view"]]).permutation(hidden)
    keep[hidden, names.index(view)] = False
    return _Problem(kernels, keep)


def _digits(key: Mapping[str, Any]) -> _Problem:
    """Twenty of each digit, the first ones, by the authors' kernels of six views."""
    data, features = load_benchmark("cvkt_digits200_kernels"), load_benchmark("mfeat")
    labels = np.asarray(features.target)
    first = np.concatenate(
        [np.flatnonzero(labels == digit)[:_DIGITS_PER_CLASS] for digit in np.unique(labels)]
    )
    kernels = KernelViews.from_dense(dict(zip(_DIGITS, data.kernels.to_dense(), strict=True)))
    if key["repeat"] == 0:
        keep = np.asarray(data.extra["masks"][key["missing"] // 10 - 1], dtype=bool)
    else:
        keep = _draw_mask(kernels.observed.shape, key)
    return _Problem(kernels, keep, features.views[first], np.asarray(data.target))


def _uwave(key: Mapping[str, Any]) -> _Problem:
    """Gestures by RBF kernels of the three axes' accelerations."""
    data = load_benchmark("uwave_train")
    kernels = KernelViews.from_dense({name: _rbf(data.views.block(name)) for name in data.views.names})
    return _Problem(kernels, _draw_mask(kernels.observed.shape, key), data.views, np.asarray(data.target))


_SETS: Mapping[str, Callable[[Mapping[str, Any]], _Problem]] = {
    "cvkt_simulated_kernels": _make_simulated,
    "embryo_kernels": _embryo,
    "cvkt_digits200_kernels": _digits,
    "uwave_train": _uwave,
}
CVKT_PROTOCOL = Protocol(
    _perform,
    methods={"full": (), "MIC, SVM": (), "MKC, chosen": ("MKC",), "CVKT, best": ("CVKT",)},
    files={name: (name,) for name in _SETS}
    | {"cvkt_digits200_kernels": ("cvkt_digits200_kernels", "mfeat")},
)


# ------------------------------------------------------------------- multi-incomplete-view clustering (MIC)

_TINY = 1e-300


@dataclass(frozen=True)
class _ViewTerm:
    """A view's term of the objective: features of all samples, their squared weights, alpha and beta."""

    X: Array
    w2: Array
    alpha: float
    beta: float


@dataclass(frozen=True)
class _State:
    """Factors of each view and the common representation."""

    U: tuple[Array, ...]
    V: tuple[Array, ...]
    star: Array


# --------------------------------------------------------------------------------------------- steps


def _objective(terms: Sequence[_ViewTerm], state: _State) -> float:
    total = 0.0
    for term, U, V in zip(terms, state.U, state.V, strict=True):
        miss = np.sum((term.X - U @ V.T) ** 2, axis=1) + term.alpha * np.sum((U - state.star) ** 2, axis=1)
        total += float(term.w2 @ miss) + term.beta * float(np.linalg.norm(U, axis=1).sum())
    return total


def _update_u(term: _ViewTerm, U: Array, V: Array, star: Array) -> Array:
    """The next U of a view, others fixed; each row on its own."""
    w2 = term.w2[:, None]
    up = w2 * (term.X @ V + term.alpha * star)
    rows = np.linalg.norm(U, axis=1, keepdims=True)
    down = w2 * (U @ (V.T @ V) + term.alpha * U) + term.beta / 2 * U / np.maximum(rows, _TINY)
    return U * up / np.maximum(down, _TINY)


def _update_v(term: _ViewTerm, U: Array, V: Array) -> Array:
    """The next V of a view, others fixed; columns add up to one."""
    weighted = term.w2[:, None] * U
    N, M = term.X.T @ weighted, V @ (U.T @ weighted)
    return _on_simplex(V / np.maximum(M, _TINY), N)


def _on_simplex(g: Array, N: Array) -> Array:
    """``g max(N + lam, 0)`` with, in each column, the lam that makes the sum one.

    The sum rises with lam and is linear between the values -N; so those above -lam are the largest N, and
    the right number of them is the largest for which the last is still positive.
    """
    order = np.argsort(-N, axis=0, kind="stable")
    slope = np.cumsum(np.take_along_axis(g, order, axis=0), axis=0)
    height = np.cumsum(np.take_along_axis(g * N, order, axis=0), axis=0)
    lam = (1.0 - height) / np.maximum(slope, _TINY)
    positive = (np.take_along_axis(N, order, axis=0) + lam > 0) & (slope > 0)
    last = len(N) - 1 - np.argmax(positive[::-1], axis=0)
    V = g * np.maximum(N + lam[last, np.arange(N.shape[1])], 0.0)
    return V / np.maximum(V.sum(axis=0), _TINY)  # rounding


def _consensus(terms: Sequence[_ViewTerm], U: Sequence[Array]) -> Array:
    """The representation nearest to those of all views."""
    weights = [term.alpha * term.w2[:, None] for term in terms]
    total = sum(weight * u for weight, u in zip(weights, U, strict=True))
    return total / np.maximum(sum(weights), _TINY)


def _update(terms: Sequence[_ViewTerm], state: _State) -> _State:
    """Every block once."""
    V = tuple(_update_v(term, u, v) for term, u, v in zip(terms, state.U, state.V, strict=True))
    U = tuple(_update_u(term, u, v, state.star) for term, u, v in zip(terms, state.U, V, strict=True))
    return _State(U, V, _consensus(terms, U))


def _draw_start(
    terms: Sequence[_ViewTerm], n_components: int, rng: np.random.Generator, sizes: Array
) -> _State:
    """Random positive factors, drawn in the order of `sizes`; products have about the views' row sums."""
    U, V = {}, {}
    ranks = np.argsort(np.argsort(sizes.sum(axis=1), kind="stable"))
    for k in np.argsort(sizes.sum(axis=0), kind="stable").tolist():
        X = terms[k].X
        v = rng.uniform(0.5, 1.5, (X.shape[1], n_components))
        V[k] = v / v.sum(axis=0)
        spread = rng.uniform(0.5, 1.5, (len(X), n_components))[ranks]
        U[k] = spread * X.sum(axis=1, keepdims=True) / n_components
    U_start = tuple(U[k] for k in range(len(terms)))
    return _State(U_start, tuple(V[k] for k in range(len(terms))), _consensus(terms, U_start))


# -------------------------------------------------------------------------------------------- driver


def fit_mic(
    views: Views,
    n_components: int,
    *,
    alpha: float = 0.01,
    beta: float = 0.01,
    scale: Literal["minmax"] | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    random_state: RandomState = None,
) -> Solution[_State]:
    """Factors of incomplete views; ``state.star`` is the representation, samples x components.

    Parameters
    ----------
    views : Views
        Numeric features; non-negative unless `scale` is given.
    alpha, beta : float
        How near the views' representations are to the common one; how strongly whole rows shrink.
    scale : {"minmax", None}
        ``"minmax"`` maps each feature to [0, 1].
    tol, max_iter, random_state
        As in :class:`absentia.EMFill`.  The start goes with the data, not with their order.
    """
    names = [name for v, name in enumerate(views.names) if views.observed[:, v].any()]
    terms = [_view_term(views, name, alpha, beta, scale) for name in names]
    squares = np.column_stack([np.einsum("ij,ij->i", term.X, term.X) for term in terms])
    sizes = np.round(squares / np.maximum(squares.max(axis=0), _TINY), 9)
    solution = iterate(
        lambda state: _update(terms, state),
        lambda state: _objective(terms, state),
        _draw_start(terms, n_components, make_generator(random_state), sizes),
        stop=StoppingRule(tol),
        max_iter=max_iter,
    )
    if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
        warn(f"MIC {solution.message} ({solution.n_iter} iterations)", ConvergenceWarning)
    return solution


def _view_term(views: Views, name: str, alpha: float, beta: float, scale: str | None) -> _ViewTerm:
    """A view over all samples: where it is absent the mean, with less weight."""
    present, X = views.observed[:, views.names.index(name)], np.asarray(views.block(name), dtype=np.float64)
    low, span = np.zeros(X.shape[1]), np.ones(X.shape[1])
    if scale == "minmax":
        low, span = X.min(axis=0), np.ptp(X, axis=0)
        span[span == 0] = 1.0
    elif (X < 0).any():
        raise ValueError(f"view {name!r}: {X.min():.6g} is negative; pass scale='minmax'")
    filled = np.tile((X.mean(axis=0) - low) / span, (len(views), 1))
    filled[present] = (X - low) / span
    return _ViewTerm(filled, np.where(present, 1.0, present.mean()) ** 2, alpha, beta)
