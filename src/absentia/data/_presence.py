"""Who has which view: ids, names and the boolean matrix ``observed`` that both data structures share.

Beside it, what absence means: patterns, groups of samples that nothing links; and the errors of estimators
that got something else than the views or kernels that are wanted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Self, overload

import numpy as np
import scipy.sparse

from absentia.core import Array, serializable, warn
from absentia.core.linalg import as_readonly
from absentia.core.svg import tabulate_presence
from absentia.data._ids import (
    AbsenceWarning,
    align_values,
    as_column,
    check_order,
    find_duplicates,
    first_ids,
    is_missing,
    show_id,
)


def check_names(names: Sequence[str]) -> tuple[str, ...]:
    """View names as a tuple of distinct strings, at least one."""
    result = tuple(str(name) for name in names)
    if not result:
        raise ValueError("no view given; at least one is wanted")
    if twice := find_duplicates(result):
        raise ValueError(f"view names must differ; repeated: {sorted(twice)}")
    return result


def check_observed(observed: Any, n_samples: int, n_views: int) -> Array:
    """`observed` as a boolean matrix, samples x views."""
    mask = np.asarray(observed)
    if mask.shape != (n_samples, n_views):
        hint = "; it looks transposed" if mask.shape == (n_views, n_samples) else ""
        raise ValueError(
            f"observed has shape {mask.shape}, wanted (samples, views) = ({n_samples}, {n_views})" + hint
        )
    if mask.dtype != bool and not np.isin(mask, (0, 1)).all():
        raise ValueError("observed must hold True (present) and False (absent) only")
    return mask.astype(bool)


def as_index(key: Any, n: int) -> Array:
    """Any of int, slice, boolean mask, list or index array as non-negative positions below `n`.

    A trailing ``...`` or ``:``, which array code (scikit-learn's too) adds to a row index, is left out.
    """
    key = strip_ellipsis(key)
    if isinstance(key, slice):
        return np.arange(n)[key]
    if isinstance(key, tuple):
        raise IndexError("samples are picked by one index; views by name with .select([...])")
    index = np.atleast_1d(np.asarray(key))
    if index.size == 0:
        return np.zeros(0, dtype=int)
    if index.dtype == bool:
        if index.shape != (n,):
            raise IndexError(f"boolean index of shape {index.shape} for {n} samples")
        return np.flatnonzero(index)
    if index.ndim != 1 or index.dtype.kind not in "iu":
        raise IndexError(f"samples are picked by positions or a mask, not by {key!r}")
    if (index < -n).any() or (index >= n).any():
        raise IndexError(f"position {int(index[np.argmax(np.abs(index))])} for {n} samples")
    return np.where(index < 0, index + n, index)


def strip_ellipsis(key: Any) -> Any:
    """Strip the trailing ``...`` or ``:`` that array code (scikit-learn's too) adds to a row index."""
    if isinstance(key, tuple) and len(key) == 1:
        return key[0]
    if isinstance(key, tuple) and len(key) == 2:
        last = key[1]
        if last is Ellipsis or (isinstance(last, slice) and last == slice(None)):
            return key[0]
    return key


def default_names(n: int) -> list[str]:
    return [f"view{v}" for v in range(n)]


def freeze(values: Any) -> Any:
    """An array or a sparse matrix, read-only; anything else as it is."""
    if isinstance(values, np.ndarray):
        return as_readonly(values)
    if scipy.sparse.issparse(values):
        values.sum_duplicates()  # SciPy would do so in place when it first needs it, and fail
        values.data = as_readonly(values.data)
    return values


@serializable
@dataclass(frozen=True, eq=False, repr=False)
class Presence:
    """What :class:`Views` and :class:`KernelViews` share: samples, views, and who has which.

    `groups`, if not None, has a whole number for each sample: samples of one number (of one patient, family
    or site) never stand on both sides of a split.
    """

    ids: Array
    names: tuple[str, ...]
    observed: Array
    groups: Array | None = field(default=None, kw_only=True)

    @property
    def n_samples(self) -> int:
        return len(self.ids)

    @property
    def n_views(self) -> int:
        return len(self.names)

    @property
    def n_groups(self) -> int | None:
        """How many groups the samples are in; None if they are in none."""
        return None if self.groups is None else len(np.unique(self.groups))

    def __len__(self) -> int:
        return self.n_samples

    def __array__(self, *_: Any, **__: Any) -> Array:
        kind = type(self).__name__
        raise TypeError(
            f"{kind} holds several views and is not one matrix; put ViewKernels() and "
            "CombineKernels() before an estimator that wants one, or take a view with .block(name)"
        )

    def _column(self, name: str) -> int:
        try:
            return self.names.index(name)
        except ValueError:
            raise KeyError(f"no view {name!r}; the views are {list(self.names)}") from None

    def _among(self, index: Array) -> Any:
        """The samples at these positions, among themselves."""
        return self[index]

    def _places(self, index: Array, names: Sequence[str] | None = None) -> dict[str, Array]:
        """For each view (of `names`), where in its block those samples of `index` are that have it."""
        columns = {name: self.observed[:, self._column(name)] for name in names or self.names}
        return {name: (np.cumsum(has) - 1)[index[has[index]]] for name, has in columns.items()}

    def _without(self, keep: Any) -> tuple[Array, dict[str, Array]]:
        """`observed` where `keep` is True too, and where those samples are in the views' blocks."""
        kept = check_observed(keep, self.n_samples, self.n_views)
        pairs = zip(self.names, self.observed.T, kept.T, strict=True)
        places = {name: np.flatnonzero(stays[present]) for name, present, stays in pairs}
        return as_readonly(self.observed & kept), places

    def __setstate__(self, state: dict[str, Any]) -> None:
        # unpickled arrays are writeable again; undo that
        for key, value in state.items():
            by_view = isinstance(value, dict)
            self.__dict__[key] = {n: freeze(x) for n, x in value.items()} if by_view else freeze(value)

    def select(self, names: Sequence[str]) -> Self:
        """The same samples with only the views named."""
        if tuple(names) == self.names:
            return self
        columns = [self._column(name) for name in names]
        changes: dict[str, Any] = {}
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, Mapping):  # by view
                changes[one.name] = {name: value[name] for name in names}
            elif one.name.endswith("observed"):
                changes[one.name] = as_readonly(value[:, columns])
        return replace(self, names=check_names(names), **changes)

    def with_groups(self, groups: Any) -> Self:
        """The same samples in groups that stay together in every split: patients, families, sites.

        Estimators, ``compare`` and all that they cross-validate keep to them.  Only who is with whom
        counts, not what groups are called.

        Parameters
        ----------
        groups : array of shape (n_samples,), Series, frame or mapping by id, "id" or None
            A label for each sample, lined up by id as :meth:`align` does if it carries ids.  Samples
            without one (None, NaN) are groups of their own.  ``"id"``: those whose ids differ in the end
            only, as ``P01_v1`` and ``P01_v2``.  None: no groups.

        Examples
        --------
        >>> from absentia import Views
        >>> views = Views.from_dict({"a": [[1.0], [2.0], [3.0]]}, ids=["p1", "p2", "p3"])
        >>> views.with_groups({"p3": "Ann", "p1": "Bob", "p2": "Ann"}).groups.tolist()
        [0, 1, 1]
        """
        if groups is None:
            return replace(self, groups=None)
        if isinstance(groups, str) and groups == "id":
            from absentia.data._leakage import group_by_id

            groups = group_by_id(self.ids.tolist())
        by_id = isinstance(groups, Mapping) or hasattr(groups, "iloc") or hasattr(groups, "columns")
        values = self.align(groups) if by_id else np.asarray(groups, dtype=object)
        if values.shape != (len(self),):
            raise ValueError(f"groups of shape {values.shape} for {len(self)} samples; one each is wanted")
        labels = [object() if is_missing(value) else value for value in values.tolist()]
        numbers = {label: number for number, label in enumerate(dict.fromkeys(labels))}
        if len(numbers) < 2:
            raise ValueError("all samples are of one group; two or more are wanted, to hold some out")
        return replace(self, groups=as_readonly(np.array([numbers[label] for label in labels])))

    def _groups_of(self, index: Array) -> Array | None:
        return None if self.groups is None else as_readonly(self.groups[index])

    def align(self, y: Any, missing: Literal["keep", "drop"] = "keep") -> Any:
        """Labels, or any values, in the order of the samples, by their ids.

        Ids are compared as they are, then as texts; how many have no counterpart is said in a warning.

        Parameters
        ----------
        y : Series or frame of one column with an index, frame of two columns, or mapping
            Values by id.  A frame of two columns without an index (polars) has ids in one and values in
            the other.
        missing : {"keep", "drop"}
            Samples of which no value is known: keep them, or leave them out.

        Returns
        -------
        ndarray, or (samples, ndarray) with ``missing="drop"``
            One value for each of `ids`, NaN (numbers) or None where unknown; with ``"drop"`` the samples
            of which one is known, and their values.

        Examples
        --------
        >>> from absentia import Views
        >>> views = Views.from_dict({"a": [[1.0], [2.0], [3.0]]}, ids=["p1", "p2", "p3"])
        >>> views.align({"p3": "ill", "p1": "well", "p2": None}).tolist()
        ['well', None, 'ill']
        >>> some, y = views.align({"p3": "ill", "p1": "well", "p2": None}, missing="drop")
        >>> some.ids.tolist(), y.tolist()
        (['p1', 'p3'], ['well', 'ill'])
        """
        if missing not in ("keep", "drop"):
            raise ValueError(f"missing must be 'keep' or 'drop', not {missing!r}")
        values = align_values(self.ids, y)
        if missing == "keep":
            return values
        known = np.flatnonzero([not is_missing(value) for value in values.tolist()])
        return self._among(known), as_column(values[known].tolist())

    def check_order(self, y: Any, what: str = "y") -> None:
        """Raise if `y` carries ids, as a pandas Series does, that are not :attr:`ids` in their order."""
        if y is not None:
            check_order(self.ids, y, what)

    def check_known(self, y: Array, what: str = "label") -> None:
        """Raise if some of `y`, one value per sample, are NaN or None; say whose, and how to go on."""
        absent = np.array([is_missing(value) for value in y.tolist()], dtype=bool)
        if absent.any():
            raise ValueError(
                f"{absent.sum()} {what}(s) are NaN or None, e.g. of {first_ids(self.ids[absent])}; leave "
                "these samples out: views, y = views.align(y, missing='drop'), with y a Series or a "
                "mapping by id"
            )

    def patterns(self) -> tuple[Array, Array]:
        """Distinct rows of `observed` and how many samples have each, most frequent first."""
        distinct, counts = np.unique(self.observed, axis=0, return_counts=True)
        order = np.argsort(-counts, kind="stable")
        return distinct[order], counts[order]

    def components(self) -> Array:
        """Label of each sample's connected component of co-observation; -1 for a sample without views.

        Two samples are linked when some view sees both.  Between components no kernel entry is ever
        observed, so nothing in the data says how they relate.  Components are numbered by size.
        """
        from scipy.sparse.csgraph import connected_components

        if not len(self):
            return np.zeros(0, dtype=int)
        links = scipy.sparse.csr_array(self.observed)
        graph = scipy.sparse.block_array([[None, links], [links.T, None]], format="csr")
        labels = connected_components(graph, directed=False)[1][: len(self)]
        values, counts = np.unique(labels[self.observed.any(axis=1)], return_counts=True)
        rank = np.full(int(labels.max()) + 1, -1)
        rank[values[np.argsort(-counts, kind="stable")]] = np.arange(len(values))
        return np.asarray(rank[labels])

    def to_mudata(
        self,
        mdata: Any = None,
        *,
        embedding: Any = None,
        obs: Mapping[str, Any] | None = None,
        observed: "Presence | None" = None,
        copy: bool = True,
    ) -> Any:
        """Put kernels, presence, embeddings and predictions into MuData or AnnData, by observation name.

        Kernels go to obsp as ``absentia_<view>``, of the whole object and, for the samples that it has, of
        the modality of that name (of more than 2000 samples and held as factors: these, to obsm as
        ``absentia_<view>_factors``, and what they lack of the diagonal to obs as ``absentia_<view>_own``);
        who has a view to obs as ``absentia_<view>_observed``.  Observations that
        are no samples here get NaN.

        Parameters
        ----------
        mdata : MuData or AnnData, optional
            Where to put them; by default a new MuData of the views.
        embedding : array, data frame, or mapping of str to such, optional
            A row for each sample, in the order of :attr:`ids` or by its index: obsm ``X_absentia``, or
            ``X_absentia_<key>``.
        obs : mapping of str to array or Series, optional
            Columns for obs, a value for each sample.
        observed : Views or KernelViews, optional
            Before completion, to say who had which view; by default this object, without the samples that a
            modality of that name does not have.
        copy : bool
            Whether `mdata` itself stays as it is.
        """
        from absentia.data._mudata import write_into

        return write_into(self, mdata, embedding, obs or {}, observed, copy)

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: Any) -> Self: ...
    def __getitem__(self, key: Any) -> Any:
        return self.to_frame(key) if isinstance(key, str) else self._select(key)

    def to_frame(self, name: str) -> Any:
        raise NotImplementedError

    def _select(self, key: Any) -> Self:
        raise NotImplementedError

    def _size_of(self, name: str) -> str:
        raise NotImplementedError

    def _headline(self) -> str:
        share = f"{self.observed.mean():.1%} of cells present" if self.observed.size else "empty"
        views = "1 view" if self.n_views == 1 else f"{self.n_views} views"
        return f"{type(self).__name__}: {self.n_samples} samples, {views}, {share}"

    def __repr__(self) -> str:
        width = max(len(name) for name in self.names)
        sizes = [self._size_of(name) for name in self.names]
        size_width = max(len(size) for size in sizes)
        lines = [self._headline()]
        for name, size, present in zip(self.names, sizes, self.observed.T, strict=True):
            share = present.mean() if len(present) else 0.0
            lines.append(
                f"  {name:<{width}}  {size:>{size_width}}  {_bar(share)}  "
                f"{share:4.0%}  {present.sum()} of {len(present)}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        sizes = [self._size_of(name) for name in self.names]
        return tabulate_presence(self._headline(), self.names, self.observed, sizes)

    def warn_of_absence(self) -> None:
        """Warn of views nobody has and of samples without any view."""
        for name, present in zip(self.names, self.observed.T, strict=True):
            if len(present) and not present.any():
                warn(f"view {name!r} is observed for no sample; it carries no information", AbsenceWarning)
        empty = np.flatnonzero(~self.observed.any(axis=1))
        if empty.size:
            warn(
                f"{empty.size} sample(s) have no view at all, e.g. {first_ids(self.ids[empty])}; "
                "nothing can be said of them beyond the average",
                AbsenceWarning,
            )


def _bar(share: float, width: int = 20) -> str:
    full = round(share * width)
    return "█" * full + "░" * (width - full)


# --------------------------------------------------------------------------------------- what absence means


def name_pattern(present: Any, names: Sequence[str]) -> str:
    """Which of the views `names` are `present`, in words: every view, only a, without b, c; no view.

    Examples
    --------
    >>> name_pattern([True, False, True], ["age", "mri", "blood"])
    'without mri'
    """
    there = [name for name, has in zip(names, present, strict=True) if has]
    if len(there) < 2 or len(there) == len(names):
        return ("every view" if len(there) == len(names) else f"only {there[0]}") if there else "no view"
    return "without " + ", ".join(name for name in names if name not in there)


def warn_of_unlinked(X: Any, *, chained: bool) -> None:
    """Warn of absent cells of kernels that can only be filled with the mean.

    They are of samples that nothing links to those who have the view.  A sample is linked to a view if a
    column sample has both this view and one of the sample's own; `chained`, if such links lead there in
    several steps.
    """
    from scipy.sparse.csgraph import connected_components

    has = X.column_observed.astype(int)
    link = has.T @ has > 0
    if chained:
        _, label = connected_components(link, directed=False)
        link = label[:, None] == label
    reached = X.observed.astype(int) @ link.astype(int) > 0
    lost = ~X.observed & ~reached & X.column_observed.any(axis=0)
    if X.square:
        lost &= X.observed.any(axis=1, keepdims=True)  # samples without any view were warned of already
    if lost.any():
        t, k = np.argwhere(lost)[0]
        why = "is linked by no chain of views to" if chained else "shares no view with"
        warn(
            f"{lost.sum()} absent cell(s), e.g. sample {show_id(X.ids[t])} in view {X.names[k]!r}: the "
            f"sample {why} any sample that has this one; it becomes the mean there",
            AbsenceWarning,
        )


# -------------------------------------------------------------------------------------- something else came


def input_error(wanted: Literal["kernels", "rows", "views"], X: Any, taker: str) -> TypeError:
    """The error of an estimator, the `taker`, that got `X` and wants something else."""
    kind = "Views" if wanted == "views" else "KernelViews"
    came = f"{kind} are wanted, not {type(X).__name__}; "
    if wanted == "rows":
        return TypeError(
            f"{came}new samples against the training samples: kernel_views[np.ix_(new, train)], "
            "transform(new_views) of the ViewKernels that made the training kernels, or a fitted "
            f"make_pipeline(ViewKernels(), {taker}()) for all of it"
        )
    if isinstance(X, Presence) and wanted == "views":
        advice = f"{taker} takes the features themselves, Views.from_dict({{'name': table, ...}})"
    elif isinstance(X, Presence):
        advice = (
            "kernels come from features by ViewKernels().fit_transform(views), or inside by "
            f"make_pipeline(ViewKernels(), {taker}())"
        )
    elif wanted == "views":
        advice = f"build them with {_as_views(X)}, NaN rows where a view is absent"
    else:
        advice = (
            "kernels as arrays become that with KernelViews.from_dense(K), features with "
            f"ViewKernels().fit_transform(views) after views = {_as_views(X)}"
        )
    return TypeError(came + advice)


def _as_views(X: Any) -> str:
    """How to make Views of this."""
    if isinstance(X, Mapping):
        return "Views.from_dict(X)"
    if isinstance(X, Sequence) and not isinstance(X, str):
        return "Views.from_list(X)"
    if hasattr(X, "columns"):
        return "Views.from_frame(X, {'name': columns, ...})"
    return "Views.from_dict({'name': table, ...})"
