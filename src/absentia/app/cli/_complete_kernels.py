"""Kernels of several views, from a file to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from absentia import experiment, files
from absentia.app import _endings as endings
from absentia.app._checks import check_ending, check_outputs, check_report
from absentia.app._terminal import iteration_bar, printable, step_bar, stop_on_interrupt, warnings_kept
from absentia.app.cli._source import Source, check_kernel_names, containers, count_sentences, view_kernels
from absentia.app.cli._words import (
    concerns,
    empty_sentences,
    made_with,
    parameters_in_words,
    say,
    say_where,
)
from absentia.core import Iterative, Operator, Progress, Status, at_most, demand_memory, has_factors, warn
from absentia.data import AbsenceWarning, KernelViews, Views
from absentia.methods.catalogue import Entry, offered
from absentia.methods.completion import Completer

if TYPE_CHECKING:
    from absentia.app.report import CompletionStory

ROWS = 256  # of a kernel are looked at together
COPIES = 3  # of whole kernels that a method makes, at least


@dataclass(frozen=True)
class Call:
    """What was asked for."""

    file: Path
    output: Path
    entry: Entry
    options: Mapping[str, Any]
    source: Source
    kernels: Sequence[str]
    logs: Sequence[str]
    repair: Literal["clip", "shift"] | None
    report: Path | None
    quality: bool
    threads: int | None
    force: bool = False


def run(call: Call) -> None:
    """Complete kernels and write them and, if asked, a report."""
    completer = call.entry.make(**call.options)
    check_kernel_names(call.kernels)
    if not call.source.views:
        refuse_matrix(call.file, call.entry.name)
    check_ending(call.output, "the output", ".npz", *containers(call.file))
    check_outputs([call.file], [call.output, call.report], call.force)
    check_report(call.report)
    endings.ledger.expect(call.output, call.report)
    opened = call.source.open(call.file)
    for note in opened.notes:
        say(printable(note))
    with at_most(call.threads, len(opened.data)), warnings_kept() as remarks:
        check_room(call.entry, opened.data)
        kernels = as_kernels(opened, call)
        del opened
        completed = run_completer(completer, kernels, call.entry.name)
        check_finite(call, completed)
        _write(call, completer, kernels, completed)
        if call.report is not None:
            from absentia.app import report

            story = completion_story(call, completer, kernels, completed, remarks, call.quality)
            report.write(story, call.report)
    if isinstance(completer, Iterative):
        say(f"{call.entry.name}: {completer.status_} ({completer.n_iter_} iterations)")
    say_where(completed_kernels=call.output, report=call.report)
    if isinstance(completer, Iterative) and completer.status_ == Status.STOPPED.value:
        raise SystemExit(endings.EARLY)


def refuse_matrix(file: Path, method: str) -> None:
    """Say what to do with a matrix that came to a method for views."""
    if files.holds_matrix(file):
        raise ValueError(
            f"{file}: this is one matrix, and {method} completes the kernels of views; complete it with "
            "--method pma, or give an .npz file with K or view_<name>"
        )


def as_kernels(opened: files.LoadedData, call: Call) -> KernelViews:
    """Kernels, computed from features if these came."""
    makes, data = view_kernels(opened, call.kernels, call.logs, call.source), opened.data
    if isinstance(data, Views):
        for sentence in count_sentences(data, makes):
            warn(sentence, AbsenceWarning)
        data = makes.fit_transform(data)
    elif call.kernels or call.logs:
        raise ValueError(f"{call.file}: holds kernels already; --kernel and --log are for features")
    else:
        for sentence in empty_sentences(data):
            warn(sentence, AbsenceWarning)
    if data.observed.all():
        warn("every sample has every view: there is nothing to complete", AbsenceWarning)
    return data.repair(call.repair) if call.repair else data


def check_finite(call: Call, completed: KernelViews) -> None:
    """Refuse to write kernels with values that are none."""
    for name in completed.names:
        if not _finite(completed.operator(name)):
            raise ValueError(
                f"{call.file}: view {name!r}, completed with {call.entry.name}, has values that are not "
                "finite; scale the kernels (to a mean diagonal of 1, for example), or choose another method"
            )


def _finite(operator: Operator) -> bool:
    """Whether all values are numbers; some rows at a time, and of factors by a product, which shows it."""
    if has_factors(operator):
        with np.errstate(all="ignore"):
            return bool(np.isfinite(operator @ np.ones((operator.shape[0], 1))).all())
    everyone = np.arange(operator.shape[0])
    parts = np.array_split(everyone, max(1, len(everyone) // ROWS))
    return all(bool(np.isfinite(operator.block(rows, everyone)).all()) for rows in parts)


def check_room(entry: Entry, kernels: Views | KernelViews) -> None:
    """Refuse, before it begins, a method that forms whole kernels where there is no memory for them."""
    if entry.max_samples is None:
        return
    works = ", ".join(one.name for one in offered("completer").values() if one.max_samples is None)
    demand_memory(
        COPIES * 8.0 * kernels.n_views * float(len(kernels)) ** 2,
        f"{entry.name} forms whole kernels: those of {len(kernels)} samples in {kernels.n_views} view(s)",
        f"use a --method that works with factors ({works}), or fewer samples (it is for at most "
        f"{entry.max_samples} or so)",
    )


def _write(call: Call, completer: Completer, kernels: KernelViews, completed: KernelViews) -> None:
    if call.output.suffix.lower() != ".npz":
        whole = files.read_mudata(call.file)
        files.write_mudata(call.output, completed.to_mudata(whole, observed=kernels))
        return
    extra: dict[str, Any] = {"mask_before": kernels.observed, "method": call.entry.name}
    if isinstance(completer, Iterative):
        extra["objective"] = completer.objective_
    files.write(call.output, completed, **extra)


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


def completion_story(
    call: Call,
    completer: Completer,
    kernels: KernelViews,
    completed: KernelViews,
    remarks: Sequence[str],
    quality: bool = True,
) -> CompletionStory:
    """What the report of one completion shows; if `quality`, errors on hidden cells too."""
    from absentia.app.report import CompletionStory

    method = call.entry.name
    judged = None
    if quality:
        with step_bar("judging", len(offered("completer"))) as tick:
            judged = experiment.beside_others(method, completer, kernels, tick)
        if judged.sentence:
            say(judged.sentence)
    return CompletionStory(
        title=f"{call.file.name}, completed",
        summary=f"The missing rows and columns of {kernels.n_views} kernels over {len(kernels)} samples, "
        f"filled with {method}. What was observed is unchanged.",
        before=kernels,
        after={method: completed},
        traces={method: completer.objective_} if isinstance(completer, Iterative) else {},
        warnings=list(dict.fromkeys([*concerns(kernels), *remarks])),
        quality=judged,
        unexplained=experiment.unexplained(completer, completed, kernels.observed),
        facts={
            "file": str(call.file),
            "method": f"{method}: {call.entry.when}",
            "parameters": parameters_in_words(completer.get_params()),
            "made with": made_with(),
        },
    )
