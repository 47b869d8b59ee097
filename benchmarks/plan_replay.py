"""Does it pay to measure what a plan says?  Views are hidden and revealed.  Tables of docs/inspection.md.

    python benchmarks/plan_replay.py            # some 15 CPU minutes
    python benchmarks/plan_replay.py --settle   # what the estimate of a gain is settled by, on other sets

The files are found through ABSENTIA_DATA.  Samples are split in halves again and again: the default of
``absentia fit`` learns from one; from the other half of the cells are hidden, a view at least is kept.
The plan promises, the cells that it names are revealed as far as a budget goes (a share of what all hidden
cells cost), and the model decides anew.  Beside it: cells at random (mean of ten orders), and those of the
samples with the largest entropy first, a view of theirs at random.  Cells that nobody has cannot be
revealed, and are passed over.  Views cost 1 each, or 1, 2 or 4 by a draw of each split.

Splits share samples.  Intervals (95 %) are of a bootstrap that draws splits and samples, each as a whole:
a sample comes with all its splits, a split with all its samples.
"""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import common
import numpy as np
import small_tasks
from common import Claim
from scipy.stats import entropy

from absentia import AutoClassifier, LateFusion, Views, inspection
from absentia.methods.inspection import _plan

#: Samples drawn, what else is absent, splits.  Nothing was settled on these sets.
REPORTED = {
    "tcga": (220, "natural", 10),
    "cll": (277, "natural", 10),
    "mfeat": (320, 0.0, 5),
    "uwave": (320, 0.0, 10),
    "spambase": (400, 0.0, 10),
    "splice": (400, 0.0, 10),
    "pima": (500, 0.0, 10),
}
SETTLING = {
    "emotions": (320, 0.0, 4),
    "yeast": (400, 0.0, 4),
    "scene": (400, 0.0, 4),
    "heart": (270, 0.0, 4),
    "ionosphere": (320, 0.0, 4),
    "sonar": (200, 0.0, 4),
    "made-far": (320, 0.0, 4),
    "musk1": (320, 0.2, 4),
    "wine": (160, 0.0, 4),
}
BUDGETS = (0.1, 0.25, 0.5)
N_ORDERS, N_BOOTSTRAP, FLOOR = 10, 2000, 1e-6  # FLOOR: of a probability in log-loss
MEASURES = ("probability", "log-loss", "correct")


class Split(NamedTuple):
    """A fitted model and test samples, of which some cells are hidden."""

    model: object
    train: Views
    full: Views
    hidden: np.ndarray  # samples x views: what can be revealed
    keep: np.ndarray  # samples x views: what is left
    truth: np.ndarray  # positions among the model's classes

    @property
    def test(self) -> Views:
        return self.full.hide(self.keep)

    def judge(self, revealed: np.ndarray) -> np.ndarray:
        """Probability of the right class, its logarithm in bits, and correctness (samples x 3)."""
        shown = self.full.hide(self.keep | revealed)
        right = np.asarray(self.model.predict_proba(shown))[np.arange(len(shown)), self.truth]
        correct = self.model.predict(shown) == self.model.classes_[self.truth]
        return np.column_stack([right, np.log2(np.maximum(right, FLOOR)), correct])


def splits(name: str, n: int, absence: object, repeats: int, make=AutoClassifier) -> Iterator[Split]:
    """Halves of samples of a set, drawn anew for each split where there are more than are used."""
    _, tables, y = next(iter(small_tasks.SETS[name][0]()))
    for seed in range(repeats):
        views, codes = small_tasks.sample(tables, np.asarray(y), n, absence, seed)
        rng = np.random.default_rng(1000 + seed)
        train, test = np.array_split(rng.permutation(len(codes)), 2)
        full, hidden = views[np.sort(test)], np.zeros((len(test), views.n_views), dtype=bool)
        for row, seen in enumerate(full.observed):
            cells = rng.permutation(np.flatnonzero(seen))
            hidden[row, cells[: min(rng.binomial(len(cells), 0.5), len(cells) - 1)]] = True
        model = make().fit(views[np.sort(train)], codes[np.sort(train)])
        known = np.flatnonzero(np.isin(codes[np.sort(test)], model.classes_))
        truth = np.searchsorted(model.classes_, codes[np.sort(test)][known])
        keep = (full.observed & ~hidden)[known]
        yield Split(model, views[np.sort(train)], full[known], hidden[known], keep, truth)


