"""What new data are like beside training data: patterns, columns, ranges.

Everything is told from a summary of the training data, a few numbers per feature
(:class:`absentia.data.DataSummary`), which a model's file keeps.

Views: whether as many samples have one, by Fisher's exact test.  Ranges: how many new values lie outside
the least and the largest of ``n`` training values, of which ``2 / (n + 1)`` are expected (a beta-binomial
count, whatever the distribution), or (a twentieth of them at least) beyond by more than three times the
range, which one value in ``(n + 1)^2`` is where tails are no heavier than exponential; and of all values of
a view the share that is outside, in which single samples show.  Location: how many are above a training
median, by Fisher's test again; beside it the shift of the mean in training deviations, new values being
clipped to the training range, with an interval as of equal deviations.  No test takes values for normal.
P-values are two-sided and corrected by Holm over all of them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import betabinom, binom, hypergeom

from absentia.core import Array, list_some
from absentia.data import (
    DataSummary,
    FeatureSummary,
    KernelViews,
    Presence,
    Views,
    dense_chunks,
    name_pattern,
    show_id,
)
from absentia.data.statistics import holm
from absentia.kernels import AdjustViews

if TYPE_CHECKING:
    import pandas

_LEVEL = 0.05  # of corrected p-values
_MIN_SHIFT = 0.2  # of a mean, in deviations, that is worth a sentence
_MIN_SHARE = 0.05  # by which shares of samples or values differ at least, to be worth one
_FAR = 3.0  # ranges beyond the range
_ROUNDING = 1e-6  # of a range, by which values may lie outside
_MIN_FAR = 0.05  # share of the new values that are far outside, from which on that counts
_MIN_OUTSIDE, _MIN_CELLS = 0.2, 100  # share of all values of a view, if so many came, that is outside
_MAX_NAMED = 3
_ALL = "(all features)"
#: What is compared, the most important first.
_KINDS = ("pattern", "column", "range", "location", "view", "missing")
_COLUMNS = (
    "kind",
    "view",
    "name",
    "training",
    "new",
    "effect",
    "low",
    "high",
    "p",
    "p corrected",
    "notable",
)


class Remark(NamedTuple):
    """A sentence about what is unlike, and which of :data:`_KINDS` it is about."""

    kind: str
    sentence: str


@dataclass(frozen=True, eq=False)
class Shift:
    """What new data are like beside training data.

    Attributes
    ----------
    table : DataFrame
        A row for each thing that was compared, what matters first: ``kind``, ``view``, ``name`` (a pattern,
        a feature), ``training`` and ``new`` (shares of samples, or means), ``effect``, its interval ``low``
        and ``high``, ``p``, ``p corrected`` and ``notable``.  By kind the effect is

        * pattern: the difference of its shares; notable if no training sample has it
        * range: the share of new values outside the training range
        * location: the shift of the mean, in training deviations
        * view: the difference of the shares of samples that have it
        * missing: the difference of the shares of values that are missing within a view
    remarks : tuple of Remark
        The notable ones in words, with columns that are missing or unknown and levels that are new.
    """

    table: "pandas.DataFrame"
    remarks: tuple[Remark, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is unlike in words, the most important first; empty if nothing is."""
        return tuple(remark.sentence for remark in self.remarks)

    @property
    def notable(self) -> "pandas.DataFrame":
        """The rows of `table` that are worth a sentence."""
        return self.table[self.table["notable"]]

    def to_dict(self) -> dict[str, Any]:
        """Sentences, and the notable rows with None for NaN."""
        rows = self.notable.drop(columns="notable").astype(object)
        return {
            "sentences": list(self.sentences),
            "notable": rows.where(rows.notna(), None).to_dict("records"),
        }


