"""Classification as in the paper on absent multiple kernel learning (Liu et al., 2020), section 5.

A trial draws 60 % of every class for training, takes round(ratio * views) views away from every sample, of
training and test alike, makes kernels (centred, unit diagonal) of what is left, chooses C by
cross-validation on training samples, and scores the share of test samples that are right, in per cent.
What is absent is gone before the first mean or kernel is computed.  Only a method in the paper's own form
(``paper_form``) gets the complete kernels of the training samples, and a mask beside them.

Data are one table of features, of which 20 Gaussian kernels are made as the design's ``spacing`` says,
factors of kernels (``view_...`` in the file), or kernels (``K``, views x samples x samples), with classes
``y``.
"""

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from absentia.core import Array
from absentia.data import KernelViews, Views, missingness
from absentia.datasets import data_folder
from absentia.files import file_errors, from_arrays, is_data, read_arrays
from absentia.kernels import ViewKernels
from absentia.papers._methods import class_of, make

COSTS = tuple(2.0**k for k in (-1, 1, 3, 5, 7))
LAMBDAS = (0.5, 8.0, 128.0)
SHARE = 0.6  # of every class is trained on
TEN = {"caltech101": 10}  # samples of every class instead
WIDTHS = 20
SPACINGS = {
    "ratios": lambda: 2.0 ** np.linspace(-7, 7, WIDTHS),
    "steps": lambda: np.linspace(2.0**-7, 2.0**7, WIDTHS),
}

#: Completion first, then multiple kernel learning.
FILLS = {"MF-MKL": "MeanFill", "EM-MKL": "EMFill", "SVT-MKL": "SVTFill"}
LEARNER = "MKLClassifier"
MODULES = {
    word: tuple(class_of(name).__module__.removeprefix("absentia.") for name in (fill, LEARNER))
    for word, fill in FILLS.items()
}

Data = Views | KernelViews
Options = dict[str, float]


@dataclass(frozen=True)
class Problem:
    """Complete data and what makes kernels of them; a split, and who keeps which view."""

    data: Data
    y: Array
    kernels: ViewKernels
    train: Array
    test: Array
    keep: Array

    def observed(self) -> tuple[KernelViews, KernelViews]:
        """Kernels of training samples, and of test samples against these, without what is absent."""
        return self._made(self.data.hide(self.keep))

    def complete(self) -> tuple[KernelViews, KernelViews]:
        """The same with the absent views of training samples, which only the paper's form reads."""
        known, rows = self._made(self.data)
        return known, rows.hide(self.keep[self.test])

    def features(self) -> tuple[Views, Views]:
        """Features of training and of test samples, without what is absent."""
        data = self.data.hide(self.keep)
        if not isinstance(data, Views):
            raise ValueError("these data are kernels: there are no features to learn from")
        return data[self.train], data[self.test]

    def _made(self, data: Data) -> tuple[KernelViews, KernelViews]:
        known = self.kernels.fit_transform(part(data, self.train, self.train))
        return known, self.kernels.transform(part(data, self.test, self.train))


def perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of one method on one split and mask; what was chosen, and who was right."""
    with warnings.catch_warnings(action="ignore"):
        one = problem(key)
        known, new = taken(key, one)
        mask = one.keep[one.train] if key["parameters"].get("paper_form") else None
        y = one.y[one.train]
        best = chosen(key, known, y, mask)
        right = predicted(key, best, known, y, mask, new) == one.y[one.test]
    return {
        "scores": {"accuracy": {"": 100.0 * float(right.mean())}},
        "chosen": best,
        "right": "".join("01"[int(hit)] for hit in right),
    }


# --------------------------------------------------------------------------------------- the problem


def problem(key: Mapping[str, Any]) -> Problem:
    """All methods of a repeat see the same split, and at the same ratio the same mask."""
    name, seed = key["data"], [key["seed"], key["repeat"]]
    data, y = loaded(name)
    train, test = split(y, TEN.get(name), np.random.default_rng(seed))
    if isinstance(data, Views) and data.n_views == 1:
        if key.get("spacing") not in SPACINGS:
            raise ValueError(
                f"{name}.npz is one table of features, and the design does not say which kernels to make "
                f"of it: add  spacing = {list(SPACINGS)[:1]}  (or {', '.join(list(SPACINGS)[1:])}) to "
                "[design], for 20 Gaussian ones"
            )
        X = np.asarray(data.block(data.names[0]), dtype=np.float64)
        data, kernels = gaussian(X, train, key["spacing"])
    else:
        kind = "linear" if isinstance(data, Views) else "precomputed"
        kernels = ViewKernels(kind, standardize=False, center=True)
    hidden = int(np.floor(key["absent"] * data.n_views + 0.5 + 1e-9))  # halves go up
    rng = np.random.default_rng([*seed, hidden])
    keep = missingness.fixed_per_sample((len(y), data.n_views), hidden, random_state=rng)
    return Problem(data, y, kernels, train, test, keep)


def loaded(name: str) -> tuple[Data, Array]:
    """Complete data of a file in the data folder, and the classes of its samples."""
    path = data_folder() / f"{name}.npz"
    with file_errors(path):
        arrays = read_arrays(path, lambda key: is_data(key) or key == "y")
        if "y" not in arrays:
            raise ValueError("holds no 'y', the classes of the samples")
        y = arrays.pop("y").ravel()
        return from_arrays(arrays), y


def split(y: Array, each: int | None, rng: np.random.Generator) -> tuple[Array, Array]:
    """Training and test samples: of every class so many, or 60 %, rounded up as the paper's sizes are."""
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        own = np.flatnonzero(y == label)
        train[rng.permutation(own)[: each or int(np.ceil(SHARE * len(own) - 1e-9))]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)


