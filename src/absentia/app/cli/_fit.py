"""``absentia fit``: from samples with labels to a model and a page about how good it is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from absentia.app import _exit_codes as exit_codes
from absentia.app._checks import check_ending, check_outputs, check_report, check_threads
from absentia.app._terminal import out
from absentia.app.cli._flags import JSON, Force, List, MethodFlags, flag_table, method_groups
from absentia.app.cli._source import (
    DATA,
    LABELS,
    Kernels,
    LabelledFeatures,
    Logs,
    Threads,
    check_kernel_names,
)

# isort: split
from cyclopts import Parameter

OUTPUT = Parameter(name=["--output", "-o"], help="The model, .absentia or .npz; it holds no code.")
_METHOD = Parameter(
    help="How to learn; see --list. By default auto for classes, ridge for numbers, cox for TIME,EVENT."
)
_ERROR_COST = Parameter(
    name="--C", help="Cost of a training error, or cv to select it by cross-validation."
)
_REPORT = Parameter(name="--report", help="Where to write the HTML report; by default beside the model.")
_NO_REPORT = Parameter(
    name="--no-report",
    negative="",
    help="No report, and so no cross-validation of the method and the baselines.",
)


def fit(
    data: Annotated[Path | None, Parameter(name="DATA", help=DATA)] = None,
    /,
    *,
    labels: Annotated[str | None, Parameter(help=LABELS)] = None,
    output: Annotated[Path | None, OUTPUT] = None,
    method: Annotated[str | None, _METHOD] = None,
    C: Annotated[str, _ERROR_COST] = "cv",
    source: LabelledFeatures = LabelledFeatures(),  # noqa: B008 - it is frozen
    kernel: Kernels = (),
    log: Logs = (),
    probability: Annotated[
        bool, Parameter(help="Also learn to give the probabilities of the classes.")
    ] = True,
    report: Annotated[Path | None, _REPORT] = None,
    no_report: Annotated[bool, _NO_REPORT] = False,
    threads: Threads = None,
    force: Force = False,
    json: Annotated[bool, JSON] = False,
    list_methods: List = False,
    **flags: MethodFlags,
) -> None:
    """Learn classes, numbers or survival of samples from the views they have, and write the model.

    By default several kinds of methods for classes are tried on held-out samples, and used together.
    Ctrl-C stops; nothing is written then.

    Example: absentia fit breast/ --labels labels.csv:subtype -o model.absentia
    """
    if list_methods:
        return _list_methods(method)
    if data is None or output is None:
        raise ValueError("DATA, --labels and -o MODEL.absentia are wanted; see absentia fit --help")
    check_threads(threads)
    check_kernel_names(kernel)
    page = _report_place(data, output, labels, report, no_report, force)
    from absentia.app.cli._fitting import FitOptions, run_fit

    named = None if method == "auto" else method  # which of each task its own is
    return run_fit(
        FitOptions(
            data, labels, output, page, source, kernel, log, named, C, flags, probability, threads, json
        )
    )


def _list_methods(method: str | None) -> None:
    from absentia.methods.catalogue import find, offered
    from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL

    tasks = (CLASSIFICATION, REGRESSION, SURVIVAL)
    if method is not None:
        out.print(flag_table(find(method, *(task.family for task in tasks))))
        return
    out.print(method_groups({task.name: offered(task.family) for task in tasks}))


def _report_place(
    data: Path, output: Path, labels: str | None, report: Path | None, none: bool, force: bool
) -> Path | None:
    """Where the report goes; refuse, before any work, what could not be written."""
    check_ending(output, "the model", ".absentia", ".npz")
    if none and report is not None:
        raise ValueError("--report and --no-report exclude one another")
    page = None if none else report or output.with_suffix(".html")
    named = [] if labels is None else [labels, labels.rpartition(":")[0] or labels]
    check_outputs([data, *map(Path, named)], [output, page], force)
    check_report(page, ", or give --no-report")
    exit_codes.written.expect(output, page)
    return page