def shift(training: Any, new: Any) -> Shift:
    """Compare new data with training data: who has which view, columns, levels, ranges and means.

    Parameters
    ----------
    training : Views, KernelViews, DataSummary or a model that ``absentia fit`` wrote
        What a model was learned from; kernels are compared by who has which view alone.
    new : Views or KernelViews
        New samples; views that training did not have are left out, and covariates that a model adjusts
        features for.

    Returns
    -------
    Shift
        With ``.sentences``, ``.table`` and ``.notable``.

    Examples
    --------
    >>> import numpy as np
    >>> from absentia import Views, inspection
    >>> rng = np.random.default_rng(0)
    >>> training = Views.from_dict({"blood": rng.normal(size=(90, 2)), "mri": rng.normal(size=(90, 3))})
    >>> new = Views.from_dict({"blood": 1000 * rng.normal(size=(20, 2))})
    >>> print(inspection.shift(training, new).sentences[0])
    20 of 20 new samples (100%) have a pattern that no training sample has: only blood (20).
    """
    summary = _find_summary(training)
    if not isinstance(new, Presence):
        raise TypeError(f"new: Views or KernelViews are wanted, not {type(new).__name__}")
    besides = _find_covariates(training)
    new = new.select([name for name in new.names if name != besides]) if besides in new.names else new
    if not len(new) or not set(new.names) & set(summary.names):
        came = f"of the views {list(new.names)}" if len(new) else "no sample"
        raise ValueError(
            f"new: {came} came; samples with some of the views {list(summary.names)} are wanted"
        )
    observed = np.zeros((len(new), len(summary.names)), bool)
    for v, name in enumerate(summary.names):
        if name in new.names:
            observed[:, v] = new.observed[:, new.names.index(name)]
    rows, columns = [*_compare_patterns(summary, observed)], []
    if isinstance(new, Views) and summary.coding is not None:
        known = new.select([name for name in new.names if name in summary.names])
        columns = [Remark("column", f"{words}.") for words in summary.coding.differences(known)]
        coded = summary.coding(known)
        for name in known.names:
            rows += _compare_features(name, summary, coded.block(name))
    unknown = [name for name in new.names if name not in summary.names]
    columns += [Remark("column", f"view {name!r} was not there in training (ignored).") for name in unknown]
    table = _make_table(rows)
    return Shift(table, tuple(_describe(table, summary, observed, columns)))


def _find_summary(training: Any) -> DataSummary:
    if isinstance(training, DataSummary):
        return training
    if isinstance(training, Views | KernelViews):
        return DataSummary.of(training)
    fitted = getattr(training, "classifier", training)
    summary = getattr(fitted[-1] if hasattr(fitted, "steps") else fitted, "training_summary_", None)
    if not isinstance(summary, DataSummary):
        raise TypeError(
            f"training: Views, KernelViews or a model that absentia fit wrote is wanted, and this "
            f"{type(training).__name__} knows nothing of its training data; give these, or fit it again"
        )
    return summary


def _find_covariates(training: Any) -> str | None:
    """The view that a model adjusts features for, which is none of those it learned from."""
    steps = [getattr(training, "adjust", None), *(step for _, step in getattr(training, "steps", ()))]
    return next((step.covariates for step in steps if isinstance(step, AdjustViews)), None)


# ------------------------------------------------------------------------------------------- comparisons


def _fisher(hits: Array, n: Array, new_hits: Array, m: Array) -> Array:
    """Two-sided p-values of Fisher's test, twice the smaller tail, of shares in n and in m samples."""
    total = n + m
    lower = hypergeom.cdf(new_hits, total, hits + new_hits, m)
    upper = hypergeom.sf(new_hits - 1, total, hits + new_hits, m)
    return np.asarray(np.minimum(2 * np.minimum(lower, upper), 1.0))


