r"""A row kernel estimated alone, columns taken as unrelated: the mirror image of a column kernel alone.

Where neither kernel is known and nothing is said of rows and columns, one matrix hardly tells the two parts
apart.  With inverse-Wishart priors around the identity, integrated out, the row part F (n, m) has the
density

.. math:: p(F) \propto |\tau I + F F'|^{-(\nu + m)/2} \propto |\tau I + F'F|^{-(\nu + m)/2} ,

a function of its singular values alone, and so has the column part: matrix-t distributions, one family.  In
trials (``docs/pma.md``) one kernel with the strength of its prior by marginal likelihood (``_evidence``)
did better than two shrunk by a fixed number: the columns' or, where rows are fewer, the rows'.

The rows' one is here.  Columns of X are drawn with ``K ~ IW(tau I, nu)``; in the family of ``_model`` that
is the row kernel ``K - eI`` with the column kernel ``eI``, the same for any e that leaves it positive.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from absentia.core import Array, least, symmetrize
from absentia.methods.matrix._completing import chosen_rows
from absentia.methods.matrix._evidence import Prior, Target
from absentia.methods.matrix._model import Addition, RowKernel

#: Least column kernel, relative to the entries' variance.
LEAST = 1e-8


@dataclass(frozen=True)
class RowsAlone:
    """The M-step: the row kernel by evidence, or shrunk by `strength` pseudo-observations if given.

    `level` is the variance of the entries, and eigenvalues of the kernel are at least `nugget`.
    """

    level: float
    nugget: float
    strength: float | None = None

    def start(self, n: int, m: int) -> Addition:
        """Unrelated rows."""
        return self.model(self.level * np.eye(n), m)

    def __call__(self, model: Addition, X: Array, D: Array | None) -> Addition:
        """The next model, from X completed and deviations D."""
        m = X.shape[1]
        S = X @ X.T
        if D is not None:
            S = S + np.tensordot(D, D, axes=([1, 2], [1, 2]))
        return self.model(self._prior(symmetrize(S), m).column_kernel(S, m), m)

    def model(self, K: Array, m: int) -> Addition:
        """Columns that are independent draws with kernel K, its eigenvalues floored."""
        rows, e = RowKernel.dense(K), max(self.nugget, LEAST * self.level)
        return Addition(RowKernel(rows.U, np.maximum(rows.l - e, 0.0)), np.eye(m), e * np.eye(m))

    def _prior(self, S: Array, m: int) -> Prior:
        variances = np.full(len(S), self.level)
        if self.strength is None:
            return Target.of(variances).prior(S, m)
        return Prior(np.diag(variances), self.strength, self.strength)


def chosen_kernels(n: int, curve: Mapping[str, float], drawn: str) -> tuple[str, str, str]:
    """Which row kernel does best on hidden entries, why, and how: "drawn" as was asked for, or "alone"."""
    if curve and least(curve) == "alone":
        others = min(value for key, value in curve.items() if key != "alone")
        return (
            "estimate",
            f"estimated ({n} × {n}), columns taken as unrelated; on hidden entries RMSE "
            f"{curve['alone']:.3g}, and {others:.3g} otherwise",
            "alone",
        )
    word, why = chosen_rows(n, {key: value for key, value in curve.items() if key != "alone"})
    if word == "drawn":
        return "none", why, "drawn"
    return word, why, drawn if word == "none" else ""
