"""How many components a low-rank model gets: eigenvalue rules, and what predicts hidden samples best."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.linalg

from absentia.core import (
    CLEAR,
    Array,
    Iterative,
    LowRankPlusDiagonal,
    Point,
    RandomState,
    generator,
    inverse,
    least,
    warn,
)
from absentia.data import AbsenceWarning, KernelViews
from absentia.methods.completion._fill import MeanFill
from absentia.methods.completion._holdout import Holdout
from absentia.methods.completion._subspace import Basis, Coordinates, SubspaceCompleter
from absentia.methods.completion.mkmc import _fast, _foldin, _views
from absentia.methods.completion.mkmc._fast import Seen, VisibleProblem
from absentia.methods.completion.mkmc._solving import ShortRuns, Solver
from absentia.methods.completion.mkmc._views import in_memory, seen_by, view_scales

#: Eigenvalues are counted on at most so many samples, drawn at random beyond.
MOST = 4000


def count_above(S: Array, threshold: float) -> int:
    """Number of eigenvalues of a symmetric matrix above `threshold`.

    By Sylvester's law of inertia: as many as ``S - threshold I = L D L'`` has positive pivots, at a
    fraction of the cost of the eigenvalues.
    """
    shifted = S - threshold * np.eye(len(S), dtype=S.dtype)
    (factorise,) = scipy.linalg.get_lapack_funcs(("sytrf",), (shifted,))
    ldu, pivots, info = factorise(shifted, lower=1, overwrite_a=1)
    if info < 0:
        raise np.linalg.LinAlgError("symmetric factorisation failed")
    diagonal, below = ldu.diagonal(), ldu.diagonal(-1)
    positive, i = 0, 0
    while i < len(S):
        if pivots[i] > 0:
            positive += int(diagonal[i] > 0)
            i += 1
        else:  # a 2 x 2 pivot; its determinant is negative, unless both eigenvalues have one sign
            determinant = diagonal[i] * diagonal[i + 1] - below[i] ** 2
            positive += 1 if determinant < 0 else 2 * int(diagonal[i] > 0)
            i += 2
    return positive


def count_components(S: Array, rule: str) -> int:
    """Number of eigenvalues of `S` above their mean ("gk", Guttman-Kaiser) or above one ("kaiser").

    Above means by more than :data:`CLEAR`: eigenvalues that are all alike are not counted by rounding.
    """
    threshold = {"gk": float(np.trace(S)) / len(S), "kaiser": 1.0}[rule]
    return int(np.clip(count_above(S, (1 + CLEAR) * threshold), 1, len(S) - 1))


def zero_filled_mean(views: Sequence[Seen], samples: Array) -> Array:
    """Mean of all kernels over `samples`, zero where a sample is absent."""
    S = np.zeros((len(samples), len(samples)))
    for view in views:
        here = np.isin(samples, view.v)
        inside = np.searchsorted(view.v, samples[here])
        S[np.ix_(here, here)] += view.Q.block(inside, inside)
    return S / sum(view.weight for view in views)


def count_by_rule(
    views: Sequence[Seen], size: int, rule: str, rng: np.random.Generator, order: Array
) -> int:
    """Guttman-Kaiser or Kaiser on the mean of the zero-filled kernels, the papers' first model.

    Of more than :data:`MOST` samples that many are drawn, in their `order`.
    """
    samples = np.arange(size)
    if size > MOST:
        samples = np.sort(order[rng.choice(size, MOST, replace=False)])
    return count_components(zero_filled_mean(views, samples), rule)


def short_rank_path(size: int, counted: int) -> list[int]:
    """Few ranks to try: 2, 4, 8, ... up to a third of the samples, at most 128, and those counted."""
    most = max(min(size // 3, 128), 1)
    return sorted({min(2**i, most) for i in range(1, 8)} | {counted})


def rank_path(size: int) -> list[int]:
    """Ranks to try: 1, 2, 3, 4, 6, 8, 12, 16, ... up to a third of the samples, at most 256."""
    ranks = {1, 2, 3} | {int(2 ** (i / 2)) for i in range(4, 17)}
    most = max(min(size // 3, 256), 1)
    return sorted(q for q in ranks if q <= most)


# ---- Which form a model gets: about the means of the views or not, and how many components; both by hiding
#
# A tenth of each view's observed samples is hidden (``_hiding``) and completed by short runs, along a path
# of ranks on which each starts from the one before.  Where the mean is subtracted, ranks are tried around
# the one that was best without.


#: Runs on what was not hidden are short: they end at this change of the objective, or after so many steps.
SHORT_TOL, SHORT_STEPS = 1e-4, 30
#: So many ranks in a row that bring nothing end the search for one, and at once one whose error is so many
#: times the least.
PATIENCE, HOPELESS = 3, 1.25
#: Eigenvalues are not counted for ranks around one below this.
COUNTED = 32
#: Up to so many samples it is checked whether the components are too many, on so many of them, or so many
#: times the components.
CHECKED, CHECKED_ON, CHECKED_TIMES = 5000, 1000, 10


class Choosing(Iterative, SubspaceCompleter):
    """What chooses between forms of the model, and what it needs for that: fits of parts, completed."""

    covariance: str
    algorithm: str
    dtype: str
    n_components: Any
    center: Any
    prior: float
    tol: float
    max_iter: int
    rescale: bool
    random_state: RandomState
    heldout_curve_: dict[int, float]

    def _choose_form(self, X: KernelViews, seen: Array) -> None:
        """Whether kernels are taken about their means, their scales, and the number of components."""
        found: dict[bool, tuple[Array, int | None, dict[int, float]]] = {}
        rank: int | None = None  # of the other form, beside which that of this one will be
        forms = self._forms(X, len(seen))
        for self.center_ in forms:
            self.view_scales_ = view_scales(self._shift_to_mean(X), rescale=bool(self.rescale))
            if self.covariance == "full":
                found[self.center_] = self.view_scales_, None, {}
                continue
            views = [view for view in self._seen(X, seen) if len(view.v)]
            rank = self._rank(views, len(seen), rank)
            found[self.center_] = self.view_scales_, rank, getattr(self, "heldout_curve_", {})
        # where nothing could be hidden, falling back on the mean is safer than falling back on zero
        errors = {form: min(curve.values(), default=-float(form)) for form, (_, _, curve) in found.items()}
        self.center_ = least(errors)
        self.view_scales_, self.n_components_, curve = found[self.center_]
        if curve:
            self.heldout_curve_ = curve

    def _forms(self, X: KernelViews, size: int) -> Sequence[bool]:
        """What `center` may be."""
        if self.center == "auto":
            return (False, True) if self._judges(X, size) else (False,)
        if self.center and not in_memory(X):
            raise ValueError("center=True with kernels that are not in memory; use center=False")
        return (bool(self.center),)

    def _judges(self, X: KernelViews, size: int) -> bool:
        """Whether the number of components, and what goes with it, is chosen by hiding a few times."""
        quick = self.algorithm == "fast" and in_memory(X) and 2 <= size <= CHECKED
        return self.n_components == "auto" and self.covariance != "full" and quick

    def _rank(self, views: list[Seen], size: int, near: int | None = None) -> int:
        q = self.n_components
        if size < 2:
            raise ValueError(f"{size} sample(s) with a view; a low-rank model needs at least 2")
        if q == "heldout" or (q == "auto" and self._judges(self._train, size)):
            return self._rank_by_hiding(views, size, near)
        if q == "auto":
            return self._count_components(views, size, "gk")
        if isinstance(q, str):
            return self._count_components(views, size, q)
        if q >= size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q)

    def _count_components(self, views: list[Seen], size: int, rule: str) -> int:
        return count_by_rule(views, size, rule, generator(self.random_state), inverse(self._numbers))

    def _rank_by_hiding(self, views: list[Seen], size: int, near: int | None) -> int:
        """The rank that best completes what is hidden; with a `near`, of those from half to twice it."""
        trial, self.heldout_curve_ = Holdout.of(self._train, self.random_state), {}
        short = self.n_components == "auto"
        if not trial.n_hidden:
            if not short:
                warn(
                    "n_components='heldout': no sample has a view to spare, so that nothing can be hidden "
                    "to choose by; n_components='gk' is used instead",
                    AbsenceWarning,
                )
            return self._count_components(views, size, "gk")
        path = self._path(views, size, near) if short else rank_path(size)
        runs = self._short_runs(trial.part, self._numbers, max(path))

        def complete(q: int) -> KernelViews:
            return self._completed_part(trial.part, runs.problem, runs(q))

        self.heldout_curve_ = trial.curve(path, complete, PATIENCE, HOPELESS)
        return int(least(self.heldout_curve_))

    def _path(self, views: list[Seen], size: int, near: int | None) -> list[int]:
        """The short path, or what of it is near; what is counted is hardly ever near a small number."""
        if near is not None and near < COUNTED:
            return [q for q in short_rank_path(size, near) if near <= 2 * q <= 4 * near]
        path = short_rank_path(size, self._count_components(views, size, "gk"))
        return path if near is None else [q for q in sorted({*path, near}) if near <= 2 * q <= 4 * near]

    def _warn_of_excess(self, X: KernelViews) -> None:
        """Warn if observed cells, hidden for once, are completed worse than by their mean."""
        q = self.n_components_
        if q is None:
            return
        X, numbers = self._some(X, max(CHECKED_ON, CHECKED_TIMES * q))
        trial = Holdout.of(X, self.random_state)
        if not trial.n_hidden:
            return
        runs = self._short_runs(trial.part, numbers, q)
        error = trial.error(self._completed_part(trial.part, runs.problem, runs(q)))
        mean = trial.error(MeanFill("blocks").fit_transform(trial.part))
        if error > mean:
            warn(
                f"with {q} components {trial.n_hidden} observed cells, hidden for a check, are completed "
                f"worse (relative error {error:.2g}) than by the mean ({mean:.2g}): the model fits what "
                "views do not share; try n_components='heldout', or fewer"
            )

    def _some(self, X: KernelViews, most: int) -> tuple[KernelViews, Array]:
        """At most so many of the samples with a view, and their numbers in the order of draws."""
        seen = np.flatnonzero(X.observed.any(axis=1))
        if len(seen) <= most:
            return X, self._numbers
        drawn = generator(self.random_state).choice(len(seen), most, replace=False)
        some = np.sort(inverse(self._numbers)[drawn])
        return X[np.ix_(seen[some], seen[some])], inverse(np.argsort(self._numbers[some], kind="stable"))

    def _short_runs(self, part: KernelViews, numbers: Array, most: int) -> ShortRuns:
        """Short runs on kernels of which some cells are hidden."""
        seen = np.flatnonzero(part.observed.any(axis=1))
        views = [view for view in self._seen(part, seen) if len(view.v)]
        problem = VisibleProblem.of(views, len(seen), float(self.prior), self.dtype)
        solver = replace(self._solver(), numbers=numbers)
        return solver.short_runs(problem, most, tol=max(self.tol, SHORT_TOL), max_iter=SHORT_STEPS)

    def _completed_part(self, part: KernelViews, problem: VisibleProblem, point: Point) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = _fast.as_operator(problem, point).pad(np.flatnonzero(part.observed.any(axis=1)), len(part))
        bases, coordinates = self._locate_absent(part, model, self._latents_of(part, model))
        return part.completed(self._complete_square(part, bases, coordinates))

    # ------------------------------------------------------------------------------------- parts

    def _seen(self, X: KernelViews, samples: Array) -> list[Seen]:
        return seen_by(self._shift_to_mean(X), self.view_scales_, samples, self.dtype)

    def _shift_to_mean(self, X: KernelViews) -> KernelViews:
        return _views.about_means(X) if self.center_ else X

    def _solver(self) -> Solver:
        return Solver(
            self.covariance,
            self.algorithm,
            float(self.prior),
            self.dtype,
            self._tolerance(),
            int(self.max_iter),
            self.random_state,
            self._numbers,
            self._watch(),
        )

    def _tolerance(self) -> float:
        if self.dtype == "float32" and 0 < self.tol < 1e-6:
            warn(f"tol={self.tol:g} is finer than float32 can tell; 1e-6 is used instead")
            return 1e-6
        return float(self.tol)

    def _latents_of(self, X: KernelViews, model: LowRankPlusDiagonal) -> list[_foldin.Latent]:
        F = model.W / model.d[:, None]
        return [_foldin.Latent.of(view, F, model) for view in self._seen(X, np.arange(len(X)))]

    def _locate_absent(
        self, X: KernelViews, model: LowRankPlusDiagonal, latents: Sequence[_foldin.Latent]
    ) -> tuple[list[Basis], list[Coordinates]]:
        """The factors are the axes of every view, and a sample's loadings its place."""
        F = model.W / model.d[:, None]
        moved = _views.have_spread(X) if self.center_ else [False] * X.n_views
        bases, coordinates = [], []
        for name, scale, present, latent, about_mean in zip(
            X.names, self.view_scales_, X.observed.T, latents, moved, strict=True
        ):
            basis = Basis(F[present] @ latent.C_inverse, scale * latent.G, scale * latent.E)
            position = Coordinates(model.W[~present], scale * model.d[~present])
            bases.append(_views.with_mean(basis, X.operator(name)) if about_mean else basis)
            coordinates.append(_views.from_mean(position) if about_mean else position)
        return bases, coordinates
