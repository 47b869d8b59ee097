"""From views to kernels, and from kernels to one kernel.

:class:`ViewKernels` computes one kernel per view over the samples that have it; everything it learns
(means and scales of features, widths, centring, normalisation) comes from training samples and is
applied to new ones.  :class:`CombineKernels` adds the kernels up into one matrix for any estimator
that takes ``kernel="precomputed"``; an absent view counts as zero.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, fields, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from absentia.core import (
    Array,
    Dense,
    Estimator,
    Gram,
    Operator,
    Positive,
    PositiveInt,
    RandomState,
    copy_with,
    estimator,
    get_parameters,
    make_generator,
    warn,
)
from absentia.core.linalg import inverse_sqrt, symmetrize
from absentia.data import (
    MAX_DEVIATION,
    AbsenceWarning,
    ChunkedTable,
    Coding,
    KernelViews,
    Presence,
    Views,
    check_kernel,
    input_error,
    show_id,
)
from absentia.kernels._fitting import (
    FactorMap,
    FeatureKernel,
    KernelNormalizer,
    KernelOptions,
    decide_approx,
    squared_norms,
)


@estimator
class ViewKernels(TransformerMixin, Estimator):  # type: ignore[misc]
    """One kernel per view, over the samples that have it.

    Parameters
    ----------
    kernel : str or callable, default "rbf"
        ``"rbf"``, ``"laplacian"``, ``"linear"``, ``"polynomial"``, ``"chi2"``, ``"cosine"``,
        ``"jaccard"``, ``"tanimoto"``, a function of two matrices, or ``"precomputed"`` for
        :class:`KernelViews` input, which is then only centred and normalised.
    gamma : float or "median", default "median"
        Width of rbf, laplacian and chi2: ``exp(-gamma * distance)``, the distance being squared for
        rbf.  ``"median"`` takes one over the median distance between observed training samples.
    standardize : bool, default True
        Subtract each feature's mean and divide by its deviation, both over observed training rows.
        Kernels of counts, sets and directions (chi2, cosine, jaccard, tanimoto) never do; sparse
        views are divided but not shifted.
    clip : float or None, default 3
        Standardised features beyond so many deviations, of training and new samples alike, are set to it: a
        rare value neither outweighs all others nor moves a new sample away from everybody.
    log : bool, default False
        Take ``log(1 + x)`` of the features first; for counts.
    per_view : dict, optional
        Exceptions by view: ``{"text": "cosine", "assay": {"kernel": "rbf", "gamma": 0.1}}``.
    normalize : {"diagonal", "trace", None}, default "diagonal"
        ``"diagonal"``: every sample gets unit norm, ``k(i, j) / sqrt(k(i, i) k(j, j))``;
        ``"trace"``: divide by the training samples' mean diagonal.
    center : bool, default False
        Subtract the mean training sample in feature space (before normalising).
    missing_values : {"mean", "error"}, default "mean"
        NaN inside an observed row: the feature's mean over observed training rows, or an error.
    degree, coef0 : float
        Of the polynomial kernel ``(<x, y> / n_features + coef0) ** degree``.
    approx : {"auto", "nystrom", "rff", None}, default "auto"
        Give each kernel as factors, ``Phi Phi'``, and never form it: linear in the number of samples.
        ``"nystrom"`` works with any kernel, ``"rff"`` (random Fourier features) with rbf; None makes whole
        kernels.  ``"auto"``: whole kernels of up to 5000 samples if memory allows, else ``"nystrom"``,
        and a warning that says so.  Factors of float32 views are float32.
    n_landmarks : int, default 200
        Number of Nystrom landmarks, or of random features.
    random_state : int, Generator, RandomState or None
        Of the landmarks or random features; None: the fixed seed 0.  Landmarks go with the data, not
        with the order of samples.

    Attributes
    ----------
    names_in_ : tuple of str
    ids_ : ndarray
    gamma_ : dict
        Width used, by view (None where the kernel has none).
    approx_ : str or None
        What was decided, of views that ``per_view`` says nothing else of.

    Examples
    --------
    >>> from absentia import ViewKernels, datasets
    >>> views, y = datasets.load_digit_views(n_samples=100, return_X_y=True)
    >>> ViewKernels("rbf").fit_transform(views).shape
    (100, 100)
    """

    kernel: str | Callable[[Any, Any], Any] = "rbf"
    _: KW_ONLY
    gamma: Positive | Literal["median"] = "median"
    standardize: bool = True
    clip: Positive | None = MAX_DEVIATION
    log: bool = False
    per_view: Mapping[str, Any] | None = None
    normalize: Literal["diagonal", "trace"] | None = "diagonal"
    center: bool = False
    missing_values: Literal["mean", "error"] = "mean"
    degree: float = 3
    coef0: float = 1.0
    approx: Literal["auto", "nystrom", "rff"] | None = "auto"
    n_landmarks: PositiveInt = 200
    random_state: RandomState = None

    set_output = Estimator._any_output

    @property
    def _pairwise(self) -> bool:  # type: ignore[override]
        return bool(self.kernel == "precomputed")

    def fit(self, X: Views | KernelViews, y: Any = None) -> Self:
        """Learn scales, widths, centring and normalisation from the observed training rows."""
        for _ in self._fit(X, y):  # kernels of one view after the other, none of them kept
            pass
        return self

    def fit_transform(self, X: Views | KernelViews, y: Any = None, **fit_params: Any) -> KernelViews:
        """Fit, and return the square kernels of the training samples."""
        kernels: dict[str, Array | Operator] = {}
        for name, raw, symmetric in self._fit(X, y):
            K = self._normalizers[name](*raw)[0]
            kernels[name] = K if symmetric and K is raw[0] else symmetrize(K)
        kernels |= {name: Gram(factors.Phi) for name, factors in self._maps.items()}
        samples = replace(self._train, groups=X.groups)  # which is not kept
        return KernelViews.within(samples, {name: kernels[name] for name in X.names})

    def training_kernels(self) -> KernelViews | None:
        """The square kernels of the training samples, as :meth:`fit_transform` gave them.

        Returns
        -------
        KernelViews or None
            None if kernels came: they are not kept.
        """
        check_is_fitted(self, "names_in_")
        if not self._raw:
            return None
        kernels: dict[str, Array | Operator] = {}
        for name, view in self._raw.items():
            if name in self._maps:
                kernels[name] = Gram(self._maps[name].Phi)
                continue
            K = view.values(view.X, view.X)
            kernels[name] = symmetrize(self._normalizers[name](K, np.array(K.diagonal()))[0])
        return KernelViews.within(self._train, kernels)

    def factor_map(self, name: str) -> FactorMap:
        """What makes factors of a view's features; the factors of training samples are not in it."""
        check_is_fitted(self, "names_in_")
        empty: FactorMap = self._maps[name].select_samples(np.zeros(0, dtype=int))
        return empty

    def fix_approximation(self, X: Views) -> Any:
        """The same with ``approx="auto"`` decided by these samples, once, for fits to parts of them.

        Raises if there is no memory for the kernels of all views.

        Parameters
        ----------
        X : Views
            All samples.
        """
        if self.kernel == "precomputed":
            return self
        decision = decide_approx(self.approx, X.observed, self.n_landmarks, X.chunked)
        return (
            self if decision is None or self.approx != "auto" else clone(self).set_params(approx=decision)
        )

    def transform(self, X: Views | KernelViews) -> KernelViews:
        """Kernels of new samples against the training samples; what is absent stays absent.

        Views that the new samples lack altogether may be left out of `X`.  Columns are found by name; what
        differs from training is warned of.
        """
        if "names_in_" not in vars(self):
            check_is_fitted(self, "names_in_")
        _check_input(X, self.kernel)
        X = self._select_known(X)
        rows = Presence(X.ids, self.names_in_, _align_observed(X, self.names_in_), groups=X.groups)
        blocks: dict[str, Array | Operator] = {}
        diagonals: dict[str, Array] = {}
        for v, name in enumerate(self.names_in_):
            if name in X.names and name in self._maps:
                assert isinstance(X, Views)
                Phi = self._maps[name].transform(X.block(name))
                blocks[name] = Gram(Phi, self._maps[name].Phi)
                diagonals[name] = squared_norms(Phi)
            elif name in X.names:
                raw = self._new_rows(X, name, rows.ids[rows.observed[:, v]])
                blocks[name], diagonals[name] = self._normalizers[name](*raw)
            else:
                width = int(self._train.observed[:, v].sum())
                blocks[name], diagonals[name] = np.zeros((0, width)), np.zeros(0)
        return KernelViews.between(rows, self._train, blocks, diagonals)

    def linear_weights(self, name: str, coefficients: Array) -> tuple[list[str], Array]:
        """Names of a view's features, and their weights in ``sum_i coefficients_i k(i, x)``.

        Parameters
        ----------
        name : str
            A view with a linear kernel.
        coefficients : ndarray of shape (machines, samples)
            Of the training samples; those that lack the view count as zero.

        Returns
        -------
        names, weights
            Weights are machines x features, of features as the kernel takes them: standardised, unless
            `standardize` is off.  Where samples are brought to unit length, the sum is divided by the
            length of x; weights are those of an x as long as training samples are on average.
        """
        check_is_fitted(self, "names_in_")
        view = self._raw.get(name)
        kernel = "precomputed" if view is None else view.options.kernel
        if name in self._maps or view is None or kernel != "linear":
            raise ValueError(
                f"view {name!r}: weights of features need a linear kernel, not factors; it is {kernel!r}"
            )
        names = self._coding.views[name].names() or [str(j) for j in range(view.X.shape[1])]
        observed = coefficients[:, self._train.observed[:, self.names_in_.index(name)]]
        return names, np.asarray(view.X.T @ self._normalizers[name].raw_coefficients(observed).T).T

    def _select_known(self, X: Any) -> Any:
        """`X` with the views and, for features, the columns of training."""
        unknown = [name for name in X.names if name not in self.names_in_]
        if len(unknown) == X.n_views or (unknown and isinstance(X, KernelViews)):
            raise ValueError(f"view {unknown[0]!r} was not there in training: {list(self.names_in_)}")
        if unknown:
            warn(f"view(s) {unknown} were not there in training and are ignored", AbsenceWarning)
            X = X.select([name for name in X.names if name in self.names_in_])
        return X if isinstance(X, KernelViews) else self._coding.of_new(X)

    def restrict(self, samples: Array, had: Array) -> Any:
        """The same, against the training samples at these positions only, in the views they `had`.

        Where kernels are centred, which takes all samples, nothing is left out.
        """
        if any(normalizer.center for normalizer in self._normalizers.values()):
            return self
        keep = np.zeros_like(self._train.observed)
        keep[samples] = had
        rows = {
            name: np.flatnonzero(keep[present, v])
            for v, (name, present) in enumerate(zip(self.names_in_, self._train.observed.T, strict=True))
        }
        parts = {
            which: {name: part.select_samples(rows[name]) for name, part in getattr(self, which).items()}
            for which in ("_raw", "_maps", "_normalizers")
        }
        ids = self.ids_[samples]
        return copy_with(self, ids_=ids, _train=Presence(ids, self.names_in_, had), **parts)

    def sum_samples(self, coefficients: Mapping[str, Array], ids: Array) -> Any:
        """The same, against weighted sums of the training samples, which stand in for these.

        Parameters
        ----------
        coefficients : dict of ndarrays of shape (sums, samples that have the view)
            By view.
        ids : ndarray of shape (sums,)
            What the sums are called.
        """
        raw, maps, normalizers = dict(self._raw), dict(self._maps), dict(self._normalizers)
        for name, weights in coefficients.items():
            if name in maps:
                maps[name] = maps[name].sum_samples(weights)
            else:
                normalizers[name], weights = normalizers[name].sum_samples(weights)
                raw[name] = raw[name].sum_samples(weights)
        everywhere = np.ones((len(ids), len(self.names_in_)), dtype=bool)
        train = Presence(ids, self.names_in_, everywhere)
        return copy_with(self, ids_=ids, _train=train, _raw=raw, _maps=maps, _normalizers=normalizers)

    def _fit(self, X: Views | KernelViews, y: Any) -> Iterator[tuple[str, tuple[Array, Array], bool]]:
        """Learn view by view; each one's raw training kernel and its diagonal are handed on, not kept.

        With them, whether the kernel is known to be symmetric to the bit.
        """
        self._check_parameters()
        _check_input(X, self.kernel)
        X.check_order(y)
        _check_not_empty(X)
        X.warn_of_absence()
        self.approx_ = None
        if isinstance(X, Views):
            self.approx_ = decide_approx(self.approx, X.observed, self.n_landmarks, X.chunked)
        options = self._options_by_view(X.names)
        self._raw: dict[str, FeatureKernel] = {}
        self._maps: dict[str, FactorMap] = {}
        self._normalizers: dict[str, KernelNormalizer] = {}
        # one seed for all views: what is drawn for a view does not depend on those before it
        seed = int(make_generator(self.random_state).integers(2**31))
        if isinstance(X, KernelViews):
            X.check_square()
        else:
            self._coding = Coding.learn(X)
            X = self._coding(X)
        for v, name in enumerate(X.names):
            if isinstance(X, KernelViews):
                raw, symmetric = (X.block(name), X.diagonal(name)), False
            else:
                groups = self._coding.views[name].groups()
                block = X.block(name) if options[name].approx else _in_memory(X.block(name))
                view = self._raw[name] = FeatureKernel(name, block, options[name], groups)
                if options[name].approx:
                    self._maps[name] = FactorMap(view, block.dtype, seed)
                    self._raw[name] = view.without_samples()
                    continue
                K = view.values(view.X, view.X)
                symmetric = check_kernel(name, Dense(K), X.ids[X.observed[:, v]]) == 0
                raw = K, np.array(K.diagonal())
            self._normalizers[name] = KernelNormalizer(name, *raw, options[name])
            yield name, raw, symmetric
        self._train = Presence(X.ids, X.names, X.observed)
        self.names_in_, self.ids_ = X.names, X.ids
        self.gamma_ = {name: view.gamma for name, view in self._raw.items()}

    def _new_rows(self, X: Views | KernelViews, name: str, ids: Array) -> tuple[Array, Array]:
        if isinstance(X, KernelViews):
            X.check_columns(self.names_in_, self.ids_)
            return X.block(name), X.diagonal(name)
        K, diagonal = self._raw[name].new_rows(X.block(name))
        if not np.isfinite(K).all():
            row = int(np.argmax(~np.isfinite(K).all(axis=1)))
            raise ValueError(f"view {name!r}, sample {show_id(ids[row])}: the kernel is NaN or infinite")
        return K, diagonal

    def _options_by_view(self, names: Sequence[str]) -> dict[str, KernelOptions]:
        common = KernelOptions(
            **{f.name: getattr(self, f.name) for f in fields(KernelOptions)} | {"approx": self.approx_}
        )
        given = {name: _parse_options(spec) for name, spec in (self.per_view or {}).items()}
        unknown = [name for name in given if name not in names]
        if unknown:
            raise ValueError(f"per_view names {unknown[0]!r}, but the views are {list(names)}")
        options = {name: replace(common, **given.get(name, {})) for name in names}
        parameters = get_parameters(self)
        for name, changed in given.items():  # the common ones are checked already
            for option, value in changed.items():
                parameters[option].check(value, f"view {name!r}")
        return options


