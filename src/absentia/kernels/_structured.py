"""Views of sequences and of graphs: counts of runs of letters, and kernels of GraKeL.

The linear kernel of the counts of all runs of k letters is the spectrum kernel (C. Leslie, E. Eskin,
W. S. Noble, Pacific Symposium on Biocomputing 2002); the cosine kernel is the same for sequences of unlike
lengths.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

from absentia.core import Array, warn
from absentia.core.linalg import inverse_sqrt, symmetrize
from absentia.data import AbsenceWarning, show_id


def spectrum_features(
    sequences: Any,
    k: int = 3,
    ids: Iterable[Hashable] | None = None,
    *,
    vocabulary: Sequence[str] | None = None,
) -> tuple[Any, Array]:
    """Counts of all runs of `k` letters (k-mers), a sparse table for a view of strings.

    Letters are any characters, upper and lower case unlike; white space, as in wrapped lines, is left out.

    Parameters
    ----------
    sequences : list, Series or mapping of str
        One text per sample.  None, NaN and empty texts are absent: rows of NaN.
    k : int, default 3
        Length of the runs.
    ids : iterable, optional
        Of the samples, for messages; by default the index of a Series, the keys of a mapping, or 0, 1, ...
    vocabulary : sequence of str, optional
        The runs to count, those of training, in this order; all others are ignored.  By default those
        that occur.

    Returns
    -------
    counts : csr_array of shape (n_samples, n_runs)
    names : ndarray of str
        The runs.

    Examples
    --------
    >>> from absentia.kernels import spectrum_features
    >>> counts, names = spectrum_features(["GATTA", "TTA"], 2)
    >>> names
    array(['AT', 'GA', 'TA', 'TT'], dtype='<U2')
    >>> counts.toarray()
    array([[1., 1., 1., 1.],
           [0., 0., 1., 1.]])
    """
    ids, texts = _as_texts(sequences, ids)
    counter = _make_counter(k, texts, vocabulary)
    present = np.array([bool(text) for text in texts], dtype=bool)
    counts = counter.fit_transform([text for text in texts if text])
    _warn_of_short(ids, texts, int(k))
    return _insert_absent(scipy.sparse.csr_array(counts), present), counter.get_feature_names_out().astype(
        str
    )


def _make_counter(k: Any, texts: list[str], vocabulary: Sequence[str] | None) -> CountVectorizer:
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number of 1 or more, not {k!r}")
    runs = None if vocabulary is None else _check_vocabulary(vocabulary, int(k))
    longest = max(map(len, texts), default=0)
    if runs is None and longest < k:
        raise ValueError(
            f"no sequence has {k} letters or more: {sum(map(bool, texts))} of {len(texts)} samples have "
            f"one, the longest of {longest}; take a smaller k"
        )
    return CountVectorizer(
        analyzer="char", ngram_range=(k, k), lowercase=False, dtype=np.float64, vocabulary=runs
    )


def _as_texts(sequences: Any, ids: Any) -> tuple[list[Any], list[str]]:
    """Ids and texts, white space left out; empty where absent."""
    if isinstance(sequences, str) or not hasattr(sequences, "__len__"):
        raise ValueError(f"a list of texts, one per sample, is wanted, not {type(sequences).__name__}")
    keys: Any = sequences if isinstance(sequences, Mapping) else getattr(sequences, "index", None)
    values = list(sequences.values()) if isinstance(sequences, Mapping) else list(sequences)
    if ids is not None or keys is None or callable(keys):  # a list's index is a method
        keys = range(len(values)) if ids is None else ids
    keys = list(keys)
    if len(keys) != len(values):
        raise ValueError(f"{len(keys)} ids for {len(values)} sequences; one for each is wanted")
    return keys, ["".join(_as_text(x, sample).split()) for sample, x in zip(keys, values, strict=True)]


def _as_text(x: Any, sample: Any) -> str:
    if isinstance(x, str):
        return x
    if x is None or type(x).__name__ == "NAType" or (isinstance(x, float | np.floating) and np.isnan(x)):
        return ""
    raise ValueError(
        f"sample {show_id(sample)}: its sequence is {x!r}, not a text; give texts, None where absent"
    )


def _check_vocabulary(vocabulary: Sequence[str], k: int) -> list[str]:
    runs = [str(run) for run in vocabulary]
    wrong = [run for run in runs if len(run) != k]
    if wrong or not runs:
        has = f"has {wrong[0]!r}" if wrong else "is empty"
        raise ValueError(
            f"the vocabulary {has}, and k is {k}; give the names that spectrum_features returned in "
            "training, and the same k"
        )
    return runs


def _warn_of_short(ids: list[Any], texts: list[str], k: int) -> None:
    short = [sample for sample, text in zip(ids, texts, strict=True) if 0 < len(text) < k]
    if short:
        warn(
            f"{len(short)} sequence(s), e.g. of sample {show_id(short[0])}, have fewer than {k} letters; "
            "all their counts are zero",
            AbsenceWarning,
        )


def _insert_absent(counts: Any, present: Array) -> Any:
    """The counts of samples that have a sequence, and rows of NaN for the others."""
    gaps = scipy.sparse.csr_array(np.full((int((~present).sum()), counts.shape[1]), np.nan))
    order = np.argsort(np.concatenate([np.flatnonzero(present), np.flatnonzero(~present)]))
    return scipy.sparse.csr_array(scipy.sparse.vstack([counts, gaps]))[order]


# --------------------------------------------------------------------------------------------- graphs


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
    graphs = list(graphs)
    for i, graph in enumerate(graphs):
        if hasattr(graph, "adj") and hasattr(graph, "nodes"):  # as NetworkX has them
            (graphs[i],) = graph_from_networkx([_label_nodes(graph, label)], node_labels_tag=label)
    given = {"name": kernel, **options} if options else kernel
    K = GraphKernel(kernel=given, random_state=0).fit_transform(graphs)
    K = symmetrize(np.asarray(K, dtype=np.float64))
    if not np.isfinite(K).all():
        row = int(np.argmax(~np.isfinite(K).all(axis=1)))
        raise ValueError(f"graph {row}: its {kernel} kernel is NaN or infinite; try another kernel")
    root = inverse_sqrt(np.diagonal(K))
    return K * np.outer(root, root) if normalize else K


def _label_nodes(graph: Any, label: str) -> Any:
    """The same graph, nodes without a label all of one kind."""
    copy = graph.copy()
    for _, attributes in copy.nodes(data=True):
        attributes.setdefault(label, "")
    return copy
