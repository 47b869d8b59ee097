"""``absentia fit``: from samples with labels to a model and a page about how good it is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import absentia
from absentia.app._terminal import out
from absentia.app.cli import _flags as flag
from absentia.app.cli._flags import MAX_PROCESSES, check_coverage, check_ending, check_number, check_outputs

# isort: split
from cyclopts import Parameter


@Parameter(name="*")
@dataclass(frozen=True)
class FitOptions:
    """How to learn, and what to write.

    Parameters
    ----------
    method
        How to learn; see --list. By default auto, of which each kind of labels has its own.
    C
        Cost of a training error, or cv to select it by cross-validation.
    probability
        Also learn to give the probabilities of the classes.
    score
        What counts: balanced-accuracy (the default), accuracy, log-loss, auc or cost; classes are decided
        so that it is best.
    costs
        Table of costs of mistakes, true classes in rows and predicted ones in columns, by name.
    coverage
        Share of new samples that prediction sets are to cover, 0.9 by default: the report says what was
        reached.  That of predict --coverage may be another.
    report
        Where to write the HTML report; by default beside the model.
    no_rows
        Write a model without ids, feature rows or other numbers of training samples, to share: linear
        models and, of rbf kernels, random features; without prediction sets. docs/models.md has what it
        promises. The report is another matter.
    no_report
        No report, and so no cross-validation of the method and the baselines, and no prediction sets.
    """

    method: str | None = None
    C: Annotated[str, Parameter(name="--C")] = "cv"
    covariates: flag.Covariates = ()
    adjust: flag.Adjust = False
    source: flag.LabelledReadOptions = flag.LabelledReadOptions()  # noqa: RUF009 - it is frozen
    kernels: flag.ViewKernelOptions = flag.ViewKernelOptions()  # noqa: RUF009
    probability: bool = True
    score: str | None = None
    costs: Path | None = None
    coverage: float | None = None
    report: Path | None = None
    no_rows: flag.Switch = False
    no_report: flag.Switch = False
    threads: flag.Threads = None
    dask: flag.Dask = None
    force: flag.Force = False
    json: flag.JSON = False

    def parse_C(self) -> float | None:
        """A positive number, or None to select it by cross-validation."""
        if self.C == "cv":
            return None
        try:
            value = float(self.C)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise ValueError(f"--C is a positive number or cv, not {self.C!r}")
        return value

    def page(self, model: Path) -> Path | None:
        """Where the report goes, if one is wanted."""
        return None if self.no_report else self.report or model.with_suffix(".html")


def fit(
    data: Annotated[Path | None, Parameter(help=flag.DATA_HELP)] = None,
    /,
    *,
    labels: flag.Labels = None,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    options: FitOptions = FitOptions(),  # noqa: B008 - it is frozen
    list_methods: flag.List = False,
    cite: flag.Cite = False,
    **flags: flag.MethodFlags,
) -> None:
    """Learn classes, numbers or survival of samples from the views they have, and write the model.

    By default several kinds of methods are averaged, by what they tell of samples left out.
    Ctrl-C stops; nothing is written then.

    Example: absentia fit breast/ --labels labels.csv:subtype -o model.absentia

    Parameters
    ----------
    output
        The model, .absentia or .npz; it holds no code.
    """
    if list_methods:
        return _list_methods(options.method)
    if data is None or output is None:
        raise ValueError("DATA, --labels and -o MODEL.absentia are wanted; see absentia fit --help")
    check_number("--threads", options.threads, 1, MAX_PROCESSES)
    check_coverage(options.coverage)
    flag.check_dask(options.dask)
    options.kernels.check_names()
    _check_files(data, labels, output, options)
    from absentia.app.cli._fitting import run_fit

    run_fit(data, labels, output, options, flags)
    if cite:
        fitted = absentia.load(output)
        out.file.write(absentia.cite(getattr(fitted, "classifier", fitted)))
    return None


def _list_methods(method: str | None) -> None:
    from absentia.methods.catalogue import find, offered
    from absentia.tasks import CLASSIFICATION, REGRESSION, SURVIVAL

    tasks = (CLASSIFICATION, REGRESSION, SURVIVAL)
    if method is not None:
        out.print(flag.flag_table(find(method, *(task.family for task in tasks))))
        return
    out.print(flag.method_groups({task.name: offered(task.family) for task in tasks}))


def _check_files(data: Path, labels: str | None, output: Path, options: FitOptions) -> None:
    """Refuse, before any work, what could not be written."""
    check_ending(output, "the model", ".absentia", ".npz")
    if options.no_report and options.report is not None:
        raise ValueError("--report and --no-report exclude one another")
    if options.no_report and options.coverage is not None:
        raise ValueError("--coverage is calibrated in the folds of the report; leave out --no-report")
    if options.no_rows and options.coverage is not None:
        raise ValueError("--coverage is calibrated by numbers of each sample, which --no-rows leaves out")
    page = options.page(output)
    named = [] if labels is None else [labels, labels.rpartition(":")[0] or labels]
    check_outputs([data, *map(Path, named)], [output, page], options.force)
