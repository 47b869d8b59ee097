"""Classification as in the paper on absent multiple kernel learning (Liu et al., 2020), section 5.

A trial draws 60 % of every class for training, or as many as the design's ``train`` says, takes
round(ratio * views) views away from every sample, of training and test alike, makes kernels (centred, unit
diagonal) of what is left, chooses C by cross-validation on training samples, and scores the share of test
samples that are right, in per cent.  Of more than the design's ``samples`` so many are drawn first.
What is absent is gone before the first mean or kernel is computed.  Only a method in the paper's own form
(``paper_form``) and the authors' demonstration (:data:`_DEMONSTRATION`) get the complete kernels of the
training samples, and a mask beside them.

Data are one table of features, of which 20 Gaussian kernels are made as the design's ``spacing`` says,
factors of kernels (``view_...`` in the file), or kernels (``K``, views x samples x samples), with classes
``y``.
"""

import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.model_selection import StratifiedKFold

from absentia import KernelViews, ViewKernels, Views, missingness
from absentia.datasets import data_folder, read_bunch
from absentia.files import FileError
from absentia.papers._simulated import make_width_views
from absentia.papers.protocols import Protocol, make_method

_LAST_POWER, _FIRST_POWER = 7, -1  # C is chosen among powers of two
_LAMBDAS = (0.5, 8.0, 128.0)
_TRAIN_SHARE = 0.6  # of every class
#: Widths of 20 Gaussian kernels, in equal ratios or in equal steps.
_SPACINGS: Mapping[str, Literal["log", "linear"]] = {"ratios": "log", "steps": "linear"}

#: Completion first, then multiple kernel learning.
_FILLS = {"MF-MKL": "MeanFill", "EM-MKL": "EMFill", "SVT-MKL": "SVTFill"}
_LEARNER, _ABSENT = "MKLClassifier", "AbsentMKLClassifier"
#: C-AMKL learned under the mask and scored by eq. 32, whose one vector of coefficients knows no weights of
#: kernels and reads absent views of training samples: as in the authors' repository,
#: github.com/xinwangliu/Absent-Multiple-Kernel-Learning-Algorithms, but on test samples.
_DEMONSTRATION = "C-AMKL, demonstration"

_Data = Views | KernelViews
_Options = dict[str, float]


@dataclass(frozen=True)
class _Problem:
    """Complete data and what makes kernels of them; a split, and who keeps which view."""

    data: _Data
    y: np.ndarray
    kernels: ViewKernels
    train: np.ndarray
    test: np.ndarray
    keep: np.ndarray

    def observed(self) -> tuple[KernelViews, KernelViews]:
        """Kernels of training samples, and of test samples against these, without what is absent."""
        return self._make_kernels(self.data.hide(self.keep))

    def complete(self) -> tuple[KernelViews, KernelViews]:
        """The same with the absent views of training samples, which only the paper's form reads."""
        known, rows = self._make_kernels(self.data)
        return known, rows.hide(self.keep[self.test])

    def features(self) -> tuple[Views, Views]:
        """Features of training and of test samples, without what is absent."""
        data = self.data.hide(self.keep)
        if not isinstance(data, Views):
            raise ValueError("these data are kernels: there are no features to learn from")
        return data[self.train], data[self.test]

    def _make_kernels(self, data: _Data) -> tuple[KernelViews, KernelViews]:
        known = self.kernels.fit_transform(_take_samples(data, self.train, self.train))
        return known, self.kernels.transform(_take_samples(data, self.test, self.train))


def _perform(key: Mapping[str, Any]) -> dict[str, Any]:
    """Accuracy of one method on one split and mask; what was chosen, and who was right."""
    with warnings.catch_warnings(action="ignore"):
        problem = _make_problem(key)
        known, new = _select_input(key, problem)
        mask = problem.keep[problem.train] if _reads_absent(key) else None
        y = problem.y[problem.train]
        best = _select_options(key, known, y, mask)
        right = _predict(key, best, known, y, mask, new) == problem.y[problem.test]
    return {
        "scores": {"accuracy": {"": 100.0 * float(right.mean())}},
        "chosen": best,
        "right": "".join("01"[int(hit)] for hit in right),
    }


# --------------------------------------------------------------------------------------- the problem


def _make_problem(key: Mapping[str, Any]) -> _Problem:
    """All methods of a repeat see the same split, and at the same ratio the same mask."""
    name, seed = key["data"], [key["seed"], key["repeat"]]
    data, y = _load_classes(name)
    if len(y) > key.get("samples", len(y)):
        drawn = np.sort(np.random.default_rng(seed).permutation(len(y))[: key["samples"]])
        data, y = _take_samples(data, drawn, drawn), y[drawn]
    train, test = _split(y, key.get("train"), np.random.default_rng(seed))
    if isinstance(data, Views) and data.n_views == 1:
        if key.get("spacing") not in _SPACINGS:
            raise ValueError(
                f"{name}.npz is one table of features, and the design does not say which kernels to make "
                f"of it: add  spacing = {list(_SPACINGS)[:1]}  (or {', '.join(list(_SPACINGS)[1:])}) to "
                "[design], for 20 Gaussian ones"
            )
        X = np.asarray(data.block(data.names[0]), dtype=np.float64)
        data, kernels = make_width_views(X, spacing=_SPACINGS[key["spacing"]], train=train)
    else:
        kind = "linear" if isinstance(data, Views) else "precomputed"
        kernels = ViewKernels(kind, standardize=False, center=True)
    hidden = int(np.floor(key["absent"] * data.n_views + 0.5 + 1e-9))  # halves go up
    rng = np.random.default_rng([*seed, hidden])
    keep = missingness.fixed_per_sample((len(y), data.n_views), hidden, random_state=rng)
    return _Problem(data, y, kernels, train, test, keep)


