"""One matrix with missing entries, from a file to files: ``absentia complete --method pma``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from absentia import files
from absentia.app import _exit_codes as exit_codes
from absentia.app._checks import check_ending, check_outputs, check_report
from absentia.app._terminal import step_bar, warnings_kept
from absentia.app.cli._output import made_with, parameters_in_words, say, say_where
from absentia.core import Array, limit_threads, warn
from absentia.core.linalg import extreme_eigenvalues
from absentia.data import AbsenceWarning, show_id
from absentia.files import Matrix
from absentia.methods.catalogue import Entry
from absentia.methods.matrix import HeldOut, PMAImputer, hold_out

if TYPE_CHECKING:
    from absentia.app.report import MatrixStory


class Places(NamedTuple):
    """Where a matrix comes from and its completion goes, as was asked for."""

    file: Path
    output: Path
    std: Path | None = None
    report: Path | None = None
    force: bool = False


def run(places: Places, entry: Entry, options: dict[str, Any], threads: int | None) -> None:
    """Complete a matrix and write it, its standard deviations and, if asked, a report."""
    file, output, report, beside = places.file, places.output, places.report, _deviations_place(places)
    exit_codes.written.expect(output, beside, report)
    matrix = files.read_matrix(file)
    imputer = entry.make(**options, **_kernels(matrix))
    with limit_threads(threads, max(matrix.X.shape)), warnings_kept() as remarks:
        _warn(file, matrix)
        done, held = _run(entry.name, imputer, matrix, report is not None)
        _check_finite(file, done)
    html = None
    if report is not None:
        from absentia.app import report as reporting

        html = reporting.render_matrix(_matrix_story(file, entry, matrix, done, held, options, remarks))
    _write(output, beside, matrix, done, entry.name)
    if html is not None and report is not None:
        reporting.save(html, report)
    _say(entry.name, matrix, done, held)
    say_where(completed_matrix=output, standard_deviations=beside, report=report)


def _kernels(matrix: Matrix) -> dict[str, Array]:
    """The kernels that came with the matrix, as parameters."""
    given = {"row_kernel": matrix.row_kernel, "col_kernel": matrix.column_kernel}
    return {name: K for name, K in given.items() if K is not None}


# --------------------------------------------------------------------------------------- before the work


def _deviations_place(places: Places) -> Path | None:
    """Where standard deviations go, if not into the output; refuse what could not be written."""
    file, output, std, report, force = places
    check_ending(output, "a completed matrix", ".csv", ".npz")
    csv = output.suffix.lower() == ".csv"
    if std is not None and not csv:
        raise ValueError("--std is for .csv output; an .npz file holds standard deviations as std")
    if std is not None:
        check_ending(std, "a table of standard deviations", ".csv")
    beside = (std or output.with_suffix(".std.csv")) if csv else None
    own = [output, beside] if beside is not None and files.is_own_file(output, beside) else []
    check_outputs([file], [output, beside, report], force, own)
    check_report(report)
    return beside


def _warn(file: Path, matrix: Matrix) -> None:
    """What the user should know of the matrix."""
    observed = matrix.observed
    if observed.all():
        _note(f"{file}: nothing is missing; the matrix is copied as it is")
        return
    empty = matrix.row_ids[~observed.any(axis=1)]
    if len(empty):
        means = "the columns' means, as there is no row_kernel"
        source = means if matrix.row_kernel is None else "the row kernel"
        _note(
            f"{len(empty)} row(s) have nothing observed, e.g. {show_id(empty[0])}: predicted from {source}"
        )
    constant = matrix.column_names[np.nanmax(matrix.X, axis=0) == np.nanmin(matrix.X, axis=0)]
    if len(constant):
        _note(
            f"{len(constant)} column(s) have the same value wherever observed, e.g. "
            f"{show_id(constant[0])}: how far they vary elsewhere cannot be told"
        )


def _note(sentence: str) -> None:
    warn(sentence, AbsenceWarning)


# ---------------------------------------------------------------------------------------------- the work


@dataclass(frozen=True, eq=False)
class Completion:
    """X completed, standard deviations, and the fitted imputer (None if nothing was missing)."""

    X: Array
    std: Array
    imputer: PMAImputer | None = None
    loglik: float = np.nan


def _run(
    method: str, imputer: PMAImputer, matrix: Matrix, check: bool
) -> tuple[Completion, HeldOut | None]:
    if matrix.observed.all():
        return Completion(matrix.X, np.zeros_like(matrix.X)), None
    with step_bar(method, 2 if check else 1) as tick:
        completed, std = imputer.fit(matrix.X).predict(return_std=True)
        tick()
        if not check:
            return Completion(completed, std, imputer), None
        held = hold_out(imputer, matrix.X)
        tick()
    return Completion(completed, std, imputer, imputer.log_marginal_likelihood_), held


# --------------------------------------------------------------------------------------- what goes out


def _write(output: Path, beside: Path | None, matrix: Matrix, done: Completion, method: str) -> None:
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
        "method": method,
    }
    files.write_arrays(output, arrays)


def _check_finite(file: Path, done: Completion) -> None:
    """Refuse to write values that are none."""
    if not (np.isfinite(done.X).all() and np.isfinite(done.std).all()):
        raise ValueError(
            f"{file}: the completed matrix has values that are not finite; scale its columns to like sizes"
        )


def _say(method: str, matrix: Matrix, done: Completion, held: HeldOut | None) -> None:
    n, m = matrix.X.shape
    missing = int((~matrix.observed).sum())
    status = getattr(done.imputer, "status_", "") if done.imputer is not None else ""
    steps = f"; {status} ({done.imputer.n_iter_} iterations)" if done.imputer is not None and status else ""
    if done.imputer is not None:
        steps += f"; row kernel {done.imputer.rows_}"
    say(f"{method}: {n} rows, {m} columns, {missing} entries missing ({missing / (n * m):.1%}){steps}")
    if held is not None:
        own, mean = held.errors()
        say(
            f"{len(held.truth)} observed entries hidden and predicted: RMSE {own:.3f}, of column means "
            f"{mean:.3f} (in standard deviations of the columns)"
        )


def _matrix_story(
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
        method=entry.name,
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
    m, scaled = matrix.X.shape[1], matrix.column_kernel is None
    model = done.imputer.model_.rescale_columns(1 / done.imputer.scale_)
    along = float(model.rows.diagonal().mean() * np.diagonal(model.C).mean())
    across = float(np.diagonal(model.N).mean())
    noise = max(extreme_eigenvalues(model.N)[0], 0.0)
    whole = along + across
    columns = f"estimated ({m} × {m})" if scaled else "as given, in the units of the matrix"
    return {
        "Row kernel": done.imputer.rows_
        + (f"; it carries {along / whole:.0%} of an entry's variance" if along else ""),
        "Column kernel": f"{columns}; it carries {across / whole:.0%} of an entry's variance",
        "Noise": f"{noise / whole:.1%} of the variance is every entry's own (the least eigenvalue of the "
        "column kernel)",
        "Means": "those of the observed entries of each column"
        + ("; columns were scaled to standard deviation one" if scaled else ""),
        "Log marginal likelihood": f"{done.loglik:.1f} for {matrix.observed.sum()} observed entries",
    }
