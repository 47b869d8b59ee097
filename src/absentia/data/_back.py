"""Back to where people work: views and kernels as data frames, and views whose absent rows were filled.

Nothing here is needed to compute anything; pandas is imported when a frame is asked for.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse

from absentia.core import Array, check_name

if TYPE_CHECKING:
    import pandas

    from absentia.data._kernelviews import KernelViews
    from absentia.data._views import Views

#: What becomes of samples that have nothing to show: left out, or NaN throughout.
Absent = Literal["drop", "keep"]


def pandas_for(what: str) -> Any:
    """The pandas package, or a sentence that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install pandas") from error
    return pandas


def view_frame(views: "Views", name: str, absent: Absent) -> "pandas.DataFrame":
    """One view: ids x features, categories as their levels; sparse views stay sparse if nobody is added."""
    check_name("absent", absent, ("drop", "keep"))
    present = _present(views, name)
    pd = pandas_for("to_frame")
    block = views.block(name)
    columns = feature_labels(views, name)
    if absent == "drop" and scipy.sparse.issparse(block):
        return pd.DataFrame.sparse.from_spmatrix(block, index=_labels(views.ids[present]), columns=columns)
    rows = np.flatnonzero(present) if absent == "drop" else np.arange(len(views))
    frame = pd.DataFrame(views.padded(name, rows), index=_labels(views.ids[rows]), columns=columns)
    return _with_levels(frame, views, name)


def wide_frame(views: "Views", absent: Absent) -> "pandas.DataFrame":
    """All views side by side, columns (view, feature), NaN where a sample lacks a view."""
    check_name("absent", absent, ("drop", "keep"))
    pd = pandas_for("to_frame")
    parts = {name: view_frame(views, name, "keep").reset_index(drop=True) for name in views.names}
    frame = pd.concat(parts, axis=1, names=["view", "feature"]).set_axis(_labels(views.ids))
    return frame[views.observed.any(axis=1)] if absent == "drop" else frame


def kernel_frame(kernels: "KernelViews", name: str, absent: Absent) -> "pandas.DataFrame":
    """One kernel: row ids x column ids."""
    check_name("absent", absent, ("drop", "keep"))
    rows = _present(kernels, name)
    columns = kernels.column_observed[:, kernels.names.index(name)]
    pd = pandas_for("to_frame")
    if absent == "keep":
        values = kernels.padded(name, np.arange(len(kernels)))
        return pd.DataFrame(values, index=_labels(kernels.ids), columns=_labels(kernels.column_ids))
    ids = _labels(kernels.ids[rows]), _labels(kernels.column_ids[columns])
    return pd.DataFrame(np.array(kernels.block(name)), index=ids[0], columns=ids[1])


def feature_labels(views: "Views", name: str) -> Sequence[Hashable]:
    """Names of a view's features, or their numbers."""
    features = views.features(name)
    return range(views.block(name).shape[1]) if features is None else list(features.tolist())


def filled_block(views: "Views", name: str, rows: Array) -> Any:
    """A view's features over all samples: as they were, and `rows` where the view is absent."""
    block, present = views.block(name), _present(views, name)
    order = np.empty(len(views), dtype=int)
    order[present] = np.arange(len(order[present]))
    order[~present] = len(order[present]) + np.arange(len(order[~present]))
    rows = np.asarray(rows, dtype=block.dtype)
    if scipy.sparse.issparse(block):
        return scipy.sparse.csr_array(scipy.sparse.vstack([block, scipy.sparse.csr_array(rows)]))[order]
    return np.vstack([block, rows])[order]


def _present(data: "Views | KernelViews", name: str) -> Array:
    """Which samples have the view; an error that names the views if there is none such."""
    return np.asarray(data.observed[:, data._column(name)])


def _labels(ids: Array) -> Any:
    """Ids as an index of plain values: texts are texts, not fixed-width ones."""
    return list(ids.tolist()) if ids.dtype.kind in "UO" else np.array(ids)


def _with_levels(frame: "pandas.DataFrame", views: "Views", name: str) -> "pandas.DataFrame":
    """Codes as the categories that they stand for."""
    pd = pandas_for("to_frame")
    for column, levels in views.levels(name).items():
        codes = frame[column].fillna(-1).astype(int)  # -1 is missing
        frame[column] = pd.Categorical.from_codes(codes, categories=list(levels))
    return frame


def labelled(rows: Array, ids: Array, transformer: Any) -> Any:
    """`rows` as they are, or with `ids` as index if the transformer was told to give pandas frames.

    scikit-learn, which names the columns afterwards, would number the rows.
    """
    from sklearn.utils._set_output import _get_output_config

    if _get_output_config("transform", transformer)["dense"] != "pandas":
        return rows
    return pandas_for("set_output").DataFrame(rows, index=_labels(ids))
