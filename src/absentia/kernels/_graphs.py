"""Graphs through GraKeL: the kernel of a view whose samples are graphs."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from absentia.core import Array, inverse_root, symmetrize


def graph_kernel(
    graphs: Sequence[Any],
    kernel: str = "weisfeiler_lehman",
    *,
    label: str = "label",
    normalize: bool = True,
    **options: Any,
) -> Array:
    """Kernel of graphs among themselves, for ``KernelViews.from_blocks({"molecule": (ids, K)})``.

    New samples are kernels of old and new graphs together, of which the rows of the new are taken:
    ``kernels[np.ix_(new, train)]``.

    Parameters
    ----------
    graphs : sequence
        NetworkX graphs, or whatever GraKeL takes.
    kernel : str, default "weisfeiler_lehman"
        GraKeL's name of the kernel, such as ``"shortest_path"`` or ``"vertex_histogram"``.
    label : str, default "label"
        Attribute of a NetworkX node that says of which kind it is; nodes without it are all of one.
    normalize : bool, default True
        Give every graph unit length, so that large ones do not count more.
    **options
        Of GraKeL's kernel, such as ``n_iter=3``.
    """
    try:
        from grakel import GraphKernel
        from grakel.utils import graph_from_networkx
    except ImportError as error:
        raise ImportError("graph_kernel needs GraKeL: pip install 'absentia[graphs]'") from error
    if not len(graphs):
        raise ValueError("no graph is given; at least one is wanted")
    taken = list(graphs)
    for i, graph in enumerate(taken):
        if hasattr(graph, "adj") and hasattr(graph, "nodes"):  # as NetworkX has them
            (taken[i],) = graph_from_networkx([_labelled(graph, label)], node_labels_tag=label)
    given = {"name": kernel, **options} if options else kernel
    found = GraphKernel(kernel=given, random_state=0).fit_transform(taken)
    K = symmetrize(np.asarray(found, dtype=np.float64))
    if not np.isfinite(K).all():
        row = int(np.argmax(~np.isfinite(K).all(axis=1)))
        raise ValueError(f"graph {row}: its {kernel} kernel is NaN or infinite; try another kernel")
    root = inverse_root(np.diagonal(K))
    return K * np.outer(root, root) if normalize else K


def _labelled(graph: Any, label: str) -> Any:
    """The same graph, its nodes all of a kind where it is not said."""
    copy = graph.copy()
    for _, about in copy.nodes(data=True):
        about.setdefault(label, "")
    return copy
