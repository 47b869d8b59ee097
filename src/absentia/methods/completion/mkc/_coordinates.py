"""A kernel as coordinates: what ``_estimator`` works with inside.

The samples that have a view are vectors phi_i with ``K = Phi Phi'``.  A view's coordinates have their
origin mu at the samples' mean (or at zero) and their axes along the principal directions e_j of
``phi_i - mu``.  With the kernel taken about the origin, ``K_c = H K H`` (H subtracts means), its eigenpairs
(w_j, u_j) and its mean diagonal s,

    c_i = <phi_i - mu, e_j>_j / sqrt(s),     C = U sqrt(w / s),     C C' = K_c / s,

so that coordinates have unit mean square and do not depend on the kernel's scale.  A sample whose view is
missing gets coordinates y, which may have more axes than C, perpendicular to everything observed.  Its
kernel values are those of the vector ``mu + sqrt(s) y``, with ``p_j = sqrt(s) <mu, e_j>``:

    k(y, i) = <mu, phi_i> + p.y + s c_i.y,        k(y, z) = <mu, mu> + p.y + p.z + s y.z.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from absentia.core import Array, alike, kept, symmetrize
from absentia.methods.completion._placement import Frame, Place

#: Principal directions with less than this share of the largest variance are rounding; those with up to ten
#: times as much fade, so that none comes or goes at once.
RANK_TOL = 1e-10


@kept
@dataclass(frozen=True)
class Coordinates:
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

    def rearranged(self, order: Array) -> Self:
        """The same with the observed samples in another order."""
        return replace(self, C=self.C[order], basis=self.basis[order], means=self.means[order])

    @property
    def rank(self) -> int:
        return self.C.shape[1]

    def middles(self, n: int, width: int) -> Array:
        """Coordinates of the mean of the observed samples, `n` times, with as many axes as wanted."""
        rows = np.zeros((n, width))
        rows[:, : self.rank] = self.C.mean(axis=0)
        return rows

    def frame(self, width: int) -> Frame:
        """The origin and `width` axes, as combinations of the samples as far as these reach."""
        m, r = self.C.shape
        C, G, E = np.zeros((m, 1 + width)), np.zeros((m, 1 + width)), self.scale * np.eye(1 + width)
        C[:, 0] = 1 / m if self.center else 0.0
        C[:, 1 : 1 + r] = self.scale * (self.basis - self.basis.mean(axis=0) * self.center)
        G[:, 0], G[:, 1 : 1 + r] = self.means, self.p + self.scale * self.C
        E[0, 0], E[0, 1 : 1 + r], E[1 : 1 + r, 0] = self.grand, self.p, self.p
        return Frame(C, G, E)

    def place(self, y: Array, square: Array | None = None) -> Place:
        """Samples of these coordinates; of squared length `square` if that is more than theirs."""
        own = np.zeros(len(y)) if square is None else square - np.einsum("ij,ij->i", y, y)
        return Place(np.column_stack([np.ones(len(y)), y]), self.scale * np.maximum(own, 0.0))

    # ------------------------------------------------------------------- from kernels to coordinates

    def about(self, k: Array) -> Array:
        """Rows of kernel values of new samples with the observed ones, about the origin, unit scale."""
        return np.asarray((k - self._mean_of(k)[:, None] - self.means + self.grand) / (self.scale or 1.0))

    def _mean_of(self, k: Array) -> Array:
        """``<mu, phi_t>`` of new samples from their rows `k`."""
        return k.mean(axis=1) if self.center else np.zeros(len(k))

    def locate(self, k: Array) -> Array:
        """Coordinates of new samples from their rows `k` of kernel values."""
        return np.asarray((self.about(k) * self.scale) @ self.basis)

    def square(self, k: Array, own: Array) -> Array:
        """Squared length, in coordinates, of new samples with rows `k` and own values `own`."""
        return np.asarray((own - 2 * self._mean_of(k) + self.grand) / (self.scale or 1.0))
