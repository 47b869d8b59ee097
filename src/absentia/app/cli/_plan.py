"""``absentia plan``: from a model and samples that lack views to a table of what to measure."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import absentia
from absentia.app._terminal import err, escape_text, out, say_json, say_paths
from absentia.app.cli._flags import (
    DATA_HELP,
    JSON,
    STANDARD_OUTPUT,
    Force,
    Integer,
    ReadOptions,
    Threads,
    check_table,
    make_table,
    within,
)
from absentia.app.cli._predict import get_coding, load_model, read_samples

# isort: split
from cyclopts import Parameter

if TYPE_CHECKING:
    from absentia.methods.models import Model

_SHOWN = 20  # rows that are printed
#: Columns of the table of costs beside the view, and what they are to a plan.
_COSTS = {"cost": "costs", "batch": "batch", "batch cost": "batch_costs"}


def _check_budget(_: Any, budget: float | None) -> None:
    if budget is not None and not budget > 0:
        raise ValueError(f"--budget is a number above 0, not {budget}")


def plan(
    data: Annotated[Path, Parameter(help=f"{DATA_HELP} Samples that lack views.")],
    /,
    *,
    model: Path,
    costs: Path | None = None,
    budget: Annotated[float | None, Parameter(validator=_check_budget)] = None,
    among: Path | None = None,
    output: Annotated[Path | None, Parameter(alias="-o", allow_leading_hyphen=True)] = None,
    source: ReadOptions = ReadOptions(),  # noqa: B008 - it is frozen
    draws: Annotated[Integer, Parameter(validator=within("--draws", 1))] = 40,
    json: JSON = False,
    threads: Threads = None,
    force: Force = False,
) -> None:
    """Say which absent views to measure for which samples, the most expected gain for the cost first.

    Example: absentia plan newpatients/ --model model.absentia --costs costs.csv --budget 100 -o plan.csv

    Columns: id, view, batch, cost, gain (the expected rise of the probability of the right class), gain per
    cost, cumulative cost, cumulative gain.  Gains are told one view at a time, by samples that have it:
    measure, and plan again.

    Parameters
    ----------
    model
        A model of classes with probabilities, written by absentia fit.
    costs
        A table with the columns view and cost (of one sample), and if wanted batch (how many samples are
        measured at a time) and "batch cost" (of each batch beside its samples). Views that it does not
        list are not measured. By default each costs 1.
    budget
        What may be spent; by default all that is expected to help is listed.
    among
        Samples that have the views, the training samples, say, read as DATA are; by default those of DATA.
    output
        The .csv file to write; - prints the table and nothing else.
    draws
        How many similar samples lend their values of a view; each is a prediction.
    """
    printed = output == STANDARD_OUTPUT
    check_table(output, [data, model, costs, among], (".csv",), json, force)
    from absentia.core import limit_threads

    fitted, samples, lenders = _read(model, data, among, source)
    prices = {} if costs is None else _read_costs(costs)
    with limit_threads(threads, len(fitted.classifier.ids_)), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns and samples, once for every prediction
        table = absentia.inspection.plan(fitted, samples, lenders, budget=budget, n_draws=draws, **prices)
    notes = _explain_views(samples, lenders, prices.get("costs", samples.names))
    if output is not None:
        _write(table, output, printed)
    if json:
        rows = table.assign(id=table["id"].astype(str)).to_dict("records")
        document = {"plan": rows, "notes": notes, "summary": _sum_up(table)}
        return say_json(document | ({} if output is None else {"table": str(output)}))
    if not printed:
        out.print(_show(table))
        if len(table) > _SHOWN:
            notes = [f"the first {_SHOWN} of {len(table)} are shown; -o writes all", *notes]
    for sentence in [*notes, _sum_up(table)]:
        (err if printed else out).print(escape_text(sentence), soft_wrap=True)
    return say_paths(plan=None if printed else output)


def _read(
    path: Path, data: Path, among: Path | None, source: ReadOptions
) -> tuple[Model, absentia.Views, absentia.Views | None]:
    """The model, the samples that lack views, and those that lend them, in the model's views."""
    fitted = load_model(path)
    if not hasattr(fitted.classifier, "predict_proba"):
        raise ValueError(
            f"{path}: the model gives no probabilities of classes, which a plan is made by; fit classes, "
            "and without --no-probability"
        )
    read = []
    for place in (data,) if among is None else (data, among):
        samples = read_samples(fitted, place, source, path)
        if fitted.adjust is not None and isinstance(samples, absentia.Views):
            with warnings.catch_warnings(action="ignore"):  # of columns
                samples = fitted.adjust.transform(samples)  # what is lent is adjusted for the lender
        if not isinstance(samples, absentia.Views) or not fitted.takes_features:
            raise ValueError(f"{place}: features are wanted, which samples lend one another, not kernels")
        read.append(get_coding(fitted).in_views(samples))
    if read[0].observed.all():
        raise ValueError(f"{data}: no sample lacks a view of the model: there is nothing to measure")
    return replace(fitted, adjust=None), read[0], read[-1] if among is not None else None


