"""Do prediction sets hold for samples with few views, and what does that cost?  Tables of docs/coverage.md.

    python benchmarks/coverage_by_pattern.py            # below 15 CPU minutes
    python benchmarks/coverage_by_pattern.py --settle   # what constants are settled by, on other sets
    python benchmarks/coverage_by_pattern.py --small    # 40 to 160 training samples

The files are found through ABSENTIA_DATA.  Each set is split in halves, to learn from and to judge by,
again and again.  Coverage is that of all test samples of a pattern over all splits; the worst is the least
among patterns that 30 *distinct* samples or more were tested with, and its standard error is that of so
many samples (splits share samples, so that more tests are not more evidence).  90 % are promised.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

import common
import numbers_regret
import numpy as np
import small_tasks
from common import Claim

from absentia import AbsentRegressor, AutoClassifier, ConformalSets, Views, datasets, missingness, survival
from absentia.methods import catalogue
from absentia.methods.prediction import _conformal

COVERAGE, MIN_TESTED = 0.9, 30
minus_probability = _conformal.score_classes
Sample = Callable[[int], tuple[Views, np.ndarray]]  # of a seed


class Case(NamedTuple):
    """Samples to be split in halves, drawn anew for each split where there are more than are used."""

    name: str
    draw: Sample
    make: Callable[[], object]  # the estimator
    repeats: int


# ----------------------------------------------------------------------------------------------- data


def draw_task(name: str, n: int, absence: object, names: tuple[str, ...] = ()) -> Sample:
    """Samples of the first target of a set of small_tasks, of all or some views."""
    _, tables, y = next(iter(small_tasks.SETS[name][0]()))
    tables = {key: tables[key] for key in names or tables}
    return lambda seed: small_tasks.sample(tables, np.asarray(y), n, absence, seed)


def draw_not_at_random(n: int) -> Sample:
    """Made-up classes in three views, of unequal use, hidden by what they would show."""
    data = datasets.make_multiview(4000, 3, n_classes=3, private_scale=2.0, noise=1.0, random_state=0)
    scores = np.column_stack(
        [
            np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[0][:, 0]
            for x in map(data.views.block, data.views.names)
        ]
    )

    def draw(seed: int) -> tuple[Views, np.ndarray]:
        rows = np.random.default_rng(seed).permutation(4000)[:n]
        keep = missingness.mnar(
            data.views[rows], (0.2, 0.4, 0.5), scores[rows], strength=2.0, random_state=seed
        )
        return data.views[rows].hide(keep), data.target[rows]

    return draw


def draw_numbers(
    source: Callable[[], Iterator], n: int, absence: object, names: tuple[str, ...] = ()
) -> Sample:
    _, tables, y = next(iter(source()))
    tables = {key: tables[key] for key in names or tables}
    return lambda seed: numbers_regret.sample(tables, y, n, absence, seed)


def draw_patients(seed: int) -> tuple[Views, np.ndarray]:
    """Leukaemia patients and how long they lived."""
    return numbers_regret.patients(277, "natural", 0)


def member(name: str, family: str = "classifier") -> Callable[[], object]:
    return lambda: catalogue.find(name, family).make()


def cases(quick: bool) -> list[Case]:
    few = (lambda repeats: 2) if quick else (lambda repeats: repeats)
    auto = AutoClassifier
    mfeat = draw_task("mfeat", 600, "exclusive", ("mor", "fou", "kar"))
    shapes = draw_numbers(numbers_regret.mfeat, 600, 0.5, ("fou", "kar", "zer"))
    fused = member("ridge-fusion", "regressor")
    return [
        Case("3sources, topic", draw_task("3sources", 416, "natural"), auto, few(6)),
        Case("CLL, IGHV", draw_task("cll", 400, "natural"), auto, few(10)),
        Case("TCGA, subtype, half of the cells", draw_task("tcga", 400, 0.5), auto, few(10)),
        Case("mfeat, one of three views", mfeat, auto, few(6)),
        Case("uwave, half of the cells", draw_task("uwave", 600, 0.5), auto, few(4)),
        Case("made up, not at random", draw_not_at_random(800), auto, few(5)),
        Case("CLL, a drug (number)", draw_numbers(cll_drug, 300, "natural"), fused, few(20)),
        Case("mfeat, a shape (number)", shapes, AbsentRegressor, few(10)),
        Case("CLL, survival", draw_patients, member("cox-fusion", "survival"), few(20)),
    ]


def cll_drug() -> Iterator:
    yield from list(numbers_regret.cll())[1:]


# -------------------------------------------------------------------------------------------- measures


class Tested(NamedTuple):
    """Test samples over all splits: pattern, who, outside (weighed if censored), size of the region."""

    pattern: np.ndarray
    who: np.ndarray
    missed: np.ndarray
    size: np.ndarray


def test_once(model: ConformalSets, X: Views, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Who is outside (censored times weighed by how long samples are followed), and the regions' sizes."""
    if hasattr(model, "predict_set"):
        sets = model.predict_set(X)
        return ~(sets & (y[:, None] == model.classes_)).any(axis=1), sets.sum(axis=1)
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X).T
        return (y < low) | (y > high), high - low
    lower, (years, event) = model.predict_lower(X), survival.as_survival(y)
    followed = survival.estimate_follow_up(years, event, years, before=True)
    return (event & (years < lower)) / followed, lower


