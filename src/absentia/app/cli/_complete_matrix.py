"""One matrix with missing entries, from a file to files: ``absentia complete --method pma``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from absentia import files
from absentia.app import _endings as endings
from absentia.app._checks import check_ending, check_outputs, check_report
from absentia.app._terminal import step_bar, warnings_kept
from absentia.app.cli._words import made_with, parameters_in_words, say, say_where
from absentia.core import Array, at_most, extreme_eigenvalues, warn
from absentia.data import AbsenceWarning, shown
from absentia.files import Matrix
from absentia.methods.catalogue import Entry
from absentia.methods.matrix import MANY, PMAImputer, RowKernel

if TYPE_CHECKING:
    from absentia.app.report import HeldOut, MatrixStory

METHOD = "pma"
HIDDEN = 0.1  # share of the observed entries that the check hides
FEWEST_HIDDEN = 10  # with fewer there is no check


def run(
    file: Path,
    output: Path,
    entry: Entry,
    options: dict[str, Any],
    *,
    std: Path | None,
    report: Path | None,
    threads: int | None,
) -> None:
    """Complete a matrix and write it, its standard deviations and, if asked, a report."""
    beside = _places(file, output, std, report)
    endings.ledger.expect(output, beside, report)
    matrix = files.read_matrix(file)
    with at_most(threads, max(matrix.X.shape)), warnings_kept() as remarks:
        _warn(file, matrix)
        done, held = _run(matrix, options, report is not None)
        _check_finite(file, done)
    html = None
    if report is not None:
        from absentia.app import report as reporting

        html = reporting.render_matrix(matrix_story(file, entry, matrix, done, held, options, remarks))
    _write(output, beside, matrix, done)
    if html is not None and report is not None:
        reporting.save(html, report)
    _say(matrix, done, held)
    say_where(completed_matrix=output, standard_deviations=beside, report=report)


# --------------------------------------------------------------------------------------- before the work


def _places(file: Path, output: Path, std: Path | None, report: Path | None) -> Path | None:
    """Where standard deviations go, if not into the output; refuse what could not be written."""
    check_ending(output, "a completed matrix", ".csv", ".npz")
    csv = output.suffix.lower() == ".csv"
    if std is not None and not csv:
        raise ValueError("--std is for .csv output; an .npz file holds standard deviations as std")
    if std is not None:
        check_ending(std, "a table of standard deviations", ".csv")
    beside = (std or output.with_suffix(".std.csv")) if csv else None
    check_outputs([file], [output, beside, report])
    check_report(report)
    return beside


def _warn(file: Path, matrix: Matrix) -> None:
    """What the user should know of the matrix."""
    observed, n = matrix.observed, len(matrix.X)
    if observed.all():
        _note(f"{file}: nothing is missing; the matrix is copied as it is")
        return
    if matrix.row_kernel is None and n > MANY:
        _note(
            f"{n} rows are too many to estimate how they are related (at most {MANY}): taken as unrelated; "
            "to relate them, give row_kernel in an .npz file"
        )
    empty = matrix.row_ids[~observed.any(axis=1)]
    if len(empty):
        means = "the columns' means, as there is no row_kernel"
        source = means if matrix.row_kernel is None else "the row kernel"
        _note(f"{len(empty)} row(s) have nothing observed, e.g. {shown(empty[0])}: predicted from {source}")
    constant = matrix.column_names[~_varies(matrix.X)]
    if len(constant):
        _note(
            f"{len(constant)} column(s) have the same value wherever observed, e.g. {shown(constant[0])}: "
            "how far they vary elsewhere cannot be told"
        )


def _note(sentence: str) -> None:
    warn(sentence, AbsenceWarning)


def _varies(X: Array) -> Array:
    return np.asarray(np.nanmax(X, axis=0) > np.nanmin(X, axis=0))


# ---------------------------------------------------------------------------------------------- the work


Tick = Callable[[], None]


@dataclass(frozen=True, eq=False)
class Rows:
    """The row kernel that is used ("estimate" to estimate it), and why, in a sentence."""

    kernel: Any
    why: str


@dataclass(frozen=True, eq=False)
class Completion:
    """X completed, standard deviations, and the fitted imputer (None if nothing was missing)."""

    X: Array
    std: Array
    imputer: PMAImputer | None = None
    rows: str = ""
    loglik: float = np.nan


def _run(matrix: Matrix, options: dict[str, Any], check: bool) -> tuple[Completion, HeldOut | None]:
    if matrix.observed.all():
        return Completion(matrix.X, np.zeros_like(matrix.X)), None
    fits = 1 if matrix.row_kernel is not None or len(matrix.X) > MANY else 3
    with step_bar(METHOD, fits * (2 if check else 1)) as tick:
        done = complete(matrix, matrix.X, options, tick, likelihood=check)
        held = hold_out(matrix, options, tick) if check else None
    return done, held


def complete(
    matrix: Matrix,
    X: Array,
    options: dict[str, Any],
    tick: Tick = lambda: None,
    likelihood: bool = False,
) -> Completion:
    """X completed with the kernels of `matrix`, those it lacks estimated.

    Columns are scaled to standard deviation one first, as they may have any units; but not if there is a
    column kernel, which has the units of the matrix.
    """
    scale = np.ones(X.shape[1])
    if matrix.column_kernel is None:
        scale = np.where(_varies(X), np.nanstd(X, axis=0), 1.0)

    def fit(kernel: Any, Z: Array) -> PMAImputer:
        column = "estimate" if matrix.column_kernel is None else matrix.column_kernel
        imputer = PMAImputer(row_kernel=kernel, col_kernel=column, random_state=0, **options).fit(Z)
        tick()
        return imputer

    seen, loglik = ~np.isnan(X), np.nan
    rows = choose_rows(matrix, X / scale, fit)
    imputer = fit(rows.kernel, X / scale)
    completed, std = imputer.predict(return_std=True)
    if likelihood:  # a density: dividing by the scale multiplied it
        loglik = imputer.log_marginal_likelihood_ - float((seen * np.log(scale)).sum())
    return Completion(np.where(seen, X, completed * scale), std * scale, imputer, rows.why, loglik)


def choose_rows(matrix: Matrix, X: Array, fit: Callable[[Any, Array], PMAImputer]) -> Rows:
    """The row kernel: as given, or estimated or none, whichever predicts hidden entries of X better.

    The covariance of n rows has some n^2 / 2 numbers, estimated from m columns: with many more rows than
    columns it can follow noise, and completions are then worse than with rows unrelated.
    """
    n, none = len(X), RowKernel.none(len(X))
    if matrix.row_kernel is not None:
        amplitude = "; its amplitude was estimated" if matrix.column_kernel is None else ""
        return Rows(RowKernel.dense(matrix.row_kernel), f"as given{amplitude}")
    if n > MANY:
        return Rows(none, f"none, as {n} rows are too many to estimate one: rows are taken as unrelated")
    hidden = choose_hidden(~np.isnan(X), np.random.default_rng(1))
    if hidden.sum() < FEWEST_HIDDEN:
        return Rows(none, "none, as there are too few entries to tell: rows are taken as unrelated")
    Z = np.where(hidden, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the two, the chosen one is fitted again
        own, without = (rmse(fit(kernel, Z).completed_[hidden], X[hidden]) for kernel in ("estimate", none))
    if own < without:
        return Rows("estimate", f"estimated ({n} × {n}); on hidden entries RMSE {own:.3g}, "
                    f"and {without:.3g} without one")  # fmt: skip
    return Rows(none, f"none: on hidden entries, rows taken as unrelated have RMSE {without:.3g}, and "
                f"{own:.3g} with an estimated one")  # fmt: skip


def rmse(found: Array, truth: Array) -> float:
    return float(np.sqrt(((found - truth) ** 2).mean()))


def hold_out(
    matrix: Matrix, options: dict[str, Any], tick: Tick = lambda: None, seed: int = 0
) -> HeldOut | None:
    """Hide a tenth of the observed entries and predict them, all choices made anew; None if too few."""
    from absentia.app.report import HeldOut

    hidden = choose_hidden(matrix.observed, np.random.default_rng(seed))
    if hidden.sum() < FEWEST_HIDDEN:
        _note(f"only {int(hidden.sum())} entries could be hidden: too few to check how well it works")
        return None
    X = np.where(hidden, np.nan, matrix.X)
    done = complete(matrix, X, options, tick)
    means = np.broadcast_to(np.nanmean(X, axis=0), X.shape)
    return HeldOut(np.nonzero(hidden)[1], matrix.X[hidden], done.X[hidden], means[hidden], done.std[hidden])


def choose_hidden(observed: Array, rng: np.random.Generator) -> Array:
    """A tenth of the observed entries at random, of which every column keeps two."""
    entries = rng.permutation(np.argwhere(observed))
    left = observed.sum(axis=0)
    hidden = np.zeros_like(observed)
    for i, j in entries[: round(HIDDEN * len(entries))].tolist():
        if left[j] > 2:
            hidden[i, j] = True
            left[j] -= 1
    return hidden


# --------------------------------------------------------------------------------------- what goes out


def _write(output: Path, beside: Path | None, matrix: Matrix, done: Completion) -> None:
    if beside is not None:
        files.write_csv(output, matrix, done.X)
        files.write_csv(beside, matrix, done.std)
        return
    arrays = {
        "X": done.X,
        "std": done.std,
        "observed": matrix.observed,
        "row_ids": matrix.row_ids,
        "column_names": matrix.column_names,
        "method": METHOD,
    }
    files.write_arrays(output, arrays)


def _check_finite(file: Path, done: Completion) -> None:
    """Refuse to write values that are none."""
    if not (np.isfinite(done.X).all() and np.isfinite(done.std).all()):
        raise ValueError(
            f"{file}: the completed matrix has values that are not finite; scale its columns to like sizes"
        )


def _say(matrix: Matrix, done: Completion, held: HeldOut | None) -> None:
    n, m = matrix.X.shape
    missing = int((~matrix.observed).sum())
    status = getattr(done.imputer, "status_", "") if done.imputer is not None else ""
    steps = f"; {status} ({done.imputer.n_iter_} iterations)" if done.imputer is not None and status else ""
    if done.rows:
        steps += f"; row kernel {done.rows}"
    say(f"{METHOD}: {n} rows, {m} columns, {missing} entries missing ({missing / (n * m):.1%}){steps}")
    if held is not None:
        unit = np.nanstd(matrix.X, axis=0)
        unit = np.where(unit > 0, unit, 1.0)[held.column]
        own, mean = (rmse(x / unit, held.truth / unit) for x in (held.predicted, held.baseline))
        say(
            f"{len(held.truth)} observed entries hidden and predicted: RMSE {own:.3f}, of column means "
            f"{mean:.3f} (in standard deviations of the columns)"
        )


def matrix_story(
    file: Path,
    entry: Entry,
    matrix: Matrix,
    done: Completion,
    held: HeldOut | None,
    options: dict[str, Any],
    remarks: Sequence[str],
) -> MatrixStory:
    """What the report of one completed matrix shows."""
    from absentia.app.report import MatrixStory

    summary = "Nothing was missing: the matrix is as it came."
    if done.imputer is not None:
        summary = (
            "The missing entries of a matrix, filled in with probabilistic matrix addition. What was "
            "observed is unchanged."
        )
    facts = {
        "file": str(file),
        "method": f"{entry.name}: {entry.when}",
        "parameters": parameters_in_words(options),
        "random choices": "seed 0",
        "made with": made_with(),
    }
    return MatrixStory(
        title=f"{file.name}, completed",
        summary=summary,
        method=METHOD,
        columns=[str(name) for name in matrix.column_names.tolist()],
        before=matrix.X,
        after=done.X,
        std=done.std,
        held_out=held,
        estimated=estimated(matrix, done),
        warnings=list(dict.fromkeys(remarks)),
        facts=facts,
    )


def estimated(matrix: Matrix, done: Completion) -> dict[str, str]:
    """What was estimated and what was given, in sentences."""
    if done.imputer is None:
        return {}
    m = matrix.X.shape[1]
    model = done.imputer.model_
    along = float(model.rows.diagonal().mean() * np.diagonal(model.C).mean())
    across = float(np.diagonal(model.N).mean())
    noise = max(extreme_eigenvalues(model.N)[0], 0.0)
    whole = along + across
    columns = f"estimated ({m} × {m})"
    if matrix.column_kernel is not None:
        columns = "as given, in the units of the matrix"
    return {
        "Row kernel": done.rows
        + (f"; it carries {along / whole:.0%} of an entry's variance" if along else ""),
        "Column kernel": f"{columns}; it carries {across / whole:.0%} of an entry's variance",
        "Noise": f"{noise / whole:.1%} of the variance is every entry's own (the least eigenvalue of the "
        "column kernel)",
        "Means": "those of the observed entries of each column"
        + ("; columns were scaled to standard deviation one" if matrix.column_kernel is None else ""),
        "Log marginal likelihood": f"{done.loglik:.1f} for {matrix.observed.sum()} observed entries",
    }
