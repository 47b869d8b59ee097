"""Completion as in the paper on cross-view kernel transfer (Huusari et al., 2022), section 4.

A trial hides samples of views, completes, and scores the views that had something hidden, one number each:
CA (eq. 7), ARE (eq. 8), Fro (eq. 9) and structural similarity.  Where there are labels, an SVM with each
completed kernel is learned from one half of the samples, and ``right`` says of every sample of the other
half, by view, whether it was told right.  Repeat 0 of the data that come with the authors' masks uses them;
later repeats, and data without, draw masks of the same kind.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.svm import SVC

from absentia import KernelViews, Views, metrics, missingness
from absentia.datasets import load_benchmark
from absentia.methods.base import check_name
from absentia.papers._mic import fit_mic
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


def _simulated(key: Mapping[str, Any]) -> _Problem:
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
    "cvkt_simulated_kernels": _simulated,
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
