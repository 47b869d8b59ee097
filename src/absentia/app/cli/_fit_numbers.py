"""``absentia fit`` with numbers as labels: a regression, and a page about how good it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from absentia.app._terminal import out, printable, step_bar, warnings_kept

# isort: split
from rich.table import Table

import absentia
from absentia.app._checks import price_of
from absentia.app.cli._fit_survival import Order, write_both
from absentia.app.cli._source import kernels_in_words
from absentia.app.cli._training import Training, read_training
from absentia.app.cli._words import made_with, parameters_in_words, say, say_json, say_what_is_next
from absentia.core import at_most
from absentia.experiment import numbers
from absentia.methods.catalogue import Entry, find, offered

if TYPE_CHECKING:
    from absentia.app.report import NumbersStory

METHODS = offered("regressor")
USUAL, ZERO, FOREST = "ridge", "ridge-zero", "forest-regression"


def fit_numbers(
    order: Order,
    method: str | None,
    flags: Mapping[str, str],
    C: str = "cv",
    read: tuple[Training, list[str]] | None = None,
) -> None:
    """Learn numbers, write the model and the report; `read` is what was read already, and was warned of."""
    entry = find(method or USUAL, "regressor")
    options = {**entry.read(flags), **_price(entry, C)}
    if entry.takes == "features" and (order.kernel or order.log):
        raise ValueError(f"--kernel and --log do not apply to method {entry.name!r}; it has no kernels")
    with warnings_kept() as remarks:
        training = read[0] if read else _read(order)
        remarks += read[1] if read else []
        model = _made(entry, training, options)
        with at_most(order.threads, len(training.y)):
            forecast = _learn(entry.name, model, training, order.page is not None)
    about = _about(entry, order.data, training, forecast)
    story = _story(order, entry, model, training, forecast, remarks)
    write_both(order, model, about, None if story is None else _page(story))
    if order.json:
        return say_json(_as_json(entry, order, model, training, forecast))
    _say_how_it_went(entry, model, training, forecast)
    return say_what_is_next(order.output, order.page)


def _read(order: Order) -> Training:
    return read_training(
        order.data, order.source, order.labels, order.kernel, order.log, kinds=("numbers",)
    )


def _price(entry: Entry, C: str) -> dict[str, float]:
    price = price_of(C)
    if price is None:
        return {}
    if "C" not in entry.make().get_params() or "C" in entry.without:
        own = next((flag for flag in entry.parameters() if flag in ("--penalty", "--alpha")), None)
        raise ValueError(
            f"--C does not apply to method {entry.name!r}" + (f"; its penalty is {own}" if own else "")
        )
    return {"C": price}


def _made(entry: Entry, training: Training, options: Mapping[str, Any]) -> Any:
    """The unfitted method, with the kernels that were asked for."""
    if entry.takes == "features":
        if not isinstance(training.data, absentia.Views):
            raise ValueError(f"method {entry.name!r} takes features, but kernels came; give another")
        return entry.make(**options)
    features = isinstance(training.data, absentia.Views)
    return entry.make(kernel=training.kernels if features else "precomputed", **options)


def _learn(name: str, model: Any, training: Training, validate: bool) -> numbers.Forecast | None:
    """Fit the model on all samples, and judge it beside baselines."""
    baselines = [ZERO, FOREST] if isinstance(training.data, absentia.Views) else [ZERO]
    methods = {name: model} | {
        other: _made(find(other, "regressor"), training, {}) for other in baselines if other != name
    }
    with step_bar(name, 1 + (5 * len(methods) if validate else 0)) as tick:
        judged = None
        if validate:
            judged = numbers.cross_validate_numbers(training.data, training.y, methods, tick)
        model.fit(training.data, training.y)
        tick()
    return judged


def _page(story: NumbersStory) -> str:
    from absentia.app import report

    return report.render_numbers(story)


# ---------------------------------------------------------------------------------- what goes out


def _errors(training: Training, forecast: numbers.Forecast) -> dict[str, numbers.Errors]:
    return {name: numbers.errors(training.y, said) for name, said in forecast.predicted.items()}


def _about(
    entry: Entry, data: Path, training: Training, forecast: numbers.Forecast | None
) -> dict[str, Any]:
    about = training.about(entry.name, data)
    if forecast is not None:
        about["cross-validated R2"] = _errors(training, forecast)[entry.name].r2.value
    return about


def _say_how_it_went(
    entry: Entry, model: Any, training: Training, forecast: numbers.Forecast | None
) -> None:
    for note in training.notes:
        say(printable(note))
    if (training.y == training.y.round()).all():
        say("these whole numbers are learned as numbers; if they are classes, write words (c1, c2)")
    views = f"{len(model.names_in_)} view{'' if len(model.names_in_) == 1 else 's'}"
    chosen = numbers.penalty(model)
    say(
        f"{entry.name}: {len(training.y)} samples, {views}"
        + (f"; penalty {chosen:g} ({_how(model)})" if chosen == chosen else "")
    )
    if forecast is None:
        return
    table = Table("cross-validated", "R2", "95% interval", "RMSE", "MAE", box=None, pad_edge=False)
    for name, (r2, rmse, mae) in _errors(training, forecast).items():
        interval = f"{r2.low:.3f} to {r2.high:.3f}"
        table.add_row(name, f"{r2.value:.3f}", interval, f"{rmse:.4g}", f"{mae:.4g}")
    out.print(table)


def _how(model: Any) -> str:
    said = {getattr(model, name, None) for name in ("penalty", "alpha")}
    return "chosen by leaving one sample out" if said & {"loo", "cv"} else "given"


def _as_json(
    entry: Entry, order: Order, model: Any, training: Training, forecast: numbers.Forecast | None
) -> dict[str, Any]:
    """What was learned and how good it is, for programs."""
    chosen = numbers.penalty(model)
    found: dict[str, Any] = {
        "method": entry.name,
        "samples": len(training.y),
        "not learned from": training.dropped,
        "views": list(model.names_in_),
        "penalty": chosen if chosen == chosen else None,
        "weights": _weights(model),
        "model": str(order.output),
        "report": None if order.page is None else str(order.page),
    }
    if forecast is not None:
        found["cross-validated"] = {
            name: {"R2": r2._asdict(), "RMSE": rmse, "MAE": mae}
            for name, (r2, rmse, mae) in _errors(training, forecast).items()
        }
    return found


def _weights(model: Any) -> dict[str, float] | None:
    if not hasattr(model, "weights_"):
        return None
    return dict(zip(model.names_in_, model.weights_.tolist(), strict=True))


def _story(
    order: Order,
    entry: Entry,
    model: Any,
    training: Training,
    forecast: numbers.Forecast | None,
    remarks: Sequence[str],
) -> NumbersStory | None:
    """What the report shows, if there is one."""
    if forecast is None:
        return None
    from absentia.app.report import NumbersStory

    makes = entry.takes != "features" and model.kernel != "precomputed"
    penalties = [f"{one:g}" for one in forecast.settings if one == one]
    facts = {
        "file": str(order.data),
        "labels": order.labels or "as the manifest says",
        "method": f"{entry.name}: {entry.when}",
    }
    if entry.takes != "features":
        facts["kernel"] = kernels_in_words(training.kernels) if makes else "as given"
    if penalties:
        facts["penalty"] = f"{numbers.penalty(model):g}; in the folds {', '.join(penalties)}"
    facts["folds"] = f"{forecast.n_folds}, with their share of small and large numbers, seed 0"
    return NumbersStory(
        title=f"{order.data.name}, {_target(order)} predicted",
        summary=f"Numbers learned with {entry.name} from the views that each sample has.",
        target=_target(order),
        names=model.names_in_,
        observed=training.data.observed,
        truth=training.y,
        predictions=forecast.predicted,
        ids=training.data.ids,
        without=forecast.without,
        n_all=training.n_all,
        dropped=training.dropped,
        warnings=list(dict.fromkeys(remarks)),
        facts={**facts, "parameters": parameters_in_words(model.get_params()), "made with": made_with()},
    )


def _target(order: Order) -> str:
    """What the numbers are called."""
    named = (order.labels or "").rpartition(":")[2]
    return named.rpartition("/")[2] or "number"
