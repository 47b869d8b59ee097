"""Which algorithm from which start: from kernels as they are seen to a fitted model."""

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
)
from absentia.methods.completion.mkmc import _fast, _full, _paper
from absentia.methods.completion.mkmc._covariance import PCA, Covariance, FactorAnalysis, Full
from absentia.methods.completion.mkmc._fast import EqualNoise, Noise, OwnNoise, Problem, Seen
from absentia.methods.completion.mkmc._views import by_factors, merged, papers_problem

#: Up to so many samples the best of three starts is taken: the objective has several minima.
SMALL = 500
#: One of them is where the papers' algorithm is after so many iterations.
HEAD_START = 5
#: From so many on, the first part of a fit is run in single precision, which costs half.
LARGE = 2000


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
        problem = Problem.of(merged(views), size, self.prior, self.dtype)
        if q is None:
            run = _full.solve_full(problem, **options)
            return Solved(_full.as_operator(problem, run.state.at.point), run, run.state.n_evaluations)
        run = self._best(problem, views, q, options)
        return Solved(_fast.as_operator(problem, run.state.at.point), run, run.state.n_evaluations)

    def _best(
        self, problem: Problem, views: Sequence[Seen], q: int, options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        """Descend from the start; small problems from several, large ones at first in single precision."""
        noise = self._noise()
        if problem.size <= SMALL:
            return self._best_of_starts(problem, self._starts(problem, views, q), options)
        single = problem.size < LARGE or problem.dtype == np.float32
        if single or not self.tol or by_factors(problem):
            return _fast.solve_fast(problem, noise, self._start(problem, q), **options)
        rough_problem = problem.in_single_precision()
        rough = {**options, "tol": max(options["tol"], 3e-6)}
        before = _fast.solve_fast(rough_problem, noise, self._start(rough_problem, q), **rough).state
        return _fast.solve_fast(problem, noise, before.at.point, **options, before=before)

    def _start(self, problem: Problem, q: int, rescale: bool = True) -> Point:
        rng = generator(self.random_state)
        return _fast.start(problem, self._noise(), q, rng, rescale=rescale, numbers=self.numbers)

    def _starts(self, problem: Problem, views: Sequence[Seen], q: int) -> Iterator[Point]:
        yield self._start(problem, q)
        yield self._start(problem, q, rescale=False)
        paper = papers_problem(views, problem.size, problem.eps, problem.dtype)
        with suppress(NotPositiveDefiniteError):  # nearly singular kernels without a prior
            model = _paper.solve_paper(paper, self._family(q), tol=0, max_iter=HEAD_START).state.model
            assert isinstance(model, LowRankPlusDiagonal)
            yield _fast.as_point(problem, self._noise(), model)

    def _best_of_starts(
        self, problem: Problem, starts: Iterator[Point], options: dict[str, Any]
    ) -> Solution[Descent[Sloped]]:
        runs = []
        for first in starts:
            runs.append(_fast.solve_fast(problem, self._noise(), first, **options))
            if runs[-1].status is Status.STOPPED:
                break
        ends = {i: float(run.trace[-1]) if run.n_iter else np.inf for i, run in enumerate(runs)}
        return runs[least(ends)]

    def widened(self, problem: Problem, point: Point | None, q: int, *, tol: float, max_iter: int) -> Point:
        """A quick run of rank `q`, from a solution of lower rank if there is one."""
        rng = generator(self.random_state)
        first = _fast.widened(problem, self._noise(), point, q, rng, self.numbers)
        return _fast.solve_fast(problem, self._noise(), first, tol=tol, max_iter=max_iter).state.at.point

    def _family(self, q: int | None) -> Covariance:
        if q is None:
            return Full()
        return PCA(q) if self.covariance == "pca" else FactorAnalysis(q)

    def _noise(self) -> Noise:
        return EqualNoise() if self.covariance == "pca" else OwnNoise()
