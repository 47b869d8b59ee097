r"""How far an estimated column kernel is drawn towards a simple one, by the marginal likelihood.

With m columns and not many more rows, the column kernel of greatest likelihood follows noise, and the
likelihood cannot tell: it is greatest without any shrinkage.  What can tell is the likelihood with the
column kernel integrated out.  Take an inverse-Wishart prior, ``N ~ IW(tau T, nu)``, around a simple `T`.
For rows of G (n, m) drawn with N, and ``S = G'G``,

.. math:: \log p(G) = \log \frac{\Gamma_m((\nu + n)/2)}{\Gamma_m(\nu/2)} + \frac{\nu}{2} \log |\tau T|
          - \frac{\nu + n}{2} \log |\tau T + S| - \frac{n m}{2} \log \pi ,

a function of two numbers and the eigenvalues of S in units of T (:func:`evidence`).  Within EM, S is an
expectation, `nu` and `tau` have the greatest evidence in every step, and the E-step has
``N = (tau T + S) / (nu + n)``, the inverse of the expected precision: variational EM, whose bound on the
marginal likelihood of the observed entries (:func:`bound`) says which of several models is better.

A row kernel K that is given has an amplitude t of the greatest likelihood of the completed matrix, F and G
integrated out: EM for F and G apart would hardly move it.  Its columns may be independent, ``C = t I``, or
go together as those of the rest do, ``C = t N``; then the covariance is ``N (x) (tK + I)``.  Where K says
nothing, t goes to nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.optimize
from scipy.special import digamma, multigammaln

from absentia.core import Array, cholesky_logdet, symmetrize
from absentia.methods.matrix._estimate import Fit, floored, moments
from absentia.methods.matrix._likelihood import log_marginal
from absentia.methods.matrix._model import Addition, apply_rows

#: Beyond this many pseudo-observations, the column kernel is the simple one.
MOST = 1e6
#: Posterior draws behind each E-step, where there are too many missing entries for the exact one.
DRAWS = 4
#: Least amplitude of a row kernel, relative to what the columns have.
LEAST = 1e-8
#: Least variance of a column in the simple kernel, relative to the mean.
FLAT = 1e-3


@dataclass(frozen=True)
class Prior:
    """``N ~ IW(size * target, strength)``."""

    target: Array
    strength: float
    size: float

    def column_kernel(self, S: Array, n: int) -> Array:
        """The inverse of the expected precision, given the scatter S of n rows."""
        return symmetrize((S + self.size * self.target) / (n + self.strength))


def evidence(values: Array, n: int, strength: float, size: float) -> float:
    """Log-density of n rows, in units of the target, whose scatter has these eigenvalues."""
    m = len(values)
    of_gamma = multigammaln((strength + n) / 2, m) - multigammaln(strength / 2, m)
    quadratic = float(np.log(size + values).sum())
    return float(
        of_gamma
        + strength * m / 2 * math.log(size)
        - (strength + n) / 2 * quadratic
        - n * m / 2 * math.log(math.pi)
    )


def _slopes(values: Array, n: int, strength: float, size: float) -> tuple[float, float]:
    """Derivatives of :func:`evidence` in strength and in size."""
    m = len(values)
    steps = np.arange(m) / 2
    of_gamma = float((digamma((strength + n) / 2 - steps) - digamma(strength / 2 - steps)).sum())
    by_strength = 0.5 * (of_gamma + m * math.log(size) - float(np.log(size + values).sum()))
    by_size = 0.5 * (strength * m / size - (strength + n) * float((1 / (size + values)).sum()))
    return by_strength, by_size


def strongest(values: Array, n: int, near: Prior | None = None) -> tuple[float, float, float]:
    """The strength and size of greatest evidence, and the evidence; searched from those of `near` on."""
    m = len(values)
    mean = max(float(values.mean()) / n, 1e-12)

    def numbers(p: Array) -> tuple[float, float]:
        strength = m - 1 + math.exp(p[0])
        return strength, strength * math.exp(p[1])

    def value(p: Array) -> tuple[float, Array]:
        strength, size = numbers(p)
        by_strength, by_size = _slopes(values, n, strength, size)
        # the size is that per pseudo-observation: far out, only the ratio matters
        along = np.array([(by_strength + by_size * size / strength) * (strength - m + 1), by_size * size])
        return -evidence(values, n, strength, size) / n, -along / n

    first = np.array([math.log(m), math.log(mean)])
    if near is not None:
        first = np.log([near.strength - m + 1, near.size / near.strength])
    limits = [(-3.0, math.log(MOST)), (math.log(mean) - 20, math.log(mean) + 5)]
    options = {"ftol": 1e-13, "gtol": 1e-9, "maxiter": 200}
    best = scipy.optimize.minimize(
        value, first, jac=True, method="L-BFGS-B", bounds=limits, options=options
    )
    strength, size = numbers(best.x)

    def slopes(log_size: float) -> tuple[float, float]:
        """Of minus the evidence in the logarithm of the size, strength fixed."""
        x = math.exp(log_size)
        share = x / (x + values)
        by_size = (strength + n) * float(share.sum()) - strength * m
        return by_size, (strength + n) * float((share * (1 - share)).sum())

    low, high = (math.log(strength) + limit for limit in limits[1])
    size = math.exp(polished(slopes, math.log(size), low, high))
    return strength, size, evidence(values, n, strength, size)


def polished(slopes: Callable[[float], tuple[float, float]], x: float, low: float, high: float) -> float:
    """A minimum made exact by Newton's method, from what a search by values has found.

    Such a search leaves the square root of the rounding: answers would hang on the processor.
    """
    if not low + 1e-3 < x < high - 1e-3:  # at a limit there is no slope to follow
        return x
    for _ in range(4):
        first, second = slopes(x)
        if not second > 0 or abs(first) > 1e-2 * second:  # not near: stay with what was found
            return x
        x -= first / second
    return x


@dataclass(frozen=True)
class Target:
    """What the column kernel is drawn towards: variances, and a kernel that is given, if one is."""

    variances: Array
    kernel: Array | None = None

    @classmethod
    def of(cls, variances: Array, kernel: Array | None = None) -> Target:
        variances = np.maximum(variances, FLAT * variances.mean())
        if kernel is not None:
            kernel = kernel * float(variances.mean() / max(np.diagonal(kernel).mean(), 1e-300))
        return cls(variances, kernel)

    def prior(self, S: Array, n: int) -> Prior:
        """Of greatest evidence, given the scatter S of n rows."""
        tried = [self._mixed(0.0, S, n)]

        def value(share: float) -> float:
            tried.append(self._mixed(share, S, n, near=tried[-1][0]))
            return -tried[-1][1]

        if self.kernel is not None:
            scipy.optimize.minimize_scalar(value, bounds=(0, 1), method="bounded", options={"xatol": 3e-3})
        return max(tried, key=lambda pair: pair[1])[0]

    def _mixed(self, share: float, S: Array, n: int, near: Prior | None = None) -> tuple[Prior, float]:
        """The best prior with so much of the kernel that is given in its target, and its evidence."""
        T = np.diag(self.variances)
        if self.kernel is not None and share:
            T = (1 - share) * T + share * self.kernel
        L = np.linalg.cholesky(T)
        half = scipy.linalg.solve_triangular(L, S, lower=True)
        whitened = symmetrize(scipy.linalg.solve_triangular(L, half.T, lower=True))
        values = np.maximum(scipy.linalg.eigvalsh(whitened), 0.0)
        strength, size, found = strongest(values, n, near)
        return Prior(T, strength, size), found - n / 2 * cholesky_logdet(L)


@dataclass(frozen=True)
class Shrinking:
    """The M-step: the row kernel's amplitude if it is free, and the column kernel by evidence.

    `shared` has ``C = t N``, otherwise C is a multiple of what it was.
    """

    target: Target
    nugget: float
    shared: bool = False
    free: bool = True

    def __call__(self, model: Addition, X: Array, D: Array | None) -> Addition:
        """The next model, from X completed and deviations D."""
        model = self.amplified(model, X, D)
        S, n = self.scatter(model, X, D), model.shape[0]
        N = self.target.prior(S, n).column_kernel(S, n)
        if not self.shared:
            return replace(model, N=floored(N, self.nugget))
        t = _ratio(model)
        N = floored(N, self.nugget / (1 + t * float(model.rows.diagonal().mean())))
        return Addition(model.rows, t * N, N)

    def amplified(self, model: Addition, X: Array, D: Array | None) -> Addition:
        """C times the number that makes the completed X, F and G integrated out, most likely."""
        lc = np.multiply.outer(model.rows.l, model.c)
        if not self.free or not lc.any():
            return model
        q = (apply_rows(model.rows.U.T, _with(X, D) @ model.V) ** 2).sum(axis=1)

        def value(log_factor: float) -> float:
            d = 1 + math.exp(log_factor) * lc
            return float((np.log(d) + q / d).sum())

        def slopes(log_factor: float) -> tuple[float, float]:
            d = 1 + math.exp(log_factor) * lc
            u = 1 - 1 / d
            return float((u - q * u / d).sum()), float((u / d - q * u / d * (1 / d - u)).sum())

        best = scipy.optimize.minimize_scalar(
            value, bounds=(-7.0, 5.0), method="bounded", options={"xatol": 1e-6}
        )
        factor = math.exp(polished(slopes, float(best.x), -7.0, 5.0))
        size = float(model.rows.diagonal().mean())
        least = LEAST * np.trace(model.N) / (size * max(float(np.trace(model.C)), 1e-300))
        return replace(model, C=model.C * max(factor, float(least)))

    def scatter(self, model: Addition, X: Array, D: Array | None) -> Array:
        """E[G'G]; with a shared column kernel that of the whole X, its rows whitened."""
        if not self.shared:
            return model.shape[0] * moments(model, X, D).N
        full = _with(X, D)
        Z = apply_rows(model.rows.U.T, full)
        d = 1 + _ratio(model) * model.rows.l
        S = np.einsum("ika,i,ikb->ab", Z, 1 / d, Z, optimize=True)
        if not model.rows.full:
            S = S + np.einsum("ika,ikb->ab", full, full) - np.einsum("ika,ikb->ab", Z, Z)
        return symmetrize(S)

    def bound(self, fit: Fit, X: Array, observed: Array, rng: np.random.Generator | None) -> float:
        """:func:`bound` at the end of EM."""
        S = self.scatter(fit.model, fit.completed, fit.D)
        return bound(fit.model, self.target.prior(S, len(X)), X, observed, rng)


def beside(
    start: Addition, variances: Array, nugget: float, free: bool
) -> list[tuple[Addition, Shrinking]]:
    """What is tried beside a row kernel that is given: models to begin from, and their M-steps.

    Columns of the row part go together as those of the rest do, or not; not if its amplitude is given.
    """
    target = Target.of(variances)
    independent = start, Shrinking(target, nugget, free=free)
    if not free:
        return [independent]
    t = 1 / (float(start.rows.diagonal().mean()) or 1.0)
    return [(replace(start, C=t * start.N), Shrinking(target, nugget, shared=True)), independent]


def _with(X: Array, D: Array | None) -> Array:
    return X[:, None, :] if D is None else np.concatenate([X[:, None, :], D], axis=1)


def _ratio(model: Addition) -> float:
    return float(np.trace(model.C) / np.trace(model.N))


def bound(
    model: Addition, prior: Prior, X: Array, observed: Array, rng: np.random.Generator | None = None
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
    of_target = float(np.linalg.slogdet(prior.target)[1]) + m * math.log(prior.size)
    trace = prior.size * float(np.trace(np.linalg.solve(model.N, prior.target)))
    p = _log_inverse_wishart(m, nu, of_target, expected, trace)
    return log_marginal(model, X, observed, rng, tol=1e-6) + n / 2 * (logdet - expected) - q + p


def _log_inverse_wishart(m: int, dof: float, of_scale: float, logdet: float, trace: float) -> float:
    """Log-density; `of_scale` the scale's log-determinant, `trace` that of ``N^-1`` times the scale."""
    constant = dof / 2 * (of_scale - m * math.log(2)) - float(multigammaln(dof / 2, m))
    return constant - (dof + m + 1) / 2 * logdet - trace / 2