def _parse_options(spec: Any) -> dict[str, Any]:
    if not isinstance(spec, Mapping):
        return {"kernel": spec}
    allowed = {f.name for f in fields(KernelOptions)}
    unknown = set(spec) - allowed
    if unknown:
        raise ValueError(
            f"per_view has no option {sorted(unknown)[0]!r}; the options are {sorted(allowed)}"
        )
    return dict(spec)


def _check_input(X: Any, kernel: Any) -> None:
    if isinstance(X, KernelViews) and kernel != "precomputed":
        raise ValueError(
            f"KernelViews hold kernels already: use ViewKernels('precomputed') on them, not {kernel!r}"
        )
    if isinstance(X, Views) and kernel == "precomputed":
        raise ValueError("kernel='precomputed' takes kernels, KernelViews.from_dense(K), and Views came")
    if not isinstance(X, Views | KernelViews):
        raise input_error("views", X, "ViewKernels")


def _in_memory(block: Any) -> Any:
    return np.asarray(block) if isinstance(block, ChunkedTable) else block


def _check_not_empty(X: Presence) -> None:
    if not len(X):
        raise ValueError(f"there is no sample to learn from: the {type(X).__name__} given are empty")


def _align_observed(X: Presence, names: Sequence[str]) -> Array:
    """`observed` of `X` with one column for each of `names`, False where `X` has no such view."""
    absent = np.zeros(len(X), dtype=bool)
    return np.column_stack(
        [X.observed[:, X.names.index(name)] if name in X.names else absent for name in names]
    )