def _compare_patterns(summary: DataSummary, observed: Array) -> Iterator[dict[str, Any]]:
    """Rows of patterns, those that training has not first, and of views."""
    n, m = summary.n_samples, len(observed)
    patterns = np.unique(np.vstack([summary.patterns, observed]), axis=0)
    here = (patterns[:, None] == summary.patterns).all(axis=2) @ summary.counts
    then = (patterns[:, None] == observed).all(axis=2).sum(axis=1)
    for pattern, count, new_count in zip(patterns, here.tolist(), then.tolist(), strict=True):
        words, shares = name_pattern(pattern, summary.names), (count / max(n, 1), new_count / m)
        row = {"kind": "pattern", "name": words, "training": shares[0], "new": shares[1]}
        yield row | {"effect": shares[1] - shares[0], "notable": count == 0}
    has, has_new = summary.counts @ summary.patterns, observed.sum(axis=0)
    p = _fisher(has, np.full_like(has, n), has_new, np.full_like(has, m))
    for name, count, new_count, value in zip(summary.names, has, has_new, p, strict=True):
        shares = float(count / max(n, 1)), float(new_count / m)
        row = {"kind": "view", "view": name, "name": name, "training": shares[0], "new": shares[1]}
        yield row | {"effect": shares[1] - shares[0], "p": float(value)}


def _compare_features(view: str, summary: DataSummary, block: Any) -> Iterator[dict[str, Any]]:
    """Rows of ranges and locations of a view's features, and of missing values."""
    assert summary.coding is not None
    own, coding = summary.features[view], summary.coding.views[view]
    names = coding.names() or [str(j) for j in range(block.shape[1])]
    parts = [_measure(own, where, values) for where, values in dense_chunks(block)]
    known, mean, outside, far, above = (np.concatenate(part) for part in zip(*parts, strict=True))
    cells, new_cells = own.n_samples * len(names), block.shape[0] * len(names)
    if cells and new_cells:
        missing, new_missing = 1 - own.count.sum() / cells, 1 - known.sum() / new_cells
        row = {"kind": "missing", "view": view, "name": view, "training": missing, "new": new_missing}
        yield row | {"effect": new_missing - missing}
    n, m, compared = own.count, known, (own.count > 1) & (known > 0)
    if m[compared].sum() >= _MIN_CELLS:
        share, chance = outside[compared].sum() / m[compared].sum(), float((2 / (n[compared] + 1)).mean())
        row = {"kind": "range", "view": view, "name": _ALL, "training": 0.0, "new": share, "effect": share}
        yield row | {"notable": share >= max(_MIN_OUTSIDE, 5 * chance)}
    with np.errstate(all="ignore"):  # of features that nobody has
        p_far = np.where(far >= _MIN_FAR * m, binom.sf(far - 1, m, (n + 1.0) ** -2), 1.0)
        p_range = np.minimum(2 * np.minimum(betabinom.sf(outside - 1, m, 2, n - 1), p_far), 1.0)
        p_above = _fisher(own.above.astype(int), n, above, m)
        moved = (mean - own.mean) / own.deviation
        half = 1.96 * np.sqrt(1 / n + 1 / m)
    for j in np.flatnonzero(compared).tolist():
        feature = {"view": view, "name": names[j]}
        share = float(outside[j] / m[j])
        p = {"p": float(p_range[j])}
        yield {"kind": "range", **feature, "training": 0.0, "new": share, "effect": share, **p}
        if own.high[j] > own.low[j]:
            ends = {"effect": moved[j], "low": moved[j] - half[j], "high": moved[j] + half[j]}
            means = {"training": own.mean[j], "new": mean[j]}
            yield {"kind": "location", **feature, **means, **ends, "p": float(p_above[j])}


