"""Mutual kernel matrix completion with several model kernels, each behind some of the views.

Rivero & Kato (2018) take all views to deviate from one model kernel.  Where views come in groups that do
not show the same (sequences and expression, say), the one model is a compromise.  Here a view belongs to
one of several models, each drawn towards the model of all views; objective and algorithm are in
``_mixing``.  With one model, which hiding may choose, it is :class:`MKMC`.

Two things were found on the way, and are why this is more than a sum over groups.  The papers' weight of
the prior, 1e-3 of a view, leaves the loadings of samples that few views see almost free, and the fewer the
views behind a model the more that costs: the prior is chosen by hiding too.
And a low-rank model with enough factors separates groups by itself, since each view weighs the factors in
its own way: several models help where ranks are short of that, or samples few.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY
from math import inf
from typing import Literal, NamedTuple, TypeVar
from warnings import catch_warnings, filterwarnings

import numpy as np

from absentia.core import (
    Array,
    Callback,
    Iterative,
    LowRankPlusDiagonal,
    NonNegative,
    PositiveInt,
    RandomState,
    estimator,
    inverse,
)
from absentia.data import AbsenceWarning, KernelViews, ordering
from absentia.methods.completion._holdout import Holdout
from absentia.methods.completion._subspace import Basis, Coordinates, SubspaceCompleter
from absentia.methods.completion.mkmc import _fast, _mixing, _views
from absentia.methods.completion.mkmc._estimator import MKMC, _warn_of_gaps
from absentia.methods.completion.mkmc._fast import Seen
from absentia.methods.completion.mkmc._foldin import Latent, Row
from absentia.methods.completion.mkmc._mixing import Mixed, Part, Terms
from absentia.methods.completion.mkmc._selection import SHORT_STEPS, SHORT_TOL
from absentia.methods.completion.mkmc._views import in_memory

#: Numbers of models, pulls and priors that are tried, the simplest first.
MODELS, PULLS, PRIORS = (2, 3, 4), (1.0, 0.3, 0.0), (10.0, 3.0, 1.0, 0.3, 0.1, 0.01, 0.001)
#: With this prior the form is chosen where the prior is chosen after it; pull and prior (the papers') where
#: nothing can be hidden.
USUAL_PRIOR, USUAL_PULL, PAPERS_PRIOR = 1.0, 1.0, 1e-3
#: Relative noise of differences of errors, times the square root of the number of hidden samples.
NOISE = 0.03

Key = tuple[int, float]
Choice = TypeVar("Choice")


def first_enough(errors: Mapping[Choice, float], n_hidden: int) -> Choice:
    """The first that is as good as the best but for noise."""
    enough = min(errors.values()) * (1 + NOISE / np.sqrt(max(n_hidden, 1)))
    return next(key for key, error in errors.items() if error <= enough)


class Form(NamedTuple):
    """What all models share: an unfitted model that knows its form, and the samples with some view."""

    mkmc: MKMC
    seen: Array

    def views(self, X: KernelViews) -> list[Seen]:
        return self.mkmc._seen(X, self.seen)

    def whole(self, X: KernelViews, mixed: Mixed, pull: float) -> list[LowRankPlusDiagonal]:
        """The models over all samples, zero between those whom nothing links."""
        found = []
        for c, model in enumerate(mixed.models):
            own = [name for name, z in zip(X.names, mixed.members, strict=True) if z == c]
            groups = (X if pull else X.select(own)).components()[self.seen]
            W = np.where((groups >= 0)[:, None], model.W, 0.0)
            apart = LowRankPlusDiagonal(W, model.d).decouple(groups)
            found.append(
                LowRankPlusDiagonal(apart.W[:, apart.W.any(axis=0)], apart.d).pad(self.seen, len(X))
            )
        return found

    def locate(
        self, X: KernelViews, models: Sequence[LowRankPlusDiagonal], members: Array
    ) -> tuple[list[Latent], list[Basis], list[Coordinates]]:
        """What each view says of its model's factors, the axes that these are, and places along them."""
        latents = [self.mkmc._latents_of(X, model) for model in models]
        located = [
            self.mkmc._locate_absent(X, model, own) for model, own in zip(models, latents, strict=True)
        ]
        of = list(enumerate(members.tolist()))
        bases, coordinates = [located[c][0][k] for k, c in of], [located[c][1][k] for k, c in of]
        return [latents[c][k] for k, c in of], bases, coordinates


