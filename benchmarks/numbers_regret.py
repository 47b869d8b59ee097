"""The defaults for numbers and for survival times beside their members and what they replace: regret.

    python benchmarks/numbers_regret.py [--quick]     # some CPU minutes

Numbers are columns of public sets, predicted from the rest; survival times are those of leukaemia patients,
and made-up ones whose log-hazard is such a number, or comes from made-up views.  Everything is learned in
the training part of ten folds (numbers) or twice five (survival, whose pairs are compared within a fold).
Regret of a method on a task: the best score of any single method there, chosen in hindsight and so lucky,
less its own.  The weights of the members are made anew with other constants, which are settled on all sets
but one and judged on that one, each set in turn ("left out").
"""

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks
from predict_regret import mean_by_set
from sklearn import datasets as sklearn_datasets
from small_tasks import cut, load, views_of

from absentia import AbsentSurvival, AutoRegressor, AutoSurvival, Views, survival
from absentia.data import make_folds
from absentia.methods import catalogue
from absentia.methods.prediction import LIBRARY
from absentia.methods.prediction._cox import PartialLikelihood
from absentia.methods.prediction._survival import to_log_hazards
from absentia.tasks import REGRESSION, SURVIVAL, concordance

SHARPNESS = (0.0, 5.0, 10.0, 20.0, 40.0, 80.0, np.inf)
DEFAULT_SHARPNESS = 20.0
N_FEATURES = 200  # of views with more, those of largest variance: forests take their time
HAZARD = 1.5  # log-hazard of a sample one standard deviation above the mean, of made-up times


class Task(NamedTuple):
    """Views of one small problem and their targets: numbers, or times and events, (n, 2)."""

    set: str
    name: str
    make: Callable[[], tuple[Views, np.ndarray]]


# ------------------------------------------------------------------------------------------- numbers


def without(views: dict[str, np.ndarray], name: str, column: int) -> tuple[dict, np.ndarray]:
    """The views without one column, and the column."""
    return {**views, name: np.delete(views[name], column, axis=1)}, views[name][:, column]


