"""What to do instead, in a sentence, when something else came than the views or kernels that are wanted."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from absentia.data._presence import Presence


def refusal(wanted: Literal["kernels", "rows", "views"], X: Any, taker: str) -> TypeError:
    """The error of an estimator, the `taker`, that got `X` and wants something else."""
    kind = "Views" if wanted == "views" else "KernelViews"
    came = f"{kind} are wanted, not {type(X).__name__}; "
    if wanted == "rows":
        return TypeError(
            f"{came}new samples against the training samples: kernel_views[np.ix_(new, train)], "
            "transform(new_views) of the ViewKernels that made the training kernels, or a fitted "
            f"make_pipeline(ViewKernels(), {taker}()) for all of it"
        )
    if isinstance(X, Presence):
        return TypeError(came + _other_kind(wanted, taker))
    if wanted == "views":
        return TypeError(f"{came}build them with {_as_views(X)}, NaN rows where a view is absent")
    return TypeError(
        f"{came}kernels as arrays become that with KernelViews.from_dense(K), features with "
        f"ViewKernels().fit_transform(views) after views = {_as_views(X)}"
    )


def _other_kind(wanted: str, taker: str) -> str:
    if wanted == "views":
        return f"{taker} takes the features themselves, Views.from_dict({{'name': table, ...}})"
    return (
        "kernels come from features by ViewKernels().fit_transform(views), or inside by "
        f"make_pipeline(ViewKernels(), {taker}())"
    )


def _as_views(X: Any) -> str:
    """How to make Views of this."""
    if isinstance(X, Mapping):
        return "Views.from_dict(X)"
    if isinstance(X, Sequence) and not isinstance(X, str):
        return "Views.from_list(X)"
    if hasattr(X, "columns"):
        return "Views.from_frame(X, {'name': columns, ...})"
    return "Views.from_dict({'name': table, ...})"
