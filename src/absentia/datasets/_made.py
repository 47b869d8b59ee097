"""Made-up data: views from shared and private factors with the truth beside them, and a cohort of patients.

The cohort is as people have them: tables, labels with gaps, new patients later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from absentia.core import Array, RandomState, make_generator
from absentia.data import Views
from absentia.files import FileError, write_atomically
from absentia.kernels import ViewKernels

_SUBTYPES = {"Basal": 48, "Her2": 32, "LumA": 79}
_STAGES = ("I", "II", "III", "IV")
_MISSING = ("", "NA", "N/A", "?")  # how people write that a label is unknown
_ABSENT = {"expression": 30, "methylation": 41, "clinical": 14}  # of 159 patients
_UNLABELLED = {"Basal": 5, "Her2": 4, "LumA": 10}
_DISTANCE = 2.5  # of a subtype from the others along its factor, in standard deviations
_BLUR = 2.0  # standard deviation of what a view adds to the factor that the other one shows
_N_NEW = 40
_WITHOUT_TABLES = "P-1013"  # has a label and no table


def make_multiview(
    n_samples: int = 100,
    n_views: int = 3,
    *,
    n_shared: int = 4,
    n_private: int = 2,
    n_features: int | Sequence[int] = 20,
    n_classes: int = 2,
    private_scale: float = 0.5,
    noise: float = 0.1,
    kernel: str = "rbf",
    random_state: RandomState = None,
) -> Bunch:
    """Views that share some factors and keep others to themselves, with the truth beside them.

    View v of sample i is ``z_i A_v + private_scale * p_iv B_v + noise * e_iv`` with standard normal
    shared factors z, private factors p, loadings A, B (scaled so that each part has unit variance per
    feature before its factor) and noise e.  Classes cut the first shared factor at equal shares.

    Parameters
    ----------
    n_samples, n_views, n_shared, n_private, n_features, n_classes : int
        How many there are; of private factors and of features in each view (features: or one per view).
    private_scale, noise : float
        How strong what a view does not share is, against the shared part's 1.
    kernel : str
        Kernel of ``kernels``, one per view as in :class:`absentia.ViewKernels`.
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Returns
    -------
    Bunch
        ``views`` and ``kernels`` (complete), ``target``, ``shared`` (n, n_shared), ``private`` (list of
        (n, n_private)), ``loadings`` (list of (A, B)).

    Examples
    --------
    >>> make_multiview(50, 3, random_state=0).views.shape
    (50, 3)
    """
    rng, widths = make_generator(random_state), _check_widths(n_features, n_views)
    shared = rng.standard_normal((n_samples, n_shared))
    drawn = [_draw_view(rng, shared, n_private, width, private_scale, noise) for width in widths]
    rank = np.argsort(np.argsort(shared[:, 0])) if n_shared else rng.permutation(n_samples)
    truth = {"private": [private for _, _, private, _ in drawn], "loadings": [(A, B) for A, B, *_ in drawn]}
    views = Views.from_dict({f"view{v}": table for v, (*_, table) in enumerate(drawn)})
    kernels = ViewKernels(kernel).fit_transform(views)
    return Bunch(views=views, kernels=kernels, target=rank * n_classes // n_samples, shared=shared, **truth)


def _check_widths(n_features: int | Sequence[int], n_views: int) -> list[int]:
    widths = [n_features] * n_views if isinstance(n_features, int) else list(n_features)
    if len(widths) != n_views:
        raise ValueError(f"n_features gives {len(widths)} widths for {n_views} views")
    return widths


def _draw_view(
    rng: np.random.Generator, shared: Array, n_private: int, width: int, private_scale: float, noise: float
) -> tuple[Array, Array, Array, Array]:
    """One view: its loadings, its private factors and its values."""
    n, n_shared = shared.shape
    A = rng.standard_normal((n_shared, width)) / np.sqrt(max(n_shared, 1))
    B = rng.standard_normal((n_private, width)) / np.sqrt(max(n_private, 1))
    private, error = rng.standard_normal((n, n_private)), rng.standard_normal((n, width))
    return A, B, private, shared @ A + private_scale * private @ B + noise * error


# ------------------------------------------------------------------------------------------------- a cohort


@dataclass(frozen=True)
class _Cohort:
    """Tables by view with the patients as index, the patients' subtypes, and the same of new patients.

    Attributes
    ----------
    tables, new : dict of DataFrame
        Who is not in a table lacks the view.  The tables of the new patients have other columns in
        another order, as tables of next month do.
    labels : DataFrame
        Column ``subtype``; empty, ``NA``, ``N/A`` or ``?`` where unknown, and one patient in no table.
    new_labels : DataFrame
        The truth.
    """

    tables: Mapping[str, Any]
    labels: Any
    new: Mapping[str, Any]
    new_labels: Any


def make_cohort(random_state: RandomState = None) -> _Cohort:
    """Made-up patients with one of three subtypes in three views, some of them absent.

    Parameters
    ----------
    random_state : int, Generator, RandomState or None
        Source of randomness; None: the fixed seed 0.

    Examples
    --------
    >>> cohort = make_cohort()
    >>> {name: table.shape for name, table in cohort.tables.items()}
    {'expression': (129, 200), 'methylation': (118, 120), 'clinical': (145, 5)}
    """
    import pandas as pd

    rng = make_generator(random_state)
    n = sum(_SUBTYPES.values())
    classes = np.repeat(np.arange(3), list(_SUBTYPES.values()))
    everyone = np.concatenate([rng.permutation(classes), rng.choice(classes, _N_NEW)])
    ids = np.array([f"P-{number:04d}" for number in range(1, len(everyone) + 1)])
    whole = _draw_tables(rng, everyone, ids)
    subtype = pd.DataFrame({"subtype": np.array(list(_SUBTYPES))[everyone]}, index=ids.tolist())
    observed = _draw_observed(rng, n)
    tables = {name: whole[name].iloc[:n][observed[:, v]] for v, name in enumerate(_ABSENT)}
    observed = rng.random((_N_NEW, 3)) < 0.75
    observed[~observed.any(axis=1), 0] = True
    new = {name: whole[name].iloc[n:][observed[:, v]] for v, name in enumerate(_ABSENT)}
    new["expression"] = _change_columns(rng, new["expression"])
    return _Cohort(tables, _draw_labels(rng, subtype.iloc[:n]), new, subtype.iloc[n:])


def _draw_tables(rng: np.random.Generator, classes: Array, ids: Array) -> dict[str, Any]:
    """All three views of everybody, none of which tells the whole answer.

    One factor sets Basal apart, another Her2.  Expression shows the first as it is and the second blurred,
    methylation the other way round, each among two factors of its own; the clinic sees a little of both.
    """
    import pandas as pd

    n, index = len(classes), pd.Index(ids.tolist(), name="patient")
    factors = _DISTANCE * (classes[:, None] == [0, 1]) + rng.standard_normal((n, 2))

    def measure(width: int, own: int, noise: float) -> Array:
        seen = factors + _BLUR * (np.arange(2) != own) * rng.standard_normal((n, 2))
        seen = np.hstack([seen, rng.standard_normal((n, 2))])
        return seen @ rng.standard_normal((4, width)) / 2 + noise * rng.standard_normal((n, width))

    genes = [f"gene_{k:03d}" for k in range(1, 201)]
    sites = [f"cg{k:05d}" for k in rng.permutation(99_999)[:120]]
    expression = pd.DataFrame(np.round(6 + measure(200, 0, 1.5), 3), index, genes)
    methylation = pd.DataFrame(np.round(1 / (1 + np.exp(-measure(120, 1, 1.2))), 4), index, sites)
    score = factors[:, 0] + 0.7 * rng.standard_normal(n)
    stage = np.digitize(score, np.quantile(score, [0.3, 0.65, 0.9]))
    clinical = pd.DataFrame(
        {
            "age": np.round(np.clip(58 + 11 * rng.standard_normal(n), 24, 92)),
            "size_mm": np.round(np.exp(3 + 0.25 * stage + 0.3 * rng.standard_normal(n)), 1),
            "sex": np.where(rng.random(n) < 0.02, "m", "f"),
            "stage": np.array(_STAGES)[stage],
            "ER": np.where(rng.random(n) < np.array([0.12, 0.4, 0.95])[classes], "pos", "neg"),
        },
        index,
    )
    clinical.loc[rng.random(n) < 0.05, "size_mm"] = np.nan
    clinical.loc[rng.random(n) < 0.06, "ER"] = None
    return {"expression": expression, "methylation": methylation, "clinical": clinical}


def _draw_observed(rng: np.random.Generator, n: int) -> Array:
    """Which patients have which view: as many absent as wanted, everybody with one view at least."""
    observed = np.ones((n, len(_ABSENT)), dtype=bool)
    for v, count in enumerate(_ABSENT.values()):
        allowed = np.flatnonzero(observed.sum(axis=1) > 1)
        observed[rng.choice(allowed, count, replace=False), v] = False
    return observed


def _draw_labels(rng: np.random.Generator, subtype: Any) -> Any:
    """Some unknown, each in one of the ways that people write it, and somebody whom no table has."""
    import pandas as pd

    labels = subtype.copy()
    for name, count in _UNLABELLED.items():
        patients = rng.choice(np.flatnonzero(subtype["subtype"] == name), count, replace=False)
        labels.iloc[patients, 0] = [_MISSING[k % len(_MISSING)] for k in range(count)]
    without_tables = pd.DataFrame({"subtype": ["LumA"]}, index=[_WITHOUT_TABLES])
    return pd.concat([labels, without_tables]).rename_axis("patient")


def _change_columns(rng: np.random.Generator, table: Any) -> Any:
    """Columns in another order, three of them gone, one that was not there."""
    columns = rng.permutation(table.columns[3:])
    return table[columns].assign(gene_999=np.round(rng.normal(6, 1, len(table)), 3))


def write_cohort(
    folder: str | Path, new_folder: str | Path, random_state: RandomState = None
) -> list[Path]:
    """Write the cohort's tables and labels as CSV into a folder, and those of new patients into another.

    Parameters
    ----------
    folder, new_folder : path-like
        Where to; they are made, and neither may be there with something in it.
    random_state : int, Generator, RandomState or None
        As in :func:`make_cohort`.
    """
    cohort = make_cohort(random_state)
    parts = {Path(folder): {**cohort.tables, "labels": cohort.labels}}
    parts[Path(new_folder)] = {**cohort.new, "labels": cohort.new_labels.rename_axis("patient")}
    for target in parts:
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileError(f"{target}: is there already; give the name of a new folder")
    written = []
    for target, tables in parts.items():
        target.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            write = partial(table.to_csv, mode="wb", lineterminator="\n")
            written.append(write_atomically(target / f"{name}.csv", write))
    return written
