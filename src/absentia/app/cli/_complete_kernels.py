"""Kernels of several views, from a file to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from absentia import experiment, files
from absentia.app import _exit_codes as exit_codes
from absentia.app._checks import check_ending, check_outputs, check_report
from absentia.app._terminal import iteration_bar, printable, step_bar, stop_on_interrupt, warnings_kept
from absentia.app.cli._data_checks import concerns, count_sentences, empty_sentences
from absentia.app.cli._output import made_with, parameters_in_words, say, say_where
from absentia.app.cli._source import Source, check_kernel_names, containers, view_kernels
from absentia.core import Iterative, Operator, check_memory, has_factors, limit_threads, warn
from absentia.core.optimize import Progress, Status
from absentia.data import AbsenceWarning, KernelViews, Views
from absentia.methods.catalogue import Entry, offered
from absentia.methods.completion import Completer

if TYPE_CHECKING:
    from absentia.app.report import CompletionStory

ROWS = 256  # of a kernel are looked at together
_COPIES = 3  # of whole kernels that a method makes, at least


@dataclass(frozen=True)
class CompleteOptions:
    """What was asked for."""

    file: Path
    output: Path
    entry: Entry
    parameters: Mapping[str, Any]
    source: Source
    kernels: Sequence[str]
    logs: Sequence[str]
    repair: Literal["clip", "shift"] | None
    report: Path | None
    quality: bool
    threads: int | None
    force: bool = False


def run(options: CompleteOptions) -> None:
    """Complete kernels and write them and, if asked, a report."""
    completer = options.entry.make(**options.parameters)
    check_kernel_names(options.kernels)
    if not options.source.views:
        _refuse_matrix(options.file, options.entry.name)
    check_ending(options.output, "the output", ".npz", *containers(options.file))
    check_outputs([options.file], [options.output, options.report], options.force)
    check_report(options.report)
    exit_codes.written.expect(options.output, options.report)
    opened = options.source.open(options.file)
    for note in opened.notes:
        say(printable(note))
    with limit_threads(options.threads, len(opened.data)), warnings_kept() as remarks:
        _check_room(options.entry, opened.data)
        kernels = as_kernels(opened, options)
        del opened
        completed = run_completer(completer, kernels, options.entry.name)
        check_finite(options, completed)
        _write(options, completer, kernels, completed)
        if options.report is not None:
            from absentia.app import report

            story = _completion_story(options, completer, kernels, completed, remarks, options.quality)
            report.write(story, options.report)
    if isinstance(completer, Iterative):
        say(f"{options.entry.name}: {completer.status_} ({completer.n_iter_} iterations)")
    say_where(completed_kernels=options.output, report=options.report)
    if isinstance(completer, Iterative) and completer.status_ == Status.STOPPED.value:
        raise SystemExit(exit_codes.STOPPED_EARLY)


def _refuse_matrix(file: Path, method: str) -> None:
    """Say what to do with a matrix that came to a method for views."""
    if files.holds_matrix(file):
        raise ValueError(
            f"{file}: this is one matrix, and {method} completes the kernels of views; complete it with "
            "--method pma, or give an .npz file with K or view_<name>"
        )


def as_kernels(opened: files.LoadedData, options: CompleteOptions) -> KernelViews:
    """Kernels, computed from features if these came."""
    makes, data = view_kernels(opened, options.kernels, options.logs, options.source), opened.data
    if isinstance(data, Views):
        for sentence in count_sentences(data, makes):
            warn(sentence, AbsenceWarning)
        data = makes.fit_transform(data)
    elif options.kernels or options.logs:
        raise ValueError(f"{options.file}: holds kernels already; --kernel and --log are for features")
    else:
        for sentence in empty_sentences(data):
            warn(sentence, AbsenceWarning)
    if data.observed.all():
        warn("every sample has every view: there is nothing to complete", AbsenceWarning)
    return data.repair(options.repair) if options.repair else data


def check_finite(options: CompleteOptions, completed: KernelViews) -> None:
    """Refuse to write kernels with values that are none."""
    for name in completed.names:
        if not _finite(completed.operator(name)):
            raise ValueError(
                f"{options.file}: view {name!r}, completed with {options.entry.name}, has values that are "
                "not finite; scale the kernels (to a mean diagonal of 1, for example), or choose another "
                "method"
            )


def _finite(operator: Operator) -> bool:
    """Whether all values are numbers; some rows at a time, and of factors by a product, which shows it."""
    if has_factors(operator):
        with np.errstate(all="ignore"):
            return bool(np.isfinite(operator @ np.ones((operator.shape[0], 1))).all())
    everyone = np.arange(operator.shape[0])
    parts = np.array_split(everyone, max(1, len(everyone) // ROWS))
    return all(bool(np.isfinite(operator.block(rows, everyone)).all()) for rows in parts)


def _check_room(entry: Entry, kernels: Views | KernelViews) -> None:
    """Refuse, before it begins, a method that forms whole kernels where there is no memory for them."""
    if entry.max_samples is None:
        return
    works = ", ".join(one.name for one in offered("completer").values() if one.max_samples is None)
    check_memory(
        _COPIES * 8.0 * kernels.n_views * float(len(kernels)) ** 2,
        f"{entry.name} forms whole kernels: those of {len(kernels)} samples in {kernels.n_views} view(s)",
        f"use a --method that works with factors ({works}), or fewer samples (it is for at most "
        f"{entry.max_samples} or so)",
    )


def _write(
    options: CompleteOptions, completer: Completer, kernels: KernelViews, completed: KernelViews
) -> None:
    if options.output.suffix.lower() != ".npz":
        whole = files.read_mudata(options.file)
        files.write_mudata(options.output, completed.to_mudata(whole, observed=kernels))
        return
    extra: dict[str, Any] = {"mask_before": kernels.observed, "method": options.entry.name}
    if isinstance(completer, Iterative):
        extra["objective"] = completer.objective_
    files.write(options.output, completed, **extra)


def run_completer(completer: Completer, kernels: KernelViews, method: str) -> KernelViews:
    """Complete, showing iterations; the first Ctrl-C stops at the current iteration."""
    if not isinstance(completer, Iterative):
        return completer.fit_transform(kernels)
    with iteration_bar() as start, stop_on_interrupt() as stopped:
        show = start(method)

        def callback(progress: Progress) -> bool:
            show(progress)
            return stopped()

        return completer.set_params(callback=callback).fit_transform(kernels)


def _completion_story(
    options: CompleteOptions,
    completer: Completer,
    kernels: KernelViews,
    completed: KernelViews,
    remarks: Sequence[str],
    quality: bool = True,
) -> CompletionStory:
    """What the report of one completion shows; if `quality`, errors on hidden cells too."""
    from absentia.app.report import CompletionStory

    method = options.entry.name
    judged = None
    if quality:
        with step_bar("judging", len(offered("completer"))) as tick:
            judged = experiment.compare_completers(method, completer, kernels, tick)
        if judged.sentence:
            say(judged.sentence)
    return CompletionStory(
        title=f"{options.file.name}, completed",
        summary=f"The missing rows and columns of {kernels.n_views} kernels over {len(kernels)} samples, "
        f"filled with {method}. What was observed is unchanged.",
        before=kernels,
        after={method: completed},
        traces={method: completer.objective_} if isinstance(completer, Iterative) else {},
        warnings=list(dict.fromkeys([*concerns(kernels), *remarks])),
        quality=judged,
        unexplained=experiment.unexplained_share(completer, completed, kernels.observed),
        facts={
            "file": str(options.file),
            "method": f"{method}: {options.entry.when}",
            "parameters": parameters_in_words(completer.get_params()),
            "made with": made_with(),
        },
    )