def _measure(own: FeatureSummary, where: slice, values: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Of new values (m, f): known ones, their clipped mean, those outside the range, far outside, above."""
    low, high, cut = own.low[where], own.high[where], own.cut[where]
    known, width = ~np.isnan(values), high - low
    slack = _ROUNDING * np.maximum(width, 1e-6 * np.maximum(np.abs(low), np.abs(high)))
    with np.errstate(invalid="ignore"):
        beyond = np.maximum(low - values, values - high)
        clipped = np.where(known, np.clip(values, low, high), 0.0).sum(axis=0)
        far = (beyond > _FAR * width + slack) & (width > 0)
        counts = [known & mask for mask in (beyond > slack, far, values > cut)]
    count = known.sum(axis=0)
    outside, far, above = (mask.sum(axis=0) for mask in counts)
    return count, clipped / np.maximum(count, 1), outside, far, above


def _make_table(rows: Sequence[dict[str, Any]]) -> "pandas.DataFrame":
    """Rows with corrected p-values and what is notable, by kind and size of the effect."""
    import pandas as pd

    table = pd.DataFrame(rows, columns=_COLUMNS).astype({"p": float, "effect": float})
    table["view"] = table["view"].fillna("")
    table["p corrected"] = holm(table["p"].to_numpy())
    size, found = table["effect"].abs(), table["p corrected"] < _LEVEL
    least = table["kind"].map({"location": _MIN_SHIFT, "range": 0.0}).fillna(_MIN_SHARE)
    tested = table["p"].notna()
    notable = np.where(tested, found & (size >= least), (table["kind"] == "missing") & (size >= least))
    table["notable"] = (table["notable"] == True) | notable  # noqa: E712 - None where not said
    kind = table["kind"].map({kind: place for place, kind in enumerate(_KINDS)})
    order = np.lexsort([table["name"], -size, ~table["notable"], kind])
    return table.iloc[order].reset_index(drop=True)


# ---------------------------------------------------------------------------------------------- in words


def _describe(
    table: "pandas.DataFrame", summary: DataSummary, observed: Array, columns: Sequence[Remark]
) -> Iterator[Remark]:
    """Remarks on the notable rows, and on columns, in the order of :data:`_KINDS`."""
    notable = table[table["notable"]]
    unseen = notable[notable["kind"] == "pattern"]
    if len(unseen):
        counts = (unseen["new"] * len(observed)).round().astype(int)
        words = [f"{name} ({count})" for name, count in zip(unseen["name"], counts, strict=True)]
        whose = f"{counts.sum()} of {len(observed)} new samples ({unseen['new'].sum():.0%})"
        said = f"{whose} have a pattern that no training sample has: {list_some(words, _MAX_NAMED)}."
        yield Remark("pattern", said)
    yield from columns
    beyond = set(notable.loc[notable["name"] == _ALL, "view"])  # which speaks for their means too
    for kind, say in (("range", _say_range), ("location", _say_location)):
        own = notable[(notable["kind"] == kind) & ((kind == "range") | ~notable["view"].isin(beyond))]
        for view, rows in own.groupby("view", sort=False):
            compared = (table["kind"] == kind) & (table["view"] == view) & (table["name"] != _ALL)
            yield Remark(kind, f"view {view!r}: {say(rows, int(compared.sum()))}.")
    for row in notable[notable["kind"] == "view"].to_dict("records"):
        shares = f"{row['new']:.0%} of the new samples have it, {row['training']:.0%} in training"
        yield Remark("view", f"view {row['view']!r}: {shares}.")
    for row in notable[notable["kind"] == "missing"].to_dict("records"):
        shares = f"{row['new']:.0%} of the values are missing, {row['training']:.0%} in training"
        yield Remark("missing", f"view {row['view']!r}: {shares}.")


def _say_range(rows: "pandas.DataFrame", n_features: int) -> str:
    whole = rows[rows["name"] == _ALL]
    if len(whole):
        return f"{whole['effect'].iloc[0]:.0%} of all values are outside the training range"
    words = [f"{show_id(name)} ({share:.0%} of samples)" for name, share in _pairs(rows)]
    which = list_some(words, _MAX_NAMED)
    return f"{len(rows)} of {n_features} features are outside their training range: {which}"


def _say_location(rows: "pandas.DataFrame", n_features: int) -> str:
    words = [f"{show_id(name)} ({moved:+.1f})" for name, moved in _pairs(rows)]
    which = list_some(words, _MAX_NAMED)
    return f"{len(rows)} of {n_features} features are shifted, by deviations of training: {which}"


def _pairs(rows: "pandas.DataFrame") -> list[tuple[str, float]]:
    return list(zip(rows["name"], rows["effect"], strict=True))
