"""Which algorithm from which start: from kernels as they are seen to a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from absentia.core import (
    Array,
    Callback,
    Descent,
    LowRankPlusDiagonal,
    NotPositiveDefiniteError,
    PDOperator,
    Point,
    RandomState,
    Sloped,
    Solution,
    Status,
    generator,
    least,
    settle,
)
from absentia.methods.completion.mkmc import _fast, _full, _paper
from absentia.methods.completion.mkmc._fast import EqualNoise, Noise, OwnNoise, Seen, VisibleProblem
from absentia.methods.completion.mkmc._paper import PCA, Covariance, FactorAnalysis, Full
from absentia.methods.completion.mkmc._views import by_factors, merge_views, papers_problem

#: Up to so many samples the best of three starts is taken: the objective has several minima.
SMALL = 500
#: One of them is where the papers' algorithm is after so many iterations.
HEAD_START = 5
#: From so many on, the first part of a fit is run in single precision, which costs half.
LARGE = 2000
#: For short runs at several ranks at least so many leading vectors are found at once.
REACH = 16


class Solved(NamedTuple):
    """A fitted model, how the run went, and how many E-steps it took."""

    model: PDOperator
    solution: Solution[Any]
    n_evaluations: int


@dataclass(frozen=True)
class Solver:
    """What a fit is run with; `numbers` are the samples' places in the order that draws are made in."""

    covariance: str
    algorithm: str
    prior: float
    dtype: str
    tol: float
    max_iter: int
    random_state: RandomState
    numbers: Array
    callback: Callback | None

    def solve(self, views: Sequence[Seen], size: int, q: int | None) -> Solved:
        """The model of rank `q` (None: unrestricted) behind these views of `size` samples."""
        try:
            return self._solve(views, size, q)
        except NotPositiveDefiniteError as error:
            raise ValueError(
                f"the model became singular with prior={self.prior:g}; raise the prior "
                "(1e-3 is the usual value), or look for kernels that are nearly singular"
            ) from error

    def _solve(self, views: Sequence[Seen], size: int, q: int | None) -> Solved:
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "callback": self.callback}
        if self.algorithm == "paper":
            paper = papers_problem(views, size, self.prior, np.dtype(self.dtype))
            slow = _paper.solve_paper(paper, self._family(q), **options)
            return Solved(slow.state.model, slow, slow.n_iter)
        problem = VisibleProblem.of(merge_views(views), size, self.prior, self.dtype)
        if q is None:
            run = _full.solve_full(problem, **options)
            return Solved(_full.as_operator(problem, run.state.at.point), run, run.state.n_evaluations)
        run = self._best(problem, views, q, options)
        return Solved(_fast.as_operator(problem, run.state.at.point), run, run.state.n_evaluations)

    def _best(
        self, problem: VisibleProblem, views: Sequence[Seen], q: int, options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        """Descend from the start; small problems from several, large ones at first in single precision."""
        noise = self.noise()
        if problem.size <= SMALL:
            return self._best_of_starts(problem, self._starts(problem, views, q), options)
        single = problem.size < LARGE or problem.dtype == np.float32
        if single or not self.tol or by_factors(problem):
            return _fast.solve_fast(problem, noise, self._start(problem, q), **options)
        rough_problem = problem.in_single_precision()
        rough = {**options, "tol": max(options["tol"], 3e-6)}
        before = _fast.solve_fast(rough_problem, noise, self._start(rough_problem, q), **rough).state
        return _fast.solve_fast(problem, noise, before.at.point, **options, before=before)

    def _start(self, problem: VisibleProblem, q: int, rescale: bool = True) -> Point:
        rng = generator(self.random_state)
        return _fast.start(problem, self.noise(), q, rng, rescale=rescale, numbers=self.numbers)

    def _starts(self, problem: VisibleProblem, views: Sequence[Seen], q: int) -> Iterator[Point]:
        yield self._start(problem, q)
        yield self._start(problem, q, rescale=False)
        paper = papers_problem(views, problem.size, problem.eps, problem.dtype)
        with suppress(NotPositiveDefiniteError):  # nearly singular kernels without a prior
            model = _paper.solve_paper(paper, self._family(q), tol=0, max_iter=HEAD_START).state.model
            assert isinstance(model, LowRankPlusDiagonal)
            yield _fast.as_point(problem, self.noise(), model)

    def _best_of_starts(
        self, problem: VisibleProblem, starts: Iterator[Point], options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        runs = []
        for first in starts:
            runs.append(_fast.solve_fast(problem, self.noise(), first, **options))
            if runs[-1].status is Status.STOPPED:
                break
        ends = {i: float(run.trace[-1]) if run.n_iter else np.inf for i, run in enumerate(runs)}
        best = runs[least(ends)]
        noise, callback = self.noise(), options.get("callback")
        if isinstance(noise, EqualNoise):  # which leaves nothing flat enough to matter
            return best
        return settle(lambda point: _fast.evaluate(problem, noise, point), best, callback)

    def short_runs(self, problem: VisibleProblem, most: int, *, tol: float, max_iter: int) -> ShortRuns:
        """Quick runs at ranks up to `most`; of large problems in single precision."""
        if problem.size >= LARGE and problem.dtype != np.float32 and not by_factors(problem):
            problem = problem.in_single_precision()
        return ShortRuns(self, problem, most, {"tol": tol, "max_iter": max_iter})

    def leading(self, problem: VisibleProblem, q: int) -> _fast.Leading:
        return _fast.leading(problem, q, generator(self.random_state), numbers=self.numbers)

    def _family(self, q: int | None) -> Covariance:
        if q is None:
            return Full()
        return PCA(q) if self.covariance == "pca" else FactorAnalysis(q)

    def noise(self) -> Noise:
        return EqualNoise() if self.covariance == "pca" else OwnNoise()


@dataclass
class ShortRuns:
    """Quick runs at growing ranks, each from the solution before; leading vectors serve several ranks."""

    solver: Solver
    problem: VisibleProblem
    most: int
    options: dict[str, Any]
    point: Point | None = None
    found: _fast.Leading | None = None

    def __call__(self, q: int) -> Point:
        """Where a run of rank `q` ends."""
        noise = self.solver.noise()
        if self.found is None or q > len(self.found.values):
            self.found = self.solver.leading(self.problem, max(q, min(max(2 * q, REACH), self.most)))
        first = _fast.add_factors(_fast.from_leading(self.problem, noise, self.found, q), self.point)
        self.point = _fast.solve_fast(self.problem, noise, first, **self.options).state.at.point
        return self.point