# ----------------------------------------------------------------------------------------------- replay


def spend(cells: np.ndarray, prices: np.ndarray, budget: float, shape: tuple[int, int]) -> np.ndarray:
    """Cells (row, view) in this order as far as the budget goes, marked (samples x views)."""
    chosen = np.zeros(shape, dtype=bool)
    for row, view in cells:
        if prices[view] <= budget + 1e-9:
            budget -= prices[view]
            chosen[row, view] = True
    return chosen


class Replay(NamedTuple):
    """By split, sample, budget and strategy: what was paid, and gained by each measure."""

    split: np.ndarray  # (n,)
    sample: np.ndarray  # (n,)
    cost: dict  # (strategy, budget) -> (n,)
    gain: dict  # (strategy, budget) -> (n, measures)
    promised: np.ndarray  # (n,) of the whole plan
    realised: np.ndarray  # (n,) rise of the probability of the right class, all of it revealed


def replay(name: str, n: int, absence: object, repeats: int) -> dict[str, Replay]:
    """All splits of a set, by what views cost."""
    parts: dict[str, list[Replay]] = {"equal": [], "1, 2, 4": []}
    for number, split in enumerate(splits(name, n, absence, repeats)):
        for prices, some in parts.items():
            some.append(replay_split(number, split, prices == "equal"))
    return {prices: join(some) for prices, some in parts.items()}


def join(parts: list[Replay]) -> Replay:
    whole = [np.concatenate(column) for column in zip(*(p[:2] + p[4:] for p in parts), strict=True)]
    cost, gain = ({key: np.concatenate([p[f][key] for p in parts]) for key in parts[0][f]} for f in (2, 3))
    return Replay(whole[0], whole[1], cost, gain, whole[2], whole[3])


def replay_split(number: int, split: Split, equal: bool) -> Replay:
    rng = np.random.default_rng(number)
    names, shape = split.full.names, split.hidden.shape
    prices = np.ones(len(names)) if equal else rng.choice([1.0, 2.0, 4.0], len(names))
    costs = dict(zip(names, prices.tolist(), strict=True))
    table = inspection.plan(split.model, split.test, split.train, costs=costs)
    place = {x: i for i, x in enumerate(split.full.ids.tolist())}
    planned = [(place[x], names.index(v)) for x, v in zip(table["id"], table["view"], strict=True)]
    promises = table["gain"].to_numpy()[[bool(split.hidden[cell]) for cell in planned]]
    planned = np.array([cell for cell in planned if split.hidden[cell]])
    cells = np.argwhere(split.hidden)
    doubt = entropy(split.model.predict_proba(split.test), axis=1)
    orders = [rng.permutation(cells) for _ in range(N_ORDERS)]
    doubtful = [order[np.argsort(-doubt[order[:, 0]], kind="stable")] for order in orders]
    before, total = split.judge(np.zeros(shape, bool)), float((split.hidden @ prices).sum())
    cost, gain = {}, {}
    for budget in BUDGETS:
        for strategy, some in (("plan", [planned]), ("random", orders), ("entropy", doubtful)):
            chosen = [spend(order, prices, budget * total, shape) for order in some]
            cost[strategy, budget] = np.mean([one @ prices for one in chosen], axis=0)
            gain[strategy, budget] = np.mean([split.judge(one) - before for one in chosen], axis=0)
    whole = np.zeros(shape, dtype=bool)
    whole[tuple(planned.T)] = True
    promised = np.bincount(planned[:, 0], promises, minlength=shape[0])
    realised = (split.judge(whole) - before)[:, 0]
    return Replay(np.full(len(promised), number), split.full.ids, cost, gain, promised, realised)


