"""The em algorithm with one complete view: kernels completed one by one from a view that all samples have.

References
----------
K. Tsuda, S. Akaho, K. Asai. The em algorithm for kernel matrix completion with auxiliary data. Journal of
Machine Learning Research 4 (2003), 67-81.
T. Kin, T. Kato, K. Tsuda. Protein classification via kernel matrix completion. In Kernel Methods in
Computational Biology (2004), 261-274.

Model
-----
Of a kernel only the block of the samples that have it is known, ``K_oo``; D is any positive definite matrix
with that block.  M has the eigenvectors V of the complete kernel and eigenvalues of its own,
``M = V diag(b) V'``: one parameter a direction, where :class:`absentia.MKMC` has a model that all views
share.

Objective
---------
Half of ``tr(M^-1 D) + log det M - log det D``, the divergence of Gaussians with covariances D and M, plus
`prior` times that of the identity from M, as :class:`absentia.MKMC` has it; D is of unit mean diagonal.

Algorithm
---------
Both steps are minima in closed form, so that the objective cannot rise:

* D, with M fixed: ``D_ho = M_ho M_oo^-1 K_oo``, and what follows from it; then the objective is
  ``tr(M_oo^-1 K_oo) + log det M_oo``.
* M, with D fixed: it is a sum over directions, and ``b_j = (v_j' D v_j + prior) / (1 + prior)``.

It starts with the eigenvalues of the complete kernel.  In the null space of that kernel directions are
arbitrary, so these share one b.  Derived here from the model; nothing is known of the authors' code.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import ConvergenceWarning

from absentia import KernelViews
from absentia.methods.base import Array, Status, StoppingRule, iterate, warn

_NULL = 1e-10  # eigenvalues below this share of the largest are none


class _Spectrum(NamedTuple):
    """Eigenvectors of the complete kernel, its eigenvalues at unit mean, and which of them are zero."""

    vectors: Array
    values: Array
    null: Array


class _State(NamedTuple):
    """b, ``V' M_:o M_oo^-1`` (directions x observed samples), and twice the objective."""

    b: Array
    G: Array
    value: float


def complete_by_em(
    kernels: KernelViews, auxiliary: str, *, prior: float = 1e-3, tol: float = 1e-6, max_iter: int = 500
) -> KernelViews:
    """Kernels completed from the view `auxiliary`, which every sample has.

    `tol` and `max_iter` are as in :class:`absentia.EMFill`.
    """
    if not kernels.observed[:, kernels.names.index(auxiliary)].all():
        raise ValueError(f"view {auxiliary!r}: every sample is to have it; some lack it")
    values, vectors = np.linalg.eigh(np.asarray(kernels.block(auxiliary), dtype=np.float64))
    spectrum = _Spectrum(vectors, np.maximum(values, 0.0) / values.mean(), values < _NULL * values[-1])
    completed = {}
    for name, seen in zip(kernels.names, kernels.observed.T, strict=True):
        K = np.asarray(kernels.block(name), dtype=np.float64)
        scale = float(np.trace(K)) / len(K)
        filled = scale * _complete(K / scale, seen, spectrum, prior, StoppingRule(tol), max_iter)
        filled[np.ix_(seen, seen)] = K
        completed[name] = filled
    return kernels.completed(completed)


def _complete(
    K: Array, seen: Array, spectrum: _Spectrum, prior: float, stop: StoppingRule, max_iter: int
) -> Array:
    """D where both steps have come to rest."""
    V = spectrum.vectors

    def step(state: _State) -> _State:
        """The next M of the best D for this one."""
        spread = np.einsum("ji,ji->j", state.G @ K, state.G)
        spread += state.b * (1.0 - np.einsum("ji,ij->j", state.G, V[seen]))  # diagonal of V' D V
        return place((spread + prior) / (1.0 + prior))

    def place(b: Array) -> _State:
        b = np.where(spectrum.null, b[spectrum.null].mean(), b) if spectrum.null.any() else b
        factor = cho_factor((V[seen] * b) @ V[seen].T, lower=True)
        value = float(np.trace(cho_solve(factor, K))) + 2.0 * float(np.log(np.diag(factor[0])).sum())
        value += prior * float((np.log(b) + 1.0 / b).sum())
        return _State(b, cho_solve(factor, V[seen] * b).T, value)

    start = place((spectrum.values + prior) / (1.0 + prior))
    solution = iterate(step, lambda state: state.value / 2.0, start, stop=stop, max_iter=max_iter)
    if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
        warn(f"em with one view {solution.message} ({solution.n_iter} iterations)", ConvergenceWarning)
    A, b = V @ solution.state.G, solution.state.b
    D = A @ K @ A.T + (V * b) @ V.T - A @ ((V[seen] * b) @ V.T)
    return (D + D.T) / 2.0
