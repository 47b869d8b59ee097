"""Dual coordinate descent on kernels given by factors, compiled by Numba, which no other module imports.

With ``K = sum_p eta_p Phi_p Phi_p'`` the scores are ``f_i = sum_p <Phi_p(i), w_p> + b``, where
``w_p = eta_p Phi_p' z``, so one coefficient is brought to its best value in time linear in the factors
(Hsieh, Chang, Lin, Keerthi & Sundararajan, ICML 2008):

    z_i  <-  clip(soft(z_i + (t_i - f_i) / h_i, eps / h_i), lo_i, hi_i),    h_i = K_ii + s.

The bias is not regularised, so ``sum z = 0``, which no single coefficient can keep.  Instead of moving
pairs, the multiplier of that constraint, which is the bias, is found by the method of multipliers (Hestenes
1969): coefficients are moved with ``b = b_k + s sum z``, and after every pass over the samples ``b_k``
becomes ``b``.  `s` is small beside the kernel's diagonal, and steps are hardly shorter for it.  So that the
bias and what all samples share do not work against one another, factors are taken from their mean
``m``: where ``sum z = 0`` that changes the bias alone.  Nothing is subtracted for it: with the ``<x_i, m>``
of all samples computed beforehand, ``<x_i - m, w - (sum z) m>`` costs three numbers more.

Samples are visited in random order, blocks of neighbours together, which reads memory in runs.  As in
shrinking, a coefficient that stayed at its bound when last visited rests for some passes: one, two, ...
up to :data:`_MAX_REST`.

Loops are compiled when they are first called, and kept on disk where there is a place for that.  Numba
looks for that place (NUMBA_CACHE_DIR, beside the source, the user's cache folder) as soon as a function is
marked, and raises where it finds none: a read-only installation used by somebody without a home, as in
containers and on clusters.  There the functions are compiled anew in every process.  No folder for
temporary files is used instead: Numba's cache is code, and others may write there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from absentia.core import Array
from absentia.methods.learning.engine._svm import Machine

if TYPE_CHECKING:
    from absentia.methods.learning.engine._linear import MachineProblem

_BLOCK = 64  # neighbours visited together
_MAX_REST = 5  # passes that a coefficient at its bound is left alone for, at most
_RELATIVE_S = 0.01  # s, relative to the kernel's mean diagonal
#: Flags of LLVM that let loops be vectorised: sums may be reordered, and no NaN occurs.
_FAST = {"nnan", "nsz", "arcp", "contract", "reassoc"}


class DualCoordinateDescent:
    """State: coefficients `z` (n,), weights `w` of the factors, the bias, and which samples rest."""

    def __init__(self, problem: MachineProblem, start: Machine) -> None:
        stack, eta = problem.stack, problem.eta
        used = np.flatnonzero(eta > 0)
        self.box, self.z, self.bias, self.passes = problem.box, start.z.copy(), start.bias, 0
        self.eta = np.ascontiguousarray(eta[used])
        self.place = np.ascontiguousarray(stack.place[:, used])
        self.factors = [stack.factors[v] for v in used]
        self.scale, self.diagonal = stack.scale, problem.diagonal
        share = (problem.box.hi > problem.box.lo).astype(np.float64)
        share /= max(float(share.sum()), 1.0)
        self.mean_product = stack.scores(eta, share) - (stack.diagonal @ eta) * share  # <x_i, m>
        self.mean_sqnorm = float(self.mean_product @ share)  # |m|^2
        self.bias += float(self.mean_product @ self.z)
        self.squares = stack.squares @ eta - 2 * self.mean_product + self.mean_sqnorm  # |x_i - m|^2
        self.s = _RELATIVE_S * float(self.squares[self.squares > 0].mean()) if self.squares.any() else 1.0
        normals = stack.normals(start.z)
        self.w = np.concatenate([eta[v] * normals[v] for v in used] + [np.zeros(0)])
        self.addresses = np.array([Phi.ctypes.data for Phi in self.factors], dtype=np.intp)
        self.widths = np.array([Phi.shape[1] for Phi in self.factors], dtype=np.int64)
        self.zero = np.zeros(1, dtype=stack.dtype)  # from which Numba infers the type of the factors
        self.rest = np.zeros((2, stack.n), dtype=np.int8)  # passes left to rest, and how many next time
        self.rng = np.random.default_rng(0)

    def run(self, passes: int) -> None:
        """Descend for a number of passes over the samples."""
        box = self.box
        for _ in range(passes):
            self.bias = _run_pass(
                self.zero, self.addresses, self.widths, self.place, self.scale, self.eta, self.squares,
                self.mean_product, self.mean_sqnorm, self.diagonal, self.s, box.t, box.lo, box.hi, box.eps,
                self.z, self.w, self.bias, *self.rest, self._draw_order(),
            )  # fmt: skip
        self.passes += passes

    def _draw_order(self) -> Array:
        """Blocks of neighbours in random order, and random within."""
        n, width = len(self.z), min(_BLOCK, max(1, len(self.z) // 64))
        inside = self.rng.permutation(width)
        order = (width * self.rng.permutation(-(-n // width))[:, None] + inside).ravel()
        return order[order < n]


# ------------------------------------------------------------------------------------ compiled loops


def _compile(function: Callable[..., Any], fastmath: Any = False) -> Any:
    """Compile at the first call; other threads run beside it."""
    try:
        return njit(cache=True, nogil=True, fastmath=fastmath)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available"
        return njit(nogil=True, fastmath=fastmath)(function)


_compile_fast = partial(_compile, fastmath=_FAST)


def _as_pointer(_context, _address):  # type: ignore[no-untyped-def]
    """An address as a pointer: how many views there are is not known when loops are compiled."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.voidptr(types.intp), generate