def gaussian(X: Array, train: Array, spacing: str) -> tuple[Views, ViewKernels]:
    """The same features 20 times, and a kernel of another width for each.

    Widths are between 2^-7 and 2^7 times the mean distance of training samples, in equal ratios or in
    equal steps.
    """
    of_train = X[train]
    deviation = of_train.std(axis=0)
    Z = of_train / np.where(deviation > 0, deviation, 1.0)
    squares = (Z**2).sum(axis=1)
    D = np.sqrt(np.maximum(squares[:, None] + squares - 2 * Z @ Z.T, 0.0))
    sigma = D[np.triu_indices(len(Z), 1)].mean() * SPACINGS[spacing]()
    gammas = {f"width{p:02d}": {"gamma": float(1 / (2 * s**2))} for p, s in enumerate(sigma)}
    return Views.from_dict(dict.fromkeys(gammas, X)), ViewKernels("rbf", per_view=gammas, center=True)


def part(data: Data, rows: Array, columns: Array) -> Data:
    """Samples, of kernels those of the rows against those of the columns."""
    return data[np.ix_(rows, columns)] if isinstance(data, KernelViews) else data[rows]


# --------------------------------------------------------------------------------------- the methods


def taken(key: Mapping[str, Any], one: Problem) -> tuple[Data, Data]:
    """What a method learns from and what it predicts, completed if it starts with that.

    Completion sees no classes, so training samples are completed once and not for every fold.
    """
    if key["method"] == "MMAFClassifier":
        return one.features()
    if key["parameters"].get("paper_form"):
        return one.complete()
    known, new = one.observed()
    if key["method"] in FILLS:
        fill = make(FILLS[key["method"]], key["parameters"], key["seed"])
        return fill.fit_transform(known), fill.transform(new)
    return known, new


def grid(key: Mapping[str, Any]) -> Iterator[Options]:
    """What is chosen between: C, and lambda where it does more than rescale C."""
    asked = key["parameters"]
    lambdas = LAMBDAS if asked.get("formulation") == "penalized" else ()
    two = asked.get("two_step") or asked.get("paper_form")
    for C, lam in itertools.product(COSTS, lambdas if two and lambdas else (None,)):
        yield {"C": C} if lam is None else {"C": C, "lam": lam}


def chosen(key: Mapping[str, Any], known: Data, y: Array, mask: Array | None) -> Options:
    """The first on the grid with the most held-out training samples right."""
    options = list(grid(key))
    folds = StratifiedKFold(key["folds"], shuffle=True, random_state=key["repeat"])
    right = np.zeros(len(options))
    for fitted, held in folds.split(np.zeros(len(y)), y):
        inside, rows = part(known, fitted, fitted), part(known, held, fitted)
        own = None if mask is None else mask[fitted]
        rows = rows if mask is None else rows.hide(mask[held])
        for i, option in enumerate(options):
            right[i] += (predicted(key, option, inside, y[fitted], own, rows) == y[held]).sum()
    return options[int(np.argmax(right))]


def predicted(
    key: Mapping[str, Any], option: Options, known: Data, y: Array, mask: Array | None, new: Data
) -> Array:
    """Classes of new samples."""
    filled = key["method"] in FILLS
    name, parameters = (LEARNER, {}) if filled else (key["method"], key["parameters"])
    machine = make(name, {**parameters, **option}, key["seed"])
    more: dict[str, Sequence[Any] | Array] = {} if mask is None else {"observed": mask}
    return np.asarray(machine.fit(known, y, **more).predict(new))