def bootstrap(found: Replay, seed: int = 0) -> Iterator[np.ndarray]:
    """Weights of the rows: first all alike, then draws of splits and of samples, each as a whole."""
    rng = np.random.default_rng(seed)
    yield np.ones(len(found.split))
    pairs = [np.unique(x, return_inverse=True)[1] for x in (found.split, found.sample)]
    for _ in range(N_BOOTSTRAP):
        counts = [rng.multinomial(k.max() + 1, np.full(k.max() + 1, 1 / (k.max() + 1)))[k] for k in pairs]
        yield np.prod(counts, axis=0)


def summarize(name: str, found: Replay, prices: str) -> Iterator[dict]:
    """Rows of the table: gain per cost of the plan, of others, and the difference to random."""
    weights = list(bootstrap(found))
    for budget in BUDGETS:
        row = {"set": name, "prices": prices, "budget": f"{100 * budget:g} %"}
        for k, measure in enumerate(MEASURES):
            ratio = {}
            for s in ("plan", "entropy", "random"):
                gain, cost = found.gain[s, budget][:, k], found.cost[s, budget]
                ratio[s] = np.array([w @ gain / (w @ cost) for w in weights])
            row |= {f"{measure}, {s}": float(values[0]) for s, values in ratio.items()}
            for other in ("random", "entropy"):
                ends = np.quantile((ratio["plan"] - ratio[other])[1:], [0.025, 0.975])
                row[f"{measure}, over {other}"] = tuple(ends.tolist())
        yield row


def promise_row(name: str, found: Replay) -> dict:
    """Promised and realised rise of the probability of the right class, of samples with a planned view."""
    has = found.promised > 0
    slopes, ratios = [], []
    for w in bootstrap(found):
        x, y, w = found.promised[has], found.realised[has], w[has]
        mean = w @ x / w.sum()
        slopes.append((w * (x - mean)) @ y / ((w * (x - mean)) @ x))
        ratios.append(w @ y / (w @ x))
    row = {"set": name, "promised": found.promised[has].mean(), "realised": found.realised[has].mean()}
    for what, values in (("realised / promised", ratios), ("slope", slopes)):
        low, high = np.quantile(values[1:], [0.025, 0.975])
        row[what] = f"{values[0]:.2f} ({low:.2f} to {high:.2f})"
    return row


# ----------------------------------------------------------------------------------------------- settle


def estimates(split: Split, n_draws: int = 40) -> dict[str, np.ndarray]:
    """What each hidden cell is expected to gain, by each of several estimates, in the order of argwhere."""
    test, train, model = split.test, split.train, split.model
    near = _plan._similarity(test, train)
    p, q = np.asarray(model.predict_proba(test)), np.asarray(model.predict_proba(train))
    cells = np.argwhere(split.hidden)
    found: dict[str, np.ndarray] = {"entropy now": entropy(p[cells[:, 0]], axis=1)}
    for v, name in enumerate(test.names):
        at, lenders = np.flatnonzero(cells[:, 1] == v), np.flatnonzero(train.observed[:, v])
        if not len(at):
            continue
        rows = cells[at, 0]
        chosen = lenders[np.argsort(-near[np.ix_(rows, lenders)], axis=1, kind="stable")[:, :n_draws]]
        after, before = _plan._proba_with_lent(model, test, train, name, rows, chosen), p[rows][:, None]
        alike = np.take_along_axis(near[rows], chosen, axis=1)
        alike /= alike.sum(axis=1, keepdims=True)
        by_class = q[chosen] + _plan._FLOOR
        by_class *= before / by_class.sum(axis=1, keepdims=True)
        bits = np.log2(np.maximum(after, FLOOR)) - np.log2(np.maximum(before, FLOOR))
        drop = (entropy(before, base=2, axis=2) - entropy(after, base=2, axis=2)) * alike
        largest = (after.max(axis=2) - before.max(axis=2)) * alike
        divergence = (after * bits).sum(axis=2) * alike
        for what, values in {
            "by likeness: entropy": drop.sum(axis=1),
            "by likeness: largest probability": largest.sum(axis=1),
            "by likeness: divergence": divergence.sum(axis=1),
            "by class: log-loss": (by_class * bits).sum(axis=(1, 2)),
            "by class: probability": (by_class * (after - before)).sum(axis=(1, 2)),
        }.items():
            found.setdefault(what, np.zeros(len(cells)))[at] = values
    return found