@estimator
class CombineKernels(TransformerMixin, Estimator):  # type: ignore[misc]
    """Weighted sum of the kernels as one matrix; an absent view counts as zero.

    With ``normalize="cosine"`` the sum is divided by ``sqrt(k(i, i) k(j, j))``, so that a sample with
    two views is as long as one with six.  Followed by ``SVC(kernel="precomputed")`` this is the
    baseline that is hard to beat.

    Parameters
    ----------
    weights : "uniform", dict or array of shape (n_views,), default "uniform"
        Non-negative weight of each view; a view that a dict does not name gets none.
    normalize : {"cosine", None}, default "cosine"
        Whether to bring all samples to the same length.

    Attributes
    ----------
    weights_ : ndarray of shape (n_views,)
    names_in_ : tuple of str
    ids_ : ndarray
        The training samples, which are the columns of every result.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from absentia import CombineKernels, ViewKernels, datasets
    >>> views, y = datasets.load_digit_views(n_samples=60, return_X_y=True)
    >>> svm = make_pipeline(ViewKernels(), CombineKernels(), SVC(kernel="precomputed"))
    >>> svm.fit(views[:40], y[:40]).predict(views[40:]).shape
    (20,)
    """

    weights: Any = "uniform"
    _: KW_ONLY
    normalize: Literal["cosine"] | None = "cosine"

    _pairwise = True

    def fit(self, X: KernelViews, y: Any = None) -> Self:
        """Learn the training samples' own combined kernel values."""
        self._check_parameters()
        if not isinstance(X, KernelViews):
            raise input_error("kernels", X, "CombineKernels")
        X.check_square()
        X.check_order(y)
        _check_not_empty(X)
        self.names_in_, self.ids_ = X.names, X.ids
        self.weights_ = self._weights(X.names)
        self._column_root = inverse_sqrt(self._diagonal(X))
        return self

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The ids of the training samples as texts: the columns of every result.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self, "names_in_")
        return np.array([str(x) for x in self.ids_.tolist()], dtype=object)

    def transform(self, X: KernelViews) -> Any:
        """The combined kernel, rows of `X` against the training samples."""
        check_is_fitted(self, "names_in_")
        if not isinstance(X, KernelViews):
            raise input_error("rows", X, "CombineKernels")
        X.check_columns(self.names_in_, self.ids_)
        combined = np.zeros(X.shape)
        for v, name in enumerate(X.names):
            seen = np.ix_(X.observed[:, v], X.column_observed[:, v])
            combined[seen] += self.weights_[v] * X.block(name)
        if self.normalize is not None:
            combined *= inverse_sqrt(self._diagonal(X))[:, None]
            combined *= self._column_root[None, :]
        return self._with_ids(combined, X.ids)

    def _diagonal(self, X: KernelViews) -> Array:
        diagonal = np.zeros(len(X))
        for v, name in enumerate(X.names):
            diagonal[X.observed[:, v]] += self.weights_[v] * X.diagonal(name)
        return diagonal

    def _weights(self, names: Sequence[str]) -> Array:
        if isinstance(self.weights, str):
            weights = np.ones(len(names)) if self.weights == "uniform" else np.zeros(0)
        elif isinstance(self.weights, Mapping):
            unknown = [name for name in self.weights if name not in names]
            if unknown:
                raise ValueError(f"weights name {unknown[0]!r}, but the views are {list(names)}")
            weights = np.array([self.weights.get(name, 0.0) for name in names], dtype=float)
        else:
            weights = np.asarray(self.weights, dtype=float)
        if weights.shape != (len(names),) or not (weights >= 0).all() or not weights.any():
            raise ValueError(
                f"weights must be 'uniform' or one non-negative number for each of {list(names)}, "
                f"not all zero; got {self.weights!r}"
            )
        return weights
