"""A kernel as coordinates: what ``_estimator`` works with inside.

The samples that have a view are vectors phi_i with ``K = Phi Phi'``.  A frame puts its origin mu at their
mean (or at zero) and its axes along the principal directions e_j of ``phi_i - mu``.  With the kernel taken
about the origin, ``K_c = H K H`` (H subtracts means), its eigenpairs (w_j, u_j) and its mean diagonal s,

    c_i = <phi_i - mu, e_j>_j / sqrt(s),     C = U sqrt(w / s),     C C' = K_c / s,

so that coordinates have unit mean square and do not depend on the kernel's scale.  A sample whose view is
missing gets coordinates y, which may have more axes than C, perpendicular to everything observed.  Its
kernel values are those of the vector ``mu + sqrt(s) y``, with ``p_j = sqrt(s) <mu, e_j>``:

    k(y, i) = <mu, phi_i> + p.y + s c_i.y,        k(y, z) = <mu, mu> + p.y + p.z + s y.z.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from absentia.core import Array, symmetrize
from absentia.methods.completion._combined import alike

#: Principal directions with less than this share of the largest variance are rounding; those with up to ten
#: times as much fade, so that none comes or goes at once.
RANK_TOL = 1e-10


@dataclass(frozen=True)
class Frame:
    """Origin and axes of a view; ``C`` are the coordinates of the samples that have it."""

    C: Array
    basis: Array  # kernel values about the origin, times this, are coordinates
    means: Array  # <mu, phi_i>
    grand: float  # <mu, mu>
    p: Array  # sqrt(s) <mu, e_j>
    scale: float  # s
    center: bool

    @classmethod
    def of(cls, K: Array, center: bool) -> Self:
        nothing, K = center and alike(K), symmetrize(np.asarray(K, dtype=np.float64))
        means = K.mean(axis=1) if center else np.zeros(len(K))
        grand = float(means.mean()) if center else 0.0
        about = K - means - means[:, None] + grand
        w, U = np.linalg.eigh(about)
        lowest = max(RANK_TOL * w[-1], 1e-14 * len(K) * K.diagonal().max())
        real = (w > lowest) & (not nothing)
        w, U = w[real], U[:, real] * np.clip((w[real] / lowest - 1) / 9, 0.0, 1.0) ** 2
        scale = float(about.diagonal().mean()) if len(w) else 0.0  # all samples alike: nothing to scale
        basis = U / np.sqrt(w * scale)
        return cls(U * np.sqrt(w / scale), basis, means, grand, (means @ basis) * scale, scale, center)

    @property
    def rank(self) -> int:
        return self.C.shape[1]

    @property
    def middle(self) -> Array:
        """Coordinates of the mean of the observed samples."""
        return self.C.mean(axis=0)

    # ------------------------------------------------------------------- from coordinates to kernels

    def lean(self, y: Array) -> Array:
        """``<mu, sqrt(s) y>``."""
        return np.asarray(y[:, : self.rank] @ self.p)

    def with_seen(self, y: Array) -> Array:
        """Kernel values of coordinates `y` with the samples that have the view."""
        return self.means + self.lean(y)[:, None] + self.scale * (y[:, : self.rank] @ self.C.T)

    def between(self, y: Array, z: Array) -> Array:
        """Kernel values of coordinates `y` with coordinates `z`."""
        return self.grand + self.lean(y)[:, None] + self.lean(z) + self.scale * (y @ z.T)

    def own(self, y: Array, square: Array) -> Array:
        """Kernel values of coordinates `y`, of squared length `square`, with themselves."""
        return np.asarray(self.grand + 2 * self.lean(y) + self.scale * square)

    def completed(self, K: Array, seen: Array, y: Array) -> Array:
        """The kernel over everyone: `K` for those who have the view, `y` the others' coordinates.

        A Gram matrix of vectors, phi_i and ``mu + sqrt(s) y``, so positive semidefinite; and its observed
        block is `K` itself, bit by bit.
        """
        n = len(seen) + len(y)
        hidden = np.setdiff1d(np.arange(n), seen)
        full = np.empty((n, n))
        across = self.with_seen(y)
        full[np.ix_(seen, seen)] = K
        full[np.ix_(hidden, seen)] = across
        full[np.ix_(seen, hidden)] = across.T
        full[np.ix_(hidden, hidden)] = symmetrize(self.between(y, y))
        return full

    # ------------------------------------------------------------------- from kernels to coordinates

    def about(self, k: Array) -> Array:
        """Rows of kernel values of new samples with the observed ones, about the origin, unit scale."""
        return np.asarray((k - self.mean_of(k)[:, None] - self.means + self.grand) / (self.scale or 1.0))

    def mean_of(self, k: Array) -> Array:
        """``<mu, phi_t>`` of new samples from their rows `k`."""
        return k.mean(axis=1) if self.center else np.zeros(len(k))

    def locate(self, k: Array) -> Array:
        """Coordinates of new samples from their rows `k` of kernel values."""
        return np.asarray((self.about(k) * self.scale) @ self.basis)

    def square(self, k: Array, own: Array) -> Array:
        """Squared length, in coordinates, of new samples with rows `k` and own values `own`."""
        return np.asarray((own - 2 * self.mean_of(k) + self.grand) / (self.scale or 1.0))