_pointer: Any = intrinsic(_as_pointer)


@_compile_fast
def _dot(row, w):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(row)):
        total += row[k] * w[k]
    return total


@_compile_fast
def _add_scaled(w, weight, row):  # type: ignore[no-untyped-def]
    for k in range(len(row)):
        w[k] += weight * row[k]


@_compile
def _run_pass(  # type: ignore[no-untyped-def]
    zero, addresses, widths, place, scale, eta, squares, mean_product, mean_sqnorm, diagonal, s, t, lo, hi,
    eps, z, w, bias, rest, streak, order,
):  # fmt: skip
    """One coefficient after the other in `order`; `z`, `w`, `rest`, `streak` change in place.

    Returns the bias.
    """
    total, shift, n_views = z.sum(), mean_product @ z, len(eta)
    for i in order:
        if rest[i] > 0:
            rest[i] -= 1
            continue
        if lo[i] == hi[i]:
            continue
        f, offset = 0.0, 0
        for v in range(n_views):
            r, d = place[i, v], widths[v]
            if r >= 0:
                row = carray(_pointer(addresses[v] + r * d * zero.itemsize), d, zero.dtype)
                f += _dot(row, w[offset : offset + d])
            offset += d
        f = scale[i] * f + diagonal[i] * z[i] - shift + total * (mean_sqnorm - mean_product[i] + s) + bias
        h = squares[i] + s
        u = z[i] + (t[i] - f) / h
        if eps > 0:
            u = max(u - eps / h, 0.0) if u > 0 else min(u + eps / h, 0.0)
        u = min(max(u, lo[i]), hi[i])
        delta = u - z[i]
        if delta == 0.0:
            streak[i] = min(streak[i] + 1, _MAX_REST)
            rest[i] = streak[i]
            continue
        streak[i] = 0
        z[i] = u
        total += delta
        shift += delta * mean_product[i]
        offset = 0
        for v in range(n_views):
            r, d = place[i, v], widths[v]
            if r >= 0:
                row = carray(_pointer(addresses[v] + r * d * zero.itemsize), d, zero.dtype)
                _add_scaled(w[offset : offset + d], eta[v] * scale[i] * delta, row)
            offset += d
    return bias + s * total
