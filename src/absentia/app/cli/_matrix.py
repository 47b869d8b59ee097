"""``absentia complete --method pma``: one matrix with missing entries, from a file to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from absentia.app._terminal import out, step_bar, warnings_kept
from absentia.core import warn

# isort: split
from rich.markup import escape

import absentia
from absentia import core as linalg
from absentia import files as io
from absentia import files as tables
from absentia.app import _endings as endings
from absentia.app._calls import check_ending, check_outputs, check_report
from absentia.core import Array, at_most
from absentia.data import AbsenceWarning, shown
from absentia.files import Matrix
from absentia.methods.catalogue import find
from absentia.methods.matrix import PMAImputer, hold_out

if TYPE_CHECKING:
    from absentia.app.report import MatrixStory
    from absentia.methods.matrix import HeldOut

METHOD = "pma"


def refuse_matrix(file: Path, method: str) -> None:
    """Say what to do with a matrix that came to a method for views."""
    if tables.holds_matrix(file):
        raise ValueError(
            f"{file}: this is one matrix, and {method} completes the kernels of views; complete it with "
            f"--method {METHOD}, or give an .npz file with K or view_<name>"
        )


def complete_matrix(
    file: Path,
    output: Path,
    *,
    std: Path | None,
    report: Path | None,
    threads: int | None,
    options: dict[str, Any],
    others: dict[str, Any],
) -> None:
    """Complete a matrix and write it, its standard deviations and, if asked, a report.

    `options` are parameters of the imputer, `others` those of other methods; what is None was not given.
    """
    for name, value in others.items():
        if value is not None:
            flag = "--" + name.removeprefix("n_").replace("_", "-")
            raise ValueError(f"{flag} does not apply to method {METHOD!r}")
    beside = _places(file, output, std, report)
    endings.ledger.expect(output, beside, report)
    matrix = tables.read_matrix(file)
    given = {name: value for name, value in options.items() if value is not None}
    with at_most(threads, max(matrix.X.shape)), warnings_kept() as remarks:
        _warn(file, matrix)
        done, held = _run(matrix, given, report is not None)
        _check_finite(file, done)
    html = None
    if report is not None:
        from absentia.app import report as reporting

        html = reporting.render_matrix(matrix_story(file, matrix, done, held, given, remarks))
    _write(output, beside, matrix, done)
    if html is not None and report is not None:
        reporting.save(html, report)
    _say(matrix, done, held)
    out.print(f"[bold]completed matrix[/]: {escape(str(output))}", soft_wrap=True)
    if beside is not None:
        out.print(f"[bold]standard deviations[/]: {escape(str(beside))}", soft_wrap=True)
    if report is not None:
        out.print(f"[bold]report[/]: {escape(str(report))}", soft_wrap=True)


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
    observed = matrix.observed
    if observed.all():
        _note(f"{file}: nothing is missing; the matrix is copied as it is")
        return
    empty = matrix.row_ids[~observed.any(axis=1)]
    if len(empty):
        means = "the columns' means, as there is no row_kernel"
        source = means if matrix.row_kernel is None else "the row kernel"
        _note(f"{len(empty)} row(s) have nothing observed, e.g. {shown(empty[0])}: predicted from {source}")
    constant = matrix.column_names[np.nanmax(matrix.X, axis=0) == np.nanmin(matrix.X, axis=0)]
    if len(constant):
        _note(
            f"{len(constant)} column(s) have the same value wherever observed, e.g. {shown(constant[0])}: "
            "how far they vary elsewhere cannot be told"
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


def _run(matrix: Matrix, options: dict[str, Any], check: bool) -> tuple[Completion, HeldOut | None]:
    if matrix.observed.all():
        return Completion(matrix.X, np.zeros_like(matrix.X)), None
    if matrix.row_kernel is not None:
        options = options | {"row_kernel": matrix.row_kernel}
    if matrix.column_kernel is not None:
        options = options | {"col_kernel": matrix.column_kernel}
    imputer = PMAImputer(**options)
    with step_bar(METHOD, 2 if check else 1) as tick:
        completed, std = imputer.fit(matrix.X).predict(return_std=True)
        tick()
        if not check:
            return Completion(completed, std, imputer), None
        held = hold_out(imputer, matrix.X)
        tick()
    return Completion(completed, std, imputer, imputer.log_marginal_likelihood_), held


# --------------------------------------------------------------------------------------- what goes out


def _write(output: Path, beside: Path | None, matrix: Matrix, done: Completion) -> None:
    if beside is not None:
        tables.write_csv(output, matrix, done.X)
        tables.write_csv(beside, matrix, done.std)
        return
    arrays = {
        "X": done.X,
        "std": done.std,
        "observed": matrix.observed,
        "row_ids": matrix.row_ids,
        "column_names": matrix.column_names,
        "method": METHOD,
    }
    io.write_arrays(output, arrays)


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
    if done.imputer is not None:
        steps += f"; row kernel {done.imputer.rows_}"
    out.print(
        f"{METHOD}: {n} rows, {m} columns, {missing} entries missing ({missing / (n * m):.1%}){steps}",
        soft_wrap=True,
    )
    if held is not None:
        own, mean = held.errors()
        out.print(
            f"{len(held.truth)} observed entries hidden and predicted: RMSE {own:.3f}, of column means "
            f"{mean:.3f} (in standard deviations of the columns)",
            soft_wrap=True,
        )


def matrix_story(
    file: Path,
    matrix: Matrix,
    done: Completion,
    held: HeldOut | None,
    options: dict[str, Any],
    remarks: Sequence[str],
) -> MatrixStory:
    """What the report of one completed matrix shows."""
    from absentia.app import report

    judged = None
    if held is not None:
        judged = report.HeldOut(held.column, held.truth, held.predicted, held.baseline, held.std)
    summary = "Nothing was missing: the matrix is as it came."
    if done.imputer is not None:
        summary = (
            "The missing entries of a matrix, filled in with probabilistic matrix addition. What was "
            "observed is unchanged."
        )
    facts = {
        "file": str(file),
        "method": f"{METHOD}: {find(METHOD, 'matrix').when}",
        "parameters": ", ".join(f"{name}={value!r}" for name, value in options.items()) or "as they are",
        "random choices": "seed 0",
        "made with": f"absentia {absentia.__version__}, NumPy {np.__version__}",
    }
    return report.MatrixStory(
        title=f"{file.name}, completed",
        summary=summary,
        method=METHOD,
        columns=[str(name) for name in matrix.column_names.tolist()],
        before=matrix.X,
        after=done.X,
        std=done.std,
        held_out=judged,
        estimated=estimated(matrix, done),
        warnings=list(dict.fromkeys(remarks)),
        facts=facts,
    )


def estimated(matrix: Matrix, done: Completion) -> dict[str, str]:
    """What was estimated and what was given, in sentences."""
    if done.imputer is None:
        return {}
    m, scaled = matrix.X.shape[1], matrix.column_kernel is None
    model = done.imputer.model_.stretched(1 / done.imputer.scale_)
    along = float(model.rows.diagonal().mean() * np.diagonal(model.C).mean())
    across = float(np.diagonal(model.N).mean())
    noise = max(linalg.extreme_eigenvalues(model.N)[0], 0.0)
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
