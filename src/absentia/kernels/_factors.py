"""Kernels by factors: when they are given so, and how the factors are made.

A kernel of many samples is given as ``Phi Phi'`` with thin factors Phi, and never formed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from absentia.core import (
    Array,
    available_memory,
    check_memory,
    copy_with,
    format_bytes,
    make_generator,
    serializable,
    warn,
)
from absentia.core.linalg import inverse_sqrt, symmetrize
from absentia.data import MANY_SAMPLES
from absentia.kernels._fitting import FeatureKernel, order_by_length, squared_norms

#: Up to so many samples kernels are made whole, if there is memory for them.
MAX_WHOLE = MANY_SAMPLES
_COPIES = 3  # of the kernels: as they come, normalised, and what is made of them
_MEMORY_DIVISOR = 2  # whole kernels may take this part of the memory that is free


def decide_approx(approx: str | None, observed: Array, n_landmarks: int) -> str | None:
    """``"nystrom"``, ``"rff"`` or None (whole kernels) for samples x views that are `observed`.

    ``"auto"`` takes whole kernels of up to :data:`MAX_WHOLE` samples if they fit into half of the free
    memory, and warns if it does not.  What would not fit at all is refused.
    """
    counts = observed.sum(axis=0).astype(np.float64)
    n, whole, free = len(observed), _COPIES * 8 * float((counts**2).sum()), available_memory()
    if approx == "auto":
        fits = whole <= free / _MEMORY_DIVISOR
        if n <= MAX_WHOLE and fits:
            return None
        cost = format_bytes(whole) + (" and long" if fits else "")
        warn(
            f"{n} samples: whole kernels of {len(counts)} view(s) would take about {cost}, so each is "
            f"given by {n_landmarks} Nystrom factors, and all that follows is linear in the samples; "
            "more factors come nearer to the kernel (n_landmarks, --factors), and approx=None "
            "(--approx none) makes it whole"
        )
        approx = "nystrom"
    described = f"of {n} samples in {len(counts)} view(s)"
    if approx is None:
        advice = "use approx='auto' or 'nystrom' (--approx), which gives them by factors, or fewer samples"
        check_memory(whole, f"kernels {described}", advice)
        return None
    thin = _COPIES * 8 * float(counts.sum()) * n_landmarks
    advice = "use fewer (n_landmarks, --factors), or fewer samples"
    check_memory(thin, f"{n_landmarks} factors {described}", advice)
    return str(approx)


@serializable
class FactorMap:
    """Features whose products approximate a kernel: centred and normalised as the kernel would be.

    ``"nystrom"`` maps x to ``k(x, L) k(L, L)^-1/2`` with random landmarks L; ``"rff"`` to random Fourier
    features, for rbf.
    """

    def __init__(self, kernel: FeatureKernel, dtype: Any, seed: int) -> None:
        X, self.kernel, self.dtype = kernel.X, kernel.without_samples(), dtype
        options, n_landmarks = kernel.options, min(kernel.options.n_landmarks, X.shape[0])
        if options.approx == "rff":
            if options.kernel != "rbf":
                raise ValueError(f"view {kernel.name!r}: random Fourier features are for rbf kernels only")
            sampler = RBFSampler(gamma=kernel.gamma, n_components=options.n_landmarks, random_state=seed)
            self._map: Any = _Fourier(sampler.fit(X)) if n_landmarks else _NoFeatures()
        else:
            drawn = make_generator(seed).choice(X.shape[0], n_landmarks, replace=False)
            self._map = _Nystrom(self.kernel, X[order_by_length(X)[np.sort(drawn)]])
        raw = self._raw(X)
        self.mean = raw.mean(axis=0) if options.center and len(raw) else np.zeros(raw.shape[1])
        norms = squared_norms(raw - self.mean) if len(raw) else np.ones(1)
        self.scale = np.sqrt(norms.mean()) if options.normalize == "trace" and norms.mean() > 0 else 1.0
        self.Phi = self._normalize(raw)

    def select_samples(self, rows: Array) -> Any:
        """The same, against fewer training samples."""
        return copy_with(self, Phi=self.Phi[rows])

    def transform(self, X: Any) -> Array:
        """Factors of new samples."""
        return self._normalize(self._raw(self.kernel.prepare_new(X)))

    def _raw(self, X: Any, chunk: int = 20_000) -> Array:
        parts = [self._map(X[a : a + chunk]).astype(self.dtype) for a in range(0, X.shape[0], chunk)]
        return np.vstack(parts) if parts else np.zeros((0, self.kernel.options.n_landmarks), self.dtype)

    def _normalize(self, raw: Array) -> Array:
        Phi = (raw - self.mean) / self.scale
        if self.kernel.options.normalize == "diagonal":
            Phi = Phi * inverse_sqrt(squared_norms(Phi))[:, None]
        return Phi.astype(self.dtype, copy=False)


@serializable
class _Nystrom:
    """``k(x, L) k(L, L)^-1/2``, directions without weight left out."""

    def __init__(self, kernel: FeatureKernel, landmarks: Any) -> None:
        self.kernel, self.landmarks = kernel, landmarks
        values, vectors = np.linalg.eigh(symmetrize(kernel.values(landmarks, landmarks)))
        positive = values > 1e-10 * values[-1:].max(initial=0.0)
        self.root = vectors[:, positive] / np.sqrt(values[positive])

    def __call__(self, X: Any) -> Array:
        return self.kernel.values(X, self.landmarks) @ self.root


@serializable
@dataclass(frozen=True)
class _Fourier:
    """Random Fourier features."""

    sampler: RBFSampler

    def __call__(self, X: Any) -> Array:
        return np.asarray(self.sampler.transform(X))


@serializable
@dataclass(frozen=True)
class _NoFeatures:
    """Factors of a view that nobody has."""

    def __call__(self, X: Any) -> Array:
        return np.zeros((X.shape[0], 1))