def _read_costs(path: Path) -> dict[str, Any]:
    """What views cost, as :func:`absentia.inspection.plan` takes it."""
    with absentia.io.file_errors(path):
        table = absentia.io.read_cells(path)
        if not {"view", "cost"} <= set(table) <= {"view", *_COSTS}:
            came = ", ".join(map(repr, table))
            raise ValueError(f"has the columns {came}; view, cost and, if wanted, batch, batch cost are")
        if table["view"].duplicated().any():
            twice = table["view"][table["view"].duplicated()].iloc[0]
            raise ValueError(f"view {twice!r} is there twice; give each view one line")
        return {what: _parse_column(table, name) for name, what in _COSTS.items() if name in table}


def _parse_column(table: Any, column: str) -> dict[str, float]:
    """Numbers of a column by view; an empty cell of a batch is none."""
    values = {}
    for view, text in zip(table["view"], table[column], strict=True):
        if text or column == "cost":
            try:
                values[view] = float(text)
            except ValueError:
                raise ValueError(f"{column} of view {view!r} is {text!r}; a number is wanted") from None
    return values


def _explain_views(samples: absentia.Views, lenders: absentia.Views | None, priced: Any) -> list[str]:
    """Views that some lack, and that are not planned as they have no cost or nobody can lend them."""
    lenders = samples if lenders is None else lenders
    notes = []
    for v, name in enumerate(samples.names):
        if samples.observed[:, v].all():
            continue
        if name not in priced:
            notes.append(f"view {name!r} has no cost, and is not planned")
        elif not lenders.observed[:, v].any():
            notes.append(f"view {name!r}: nobody has it, and what it may say is not known; give --among")
    return notes


def _write(table: Any, output: Path, printed: bool) -> None:
    """The whole table as CSV, to a file or to standard output."""
    rows = [
        [f"{cell:.6g}" if isinstance(cell, float) else cell for cell in row] for row in table.to_numpy()
    ]
    lines = list(absentia.io.csv_rows([table.columns.tolist(), *rows]))
    if printed:
        sys.stdout.buffer.writelines(lines)
    else:
        absentia.io.write_atomically(output, lambda file: file.writelines(lines))


def _show(table: Any) -> Any:
    """The first rows, to be read."""
    shown = make_table(*table.columns)
    for row in table.head(_SHOWN).itertuples(index=False):
        sample, view, batch, *numbers = row
        cells = [f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}" for value in numbers]
        shown.add_row(escape_text(str(sample)), escape_text(view), str(batch), *cells)
    return shown


def _sum_up(table: Any) -> str:
    """What the plan is worth as a whole."""
    if not len(table):
        return "no view that is absent is expected to help"
    cost, gain = table[["cumulative cost", "cumulative gain"]].iloc[-1].tolist()
    samples = table["id"].nunique()
    return (
        f"{len(table)} measurements of {samples} samples for {cost:g}: the probability of the right "
        f"class is expected to rise by {100 * gain / samples:.1f} percentage points, mean of these samples"
    )
