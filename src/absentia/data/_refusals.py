"""What to do instead, in a sentence, when something else came than the views or kernels that are wanted."""

from collections.abc import Mapping, Sequence
from typing import Any

from absentia.data._presence import Presence


def no_kernels(X: Any, taker: str = "estimator") -> TypeError:
    """The error of an estimator, called `taker`, that takes KernelViews and got `X`."""
    came = f"KernelViews are wanted, not {type(X).__name__}; "
    if isinstance(X, Presence):
        return TypeError(
            f"{came}kernels come from features by ViewKernels().fit_transform(views), or inside by "
            f"make_pipeline(ViewKernels(), {taker}())"
        )
    return TypeError(
        f"{came}kernels as arrays become that with KernelViews.from_dense(K), features with "
        f"ViewKernels().fit_transform(views) after views = {_as_views(X)}"
    )


def no_rows(X: Any, taker: str = "estimator") -> TypeError:
    """The same, of one that was fitted and takes new samples."""
    return TypeError(
        f"KernelViews are wanted, not {type(X).__name__}; new samples against the training samples: "
        "kernel_views[np.ix_(new, train)], transform(new_views) of the ViewKernels that made the training "
        f"kernels, or a fitted make_pipeline(ViewKernels(), {taker}()) for all of it"
    )


def no_views(X: Any, taker: str = "estimator") -> TypeError:
    """The error of an estimator, called `taker`, that takes Views and got `X`."""
    came = f"Views are wanted, not {type(X).__name__}; "
    if isinstance(X, Presence):
        return TypeError(f"{came}{taker} takes the features themselves, Views.from_dict({{'name': table}})")
    return TypeError(f"{came}build them with {_as_views(X)}, NaN rows where a view is absent")


def _as_views(X: Any) -> str:
    """How to make Views of this."""
    if isinstance(X, Mapping):
        return "Views.from_dict(X)"
    if isinstance(X, Sequence) and not isinstance(X, str):
        return "Views.from_list(X)"
    if hasattr(X, "columns"):
        return "Views.from_frame(X, {'name': columns, ...})"
    return "Views.from_dict({'name': table, ...})"