def run(case: Case, size: int | None = None, kind: type = ConformalSets, **options: object) -> Tested:
    """All splits of a case; `size`: training samples, instead of half."""
    parts = []
    for repeat in range(case.repeats):
        X, y = case.draw(repeat)
        order = np.random.default_rng(repeat).permutation(len(y))
        half = size or len(y) // 2
        train, test = order[:half], order[half:]
        with warnings.catch_warnings(action="ignore"):
            model = kind(case.make(), **{"coverage": COVERAGE, **options}).fit(X[train], y[train])
            missed, sizes = test_once(model, X[test], y[test])
        parts.append(
            (["".join("01"[int(o)] for o in row) for row in X[test].observed], X.ids[test], missed, sizes)
        )
    return Tested(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def find_worst(tested: Tested) -> tuple[float, float, str, int]:
    """The least coverage of a pattern that enough samples have, its error, it, and how many patterns."""
    found = []
    for pattern in np.unique(tested.pattern):
        rows = tested.pattern == pattern
        distinct = len(np.unique(tested.who[rows]))
        if distinct >= MIN_TESTED:
            error = np.sqrt(COVERAGE * (1 - COVERAGE) / distinct)
            found.append((1 - tested.missed[rows].mean(), error, pattern))
    return (*min(found), len(found))


def judge(case: Case) -> tuple[dict[str, object], list[Claim]]:
    seconds, (by, none) = common.cpu(lambda: (run(case), run(case, by="none")))
    worst, error, pattern, n_patterns = find_worst(by)
    plain = 1 - none.missed[none.pattern == pattern].mean()
    ratio = float(np.mean(by.size) / np.mean(none.size))
    row = {
        "set": case.name, "patterns": n_patterns, "plain: all": 100 * (1 - none.missed.mean()),
        "plain: worst": 100 * find_worst(none)[0], "by pattern: all": 100 * (1 - by.missed.mean()),
        "by pattern: worst": 100 * worst, "se": 100 * error, "same, plain": 100 * plain,
        "size, plain": float(np.mean(none.size)), "size": float(np.mean(by.size)), "ratio": ratio,
        "CPU s": seconds,
    }  # fmt: skip
    claims = [Claim(f"{case.name}: worst pattern, %", 100 * worst, at_least=100 * (COVERAGE - 2 * error))]
    if "survival" not in case.name:
        claims.append(Claim(f"{case.name}: size beside plain sets", ratio, at_most=1.2))
    return row, claims


# ------------------------------------------------------------------------------- settled on other sets

SETTLING = {
    "at random": {"emotions": 0.3, "scene": 0.3, "yeast": 0.3, "wine": 0.3, "heart": 0.3, "musk1": 0.6},
    "by class": dict.fromkeys(("emotions", "scene", "yeast", "heart"), "class"),
}


class HiddenDown(ConformalSets):
    """Calibrates a pattern on all that have its views, those who have exactly these among them."""

    def _choose_calibration(self, observed):
        super()._choose_calibration(observed)
        return (self.patterns_[:, None] <= observed).all(axis=2)


def add_up_larger(proba: np.ndarray) -> np.ndarray:
    """The score of adaptive sets, without random draws: probabilities down to that of the class."""
    order = np.argsort(-proba, axis=1, kind="stable")
    scores = np.empty_like(proba)
    np.put_along_axis(scores, order, np.take_along_axis(proba, order, axis=1).cumsum(axis=1), axis=1)
    return scores


def settle(quick: bool) -> None:
    """Mean over sets and two members: coverage of all and of the worst pattern, and the size of sets."""
    variants = {f"min_samples={m}": (ConformalSets, {"min_samples": m}) for m in (10, 20, 40)}
    variants |= {
        "plain": (ConformalSets, {"by": "none"}),
        "all hidden down": (HiddenDown, {}),
        "adaptive": (ConformalSets, {}),
        "98 % promised": (ConformalSets, {"coverage": 0.98}),  # covers what adaptive sets do
    }
    for title, sets in SETTLING.items():
        rows = []
        for name, (kind, options) in variants.items():
            _conformal.score_classes = add_up_larger if name == "adaptive" else minus_probability
            found = []
            for set_name, absence in sets.items():
                for estimator in ("linear", "fusion-linear"):
                    draw = draw_task(set_name, 300, absence)
                    case = Case(set_name, draw, member(estimator), 2 if quick else 3)
                    tested = run(case, kind=kind, **options)
                    found.append((1 - tested.missed.mean(), find_worst(tested)[0], tested.size.mean()))
            means = np.mean(found, axis=0)
            rows.append(
                {title: name, "all": 100 * means[0], "worst": 100 * means[1], "size": float(means[2])}
            )
        common.table(rows)
    _conformal.score_classes = minus_probability


def show_small(quick: bool) -> None:
    """Coverage where fold models learn from few samples: mean over the sets that constants come from."""
    rows = []
    for size in (40, 80, 160):
        row = {"training samples": size}
        for by in ("none", "pattern"):
            found = [
                1
                - run(
                    Case(n, draw_task(n, size + 150, a), member(e), 2 if quick else 4), size, by=by
                ).missed.mean()
                for n, a in SETTLING["at random"].items()
                for e in ("linear", "fusion-linear")
            ]
            row[f"by={by}"] = 100 * float(np.mean(found))
            row[f"by={by}, se"] = 100 * float(np.std(found) / np.sqrt(len(found)))
        rows.append(row)
    common.table(rows)


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("--settle", action="store_true", help="what constants are settled by")
    parser.add_argument("--small", action="store_true", help="few training samples")
    options = parser.parse_args()
    if options.settle:
        settle(options.quick)
    if options.small:
        show_small(options.quick)
    rows, claims = [], []
    for case in cases(options.quick) if not (options.settle or options.small) else []:
        row, made = judge(case)
        common.table([row])
        rows.append(row)
        claims += made
    if rows:
        common.finish("coverage_by_pattern", options.quick, rows, claims)


if __name__ == "__main__":
    main()
