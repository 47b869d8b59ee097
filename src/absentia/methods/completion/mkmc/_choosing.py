"""Which form a model gets: about the means of the views or not, and how many components; both by hiding.

A tenth of each view's observed samples is hidden (``_hiding``) and completed by short runs, along a path of
ranks on which each starts from the one before.  Where the mean is subtracted, ranks are tried around the
one that was best without.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from absentia.core import (
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
from absentia.methods.completion._hiding import Trial
from absentia.methods.completion._placement import Frame, Place, Placing
from absentia.methods.completion.mkmc import _centring, _fast, _foldin, _rank
from absentia.methods.completion.mkmc._fast import Problem, Seen
from absentia.methods.completion.mkmc._solving import ShortRuns, Solver
from absentia.methods.completion.mkmc._views import in_memory, seen_by, view_scales

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


class Choosing(Iterative, Placing):
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
            self.view_scales_ = view_scales(self._shifted(X), rescale=bool(self.rescale))
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
            return self._counted(views, size, "gk")
        if isinstance(q, str):
            return self._counted(views, size, q)
        if q >= size:
            raise ValueError(f"n_components={q} for {size} samples; wanted 1 to {size - 1}")
        return int(q)

    def _counted(self, views: list[Seen], size: int, rule: str) -> int:
        return _rank.by_rule(views, size, rule, generator(self.random_state), inverse(self._numbers))

    def _rank_by_hiding(self, views: list[Seen], size: int, near: int | None) -> int:
        """The rank that best completes what is hidden; with a `near`, of those from half to twice it."""
        trial, self.heldout_curve_ = Trial.of(self._train, self.random_state), {}
        short = self.n_components == "auto"
        if not trial.n_hidden:
            if not short:
                warn(
                    "n_components='heldout': no sample has a view to spare, so that nothing can be hidden "
                    "to choose by; n_components='gk' is used instead",
                    AbsenceWarning,
                )
            return self._counted(views, size, "gk")
        path = self._path(views, size, near) if short else _rank.path(size)
        runs = self._short_runs(trial.part, self._numbers, max(path))

        def complete(q: int) -> KernelViews:
            return self._completed_part(trial.part, runs.problem, runs(q))

        self.heldout_curve_ = trial.curve(path, complete, PATIENCE, HOPELESS)
        return int(least(self.heldout_curve_))

    def _path(self, views: list[Seen], size: int, near: int | None) -> list[int]:
        """The short path, or what of it is near; what is counted is hardly ever near a small number."""
        if near is not None and near < COUNTED:
            return [q for q in _rank.short_path(size, near) if near <= 2 * q <= 4 * near]
        path = _rank.short_path(size, self._counted(views, size, "gk"))
        return path if near is None else [q for q in sorted({*path, near}) if near <= 2 * q <= 4 * near]

    def _warn_of_excess(self, X: KernelViews) -> None:
        """Warn if observed cells, hidden for once, are completed worse than by their mean."""
        q = self.n_components_
        if q is None:
            return
        X, numbers = self._some(X, max(CHECKED_ON, CHECKED_TIMES * q))
        trial = Trial.of(X, self.random_state)
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
        problem = Problem.of(views, len(seen), float(self.prior), self.dtype)
        solver = replace(self._solver(), numbers=numbers)
        return solver.short_runs(problem, most, tol=max(self.tol, SHORT_TOL), max_iter=SHORT_STEPS)

    def _completed_part(self, part: KernelViews, problem: Problem, point: Point) -> KernelViews:
        """Kernels of which some cells are hidden, completed under the model of a point."""
        model = _fast.as_operator(problem, point).pad(np.flatnonzero(part.observed.any(axis=1)), len(part))
        frames, places = self._placed(part, model, self._latents_of(part, model))
        return part.completed(self._assembled(part, frames, places))

    # ------------------------------------------------------------------------------------- parts

    def _seen(self, X: KernelViews, samples: Array) -> list[Seen]:
        return seen_by(self._shifted(X), self.view_scales_, samples, self.dtype)

    def _shifted(self, X: KernelViews) -> KernelViews:
        return _centring.about_means(X) if self.center_ else X

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

    def _placed(
        self, X: KernelViews, model: LowRankPlusDiagonal, latents: Sequence[_foldin.Latent]
    ) -> tuple[list[Frame], list[Place]]:
        """The factors are the axes of every view, and a sample's loadings its place."""
        F = model.W / model.d[:, None]
        moved = _centring.have_spread(X) if self.center_ else [False] * X.n_views
        frames, places = [], []
        for name, scale, present, latent, about_mean in zip(
            X.names, self.view_scales_, X.observed.T, latents, moved, strict=True
        ):
            frame = Frame(F[present] @ latent.C_inverse, scale * latent.G, scale * latent.E)
            place = Place(model.W[~present], scale * model.d[~present])
            frames.append(_centring.with_mean(frame, X.operator(name)) if about_mean else frame)
            places.append(_centring.from_mean(place) if about_mean else place)
        return frames, places
