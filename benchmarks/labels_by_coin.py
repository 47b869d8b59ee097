"""Labels by coin: is every score that is printed at chance?

    python benchmarks/labels_by_coin.py                          # all of it: some CPU hours
    python benchmarks/labels_by_coin.py --methods linear average --seeds 20 --features 1 50 --views 1

60 samples of pure noise, half of them in either class by a coin, described by 1, 2, 5, 50 or 2000 features
in each of one or three views.  For every method: what ``fit`` prints (accuracy out of fold), what
``compare`` prints of it (balanced accuracy, AUC, log-loss), and what the default says of its members
(``candidates_``: log-loss of samples left out).  A row has the mean over the seeds and how many standard
errors it is from chance; log-loss may be worse than that of the frequencies (log 2), never better.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

import absentia
from absentia import Views
from absentia.experiment import cross_validate
from absentia.methods import catalogue
from absentia.tasks import CLASSIFICATION

N_SAMPLES = 60
CHANCE = {"log-loss": float(np.log(2))}  # 0.5 for all else


def make_noise(seed: int, n_features: int, n_views: int) -> tuple[Views, np.ndarray]:
    rng = np.random.default_rng([seed, n_features, n_views])
    tables = {f"view {v}": rng.standard_normal((N_SAMPLES, n_features)) for v in range(n_views)}
    return Views.from_dict(tables), rng.permutation(np.arange(N_SAMPLES) % 2)


def fit_scores(methods: list[str], X: Views, y: np.ndarray) -> Iterator[tuple[str, float]]:
    """What ``fit`` prints of each method and the baseline, and what a fitted model says of its members."""
    plans = {method: CLASSIFICATION.plan(method, X) for method in methods}
    baselines = CLASSIFICATION.baseline_plans(plans[methods[0]], X)
    validation = cross_validate(CLASSIFICATION, X, y, {**plans, **baselines})
    for name in (*plans, *baselines):
        yield f"fit: accuracy of {name}", float(np.mean(validation.predicted[name] == y))
    for name in set(methods) & {"auto"}:
        model = plans[name].fit(plans[name].transform(X)[1], y)
        for member, row in model.candidates_.items():
            yield f"candidates_: log-loss of {member}", row["loss"]


def compare_scores(methods: list[str], X: Views, y: np.ndarray) -> Iterator[tuple[str, float]]:
    """The table of ``compare``."""
    table = absentia.compare(X, y, methods=methods, repeats=1, n_jobs=1).table()
    for metric in ("balanced accuracy", "accuracy", "AUC", "log-loss"):
        for name, value in table[metric].dropna().items():
            yield f"compare: {metric} of {name}", float(value)


def collect(methods: list[str], n_features: int, n_views: int, seeds: int) -> dict[str, list[float]]:
    found = defaultdict(list)
    for seed in range(seeds):
        X, y = make_noise(seed, n_features, n_views)
        with warnings.catch_warnings(action="ignore"):
            scores = [*fit_scores(methods, X, y), *compare_scores(methods, X, y)]
        for name, value in dict(scores).items():
            found[name].append(value)
    return found


def describe(name: str, values: list[float]) -> tuple[float, float, bool]:
    """Mean, standard errors from chance, and whether that is better than two of them allow."""
    chance = next((x for key, x in CHANCE.items() if key in name), 0.5)
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    z = (np.mean(values) - chance) / error if error > 0 else 0.0
    return float(np.mean(values)), float(z), (z < -2) if "log-loss" in name else abs(z) > 2


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="two methods, two seeds")
    parser.add_argument("--methods", nargs="*")
    parser.add_argument("--features", nargs="*", type=int, default=[1, 2, 5, 50, 2000])
    parser.add_argument("--views", nargs="*", type=int, default=[1, 3])
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--all", action="store_true", help="every score, not only those beyond two")
    given = parser.parse_args()
    methods = given.methods or list(catalogue.list_entries("classifier", variants=True))
    if given.quick:
        methods, given.features, given.views, given.seeds = ["linear", "average"], [2], [1], 2
    print("| features x views | score | mean | standard errors from chance | |\n|---|---|---|---|---|")
    beyond = total = 0
    for n_views in given.views:
        for n_features in given.features:
            for name, values in collect(methods, n_features, n_views, given.seeds).items():
                mean, z, far = describe(name, values)
                beyond, total = beyond + far, total + 1
                if far or given.all:
                    flag = "beyond two" if far else ""
                    print(
                        f"| {n_features} x {n_views} | {name} | {mean:.3f} | {z:+.1f} | {flag} |",
                        flush=True,
                    )
            print(f"# {n_features} x {n_views}: {beyond} of {total} so far", flush=True)
    print(f"\n{beyond} of {total} scores are more than two standard errors from chance (by luck: 1 in 20)")


if __name__ == "__main__":
    main()