@estimator
class MixtureMKMC(Iterative, SubspaceCompleter):
    """Mutual kernel matrix completion with a model kernel for each group of views.

    Groups are found from the kernels and drawn towards a model that is common to all views.  Completed
    kernels keep their observed block to the last bit and are positive semidefinite.  It takes up to
    four times as long as :class:`MKMC`.

    Parameters
    ----------
    n_models : int or "heldout", default "heldout"
        Number of groups; no more than there are views.  ``"heldout"`` hides a tenth of each view's observed
        samples and takes, of 1 to 4 (and with each the `pull`), what completes them best; of those that
        differ by noise only the fewest.
    covariance : {"pca", "fa"}, default "pca"
        ``"pca"``: low rank plus equal noise; ``"fa"``: low rank plus each sample's own noise.
    n_components : int, "auto", "gk", "kaiser" or "heldout", default "auto"
        Rank of every model, as in :class:`MKMC`.
    center : bool or "auto", default "auto"
        Take each kernel about its mean, as in :class:`MKMC`.
    pull : float or "heldout", default "heldout"
        How many views the common model counts for in each group.  0: groups are fitted by themselves, and
        samples that only other groups have are left to the prior.
    prior : float or "heldout", default "heldout"
        How many views the identity kernel counts for in each group, as in :class:`MKMC`.  ``"heldout"``
        takes, of 10, 3, 1, ... .001, the largest with which one model completes hidden samples best but for
        noise; where nothing can be hidden it is .001, as in :class:`MKMC`.
    tol : float, default 1e-6
        Stop when the objective's relative change falls below; 0 runs all iterations.
    max_iter : int, default 500
        Stop after so many iterations at the latest.
    random_state : int, Generator, RandomState or None
        As in :class:`MKMC`.  None: the fixed seed 0.
    callback, verbose : callable or None, bool
        Gets a :class:`absentia.core.Progress` each iteration, True stops; lines on stderr now and then.

    Attributes
    ----------
    n_models_ : int
        Number of groups that have views in the end.
    memberships_ : dict
        Number of the model of each view, by its name.
    models_ : list of operator
        The model kernels over all training samples, in units of each view's mean diagonal.
    common_ : MKMC
        The fitted model of all views.
    pull_, prior_, n_components_, center_ : float, float, int, bool
        What was chosen; with one model `pull_` is infinite.
    heldout_curve_ : dict
        Error by (number of models, pull), where one of them is chosen.
    heldout_priors_ : dict
        Error by prior, where it is chosen.
    objective_ : ndarray
        Penalised objective after each iteration; never rises beyond rounding.
    n_evaluations_, n_iter_, converged_, status_, names_in_, ids_

    Examples
    --------
    >>> from absentia import MixtureMKMC, ViewKernels, datasets, missingness
    >>> views = datasets.load_digit_views(n_samples=60).views
    >>> kernels = ViewKernels().fit_transform(views.hide(missingness.mcar(views, 0.3, random_state=0)))
    >>> mixture = MixtureMKMC(2, n_components=5, prior=1.0, pull=1.0)
    >>> bool(mixture.fit_transform(kernels).observed.all()), mixture.n_models_
    (True, 2)
    """

    n_models: PositiveInt | Literal["heldout"] = "heldout"
    _: KW_ONLY
    covariance: Literal["pca", "fa"] = "pca"
    n_components: PositiveInt | Literal["auto", "gk", "kaiser", "heldout"] = "auto"
    center: bool | Literal["auto"] = "auto"
    pull: NonNegative | Literal["heldout"] = "heldout"
    prior: NonNegative | Literal["heldout"] = "heldout"
    tol: NonNegative = 1e-6
    max_iter: PositiveInt = 500
    random_state: RandomState = None
    callback: Callback | None = None
    verbose: bool = False

    _remedy = " (look for kernels that are nearly singular, or raise the prior)"

    _along_bases = False  # new samples are placed by the models, those that have a view too

    # ------------------------------------------------------------------------------------- fitting

    def _learn(self, X: KernelViews) -> None:
        groups = X.components()
        if not (groups >= 0).any():
            raise ValueError("no sample has any view; there is nothing to learn from")
        form = self._form(X, np.flatnonzero(groups >= 0))
        trial = Holdout.of(X, self.random_state)
        self._choose_prior(form, trial)
        n_models, self.pull_ = self._choose_mixture(X, form, trial)
        _warn_of_gaps(groups, "what the views' means say" if self.center_ else "zero")
        alone = n_models == 1
        self.common_ = self._make(
            n_components=self.n_components_,
            center=self.center_,
            prior=self.prior_,
            callback=self.callback if alone else None,
            verbose=self.verbose and alone,
        )
        with catch_warnings():
            filterwarnings("ignore", category=AbsenceWarning)  # said of the whole already
            filterwarnings("ignore", message="with .* components")  # where it is chosen, nothing is better
            self.common_.fit(X)
        mixed = None if alone else self._fit_mixture(X, form, n_models)
        if mixed is None or len(mixed.models) == 1:  # or all views went to one model in the end
            self._take_common(X)
        else:
            self._take_mixture(X, form, mixed)

    def _make(self, **options: object) -> MKMC:
        given = {name: getattr(self, name) for name in ("tol", "max_iter", "random_state")}
        return MKMC(self.covariance, **{**given, **options})

    def _form(self, X: KernelViews, seen: Array) -> Form:
        """Rank, and whether kernels are taken about their means, chosen as for one model."""
        self.prior_ = USUAL_PRIOR if self.prior == "heldout" else float(self.prior)
        mkmc = self._make(n_components=self.n_components, center=self.center, prior=self.prior_)
        mkmc._train, mkmc._numbers = X, inverse(ordering(X).among(seen))
        mkmc._choose_form(X, seen)
        assert mkmc.n_components_ is not None
        self.center_, self.n_components_ = mkmc.center_, mkmc.n_components_
        return Form(mkmc, seen)

    def _take_common(self, X: KernelViews) -> None:
        """One model for all views."""
        common = self.common_
        for name in ("n_iter_", "objective_", "converged_", "status_", "n_evaluations_"):
            setattr(self, name, getattr(common, name))
        self.n_models_, self.memberships_ = 1, dict.fromkeys(X.names, 0)
        self.pull_, self.models_ = inf, [self._common_model()]
        self._latents, self._bases, self._coordinates = common._latents, common._bases, common._coordinates

    def _fit_mixture(self, X: KernelViews, form: Form, n_models: int) -> Mixed:
        """So many models or fewer, from groups of views that are alike."""
        return _mixing.mix(
            form.views(X),
            _mixing.groups_of(X, _mixing.alignments(X), n_models),
            Terms(self._common_model().principal(form.seen), self.pull_, self.prior_),
            form.mkmc._solver().noise(),
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            callback=self._watch(),
        )

    def _take_mixture(self, X: KernelViews, form: Form, mixed: Mixed) -> None:
        """A model for each group."""
        self._record(mixed.solution)
        self.n_evaluations_ = self.common_.n_evaluations_ + mixed.n_evaluations
        self.models_, self.n_models_ = form.whole(X, mixed, self.pull_), len(mixed.models)
        self.memberships_ = dict(zip(X.names, mixed.members.tolist(), strict=True))
        self._latents, self._bases, self._coordinates = form.locate(X, self.models_, mixed.members)
        self._moved = _views.have_spread(X) if self.center_ else [False] * X.n_views

    def _common_model(self) -> LowRankPlusDiagonal:
        model = self.common_.model_
        assert isinstance(model, LowRankPlusDiagonal)
        return model

    # ------------------------------------------------------------------------------------ choosing

    def _choose_prior(self, form: Form, trial: Holdout) -> None:
        self.heldout_priors_ = {}
        if self.prior == "heldout" and not self._judges(trial):
            self.prior_ = PAPERS_PRIOR
        elif self.prior == "heldout":
            self.heldout_priors_ = trial.curve(PRIORS, lambda p: self._short(form, trial, p)[1], 2)
            self.prior_ = float(first_enough(self.heldout_priors_, trial.n_hidden))
        form.mkmc.set_params(prior=self.prior_)

    def _choose_mixture(self, X: KernelViews, form: Form, trial: Holdout) -> Key:
        """The number of models and the pull that best complete what is hidden."""
        most = int(X.observed.any(axis=0).sum())
        wanted = MODELS if self.n_models == "heldout" else (int(self.n_models),)
        numbers = sorted({min(n, most) for n in wanted} - {1})
        pulls = PULLS if self.pull == "heldout" else (float(self.pull),)
        self.heldout_curve_: dict[Key, float] = {}
        given = self.n_models != "heldout"
        if not numbers:
            return 1, inf
        if given and len(pulls) == 1:
            return numbers[0], pulls[0]
        if not self._judges(trial):
            usual = USUAL_PULL if self.pull == "heldout" else float(self.pull)
            return (numbers[0], usual) if given else (1, inf)
        for key, error in self._errors(form, trial, numbers, pulls):
            if not (given and key[0] == 1):
                self.heldout_curve_[key] = error
        return first_enough(self.heldout_curve_, trial.n_hidden)

    def _errors(
        self, form: Form, trial: Holdout, numbers: Sequence[int], pulls: Sequence[float]
    ) -> Iterator[tuple[Key, float]]:
        """Of one model and of several, until a number of them is no better than those before."""
        part, noise = trial.part, form.mkmc._solver().noise()
        common, completed = self._short(form, trial, self.prior_)
        best = trial.error(completed)
        yield (1, inf), best
        likeness, views = _mixing.alignments(part), form.views(part)
        for n in numbers:
            found = []
            members = _mixing.groups_of(part, likeness, n)
            for pull in pulls:
                terms = Terms(common, pull, self.prior_)
                mixed = _mixing.mix(views, members, terms, noise, tol=SHORT_TOL, max_iter=SHORT_STEPS)
                _, bases, coordinates = form.locate(part, form.whole(part, mixed, pull), mixed.members)
                error = trial.error(part.completed(self._complete_square(part, bases, coordinates)))
                found.append(error)
                yield (n, pull), error
            if min(found) >= best:
                return
            best = min(found)

    def _short(self, form: Form, trial: Holdout, prior: float) -> tuple[LowRankPlusDiagonal, KernelViews]:
        """One model by a short run on what is not hidden, and what it completes."""
        mkmc, q = form.mkmc.set_params(prior=prior), self.n_components_
        runs = mkmc._short_runs(trial.part, mkmc._numbers, q)
        point = runs(q)
        return _fast.as_operator(runs.problem, point), mkmc._completed_part(trial.part, runs.problem, point)

    def _judges(self, trial: Holdout) -> bool:
        return trial.n_hidden > 0 and in_memory(trial.part)

    # --------------------------------------------------------------------------------- new samples

    def _find_coordinates(self, X: KernelViews) -> list[Coordinates]:
        """Fold each new sample into the common model, and from there and its views into the others."""
        if self.n_models_ == 1:
            return self.common_._find_coordinates(X)
        common, everyone = self._common_model(), np.ones(len(X), dtype=bool)
        views = range(X.n_views)
        rows = [self._row(X, v, common)[0] for v in views]
        seen = [Part(1.0, latent, row) for latent, row in zip(self.common_._latents, rows, strict=True)]
        w, d, _ = self._folded(X, common, seen)
        of_common = np.einsum("ij,ij->i", w, w) + d
        coordinates: dict[int, Coordinates] = {}
        for c, model in enumerate(self.models_):
            own = {v: self._row(X, v, model) for v in views if self.memberships_[X.names[v]] == c}
            parts = [Part(1.0, self._latents[v], row) for v, (row, _) in own.items()]
            if self.pull_:
                F = model.W / model.d[:, None]
                latent = Latent.of(Seen(common, np.arange(len(common.d))), F, model)
                parts.append(Part(self.pull_, latent, Row(w @ (common.W.T @ F), of_common, everyone)))
            w_own, d_own, G = self._folded(X, model, parts)
            for (v, (_, level)), G_view in zip(own.items(), G, strict=False):
                scale, present = self.common_.view_scales_[v], X.observed[:, v]
                position = Coordinates(w_own[~present], scale * d_own[~present], scale * G_view[present])
                moved = level is not None
                coordinates[v] = _views.from_mean(position, self._bases[v], level) if moved else position
        return [coordinates[v] for v in views]

    def _row(self, X: KernelViews, v: int, model: LowRankPlusDiagonal) -> tuple[Row, Array | None]:
        """New samples in a view along a model's factors; if it was centred, their values with its mean."""
        F, present, old = model.W / model.d[:, None], X.observed[:, v], self._observed[:, v]
        K, own_values = X.operator(X.names[v]), X.diagonal(X.names[v])
        A, own, level = np.zeros((len(X), F.shape[1])), np.zeros(len(X)), None
        if self._moved[v]:
            found = _views.rows_about_mean(K, own_values, F[old], self._bases[v])
            A[present], own[present], level = found
        else:
            A[present], own[present] = K @ F[old], own_values
        scale = self.common_.view_scales_[v]
        return Row(A / scale, own / scale, present), level

    def _folded(
        self, X: KernelViews, model: LowRankPlusDiagonal, parts: list[Part]
    ) -> tuple[Array, Array, list[Array]]:
        """Loadings and noise of new samples; of those without any view none, and a variance of one."""
        F, n, q = model.W / model.d[:, None], len(X), model.W.shape[1]
        identity = Row(np.zeros((n, q)), np.ones(n), np.ones(n, dtype=bool))
        prior = Part(self.prior_, Latent.of_prior(F, model), identity)
        trained = self._observed.any(axis=1)
        noise = float(model.d[trained].mean()) if self.covariance == "pca" else None
        w, d, G = _mixing.fold_in([*parts, prior], noise)
        d[~X.observed.any(axis=1)] = 1.0
        return w, d, G
