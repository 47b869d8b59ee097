"""Sequences as features: how often each run of k letters occurs in them.

The linear kernel of these counts is the spectrum kernel (C. Leslie, E. Eskin, W. S. Noble, Pacific Symposium on
Biocomputing 2002); the cosine kernel is the same for sequences of unlike lengths.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse
from sklearn.feature_extraction.text import CountVectorizer

from absentia.core import Array, warn
from absentia.data import AbsenceWarning, shown


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
        The runs to count, those of training, in this order; all others are ignored.  By default those that occur.

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
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 1:
        raise ValueError(f"k must be a whole number of 1 or more, not {k!r}")
    own, texts = _texts(sequences, ids)
    if vocabulary is not None:
        _check_runs(vocabulary, int(k))
    counter = CountVectorizer(
        analyzer="char", ngram_range=(k, k), lowercase=False, dtype=np.float64, vocabulary=vocabulary
    )
    present = [text for text in texts if text]
    if vocabulary is None and not any(len(text) >= k for text in present):
        raise ValueError(
            f"no sequence has {k} letters or more: {len(present)} of {len(texts)} samples have one, the longest of "
            f"{max(map(len, present), default=0)}; take a smaller k"
        )
    found = counter.fit_transform(present) if present else np.zeros((0, len(vocabulary or ())))
    _warn_of_short(own, texts, int(k))
    return _spread_out(
        found, np.array([bool(text) for text in texts])
    ), counter.get_feature_names_out().astype(str)


def _texts(sequences: Any, ids: Any) -> tuple[list[Any], list[str]]:
    """Ids and texts, white space left out; empty where absent."""
    if isinstance(sequences, str) or not hasattr(sequences, "__len__"):
        raise ValueError(f"a list of texts, one per sample, is wanted, not {type(sequences).__name__}")
    keys: Any = sequences if isinstance(sequences, Mapping) else getattr(sequences, "index", None)
    values = list(sequences.values()) if isinstance(sequences, Mapping) else list(sequences)
    own = (
        list(ids)
        if ids is not None
        else list(range(len(values)) if keys is None or callable(keys) else keys)
    )
    if len(own) != len(values):
        raise ValueError(f"{len(own)} ids for {len(values)} sequences; one for each is wanted")
    return own, ["".join(_text(x, which).split()) for which, x in zip(own, values, strict=True)]


def _text(x: Any, which: Any) -> str:
    if isinstance(x, str):
        return x
    if x is None or type(x).__name__ == "NAType" or (isinstance(x, float | np.floating) and np.isnan(x)):
        return ""
    raise ValueError(
        f"sample {shown(which)}: its sequence is {x!r}, not a text; give texts, None where absent"
    )


def _check_runs(vocabulary: Sequence[str], k: int) -> None:
    wrong = [run for run in vocabulary if len(str(run)) != k]
    if wrong:
        raise ValueError(
            f"the vocabulary has {wrong[0]!r}, of {len(wrong[0])} letters, but k is {k}; give the names that "
            "spectrum_features returned in training, and the same k"
        )


def _warn_of_short(ids: list[Any], texts: list[str], k: int) -> None:
    short = [which for which, text in zip(ids, texts, strict=True) if 0 < len(text) < k]
    if short:
        warn(
            f"{len(short)} sequence(s), e.g. of sample {shown(short[0])}, have fewer than {k} letters; all their "
            "counts are zero",
            AbsenceWarning,
        )


def _spread_out(found: Any, present: Array) -> Any:
    """The counts of those that have a sequence, and rows of NaN for the others."""
    gaps = scipy.sparse.csr_array(np.full((int((~present).sum()), found.shape[1]), np.nan))
    both = scipy.sparse.csr_array(scipy.sparse.vstack([scipy.sparse.csr_array(found), gaps]))
    order = np.empty(len(present), dtype=int)
    order[present], order[~present] = np.arange(present.sum()), present.sum() + np.arange((~present).sum())
    return both[order]