def _load_classes(name: str) -> tuple[_Data, np.ndarray]:
    """Complete data of a file in the data folder, and the classes of its samples."""
    path = data_folder() / f"{name}.npz"
    bunch = read_bunch(path, name)
    if "target" not in bunch:
        raise FileError(f"{path}: holds no 'y', the classes of the samples")
    return bunch.get("views", bunch.get("kernels")), np.ravel(bunch.target)


def _split(y: np.ndarray, each: int | None, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Training and test samples: of every class so many, or 60 %, rounded up as the paper's sizes are."""
    train = np.zeros(len(y), dtype=bool)
    for label in np.unique(y):
        members = np.flatnonzero(y == label)
        count = each or int(np.ceil(_TRAIN_SHARE * len(members) - 1e-9))
        train[rng.permutation(members)[:count]] = True
    return np.flatnonzero(train), np.flatnonzero(~train)


def _take_samples(data: _Data, rows: np.ndarray, columns: np.ndarray) -> _Data:
    """Samples, of kernels those of the rows against those of the columns."""
    return data[np.ix_(rows, columns)] if isinstance(data, KernelViews) else data[rows]


# --------------------------------------------------------------------------------------- the methods


def _reads_absent(key: Mapping[str, Any]) -> bool:
    """Whether the method gets complete kernels of training samples, and a mask."""
    return key["method"] == _DEMONSTRATION or bool(key["parameters"].get("paper_form"))


def _select_input(key: Mapping[str, Any], problem: _Problem) -> tuple[_Data, _Data]:
    """What a method learns from and what it predicts, completed if it starts with that.

    Completion sees no classes, so training samples are completed once and not for every fold.
    """
    if key["method"] == "MMAFClassifier":
        return problem.features()
    if _reads_absent(key):
        return problem.complete()
    known, new = problem.observed()
    if key["method"] in _FILLS:
        fill = make_method(_FILLS[key["method"]], key["parameters"], key["seed"])
        return fill.fit_transform(known), fill.transform(new)
    return known, new


def _option_grid(key: Mapping[str, Any]) -> Iterator[_Options]:
    """What is chosen between: C, and lambda where it does more than rescale C and is not given.

    C is a power of two; the design's ``power_step`` says whether every one, or every other as by default.
    """
    given = key["parameters"]
    two_steps = (given.get("two_step") or given.get("paper_form")) and "lam" not in given
    lambdas = _LAMBDAS if two_steps and given.get("formulation") == "penalized" else (None,)
    powers = range(_FIRST_POWER, _LAST_POWER + 1, key.get("power_step", 2))
    for C, lam in itertools.product((2.0**power for power in powers), lambdas):
        yield {"C": C} if lam is None else {"C": C, "lam": lam}


def _select_options(
    key: Mapping[str, Any], known: _Data, y: np.ndarray, mask: np.ndarray | None
) -> _Options:
    """The first on the grid with the most held-out training samples right."""
    options = list(_option_grid(key))
    folds = StratifiedKFold(key["folds"], shuffle=True, random_state=key["repeat"])
    right = np.zeros(len(options))
    for fitted, held in folds.split(np.zeros(len(y)), y):
        inside, rows = _take_samples(known, fitted, fitted), _take_samples(known, held, fitted)
        inside_mask = None if mask is None else mask[fitted]
        rows = rows if mask is None else rows.hide(mask[held])
        for i, option in enumerate(options):
            right[i] += (_predict(key, option, inside, y[fitted], inside_mask, rows) == y[held]).sum()
    return options[int(np.argmax(right))]


def _predict(
    key: Mapping[str, Any],
    option: _Options,
    known: _Data,
    y: np.ndarray,
    mask: np.ndarray | None,
    new: _Data,
) -> np.ndarray:
    """Classes of new samples."""
    if key["method"] == _DEMONSTRATION:
        assert mask is not None
        assert isinstance(known, KernelViews)
        assert isinstance(new, KernelViews)
        return _predict_unmasked(option, known, y, mask, new)
    filled = key["method"] in _FILLS
    name, parameters = (_LEARNER, {}) if filled else (key["method"], key["parameters"])
    hinge = {"loss": "hinge"} if name == "AverageKernelSVC" else {}  # as the paper's machines have it
    machine = make_method(name, {**hinge, **parameters, **option}, key["seed"])
    more: dict[str, Sequence[Any] | np.ndarray] = {} if mask is None else {"observed": mask}
    return machine.fit(known, y, **more).predict(new)


def _predict_unmasked(
    option: _Options, known: KernelViews, y: np.ndarray, mask: np.ndarray, new: KernelViews
) -> np.ndarray:
    """Classes by :data:`_DEMONSTRATION`."""
    machine = make_method(_ABSENT, {"formulation": "convex", **option}).fit(known.hide(mask), y)
    scores = np.tile(machine.bias_, (len(new), 1))
    for v, name in enumerate(new.names):
        scores[new.observed[:, v]] += new.operator(name) @ np.ascontiguousarray(machine.dual_coef_.T)
    best = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(int)
    return np.asarray(machine.classes_[best])


AMKL_PROTOCOL = Protocol(
    _perform,
    methods={word: (fill, _LEARNER) for word, fill in _FILLS.items()} | {_DEMONSTRATION: (_ABSENT,)},
)