def realise(split: Split) -> np.ndarray:
    """What each hidden cell gains alone (cells x measures)."""
    gains = np.zeros((*split.hidden.shape, len(MEASURES)))
    before = split.judge(np.zeros_like(split.hidden))
    for v in range(split.hidden.shape[1]):
        revealed = np.zeros_like(split.hidden)
        revealed[:, v] = split.hidden[:, v]
        gains[:, v] = split.judge(revealed) - before
    return gains[split.hidden]


def settle(quick: bool) -> None:
    """Mean gain of the best tenth, quarter and half of the cells by each estimate, less that of all."""
    for kind in (AutoClassifier, LateFusion):
        rows: dict[str, list] = {}
        for name, (n, absence, repeats) in list(SETTLING.items())[: 2 if quick else None]:
            for split in splits(name, n, absence, 1 if quick else repeats, kind):
                gains = realise(split)
                for what, values in estimates(split).items():
                    order = np.argsort(-values, kind="stable")
                    best = [gains[order[: max(1, int(b * len(order)))]].mean(axis=0) for b in BUDGETS]
                    unit = 1 if "log" in what or "entropy" in what or "divergence" in what else 0
                    slope = np.polyfit(values, gains[:, unit], 1)[0]
                    rows.setdefault(what, []).append([*np.ravel(best - gains.mean(axis=0)), slope])
        print(kind.__name__)
        heads = [f"{m} {100 * b:g} %" for b in BUDGETS for m in MEASURES] + ["slope"]
        means = {what: np.mean(values, axis=0).tolist() for what, values in rows.items()}
        common.table({"estimate": what, **dict(zip(heads, m, strict=True))} for what, m in means.items())


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--settle", action="store_true", help="what the estimate is settled by")
    parser.add_argument("--sets", nargs="*", default=list(REPORTED))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.settle:
        settle(options.quick)
        return
    rows: list[dict] = []
    promises, claims = [], []
    for name in options.sets:
        n, absence, repeats = REPORTED[name]
        found = replay(name, n, absence, 2 if options.quick else repeats)
        for prices, one in found.items():
            rows += summarize(name, one, prices)
        promises.append(promise_row(name, found["equal"]))
    print_tables(rows)
    for measure in MEASURES:
        not_sure = {r["set"] for r in rows if not r[f"{measure}, over random"][0] > 0}
        sure = len(set(options.sets) - not_sure)
        claims.append(Claim(f"sets where the plan surely beats random throughout, {measure}", sure, 2))
    common.finish("plan_replay", options.quick, promises, claims)


def print_tables(rows: list[dict]) -> None:
    """Gain per unit of cost: by the plan / entropy first / at random, and the plan less random."""
    for prices in dict.fromkeys(row["prices"] for row in rows):
        print(f"\nprices: {prices}\n\n| set | budget | probability, % | log-loss, bits | correct, % |")
        print("|---|---|---|---|---|")
        for row in rows:
            if row["prices"] == prices:
                cells = [row["set"], row["budget"], *(format_cell(row, measure) for measure in MEASURES)]
                print("|", " | ".join(cells), "|")
        for measure in MEASURES:
            ends = np.array([row[f"{measure}, over entropy"] for row in rows if row["prices"] == prices])
            above, below = (ends[:, 0] > 0).sum(), (ends[:, 1] < 0).sum()
            print(f"{measure}: surely above entropy first in {above} rows of {len(ends)}, below in {below}")


def format_cell(row: dict, measure: str) -> str:
    factor, digits = (1, 3) if measure == "log-loss" else (100, 1)
    plan, doubt, chance = (factor * row[f"{measure}, {s}"] for s in ("plan", "entropy", "random"))
    low, high = (factor * value for value in row[f"{measure}, over random"])
    means = f"{plan:.{digits}f} / {doubt:.{digits}f} / {chance:.{digits}f}"
    return f"{means} ({low:.{digits}f} to {high:.{digits}f})"


if __name__ == "__main__":
    main()
