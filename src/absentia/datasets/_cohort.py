"""A made-up cohort of patients as people have them: tables, labels with gaps, new patients later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from absentia.core import Array, RandomState, make_generator
from absentia.files import FileError, write_atomically

_SUBTYPES = {"Basal": 48, "Her2": 32, "LumA": 79}
_STAGES = ("I", "II", "III", "IV")
_MISSING = ("", "NA", "N/A", "?")  # how people write that a label is unknown
_ABSENT = {"expression": 30, "methylation": 41, "clinical": 14}  # of 159 patients
_UNLABELLED = {"Basal": 5, "Her2": 4, "LumA": 10}
_N_NEW = 40
_WITHOUT_TABLES = "P-1013"  # has a label and no table


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
    """All three views of everybody: factors that go with the subtype, seen through each view's loadings."""
    import pandas as pd

    n, index = len(classes), pd.Index(ids.tolist(), name="patient")
    centres = 1.1 * rng.standard_normal((3, 4))
    factors = centres[classes] + rng.standard_normal((n, 4))

    def measure(width: int, noise: float) -> Array:
        return factors @ rng.standard_normal((4, width)) / 2 + noise * rng.standard_normal((n, width))

    genes = [f"gene_{k:03d}" for k in range(1, 201)]
    sites = [f"cg{k:05d}" for k in rng.permutation(99_999)[:120]]
    expression = pd.DataFrame(np.round(6 + measure(200, 1.5), 3), index, genes)
    methylation = pd.DataFrame(np.round(1 / (1 + np.exp(-measure(120, 1.2))), 4), index, sites)
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
            text = table.to_csv(lineterminator="\n").encode()
            written.append(write_atomically(target / f"{name}.csv", partial(_write_bytes, text)))
    return written


def _write_bytes(text: bytes, file: BinaryIO) -> None:
    file.write(text)