def thin(views: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The features of largest variance of each view."""
    order = {name: np.argsort(-np.nanvar(x, axis=0), kind="stable") for name, x in views.items()}
    return {name: x[:, np.sort(order[name][:N_FEATURES])] for name, x in views.items()}


def cll():
    data = load("cll_mofaCLL")
    views = thin(views_of(data))
    yield "age", views, data["age"].astype(float)
    drugs = views.pop("drugs")
    for column in np.argsort(-np.nanvar(drugs, axis=0), kind="stable")[[0, 40]]:
        yield f"drug {column}", views, drugs[:, column]


def tcga():
    views = views_of(load("tcga_breast_mixomics"))
    for column in (10, 70, 130):
        yield f"protein {column}", *without(views, "protein", column)


def mfeat():
    views = {name: x for name, x in views_of(load("mfeat")).items() if name not in ("pix", "fac")}
    for column in (1, 4):
        numbers = views["mor"][:, column]
        yield f"shape {column}", {k: v for k, v in views.items() if k != "mor"}, numbers


def emotions():
    data = load("ml_emotions")
    rhythm = np.char.find(data["feature_names"], "BH") >= 0
    table = data["view_x"].astype(float)
    views = {"timbre": table[:, ~rhythm], "rhythm": table[:, rhythm]}
    for name, column in (("rhythm", 4), ("timbre", 20)):
        yield f"{name} {column}", *without(views, name, column)


def table(name: str, n_views: int, columns: tuple[int, ...]) -> Callable[[], Iterator]:
    def make():
        X = load(name)["view_x"].astype(float)
        for column in columns:
            yield f"column {column}", cut(np.delete(X, column, axis=1), n_views), X[:, column]

    return make


def diabetes():
    data = sklearn_datasets.load_diabetes()
    yield "progression", cut(data.data, 3), data.target


def made():
    """Two factors in three views; the number is a sum, a product, or a distance of them."""
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 4))
    views = {
        f"view{v}": Z[:, [v, 3]] @ rng.normal(size=(2, 15)) + rng.normal(size=(400, 15)) for v in range(3)
    }
    kinds = {
        "sum": Z[:, 0] + Z[:, 3],
        "product": Z[:, 0] * Z[:, 3],
        "distance": (Z[:, :2] ** 2).sum(axis=1),
    }
    for name, numbers in kinds.items():
        yield name, views, numbers / numbers.std() + 0.5 * rng.normal(size=400)


NUMBERS: dict[str, tuple[Callable, tuple]] = {
    "cll": (cll, ((160, "natural"), (277, "natural"), (160, "more"))),
    "tcga": (tcga, ((80, "natural"), (160, "natural"), (220, "more"))),
    "mfeat": (mfeat, ((160, 0.6), (320, 0.3))),
    "emotions": (emotions, ((160, 0.3), (320, 0.6))),
    "heart": (table("uci_heart", 3, (7, 3)), ((160, 0.3), (270, 0.6))),
    "pima": (table("uci_pima", 3, (5, 1)), ((160, 0.3), (320, 0.6))),
    "wdbc": (table("uci_wdbc", 3, (4, 9)), ((80, 0.3), (160, 0.6))),
    "musk1": (table("uci_musk1", 4, (30, 100)), ((80, 0.3), (160, 0.6))),
    "diabetes": (diabetes, ((80, 0.3), (160, 0.6), (320, 0.3))),
    "made": (made, ((160, 0.3), (320, 0.6), (80, 0.3))),
}  # fmt: skip


def sample(tables: dict, y: np.ndarray, n: int, absence: object, seed: int) -> tuple[Views, np.ndarray]:
    """Some samples of all that have a number and a view, with views hidden."""
    tables = {name: x for name, x in tables.items() if x.shape[1]}
    views, _ = small_tasks.sample(tables, np.where(np.isfinite(y), 0, -1), n, absence, seed)
    return views, y[views.ids.astype(int)]


def number_tasks() -> Iterator[Task]:
    """Each target of a set in one of its settings, the only one in all."""
    for name, (source, settings) in NUMBERS.items():
        targets = list(source())
        for k in range(max(len(targets), len(settings))):
            (target, tables, y), (n, absence) = targets[k % len(targets)], settings[k % len(settings)]
            label = f"{name} {target}, {n}, {absence}"
            yield Task(name, label, partial(sample, tables, y, n, absence, zlib.crc32(label.encode())))


# ------------------------------------------------------------------------------------------ survival


def patients(n: int, absence: object, seed: int) -> tuple[Views, np.ndarray]:
    """Leukaemia patients, and how long they lived."""
    data = load("cll_mofaCLL")
    years, died = data["OS_years"].astype(float), data["died"]
    known = np.where(np.isfinite(years) & np.isin(died, (0, 1)), years, np.nan)
    views, y = sample(thin(views_of(data)), known, n, absence, seed)
    return views, np.column_stack([y, died[views.ids.astype(int)]])


def timed(task: Task) -> tuple[Views, np.ndarray]:
    """A task of numbers as one of times: exponential ones, hazards by the number, half of them censored."""
    views, y = task.make()
    rng = np.random.default_rng(zlib.crc32(task.name.encode()))
    hazard = np.exp(HAZARD * (y - y.mean()) / y.std())
    times = rng.exponential(1 / hazard)
    until = rng.permutation(times) * rng.uniform(0.5, 2, size=len(y))
    return views, np.column_stack([np.minimum(times, until), times <= until])


def survival_tasks() -> Iterator[Task]:
    for n, absence in ((160, "natural"), (277, "natural"), (277, "more")):
        yield Task("cll", f"cll survival, {n}, {absence}", partial(patients, n, absence, n))
    seen: dict[str, int] = {}
    for task in number_tasks():
        seen[task.set] = seen.get(task.set, 0) + 1
        if task.set != "cll" and seen[task.set] <= 2:
            yield Task(task.set, f"{task.name}, as times", partial(timed, task))


# -------------------------------------------------------------------------------------------- results


class Results:
    """What every method said in one task, and what members said of training samples left out."""

    def __init__(self, task: Task, numbers: bool) -> None:
        self.set, self.name, self.numbers = task.set, task.name, numbers
        self.views, self.y = task.make()
        family = "regressor" if numbers else "survival"
        self.members = LIBRARY[family]["features"]
        rule = REGRESSION if numbers else SURVIVAL
        draws = [(10, 0)] if numbers else [(5, 0), (5, 1)]
        order, strata = np.arange(len(self.y)), rule.strata(self.y)
        self.folds = [make_folds(order, strata, k, random_state=seed) for k, seed in draws]
        self.others = {"ridge-zero": catalogue.find("ridge-zero", family).make()} if numbers else {
            "cox-zero": catalogue.find("cox-zero", family).make(),
            "cox-cvkt-rbf with presence": AbsentSurvival(presence=True),
        }  # fmt: skip
        names = ("auto", *self.members, *self.others)
        self.said = {name: np.zeros((len(draws), len(self.y))) for name in names}
        self.left_out: list[list[tuple]] = []  # by draw and fold: targets, members x samples
        self.seconds = 0.0

    def run(self) -> "Results":
        with warnings.catch_warnings(action="ignore"):
            for draw, folds in enumerate(self.folds):
                self.left_out.append([self._fold(draw, *fold) for fold in folds])
        return self

    def _fold(self, draw: int, train: np.ndarray, test: np.ndarray) -> tuple:
        X, y, new = self.views[train], self.y[train], self.views[test]
        start = time.process_time()
        auto = (AutoRegressor() if self.numbers else AutoSurvival()).fit(X, y)
        self.seconds += time.process_time() - start
        models = {"auto": auto, **auto.estimators_}
        models |= {name: other.fit(X, y) for name, other in self.others.items()}
        for name, model in models.items():
            self.said[name][draw, test] = model.predict(new)
        left_out = "loo_predictions_" if self.numbers else "held_out_risks_"
        told = [getattr(member, left_out) for member in auto.estimators_.values()]
        return y[auto._order.samples], np.array(told)

    def combine(self, members, sharpness: float, scale: str = "hazard") -> np.ndarray:
        """The members' average with other weights or other units, draws x samples."""
        rows = [self.members.index(name) for name in members]
        result = np.zeros_like(self.said["auto"])
        for draw, folds in enumerate(self.folds):
            for (_, test), (y, told) in zip(folds, self.left_out[draw], strict=True):
                losses, units = self._losses(y, told[rows], scale)
                if np.isinf(sharpness):
                    weights = (losses == losses.min()).astype(float)
                else:
                    weights = np.exp(-sharpness * (losses - losses.min()))
                said = [
                    unit * self.said[name][draw, test] for unit, name in zip(units, members, strict=True)
                ]
                result[draw, test] = weights / weights.sum() @ np.array(said)
        return result

    def _losses(self, y: np.ndarray, told: np.ndarray, scale: str) -> tuple[np.ndarray, np.ndarray]:
        """Log-losses of samples left out as the defaults have them, and what predictions are times."""
        if self.numbers:
            return np.log(((told - y) ** 2).mean(axis=1)) / 2, np.ones(len(told))
        target = survival.Survival(y[:, 0], y[:, 1] == 1)
        slopes = np.array([to_log_hazards(risk, target)[0] for risk in told])
        likelihood = PartialLikelihood.of(target)
        losses = [likelihood.loss(slope * risk) for slope, risk in zip(slopes, told, strict=True)]
        spreads = np.maximum(told.std(axis=1), 1e-12)
        units = {"hazard": slopes, "spread": 1 / spreads, "own": np.ones(len(told))}[scale]
        return np.array(losses) / target.event.sum(), units

    def score(self, said: np.ndarray) -> float:
        """R2 in percent, or concordance, the mean of the draws."""
        if self.numbers:
            return 100 * float(1 - ((self.y - said[0]) ** 2).sum() / ((self.y - self.y.mean()) ** 2).sum())
        target = survival.Survival(self.y[:, 0], self.y[:, 1] == 1)
        values = []
        for folds, risk in zip(self.folds, said, strict=True):
            fold = np.zeros(len(self.y), dtype=int)
            for k, (_, test) in enumerate(folds):
                fold[test] = k
            values.append(concordance(target, risk, fold).value)
        return 100 * float(np.mean(values))


# --------------------------------------------------------------------------------------------- output


def print_methods(results: list[Results]) -> np.ndarray:
    """A row for each method, means over sets; the best single score of each task."""
    names = list(results[0].said)
    scores = {name: np.array([r.score(r.said[name]) for r in results]) for name in names}
    best = np.max([scores[name] for name in names if name != "auto"], axis=0)
    what = "R2" if results[0].numbers else "concordance"
    print(f"\n{len(results)} tasks of {len({r.set for r in results})} sets; means over sets, in percent\n")
    print(f"| | {what} | regret | 95 % of tasks | worst |\n|---|---|---|---|---|")
    for name in names:
        regret = best - scores[name]
        cells = [mean_by_set(results, scores[name]), mean_by_set(results, regret)]
        cells += [float(np.quantile(regret, 0.95)), float(regret.max())]
        print(f"| {name} | " + " | ".join(f"{cell:.1f}" for cell in cells) + " |")
    fits = sum(len(folds) for r in results for folds in r.folds)
    print(f"\n{sum(r.seconds for r in results) / fits:.2f} CPU seconds a fit of auto")
    return best


def menus(results: list[Results]) -> dict[str, tuple[str, ...]]:
    """All members, and all but those of a kind."""
    members = results[0].members
    kinds = ("fusion", "cvkt", "rbf", "forest" if results[0].numbers else "linear-cox")
    return {"all": members, **{f"no {k}": tuple(m for m in members if k not in m) for k in kinds}}


def print_left_out(results: list[Results], best: np.ndarray) -> None:
    """What each choice does, and choices settled on all sets but one, judged on that one."""
    lists = menus(results)
    scales = ("hazard",) if results[0].numbers else ("hazard", "spread", "own")
    choices = [("all", s, DEFAULT_SHARPNESS) for s in scales]
    choices += [("all", "hazard", sharpness) for sharpness in SHARPNESS]
    choices += [(name, "hazard", DEFAULT_SHARPNESS) for name in lists if name != "all"]
    choices = list(dict.fromkeys(choices))
    table = np.array([[r.score(r.combine(lists[m], s, u)) for m, u, s in choices] for r in results])
    means = [mean_by_set(results, table[:, k]) for k in range(len(choices))]
    for (name, scale, sharpness), mean in zip(choices, means, strict=True):
        print(f"  {name}, {scale}, x{sharpness:g}: {mean:.2f}")
    left_out, chosen = np.zeros(len(results)), []
    for name in sorted({r.set for r in results}):
        inside = np.array([r.set == name for r in results])
        rest = [r for r, here in zip(results, inside, strict=True) if not here]
        k = int(np.argmax([mean_by_set(rest, table[~inside, k]) for k in range(len(choices))]))
        chosen.append(choices[k])
        left_out[inside] = table[inside, k]
    words = [f"{m}, {u}, x{s:g}: {chosen.count((m, u, s))}" for m, u, s in dict.fromkeys(chosen)]
    score, regret = (mean_by_set(results, values) for values in (left_out, best - left_out))
    print(f"left out: {score:.2f}, regret {regret:.2f}; chosen {'; '.join(words)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two sets")
    given = parser.parse_args()
    for numbers, tasks in ((True, number_tasks()), (False, survival_tasks())):
        results = []
        for task in tasks:
            if given.quick and task.set not in ("diabetes", "made"):
                continue
            results.append(Results(task, numbers).run())
            shown = {name: round(results[-1].score(said), 1) for name, said in results[-1].said.items()}
            print(f"{task.name} ({results[-1].seconds:.0f} s): {shown}", flush=True)
        print_left_out(results, print_methods(results))
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
