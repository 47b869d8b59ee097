"""How many components a low-rank model gets: eigenvalue rules, and what predicts hidden samples best."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.linalg

from absentia.core import DISTINCT_RTOL, Array, argmin_key, get_factors, has_factors, make_generator, warn
from absentia.core.linalg import invert_permutation
from absentia.core.optimize import Point
from absentia.data import AbsenceWarning, KernelViews
from absentia.methods.completion._base import Holdout
from absentia.methods.completion.mkmc._coordinates import locate_absent
from absentia.methods.completion.mkmc._low_rank import VisibleProblem
from absentia.methods.completion.mkmc._solver import ShortRuns, Solver
from absentia.methods.completion.mkmc._view_kernels import KernelForm, ViewKernel, in_memory

#: Eigenvalues are counted on at most so many samples, drawn at random beyond.
_MAX_COUNTED = 4000
#: Runs on what was not hidden are short: they end at this change of the objective, or after so many steps.
_SHORT_TOL, _SHORT_STEPS = 1e-4, 30
#: So many ranks in a row that bring nothing end the search for one, and at once one whose error is so many
#: times the least.
_RANK_PATIENCE, _HOPELESS = 3, 1.25
#: Eigenvalues are not counted for ranks around one below this.
_MIN_COUNTED_RANK = 32
#: Up to so many samples the rank is selected by hiding.
_MAX_HOLDOUT = 5000


def _count_above(S: Array, threshold: float) -> int:
    """Number of eigenvalues of a symmetric matrix above `threshold`.

    By Sylvester's law of inertia: as many as the block-diagonal D of ``S - threshold I = L D L'`` has
    positive ones, at a fraction of the cost of the eigenvalues of `S`.
    """
    _, D, _ = scipy.linalg.ldl(S - threshold * np.eye(len(S), dtype=S.dtype), check_finite=False)
    return int((scipy.linalg.eigvalsh_tridiagonal(D.diagonal(), D.diagonal(-1)) > 0).sum())


def _count_eigenvalues(S: Array, rule: str) -> int:
    """Number of eigenvalues of `S` above their mean ("gk", Guttman-Kaiser) or above one ("kaiser").

    Above means by more than :data:`DISTINCT_RTOL`: rounding does not count eigenvalues that are all alike.
    """
    threshold = {"gk": float(np.trace(S)) / len(S), "kaiser": 1.0}[rule]
    return int(np.clip(_count_above(S, (1 + DISTINCT_RTOL) * threshold), 1, len(S) - 1))


def _count_of_factors(views: Sequence[ViewKernel], samples: Array, rule: str) -> int | None:
    """The same of the mean kernel, from a matrix as large as there are factors; None if these are many."""
    if not all(has_factors(view.Q) for view in views):
        return None
    parts = []
    for view in views:
        present, inside = _places_within(view, samples)
        Phi, own = get_factors(view.Q.select(inside, inside))
        part = np.zeros((len(samples), Phi.shape[1]))
        part[present] = Phi
        parts.append(part)
        if own is not None or sum(part.shape[1] for part in parts) >= len(samples):
            return None
    Z = np.hstack(parts)
    values = scipy.linalg.eigvalsh(Z.T @ Z) / sum(view.weight for view in views)
    threshold = {"gk": float(values.sum()) / len(samples), "kaiser": 1.0}[rule]
    return int(np.clip((values > (1 + DISTINCT_RTOL) * threshold).sum(), 1, len(samples) - 1))


def _places_within(view: ViewKernel, samples: Array) -> tuple[Array, Array]:
    """Which of some `samples` have a view, and where they are among those of the view."""
    present = np.isin(samples, view.v)
    return present, np.searchsorted(view.v, samples[present])


def _zero_filled_mean(views: Sequence[ViewKernel], samples: Array) -> Array:
    """Mean of all kernels over `samples`, zero where a sample is absent."""
    S = np.zeros((len(samples), len(samples)))
    for view in views:
        present, inside = _places_within(view, samples)
        S[np.ix_(present, present)] += view.Q.block(inside, inside)
    return S / sum(view.weight for view in views)


def _short_rank_path(size: int, counted: int) -> list[int]:
    """Few ranks to try: 2, 4, 8, ... up to a third of the samples, at most 128, and those counted."""
    max_rank = max(min(size // 3, 128), 1)
    return sorted({min(2**i, max_rank) for i in range(1, 8)} | {counted})


def _rank_path(size: int) -> list[int]:
    """Ranks to try: 1, 2, 3, 4, 6, 8, 12, 16, ... up to a third of the samples, at most 256."""
    ranks = {1, 2, 3} | {int(2 ** (i / 2)) for i in range(4, 17)}
    max_rank = max(min(size // 3, 256), 1)
    return sorted(q for q in ranks if q <= max_rank)


# ---- Which form a model gets: about the means of the views or not, and how many components; both by hiding
#
# A tenth of each view's observed samples is hidden (``_holdout``) and completed by short runs, along a path
# of ranks on which each starts from the one before.  Where the mean is subtracted, ranks are tried around
# the one that was best without.


class ModelSelection(Solver):
    """Selection of the model's form and rank, and the short fits on part of the data that it takes."""

    n_components: Any
    center: Any
    rescale: bool
    heldout_curve_: dict[int, float]
    _train: KernelViews

    def _select_form(self, samples: Array) -> tuple[KernelForm, int | None]:
        """How kernels enter the model, and its rank; `samples` are those with a view."""
        candidates: dict[bool, tuple[KernelForm, int | None, dict[int, float] | None]] = {}
        rank: int | None = None  # of the other form, beside which that of this one will be
        for center in self._center_options(len(samples)):
            form = KernelForm.of(self._train, center=center, rescale=bool(self.rescale), dtype=self.dtype)
            curve = None
            if self.covariance != "full":
                rank, curve = self._select_rank(form, samples, rank)
            candidates[center] = form, rank, curve
        # where nothing could be hidden, falling back on the mean is safer than falling back on zero
        errors = {
            center: min((curve or {}).values(), default=-float(center))
            for center, (_, _, curve) in candidates.items()
        }
        form, rank, curve = candidates[argmin_key(errors)]
        if curve is not None:
            self.heldout_curve_ = curve
        return form, rank

    def _center_options(self, size: int) -> Sequence[bool]:
        """What `center` may be."""
        if self.center == "auto":
            return (False, True) if self._selects_by_holdout(size) else (False,)
        if self.center and not in_memory(self._train):
            raise ValueError("center=True with kernels that are not in memory; use center=False")
        return (bool(self.center),)

    def _selects_by_holdout(self, size: int) -> bool:
        """Whether ``n_components="auto"`` hides samples to select the form and the rank."""
        quick = self.algorithm == "fast" and in_memory(self._train) and 2 <= size <= _MAX_HOLDOUT
        return self.n_components == "auto" and self.covariance != "full" and quick

    def _select_rank(
        self, form: KernelForm, samples: Array, near: int | None
    ) -> tuple[int, dict[int, float] | None]:
        """The rank, and errors by rank where it is selected by hiding."""
        q, size = self.n_components, len(samples)
        if size < 2:
            raise ValueError(f"{size} sample(s) with a view; a low-rank model needs at least 2")
        views = [view for view in form.view_kernels(self._train, samples) if len(view.v)]
        if q == "heldout" or self._selects_by_holdout(size):
            return self._rank_by_holdout(form, views, size, near)
        if isinstance(q, str):
            return self._count_components(views, size, "gk" if q == "auto" else q), None
        if q >= size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q), None

    def _count_components(self, views: list[ViewKernel], size: int, rule: str) -> int:
        """Guttman-Kaiser or Kaiser on the mean of the zero-filled kernels, the papers' first model."""
        samples = np.arange(size)
        if size > _MAX_COUNTED:
            drawn = make_generator(self.random_state).choice(size, _MAX_COUNTED, replace=False)
            samples = np.sort(invert_permutation(self._positions)[drawn])
        count = _count_of_factors(views, samples, rule)
        return _count_eigenvalues(_zero_filled_mean(views, samples), rule) if count is None else count

    def _rank_by_holdout(
        self, form: KernelForm, views: list[ViewKernel], size: int, near: int | None
    ) -> tuple[int, dict[int, float]]:
        """The rank that best completes what is hidden; with a `near`, of those from half to twice it."""
        holdout, short = Holdout.of(self._train, self.random_state), self.n_components == "auto"
        if not holdout.n_hidden:
            if not short:
                warn(
                    "n_components='heldout': no sample has a view to spare, so that nothing can be hidden "
                    "to choose by; n_components='gk' is used instead",
                    AbsenceWarning,
                )
            return self._count_components(views, size, "gk"), {}
        path = self._short_path(views, size, near) if short else _rank_path(size)
        runs = self._short_runs(form, holdout.part, max(path))

        def complete(q: int) -> KernelViews:
            return self._complete_part(form, holdout.part, runs.problem, runs(q))

        curve = holdout.curve(path, complete, _RANK_PATIENCE, _HOPELESS)
        return int(argmin_key(curve)), curve

    def _short_path(self, views: list[ViewKernel], size: int, near: int | None) -> list[int]:
        """The short path, or what of it is near; what is counted is hardly ever near a small number."""
        if near is not None and near < _MIN_COUNTED_RANK:
            return [q for q in _short_rank_path(size, near) if near <= 2 * q <= 4 * near]
        path = _short_rank_path(size, self._count_components(views, size, "gk"))
        return path if near is None else [q for q in sorted({*path, near}) if near <= 2 * q <= 4 * near]

    def _short_runs(self, form: KernelForm, part: KernelViews, max_rank: int) -> ShortRuns:
        """Short runs on kernels of which some cells are hidden."""
        samples = np.flatnonzero(part.observed.any(axis=1))
        views = [view for view in form.view_kernels(part, samples) if len(view.v)]
        problem = VisibleProblem.of(views, len(samples), float(self.prior), self.dtype)
        options = {"tol": max(self.tol, _SHORT_TOL), "max_iter": _SHORT_STEPS}
        return ShortRuns(self, problem, max_rank, options)

    def _complete_part(
        self, form: KernelForm, part: KernelViews, problem: VisibleProblem, point: Point
    ) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = problem.model(point).pad(np.flatnonzero(part.observed.any(axis=1)), len(part))
        _, bases, coordinates = locate_absent(part, form, model)
        return part.completed(self._complete_square(part, bases, coordinates))
