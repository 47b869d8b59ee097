"""Multi-view kernel completion: views agree in how samples are made of one another, or in their kernels.

Reference
---------
S. Bhadra, S. Kaski, J. Rousu. Multi-view kernel completion. Machine Learning 106, 713-739, 2017;
arXiv:1602.02518.

Model
-----
Each view is near a mixture of the other views, with weights that are learned with the completion.  In the
variants ``"ht"`` and ``"app"`` a sample is moreover a combination of samples that have the view, few of
them for the whole view: ``K^_v = A_v K_v A_v'``, so a missing row is a row of coefficients.

Objective
---------
With V views, N samples, I_v the n_v samples that have view v, kernels of unit mean diagonal, and S the
weights of views (rows non-negative, adding up to one, nothing on the diagonal):

    within   = 1/V sum_v |K_v - (K^_v on I_v)|^2 / n_v^2
    between  = 1/(V N) sum_v |A_v - sum_u S_vu A_u|^2         ht: views agree in coefficients
             = 1/V sum_v |K^_v - sum_u S_vu K^_u|^2 / N^2     app, sdp: they agree in kernels
    L21      = 1/V sum_v sum_c |A_v(:, c)|

    ht, app: c1 within + c2 between + c3 L21 over A and S, columns of A_v outside I_v being zero;
    sdp:     c2 between over S and all positive semidefinite K^_v that keep the observed block.

What is returned keeps the observed block and is positive semidefinite
----------------------------------------------------------------------
In ht and app, the learned A_v is only near the identity on I_v.  The completed kernel is made with rows of
observed samples exactly the identity, ``A~ = [I; A_v of missing samples]``: then ``A~ K_v A~'`` is K_v
itself on I_v, and ``x' A~ K A~' x = (A~'x)' K (A~'x) >= 0``.  (With `center`, A holds coefficients of
deviations from the mean and ``A + (1 - A 1) 1'/n`` those of the samples; the argument is the same.)  Where
the learned A_v is a Nystrom projection nothing changes by this: with basis J and ``A = K_IJ K_JJ^-1`` on I,
a missing row a, zero outside J, has ``a K A' = a_J K_JJ K_JJ^-1 K_JI = a K``.

In sdp, every positive semidefinite kernel that keeps the block ``K_v = C C'`` is ``F F'`` with
``F = [[C, 0], [Y, Z]]``; Y and Z are what is sought, so nothing has to be repaired.

Algorithm
---------
For given A (or Y, Z) each row of S is a small least-squares problem on a simplex, solved exactly
(``_problem._simplex_minimum``).  So S is always at its best, and what remains is
lowered by quasi-Newton steps with a line search, from a start whose missing rows are in closed form;
proximal steps set columns to zero.  The objective never rises.

New samples
-----------
Everything learned is held fixed and the same objective, with the new row added, is minimised over the new
row alone (``_variants``).  In a view that the sample has, its coefficients are those
that reproduce its kernel row from training samples; in a view that it lacks, those that agree with them.

Departures from the paper
-------------------------
* ``center=True``: kernels are centred on their observed samples first, and the mean is put back at the end,
  so that all shrinkage is towards the mean sample and not the zero vector.  Without it kernels with a large
  mean (any RBF kernel) are imputed too small; ``center=False`` is the paper's.
* ``between="all"``: app and sdp compare kernels on all samples.  The paper compares them on I_v only
  (``between="observed"``); then nothing asks that a missing row be a mixture of the other views' rows, and
  it is only used to explain what other views leave unexplained.
* The between-view loss of kernels is divided by the number of entries, as the within-view loss is.
* In sdp the observed block is kept, so there is no within-view loss.
* Kernels are divided by their mean (centred) diagonal inside; the weights c1, c2, c3 then mean the same
  whatever a kernel's scale.
* Samples without any view are left out of the fit and become the mean sample; so does, in a view, a sample
  that no chain of views links with those who have it.
* Samples and views are first brought into an order that the kernels decide, so that the order in which they
  came changes nothing.  app is not convex and drops whole columns on its way, so that rounding grows over
  its hundred steps: noise of 1e-14 in the kernels has moved the objective by 1e-4 of it and the completed
  kernels by up to 6e-2 (90 digits, six views).  ht and sdp agree with themselves to 1e-9.

What to expect
--------------
The joint objective is at odds with itself: coefficients that are free can be made to agree pairwise, so S
tends to pair views up, and a sample that both of a pair lack is then left at the mean.  A lower objective
need not be a better completion.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from functools import cached_property
from typing import Literal

import numpy as np

from absentia.core import Array, Iterative, NonNegative, Positive, PositiveInt, estimator
from absentia.core.linalg import invert_permutation
from absentia.core.optimize import Callback, DescentState, StoppingRule, iterate
from absentia.data import KernelViews, order_for_learning
from absentia.methods.completion._base import Basis, Coordinates, SubspaceCompleter
from absentia.methods.completion.mkc._problem import (
    KernelCoordinates,
    MKCProblem,
    MKCState,
    NewRows,
    make_step,
)
from absentia.methods.completion.mkc._variants import Approximate, FreeKernels, Heterogeneous

_VARIANTS: Mapping[str, type[Heterogeneous | Approximate | FreeKernels]] = {
    "ht": Heterogeneous,
    "app": Approximate,
    "sdp": FreeKernels,
}
#: Steps are uneven: so many in a row have to be small before the descent stops.
_PATIENCE = 3


@estimator
class MKC(Iterative, SubspaceCompleter):
    """Multi-view kernel completion: each view is near a mixture of the others.

    Every completed kernel keeps its observed block to the last bit and is positive semidefinite (if the
    observed block is).  Memory grows with views x samples^2 and a step's cost with views x samples^3: meant
    for hundreds of samples, not for thousands.

    Parameters
    ----------
    variant : {"ht", "app", "sdp"}, default "ht"
        ``"ht"``: views agree in the coefficients that make a sample of others, which suits kernels of
        different kinds; ``"app"``: they agree in the kernels those coefficients give; ``"sdp"``: they agree
        in kernels that are free otherwise, the quickest here.
    c1, c2, c3 : float
        Weights of the within-view loss, of the between-view loss, and of the penalty that leaves few
        samples to combine.  ``"sdp"`` has the between-view loss only.
    center : bool, default True
        Shrink towards the mean sample, by centring kernels inside; False shrinks towards zero, as the
        paper does.
    between : {"all", "observed"}, default "all"
        On which samples ``"app"`` and ``"sdp"`` compare a view's kernel with the others': all, or those
        that have the view (the paper).  With ``"observed"`` new samples cannot be completed.
    tol : float, default 1e-4
        Stop when the objective's relative change stays below for three steps; 0 makes all steps.
    max_iter : int, default 500
        Stop after so many iterations at the latest.
    callback, verbose
        As in :class:`EMFill`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views, n_views)
        S: row v holds the weights of the other views in the mixture that stands for view v.  A view that
        nobody has has no weights, and none in others' mixtures.
    basis_ : dict
        By view, the ids of the samples that combinations are made of; in ``"sdp"`` all that have the view.
    view_scales_ : ndarray of shape (n_views,)
        Mean (centred) diagonal of each observed kernel, by which it is divided inside.
    objective_ : ndarray
        Objective after each step; never rises.
    n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MKC, ViewKernels, datasets, missingness
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> mkc = MKC("sdp")
    >>> bool(mkc.fit_transform(kernels).observed.all())
    True
    >>> mkc.weights_.shape
    (6, 6)
    """

    variant: Literal["ht", "app", "sdp"] = "ht"
    _: KW_ONLY
    c1: Positive = 1.0
    c2: Positive = 1.0
    c3: NonNegative = 1e-3
    center: bool = True
    between: Literal["all", "observed"] = "all"
    tol: NonNegative = 1e-4
    max_iter: PositiveInt = 500
    callback: Callback | None = None
    verbose: bool = False

    _links = "chained"

    # ------------------------------------------------------------------------------------- fitting

    def _fit_model(self, X: KernelViews) -> None:
        _check_views(X)
        views, order = order_for_learning(X)
        self._views, self._groups = views.tolist(), X.components()
        self._samples = order[self._groups[order] >= 0]
        self._observed = X.observed
        self._kernel_coordinates = self._make_kernel_coordinates(X)
        # free rows lie along directions whose signs no kernel tells again: files keep these
        free = self.variant == "sdp"
        self._directions = self._kernel_coordinates if free else None
        self._train = None if free else X
        solution = iterate(
            make_step(self._model),
            lambda state: state.at.value,
            MKCState(DescentState(self._model.evaluate(self._model.start()))),
            stop=StoppingRule(self.tol, patience=_PATIENCE),
            max_iter=self.max_iter,
            callback=self._make_callback(),
        )
        self._set_convergence(solution)
        self._point, self._S = solution.state.at.point, solution.state.at.S
        self._describe(X)

    def _make_kernel_coordinates(self, X: KernelViews) -> dict[str, KernelCoordinates]:
        """Coordinates of the samples that have a view, by view, from the training kernels `X`."""
        made = {}
        for v in self._views:
            order, K = self._order_within(X.observed[:, v]), X.block(X.names[v])
            coordinates = KernelCoordinates.of(K[np.ix_(order, order)], self.center)
            made[X.names[v]] = coordinates.reorder(invert_permutation(order))
        return made

    @cached_property
    def _kernel_coordinates(self) -> dict[str, KernelCoordinates]:
        """Made again when first used: in a file, kernels stand for them."""
        return self._directions or self._make_kernel_coordinates(self._require_training_kernels())

    @cached_property
    def _model(self) -> Heterogeneous | Approximate | FreeKernels:
        """The objective, with the samples in the order of the problem."""
        parts = zip(self._views, self._kernel_coordinates.values(), strict=True)
        # column by column, as eigenvectors come
        C = [np.asfortranarray(view.C[self._order_within(self._observed[:, v])]) for v, view in parts]
        observed = self._observed[self._samples][:, self._views]
        c1, c2, c3 = float(self.c1), float(self.c2), float(self.c3)
        return _VARIANTS[self.variant](
            MKCProblem(C, observed, c1, c2, c3, on_all_samples=self.between == "all")
        )

    def _order_within(self, present: Array) -> Array:
        """Positions, among the samples that have a view, of the same in the order of the problem."""
        return np.searchsorted(np.flatnonzero(present), self._samples[present[self._samples]])

    def _describe(self, X: KernelViews) -> None:
        """Fitted attributes."""
        self.weights_ = np.zeros((X.n_views, X.n_views))
        self.weights_[np.ix_(*[np.array(self._views)] * 2)] = self._S
        self.view_scales_ = np.ones(X.n_views)
        self.view_scales_[self._views] = [view.scale for view in self._kernel_coordinates.values()]
        used = self._model.used_samples(self._point)
        parts = zip(self._kernel_coordinates, used, strict=True)
        ids = {name: X.ids[np.sort(self._samples[mask])] for name, mask in parts}
        self.basis_ = {name: ids[name] for name in X.names if name in ids}

    @cached_property
    def _coordinates(self) -> list[Coordinates]:  # type: ignore[override]
        """Of all missing samples, from where the descent ended."""
        coordinates, samples = _zero_coordinates(self._observed), self._samples
        F = self._model.coordinates(self._point)
        for v, view, f in zip(self._views, self._kernel_coordinates.values(), F, strict=True):
            y = view.mean_coordinates(len(self._observed), f.shape[1])
            linked = self._groups[samples] == self._group_of(self._observed[:, v])
            y[samples[linked]] = f[linked]
            coordinates[v] = view.to_coordinates(y[~self._observed[:, v]])
        return coordinates

    @cached_property
    def _bases(self) -> list[Basis]:  # type: ignore[override]
        """Made when first used: in a file, coordinates stand for them."""
        bases = [
            Basis(C, C, np.zeros((0, 0)))
            for C in (np.zeros((int(n), 0)) for n in self._observed.sum(axis=0))
        ]
        for v, view in zip(self._views, self._kernel_coordinates.values(), strict=True):
            bases[v] = view.to_basis(self._coordinates[v].W.shape[1] - 1)
        return bases

    def _group_of(self, present: Array) -> int:
        """The group of samples that a view is about; those that have it are all in one."""
        return int(self._groups[np.argmax(present)])

    # ------------------------------------------------------------------------------- new samples

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        if self.between == "observed" and self.variant != "ht":
            raise NotImplementedError(
                f"MKC({self.variant!r}, between='observed') cannot complete new samples: kernels are then "
                "compared only where they are observed, which says nothing of the row of a sample in a "
                "view it lacks; use between='all', variant='ht', or fit_transform on old and new together"
            )
        y, square = self._model.locate_new(self._point, self._S, self._new_rows(X))
        coordinates = _zero_coordinates(X.observed)
        for k, (v, view) in enumerate(zip(self._views, self._kernel_coordinates.values(), strict=True)):
            unlinked, absent = self._find_unlinked(X, v), ~X.observed[:, v]
            y[k][unlinked] = view.mean_coordinates(int(unlinked.sum()), y[k].shape[1])
            square[unlinked, k] = np.einsum("ij,ij->i", y[k][unlinked], y[k][unlinked])
            coordinates[v] = view.to_coordinates(y[k][absent], square[absent, k])
        return coordinates

    def _new_rows(self, X: KernelViews) -> NewRows:
        """New samples as the model wants them: the views that were fitted, in coordinates."""
        observed = X.observed[:, self._views]
        centered, C, square = [], [], np.zeros(observed.shape)
        parts = zip(self._kernel_coordinates.items(), observed.T, strict=True)
        for k, ((name, view), present) in enumerate(parts):
            rows = np.asarray(X.block(name), dtype=np.float64)
            centered.append(np.zeros((len(X), len(view.C))))
            C.append(np.zeros((len(X), view.rank)))
            order = self._order_within(self._observed[:, self._views[k]])
            centered[k][present], C[k][present] = view.center_rows(rows)[:, order], view.locate(rows)
            norms = view.squared_norms(rows, X.diagonal(name))
            square[present, k] = np.nan_to_num(norms, nan=1.0)  # if unknown
        return NewRows(observed, centered, C, square)

    def _find_unlinked(self, X: KernelViews, v: int) -> Array:
        """New samples of which nothing can be said in a view: none of their views is linked with it."""
        group = self._group_of(self._observed[:, v])
        linked = [self._group_of(self._observed[:, u]) == group for u in self._views]
        return ~(X.observed[:, self._views] & np.array(linked)).any(axis=1)


# ------------------------------------------------------------------------------------- small pieces


def _zero_coordinates(observed: Array) -> list[Coordinates]:
    """Coordinates without axes, where every absent sample is zero: those of views that nobody has."""
    return [Coordinates(np.zeros((int(n), 0)), np.zeros(n)) for n in (~observed).sum(axis=0)]


def _check_views(X: KernelViews) -> None:
    """Raise unless two views are had by somebody, or nothing can be learned from the others."""
    present = [v for v in range(X.n_views) if X.observed[:, v].any()]
    if len(present) < 2:
        had = f"only view {X.names[present[0]]!r} is" if present else "no view is"
        raise ValueError(
            f"MKC completes a view from the others, but {had} observed for any sample; "
            "two are wanted, or a completer such as MeanFill"
        )
    for v in present:
        if not X.diagonal(X.names[v]).any():
            raise ValueError(
                f"view {X.names[v]!r}: the kernel is zero for every sample; leave the view out"
            )
