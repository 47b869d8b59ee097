"""The work of ``absentia complete``: kernels or values of views, or one matrix, from a file to files."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

import absentia
from absentia import experiment, files
from absentia.app import report as pages
from absentia.app._exit_codes import STOPPED_EARLY, stop_on_interrupt
from absentia.app._terminal import collect_warnings, escape_text, iteration_bar, say, say_paths, step_bar
from absentia.app.cli._data import count_sentences, list_concerns, zero_sentences
from absentia.app.cli._flags import (
    check_ending,
    check_folder,
    check_outputs,
    container_endings,
    made_with,
    parameters_in_words,
    start_dask,
)
from absentia.app.cli._verbs import CompleteOptions
from absentia.app.report import completion as reporting
from absentia.core import Array, Iterative, Operator, check_memory, has_factors, limit_threads, warn
from absentia.core.optimize import Progress, Status
from absentia.data import AbsenceWarning, KernelViews, Views, show_id
from absentia.files import Matrix
from absentia.methods.catalogue import Entry, find, list_entries
from absentia.methods.completion import Completer
from absentia.methods.matrix import HeldOut, PMAImputer, hold_out

if TYPE_CHECKING:
    import pandas

_BLOCK_ROWS = 256  # of a kernel are looked at together
_HIDING_FOLDS = 5  # of observed values, to tell what completed ones are worth
_COPIES = 3  # of whole kernels that a method makes, at least


@dataclass(frozen=True, eq=False)
class _CompletedKernels:
    """Kernels before and after, what completed them, and intervals of their values if these are wanted."""

    file: Path
    entry: Entry
    completer: Completer
    before: KernelViews
    after: KernelViews
    intervals: absentia.CompletionIntervals | None
    options: CompleteOptions

    @property
    def interval_table(self) -> pandas.DataFrame | None:
        return None if self.intervals is None else self.intervals.table(self.options.coverage or 0.9)


def run_complete_kernels(
    file: Path, output: Path, entry: Entry, parameters: Mapping[str, Any], options: CompleteOptions
) -> None:
    """Complete kernels and write them and, if asked, a report."""
    completer = entry.make(**parameters)
    if not options.source.views and files.holds_matrix(file):
        raise ValueError(
            f"{file}: this is one matrix, and {entry.name} completes the kernels of views; complete it "
            "with --method pma, or give an .npz file with K or view_<name>"
        )
    if options.coverage is None:
        check_ending(output, "the output", ".npz", ".mat", *container_endings(file))
    else:
        check_ending(output, "the output with --coverage", ".npz")
    check_outputs([file], [output, options.report], options.force)
    with start_dask(options.dask):
        opened = replace(options.source, chunks=options.dask is not None or "auto").open(file)
        for note in opened.notes:
            say(escape_text(note))
        with limit_threads(options.threads, len(opened.data)), collect_warnings() as remarks:
            _check_memory(entry, opened.data, options.coverage)
            kernels = _make_kernels(file, opened, options)
            del opened
            completed = _run_completer(completer, kernels, entry.name)
            _check_finite_kernels(file, entry.name, completed)
            intervals = _calibrate_kernels(completer, kernels, options.coverage)
            done = _CompletedKernels(file, entry, completer, kernels, completed, intervals, options)
            _write_kernels(done, output)
            if options.report is not None:
                html = reporting.render_completion(_completion_report(done, remarks))
                pages.save(html, options.report)
    status, table = getattr(completer, "status_", None), done.interval_table
    if status is not None:
        say(f"{entry.name}: {status} ({completer.n_iter_} iterations)")
    for sentence in reporting.describe_intervals(table):
        say(escape_text(sentence))
    say_paths(completed_kernels=output, report=options.report)
    if status == Status.STOPPED.value:
        raise SystemExit(STOPPED_EARLY)


def _make_kernels(file: Path, opened: files.LoadedData, options: CompleteOptions) -> KernelViews:
    """Kernels, computed from features if these came."""
    view_kernels, data = options.kernels.make(opened), opened.data
    if isinstance(data, KernelViews):
        options.kernels.refuse_kernels(file)
    odd = count_sentences(data, view_kernels) if isinstance(data, Views) else zero_sentences(data)
    for sentence in odd:
        warn(sentence, AbsenceWarning)
    kernels = view_kernels.fit_transform(data) if isinstance(data, Views) else data
    if kernels.observed.all():
        warn("every sample has every view: there is nothing to complete", AbsenceWarning)
    return kernels.repair(options.repair) if options.repair else kernels


def _check_memory(entry: Entry, data: Views | KernelViews, coverage: float | None) -> None:
    """Refuse, before it begins, what forms whole kernels where there is no memory for them."""
    if coverage is not None:
        check_memory(
            _COPIES * 2 * 8.0 * data.n_views * float(len(data)) ** 2,
            f"intervals of all values of {len(data)} samples in {data.n_views} view(s)",
            "leave out --coverage, or complete fewer samples",
        )
    whole = isinstance(data, KernelViews) and not all(has_factors(data.operator(v)) for v in data.names)
    if entry.max_samples is None or not (entry.forms_kernels or whole):
        return
    others = ", ".join(
        other.name for other in list_entries("completer").values() if not other.forms_kernels
    )
    check_memory(
        _COPIES * 8.0 * data.n_views * float(len(data)) ** 2,
        f"{entry.name} forms whole kernels: those of {len(data)} samples in {data.n_views} view(s)",
        f"use a --method that works with factors ({others}), or fewer samples (it is for at most "
        f"{entry.max_samples} or so)",
    )


def _run_completer(completer: Completer, kernels: KernelViews, method: str) -> KernelViews:
    """Complete, showing iterations; the first Ctrl-C stops at the current iteration."""
    if not isinstance(completer, Iterative):
        return completer.fit_transform(kernels)
    with iteration_bar(method) as show, stop_on_interrupt() as is_stopped:

        def callback(progress: Progress) -> bool:
            show(progress)
            return is_stopped()

        return completer.set_params(callback=callback).fit_transform(kernels)


def _calibrate_kernels(
    completer: Completer, kernels: KernelViews, coverage: float | None
) -> absentia.CompletionIntervals | None:
    """Intervals of completed values by hiding, if a coverage is wanted and nobody said stop."""
    if coverage is None or getattr(completer, "status_", None) == Status.STOPPED.value:
        return None
    with step_bar("hiding", _HIDING_FOLDS) as tick:
        how: Any = {"n_rounds": _HIDING_FOLDS, "callback": tick}
        return absentia.calibrate_completer(completer, kernels, prefit=True, **how)


def _check_finite_kernels(file: Path, method: str, completed: KernelViews) -> None:
    """Refuse to write kernels with values that are none."""
    for name in completed.names:
        if not _is_finite(completed.operator(name)):
            raise ValueError(
                f"{file}: view {name!r}, completed with {method}, has values that are not finite; scale "
                "the kernels (to a mean diagonal of 1, for example), or choose another method"
            )


def _is_finite(operator: Operator) -> bool:
    """Whether all values are numbers; some rows at a time, and of factors by a product, which shows it."""
    if has_factors(operator):
        with np.errstate(all="ignore"):
            return bool(np.isfinite(operator @ np.ones((operator.shape[0], 1))).all())
    everyone = np.arange(operator.shape[0])
    parts = np.array_split(everyone, max(1, len(everyone) // _BLOCK_ROWS))
    return all(bool(np.isfinite(operator.block(rows, everyone)).all()) for rows in parts)


def _write_kernels(done: _CompletedKernels, output: Path) -> None:
    if output.suffix.lower() not in (".npz", ".mat"):
        whole = files.read_mudata(done.file)
        files.write_mudata(output, done.after.to_mudata(whole, observed=done.before))
        return
    extra: dict[str, Any] = {"mask_before": done.before.observed, "method": done.entry.name}
    if isinstance(done.completer, Iterative):
        extra["objective"] = done.completer.objective_
    if done.intervals is not None and (coverage := done.options.coverage) is not None:
        extra["coverage"] = coverage
        ends = [done.intervals.interval(name, coverage=coverage) for name in done.after.names]
        extra["low"], extra["high"] = (np.stack(end) for end in zip(*ends, strict=True))
    files.write(output, done.after, **extra)


def _completion_report(done: _CompletedKernels, remarks: Sequence[str]) -> reporting.CompletionReport:
    """What the report of one completion shows; errors on hidden cells too, if these are wanted."""
    method, kernels, quality = done.entry.name, done.before, None
    if not done.options.no_quality:
        with step_bar("judging", 3) as tick:
            quality = experiment.compare_with_baselines(method, done.completer, kernels, tick)
        if quality.subsample_note:
            say(quality.subsample_note)
    return reporting.CompletionReport(
        title=f"{done.file.name}, completed",
        summary=f"The missing rows and columns of {kernels.n_views} kernels over {len(kernels)} samples, "
        f"filled with {method}. What was observed is unchanged.",
        method=method,
        before=kernels,
        after=done.after,
        warnings=list(dict.fromkeys([*list_concerns(kernels), *remarks])),
        quality=quality,
        intervals=done.interval_table,
        facts=_list_facts(done.file, done.entry, done.completer.get_params()),
    )


def _list_facts(file: Path, entry: Entry, parameters: Mapping[str, Any], **more: str) -> dict[str, str]:
    """How it was done, by name."""
    return {
        "file": str(file),
        "method": f"{entry.name}: {entry.when}",
        "parameters": parameters_in_words(parameters),
        **{name.replace("_", " "): words for name, words in more.items()},
        "made with": made_with(),
    }


# -------------------------------------------------------------------------------------- values of views


def run_complete_values(file: Path, output: Path, completer: Any, options: CompleteOptions) -> Completer:
    """Fill in the features of absent views; write them, their deviations, and what they are worth.

    The method that did it comes back.
    """
    if output.suffix:
        check_ending(output, "what --values writes, if it is no folder,", ".h5mu")
        check_ending(file, "what an .h5mu file is filled from", ".h5mu")
        check_outputs([file], [output], options.force)
    else:
        _check_values_folder(file, output, options.force)
    opened = options.source.open(file)
    data, said = opened.data, options.kernels.kernel or options.kernels.log
    if not isinstance(data, Views):
        raise ValueError(f"{file}: holds kernels, and --values fills in features; leave --values out")
    for note in opened.notes:
        say(escape_text(note))
    kernel = options.kernels.make(opened) if said else None
    with limit_threads(options.threads, len(data)), collect_warnings():
        with step_bar("hiding", max(_HIDING_FOLDS, data.n_views) + 1) as tick:
            done = absentia.complete_values(
                data, completer=completer, kernel=kernel, keep="all" if options.all_values else "trusted",
                fill_gaps=options.fill_gaps, n_folds=_HIDING_FOLDS, callback=tick,
            )  # fmt: skip
        if output.suffix:
            files.write_mudata(output, done.to_mudata(files.read_mudata(file)))
        else:
            _write_values(output, done)
    for name, trust in done.table().groupby("view", sort=False):
        middle = trust["correlation"].median()
        say(
            f"{escape_text(str(name))}: {int(done.filled[name].sum())} samples filled; "
            f"{int(trust['trusted'].sum())} of {len(trust)} features can be trusted (median correlation of "
            f"hidden values {middle:.2f})"
        )
    say_paths(completed_values=output)
    method: Completer = find("auto", "completer").make() if completer == "auto" else completer
    return method


def _check_values_folder(file: Path, folder: Path, force: bool) -> None:
    """Refuse a folder that is the input, or holds something that absentia did not write there."""
    check_folder(folder)
    if not folder.exists():
        return
    if folder.samefile(file) or folder.samefile(file.parent):
        raise ValueError(f"{folder}: the data are there; give another folder")
    if any(folder.iterdir()) and not (folder / "about" / "trust.csv").is_file() and not force:
        raise ValueError(f"{folder}: is not empty; give a new folder, or write into it with --force")


def _write_values(folder: Path, done: absentia.CompletedValues) -> None:
    """A CSV file for each view, and beside them folders, which reading the views does not look into."""
    files.write(folder, done.views)
    with warnings.catch_warnings(action="ignore", category=AbsenceWarning):  # said of the views
        files.write(folder / "std", Views.from_dict(done.std))
        if done.proba:
            files.write(folder / "proba", Views.from_dict(done.proba))
    about = folder / "about"
    about.mkdir(exist_ok=True)
    tables = {"trust.csv": done.table().to_csv(index=False), "filled.csv": done.filled.to_csv()}
    for name, text in tables.items():
        files.write_atomically(about / name, partial(_write_text, text))


def _write_text(text: str, file: BinaryIO) -> None:
    file.write(text.encode())


# ------------------------------------------------------------------------------------------ one matrix


@dataclass(frozen=True, eq=False)
class _CompletedMatrix:
    """X (n, m) completed, standard deviations, the fitted imputer (None: nothing was missing), a check.

    If a coverage is wanted, also lower and upper ends, and what these are worth.
    """

    X: Array
    std: Array
    imputer: PMAImputer | None = None
    held_out: HeldOut | None = None
    ends: tuple[Array, Array] | None = None
    intervals: pandas.DataFrame | None = None


def run_complete_matrix(
    file: Path, output: Path, entry: Entry, parameters: Mapping[str, Any], options: CompleteOptions
) -> None:
    """Complete a matrix and write it, its standard deviations and, if asked, a report."""
    check_ending(output, "a completed matrix", ".csv", ".npz")
    report, beside = options.report, _find_tables(output, options.coverage)
    check_outputs([file], [output, *beside.values(), report], options.force)
    matrix = files.read_matrix(file)
    given = {"row_kernel": matrix.row_kernel, "col_kernel": matrix.column_kernel}
    kernels = {name: kernel for name, kernel in given.items() if kernel is not None}
    imputer = entry.make(**parameters, **kernels)
    with limit_threads(options.threads, max(matrix.X.shape)), collect_warnings() as remarks:
        for sentence in _matrix_warnings(file, matrix):
            warn(sentence, AbsenceWarning)
        completed = _run_imputer(imputer, matrix, entry.name, options)
        if not (np.isfinite(completed.X).all() and np.isfinite(completed.std).all()):
            raise ValueError(
                f"{file}: the completed matrix has values that are not finite; scale its columns to like "
                "sizes"
            )
    html = None
    if report is not None:
        html = reporting.render_matrix(_matrix_report(file, entry, matrix, completed, parameters, remarks))
    _write_matrix(output, beside, matrix, completed, entry.name)
    if html is not None and report is not None:
        pages.save(html, report)
    _say_how_it_went(entry.name, matrix, completed)
    say_paths(completed_matrix=output, **beside, report=report)


def _find_tables(output: Path, coverage: float | None) -> dict[str, Path]:
    """Where standard deviations and ends of intervals go, if not into the output, by what they are."""
    endings = {"standard_deviations": ".std.csv"}
    if coverage is not None:
        endings |= {"low": ".low.csv", "high": ".high.csv"}
    is_csv = output.suffix.lower() == ".csv"
    return {name: output.with_suffix(ending) for name, ending in endings.items() if is_csv}


def _matrix_warnings(file: Path, matrix: Matrix) -> list[str]:
    """What the user should know of the matrix."""
    observed = matrix.observed
    if observed.all():
        return [f"{file}: nothing is missing; the matrix is copied as it is"]
    sentences = []
    empty = matrix.row_ids[~observed.any(axis=1)]
    if len(empty):
        means = "the columns' means, as there is no row_kernel"
        source = means if matrix.row_kernel is None else "the row kernel"
        sentences.append(
            f"{len(empty)} row(s) have nothing observed, e.g. {show_id(empty[0])}: predicted from {source}"
        )
    constant = matrix.column_names[np.nanmax(matrix.X, axis=0) == np.nanmin(matrix.X, axis=0)]
    if len(constant):
        sentences.append(
            f"{len(constant)} column(s) have the same value wherever observed, e.g. "
            f"{show_id(constant[0])}: how far they vary elsewhere cannot be told"
        )
    return sentences


def _run_imputer(
    imputer: PMAImputer, matrix: Matrix, method: str, options: CompleteOptions
) -> _CompletedMatrix:
    """Complete, and for a report check on observed entries that are hidden."""
    coverage, check = options.coverage, options.report is not None
    if matrix.observed.all():
        ends = None if coverage is None else (matrix.X, matrix.X)
        return _CompletedMatrix(matrix.X, np.zeros_like(matrix.X), ends=ends)
    with step_bar(method, 2 if check else 1) as tick:
        X, std = imputer.fit(matrix.X).predict(return_std=True)
        completed = _CompletedMatrix(X, std, imputer)
        if coverage is not None:
            intervals = absentia.calibrate_completer(imputer, matrix.X, prefit=True)
            ends, table = intervals.interval(coverage=coverage), intervals.table(coverage)
            completed = replace(completed, ends=ends, intervals=table)
        tick()
        if check:
            completed = replace(completed, held_out=hold_out(imputer, matrix.X))
            tick()
    return completed


def _write_matrix(
    output: Path, beside: Mapping[str, Path], matrix: Matrix, completed: _CompletedMatrix, method: str
) -> None:
    if beside:
        tables = (completed.X, completed.std, *(completed.ends or ()))
        for path, table in zip((output, *beside.values()), tables, strict=True):
            files.write_csv(path, matrix, table)
        return
    arrays = {
        "X": completed.X,
        "std": completed.std,
        "observed": matrix.observed,
        "row_ids": matrix.row_ids,
        "column_names": matrix.column_names,
        "method": method,
    }
    if completed.ends is not None:
        arrays["low"], arrays["high"] = completed.ends
    files.write_arrays(output, arrays)


def _say_how_it_went(method: str, matrix: Matrix, completed: _CompletedMatrix) -> None:
    (n, m), missing, imputer = matrix.X.shape, int((~matrix.observed).sum()), completed.imputer
    parts = [f"{method}: {n} rows, {m} columns, {missing} entries missing ({missing / (n * m):.1%})"]
    if imputer is not None:
        status = getattr(imputer, "status_", "")
        parts += [f"{status} ({imputer.n_iter_} iterations)"] if status else []
        parts.append(f"row kernel {imputer.rows_}")
    say("; ".join(parts))
    if completed.held_out is not None:
        own, mean = completed.held_out.errors()
        say(
            f"{len(completed.held_out.truth)} observed entries hidden and predicted: RMSE {own:.3f}, of "
            f"column means {mean:.3f} (in standard deviations of the columns)"
        )
    for sentence in reporting.describe_intervals(completed.intervals):
        say(sentence)


def _matrix_report(
    file: Path,
    entry: Entry,
    matrix: Matrix,
    completed: _CompletedMatrix,
    parameters: Mapping[str, Any],
    remarks: Sequence[str],
) -> reporting.MatrixReport:
    """What the report of one completed matrix shows."""
    summary, rows = "Nothing was missing: the matrix is as it came.", "none"
    if completed.imputer is not None:
        rows = completed.imputer.rows_
        summary = (
            "The missing entries of a matrix, filled in with probabilistic matrix addition. What was "
            "observed is unchanged."
        )
    return reporting.MatrixReport(
        title=f"{file.name}, completed",
        summary=summary,
        method=entry.name,
        columns=[str(name) for name in matrix.column_names.tolist()],
        before=matrix.X,
        after=completed.X,
        std=completed.std,
        held_out=completed.held_out,
        intervals=completed.intervals,
        warnings=list(dict.fromkeys(remarks)),
        facts=_list_facts(file, entry, parameters, row_kernel=rows, random_choices="seed 0"),
    )
