r"""How far an estimated kernel is shrunk towards a simple one, by the marginal likelihood.

With m columns and not many more rows, the column kernel of greatest likelihood follows noise, and the
likelihood cannot tell: it is greatest without any shrinkage.  What can tell is the likelihood with the
column kernel integrated out.  Take an inverse-Wishart prior, ``N ~ IW(tau T, nu)``, around a simple `T`.
For rows of G (n, m) drawn with N, and ``S = G'G``,

.. math:: \log p(G) = \log \frac{\Gamma_m((\nu + n)/2)}{\Gamma_m(\nu/2)} + \frac{\nu}{2} \log |\tau T|
          - \frac{\nu + n}{2} \log |\tau T + S| - \frac{n m}{2} \log \pi ,

a function of two numbers and the eigenvalues of S in units of T (:func:`_log_evidence`).  Within EM, S is
an expectation, `nu` and `tau` have the greatest evidence in every step, and the E-step has
``N = (tau T + S) / (nu + n)``, the inverse of the expected precision: variational EM, whose bound on the
marginal likelihood of the observed entries (:func:`_bound_evidence`) says which of several models is
better.

A row kernel K that is given has an amplitude t of the greatest likelihood of the completed matrix, F and G
integrated out: EM for F and G apart would hardly move it.  Its columns may be independent, ``C = t I``, or
go together as those of the rest do, ``C = t N``; then the covariance is ``N (x) (tK + I)``.  Where K says
nothing, t goes to nothing.

Where neither kernel is known and nothing is said of rows and columns, one matrix hardly tells the two parts
apart.  With inverse-Wishart priors around the identity, integrated out, the row part F (n, m) has the
density

.. math:: p(F) \propto |\tau I + F F'|^{-(\nu + m)/2} \propto |\tau I + F'F|^{-(\nu + m)/2} ,

a function of its singular values alone, and so has the column part: matrix-t distributions, one family.  In
trials (``docs/pma.md``) one kernel with the strength of its prior by marginal likelihood did better than
two shrunk by a fixed number: the columns' or, where rows are fewer, the rows'.  For the rows'
(:class:`RowKernelUpdate`), columns of X are drawn with ``K ~ IW(tau I, nu)``; in the family of ``_model``
that is the row kernel ``K - eI`` with the column kernel ``eI``, the same for any e that leaves it positive.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy.special import digamma, multigammaln

from absentia.core import Array
from absentia.core.linalg import cholesky_logdet, symmetrize
from absentia.methods.matrix._estimation import EMState, expect_moments, floor_eigenvalues, stack_deviations
from absentia.methods.matrix._inference import log_marginal_likelihood
from absentia.methods.matrix._model import KroneckerGaussian, RowKernel, apply_rows

#: Beyond this many pseudo-observations, the column kernel is the simple one.
_MAX_STRENGTH = 1e6
#: Least amplitude of a row kernel, and least column kernel beside an estimated row kernel, relative to the
#: variance of the entries.
_MIN_PART = 1e-8
#: Least variance of a column in the simple kernel, relative to the mean.
_MIN_VARIANCE = 1e-3


@dataclass(frozen=True)
class _InverseWishart:
    """A prior on a kernel N (m, m): ``N ~ IW(size * target, strength)``."""

    target: Array
    strength: float
    size: float

    def estimate_kernel(self, S: Array, n: int) -> Array:
        """The inverse of the expected precision, given the scatter S of n rows."""
        return symmetrize((S + self.size * self.target) / (n + self.strength))


def _log_evidence(values: Array, n: int, strength: float, size: float) -> float:
    """Log-density of n rows, in units of the target, whose scatter has these eigenvalues."""
    m = len(values)
    logdet = float(np.log(size + values).sum())
    return float(
        multigammaln((strength + n) / 2, m)
        - multigammaln(strength / 2, m)
        + strength * m / 2 * math.log(size)
        - (strength + n) / 2 * logdet
        - n * m / 2 * math.log(math.pi)
    )


def _evidence_gradient(values: Array, n: int, strength: float, size: float) -> tuple[float, float]:
    """Derivatives of :func:`_log_evidence` in strength and in size."""
    m = len(values)
    steps = np.arange(m) / 2
    digammas = float((digamma((strength + n) / 2 - steps) - digamma(strength / 2 - steps)).sum())
    by_strength = 0.5 * (digammas + m * math.log(size) - float(np.log(size + values).sum()))
    by_size = 0.5 * (strength * m / size - (strength + n) * float((1 / (size + values)).sum()))
    return by_strength, by_size


def _maximize_evidence(
    values: Array, n: int, near: _InverseWishart | None = None
) -> tuple[float, float, float]:
    """The strength and size of greatest evidence, and the evidence; searched from those of `near` on."""
    m = len(values)
    mean = max(float(values.mean()) / n, 1e-12)

    def unpack(p: Array) -> tuple[float, float]:
        strength = m - 1 + math.exp(p[0])
        return strength, strength * math.exp(p[1])

    def negative_evidence(p: Array) -> tuple[float, Array]:
        strength, size = unpack(p)
        by_strength, by_size = _evidence_gradient(values, n, strength, size)
        # the size is that per pseudo-observation: far out, only the ratio matters
        along = np.array([(by_strength + by_size * size / strength) * (strength - m + 1), by_size * size])
        return -_log_evidence(values, n, strength, size) / n, -along / n

    first = np.array([math.log(m), math.log(mean)])
    if near is not None:
        first = np.log([near.strength - m + 1, near.size / near.strength])
    limits = [(-3.0, math.log(_MAX_STRENGTH)), (math.log(mean) - 20, math.log(mean) + 5)]
    options = {"ftol": 1e-13, "gtol": 1e-9, "maxiter": 200}
    best = scipy.optimize.minimize(
        negative_evidence, first, jac=True, method="L-BFGS-B", bounds=limits, options=options
    )
    strength, size = unpack(best.x)

    def derivatives(log_size: float) -> tuple[float, float]:
        """First and second, of minus the evidence in the logarithm of the size, strength fixed."""
        x = math.exp(log_size)
        share = x / (x + values)
        by_size = (strength + n) * float(share.sum()) - strength * m
        return by_size, (strength + n) * float((share * (1 - share)).sum())

    low, high = (math.log(strength) + limit for limit in limits[1])
    size = math.exp(_polish_minimum(derivatives, math.log(size), low, high))
    return strength, size, _log_evidence(values, n, strength, size)


def _polish_minimum(
    derivatives: Callable[[float], tuple[float, float]], x: float, low: float, high: float
) -> float:
    """A minimum made exact by Newton's method, from what a search by values has found.

    Such a search leaves the square root of the rounding: answers would depend on the processor.
    """
    if not low + 1e-3 < x < high - 1e-3:  # at a limit there is no slope to follow
        return x
    for _ in range(4):
        first, second = derivatives(x)
        if not second > 0 or abs(first) > 1e-2 * second:  # not near: stay with what was found
            return x
        x -= first / second
    return x


@dataclass(frozen=True)
class _PriorTarget:
    """What the column kernel is shrunk towards: variances (m,), and a kernel (m, m) if one is given."""

    variances: Array
    kernel: Array | None = None

    @classmethod
    def from_variances(cls, variances: Array, kernel: Array | None = None) -> _PriorTarget:
        variances = np.maximum(variances, _MIN_VARIANCE * variances.mean())
        if kernel is not None:
            kernel = kernel * float(variances.mean() / max(np.diagonal(kernel).mean(), 1e-300))
        return cls(variances, kernel)

    def select_prior(self, S: Array, n: int) -> _InverseWishart:
        """The prior of greatest evidence, given the scatter S of n rows."""
        tried = [self._fit_prior(0.0, S, n)]

        def negative_evidence(share: float) -> float:
            tried.append(self._fit_prior(share, S, n, near=tried[-1][0]))
            return -tried[-1][1]

        if self.kernel is not None:
            scipy.optimize.minimize_scalar(
                negative_evidence, bounds=(0, 1), method="bounded", options={"xatol": 3e-3}
            )
        return max(tried, key=lambda pair: pair[1])[0]

    def _fit_prior(
        self, share: float, S: Array, n: int, near: _InverseWishart | None = None
    ) -> tuple[_InverseWishart, float]:
        """The best prior with this share of the given kernel in its target, and its evidence."""
        T = np.diag(self.variances)
        if self.kernel is not None and share:
            T = (1 - share) * T + share * self.kernel
        L = np.linalg.cholesky(T)
        half = scipy.linalg.solve_triangular(L, S, lower=True)
        whitened = symmetrize(scipy.linalg.solve_triangular(L, half.T, lower=True))
        values = np.maximum(scipy.linalg.eigvalsh(whitened), 0.0)
        strength, size, value = _maximize_evidence(values, n, near)
        return _InverseWishart(T, strength, size), value - n / 2 * cholesky_logdet(L)


# -------------------------------------------------------------------------------------------------- M-steps


@dataclass(frozen=True)
class EvidenceUpdate:
    """The M-step: the row kernel's amplitude if it is free, and the column kernel by evidence.

    `shared` has ``C = t N``, otherwise C is a multiple of what it was.
    """

    target: _PriorTarget
    nugget: float
    shared: bool = False
    free: bool = True

    def __call__(self, model: KroneckerGaussian, X: Array, D: Array | None) -> KroneckerGaussian:
        """The next model, from X completed and deviations D."""
        model = self.update_amplitude(model, X, D)
        S, n = self.expect_scatter(model, X, D), model.shape[0]
        N = self.target.select_prior(S, n).estimate_kernel(S, n)
        if not self.shared:
            return replace(model, N=floor_eigenvalues(N, self.nugget))
        t = _row_amplitude(model)
        N = floor_eigenvalues(N, self.nugget / (1 + t * float(model.rows.diagonal().mean())))
        return KroneckerGaussian(model.rows, t * N, N)

    def update_amplitude(self, model: KroneckerGaussian, X: Array, D: Array | None) -> KroneckerGaussian:
        """C times the number that makes the completed X, F and G integrated out, most likely."""
        lc = np.multiply.outer(model.rows.l, model.c)
        if not self.free or not lc.any():
            return model
        q = (apply_rows(model.rows.U.T, stack_deviations(X, D) @ model.V) ** 2).sum(axis=1)

        def negative_likelihood(log_factor: float) -> float:
            d = 1 + math.exp(log_factor) * lc
            return float((np.log(d) + q / d).sum())

        def derivatives(log_factor: float) -> tuple[float, float]:
            d = 1 + math.exp(log_factor) * lc
            u = 1 - 1 / d
            return float((u - q * u / d).sum()), float((u / d - q * u / d * (1 / d - u)).sum())

        best = scipy.optimize.minimize_scalar(
            negative_likelihood, bounds=(-7.0, 5.0), method="bounded", options={"xatol": 1e-6}
        )
        factor = math.exp(_polish_minimum(derivatives, float(best.x), -7.0, 5.0))
        size = float(model.rows.diagonal().mean())
        least = _MIN_PART * np.trace(model.N) / (size * max(float(np.trace(model.C)), 1e-300))
        return replace(model, C=model.C * max(factor, float(least)))

    def expect_scatter(self, model: KroneckerGaussian, X: Array, D: Array | None) -> Array:
        """E[G'G]; with a shared column kernel that of the whole X, its rows whitened."""
        if not self.shared:
            return model.shape[0] * expect_moments(model, X, D).N
        full = stack_deviations(X, D)
        Z = apply_rows(model.rows.U.T, full)
        d = 1 + _row_amplitude(model) * model.rows.l
        S = np.einsum("ika,i,ikb->ab", Z, 1 / d, Z, optimize=True)
        if not model.rows.full:
            S = S + np.einsum("ika,ikb->ab", full, full) - np.einsum("ika,ikb->ab", Z, Z)
        return symmetrize(S)

    def bound_likelihood(
        self, state: EMState, X: Array, observed: Array, rng: np.random.Generator | None
    ) -> float:
        """:func:`_bound_evidence` at the end of EM."""
        S = self.expect_scatter(state.model, state.completed, state.deviations)
        return _bound_evidence(state.model, self.target.select_prior(S, len(X)), X, observed, rng)


def propose_updates(
    start: KroneckerGaussian,
    variances: Array,
    nugget: float,
    *,
    free: bool = False,
    kernel: Array | None = None,
) -> list[tuple[KroneckerGaussian, EvidenceUpdate]]:
    """What is tried to estimate a column kernel: models to begin from, and their M-steps.

    It is shrunk towards the variances of the columns and, if one is given, a `kernel`.  Beside a row kernel
    whose amplitude is `free`, columns of the row part go together as those of the rest do, or not.
    """
    target = _PriorTarget.from_variances(variances, kernel)
    independent = start, EvidenceUpdate(target, nugget, free=free)
    if not free:
        return [independent]
    t = 1 / (float(start.rows.diagonal().mean()) or 1.0)
    return [(replace(start, C=t * start.N), EvidenceUpdate(target, nugget, shared=True)), independent]


def _row_amplitude(model: KroneckerGaussian) -> float:
    return float(np.trace(model.C) / np.trace(model.N))


@dataclass(frozen=True)
class RowKernelUpdate:
    """The M-step of a row kernel alone: by evidence, or shrunk by `strength` pseudo-observations if given.

    `level` is the variance of the entries, and eigenvalues of the kernel are at least `nugget`.
    """

    level: float
    nugget: float
    strength: float | None = None

    def start(self, n: int, m: int) -> KroneckerGaussian:
        """Unrelated rows."""
        return self._to_model(self.level * np.eye(n), m)

    def __call__(self, model: KroneckerGaussian, X: Array, D: Array | None) -> KroneckerGaussian:
        """The next model, from X completed and deviations D."""
        n, m = X.shape
        S = X @ X.T
        if D is not None:
            S = S + np.tensordot(D, D, axes=([1, 2], [1, 2]))
        variances = np.full(n, self.level)
        if self.strength is None:
            prior = _PriorTarget.from_variances(variances).select_prior(symmetrize(S), m)
        else:
            prior = _InverseWishart(np.diag(variances), self.strength, self.strength)
        return self._to_model(prior.estimate_kernel(S, m), m)

    def _to_model(self, K: Array, m: int) -> KroneckerGaussian:
        """Columns that are independent draws with kernel K (n, n), its eigenvalues floored."""
        rows, e = RowKernel.from_dense(K), max(self.nugget, _MIN_PART * self.level)
        return KroneckerGaussian(RowKernel(rows.U, np.maximum(rows.l - e, 0.0)), np.eye(m), e * np.eye(m))


# ---------------------------------------------------------------------------------------------------- bound


def _bound_evidence(
    model: KroneckerGaussian,
    prior: _InverseWishart,
    X: Array,
    observed: Array,
    rng: np.random.Generator | None = None,
) -> float:
    r"""At most the log-density of the observed entries, the column kernel integrated out.

    For the posterior ``q(N) = IW((nu + n) N, nu + n)`` around the model's N: the likelihood at N, with
    ``E_q log|N|`` instead of ``log|N|``, less the divergence of q from the prior.
    """
    (n, m), nu = model.shape, prior.strength
    a = nu + n
    logdet = float(np.linalg.slogdet(model.N)[1])
    expected = logdet + m * math.log(a / 2) - float(digamma((a - np.arange(m)) / 2).sum())
    q = _log_inverse_wishart(m, a, logdet + m * math.log(a), expected, a * m)
    logdet_target = float(np.linalg.slogdet(prior.target)[1]) + m * math.log(prior.size)
    trace = prior.size * float(np.trace(np.linalg.solve(model.N, prior.target)))
    p = _log_inverse_wishart(m, nu, logdet_target, expected, trace)
    likelihood = log_marginal_likelihood(model, X, observed, rng, tol=1e-6)
    return likelihood + n / 2 * (logdet - expected) - q + p


def _log_inverse_wishart(m: int, dof: float, logdet_scale: float, logdet: float, trace: float) -> float:
    """Log-density; `logdet_scale` the scale's log-determinant, `trace` that of ``N^-1`` times the scale."""
    constant = dof / 2 * (logdet_scale - m * math.log(2)) - float(multigammaln(dof / 2, m))
    return constant - (dof + m + 1) / 2 * logdet - trace / 2
