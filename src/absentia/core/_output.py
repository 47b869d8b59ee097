"""Tables that come out of transformers, as ``set_output`` asks for them."""

from typing import Any

from sklearn import get_config

from absentia.core._linalg import Array


def with_ids(estimator: Any, table: Array, ids: Array) -> Any:
    """`table` with the ids of its rows, if pandas frames are asked for, else as it is.

    scikit-learn names the columns, but knows of no ids other than the index of a frame that came in.
    """
    own = getattr(estimator, "_sklearn_output_config", {})
    if own.get("transform", get_config().get("transform_output")) != "pandas":
        return table
    import pandas as pd

    return pd.DataFrame(table, index=pd.Index(list(ids), tupleize_cols=False))
