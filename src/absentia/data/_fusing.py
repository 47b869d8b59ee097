"""Principal components of complete kernels, one by one or of all together."""

import numpy as np

from absentia.core import Array, Components, Operator, components, spread
from absentia.data._gaps import shown
from absentia.data._kernelviews import KernelViews, check_kernels
from absentia.data._order import ordering


def one_by_one(kernels: KernelViews, n_components: int) -> dict[str, Components]:
    """The components of every view, in its kernel's own units."""
    _check(kernels, n_components)
    order = ordering(kernels).samples
    return {
        name: components([kernels.operator(name)], [1.0], n_components, order) for name in kernels.names
    }


def fused(kernels: KernelViews, n_components: int) -> tuple[Components, Array]:
    """The components of the weighted sum of all kernels, and the weights.

    A view's weight is one over its total variance and the number of views, so that no view counts more for
    being on another scale; where all samples are one, it has none.
    """
    _check(kernels, n_components)
    operators: list[Operator] = [kernels.operator(name) for name in kernels.names]
    spreads = np.array([spread(K) for K in operators])
    varies = spreads > 0
    weights = np.where(varies, len(kernels) / np.where(varies, spreads, 1.0), 0.0) / max(varies.sum(), 1)
    return components(operators, weights.tolist(), n_components, ordering(kernels).samples), weights


def _check(kernels: KernelViews, n_components: int) -> None:
    check_kernels(kernels)
    if not isinstance(n_components, int | np.integer) or n_components < 1:
        raise ValueError(f"n_components must be a whole number of 1 or more, not {n_components!r}")
    for name, present in zip(kernels.names, kernels.observed.T, strict=True):
        if not present.all():
            raise ValueError(
                f"view {name!r} is absent for {int((~present).sum())} sample(s), e.g. "
                f"{shown(kernels.ids[np.argmin(present)])}; complete the kernels first, "
                "CVKT(rounds=3).fit_transform(kernels), or use absentia.embed, which does"
            )
