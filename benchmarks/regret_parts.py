"""What the regret of the default is made of, from what ``predict_regret.py`` has kept; nothing is fitted.

    python benchmarks/predict_regret.py --keep regret        # first
    python benchmarks/regret_parts.py --keep regret          # a minute

Luck: the best of all methods in hindsight is ahead of the one that is best in truth; how far, is told by
samples drawn anew (within classes) and by choosing on half of the folds.  Then the same members decided,
weighed and joined otherwise, each against the default as it is: points of balanced accuracy and log-loss,
means over sets, 95 % intervals over sets.  At last the variant that is best on all sets but one, judged on
that one.
"""

from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks
from predict_regret import MEMBERS, MIN_PROBABILITY, Results, by_set, mean_by_set

from absentia.methods.prediction._auto import SHARPNESS

N_DRAWS = 200
EM_STEPS = 300


def exponential(own, sharpness):
    """Weights as the default's, of probabilities of the true class, members x samples."""
    losses = -np.log(own).mean(axis=1)
    weights = np.exp(-sharpness * (losses - losses.min()))
    return weights / weights.sum()


def stacked(own, prior):
    """Weights of least log-loss of the average, `prior` samples for equal ones, by EM: it is convex."""
    weights = np.full(len(own), 1 / len(own))
    for _ in range(EM_STEPS):
        weights = weights * (own / (weights @ own)).sum(axis=1) + prior / len(own)
        weights /= weights.sum()
    return weights


def average(weights, parts):
    return np.tensordot(weights, parts, 1)


def average_logarithms(weights, parts):
    said = np.exp(np.tensordot(weights, np.log(np.maximum(parts, 1e-6)), 1))
    return said / said.sum(axis=1, keepdims=True)


def combine(result, weigh=exponential, strength=SHARPNESS, join=average):
    """Held-out probabilities, and by fold the average of what is said of training samples left out."""
    proba, left_out = np.zeros_like(result.said[MEMBERS[0]]), []
    for k, (train, test) in enumerate(result.folds):
        told = np.array([result.left_out[m][k] for m in MEMBERS])
        own = told[:, np.arange(len(train)), result.y[train]]
        weights = weigh(np.maximum(own, MIN_PROBABILITY), strength)
        proba[test] = join(weights, np.array([result.said[m][test] for m in MEMBERS]))
        left_out.append(join(weights, told))
    return proba, left_out


def frequencies(result, ghosts=0.0):
    counts = [np.bincount(result.y[train]) + ghosts for train, _ in result.folds]
    return [(count / count.sum())[None, :] for count in counts]


def make_variants(result):
    """Balanced accuracy and log-loss by what is done otherwise."""
    auto, left_out = combine(result)
    said = {
        "as it is": (auto, left_out),
        "over frequency": (auto, frequencies(result)),
        "over frequency, 3 samples more a class": (auto, frequencies(result, 3.0)),
        "over the mean to the power .75": (auto, [p.mean(axis=0)[None] ** 0.75 for p in left_out]),
        "over the mean to the power 1.25": (auto, [p.mean(axis=0)[None] ** 1.25 for p in left_out]),
    }
    for words, *how in (
        ("equal weights", exponential, 0.0), ("exp(-20 loss)", exponential, 20.0),
        ("exp(-80 loss)", exponential, 80.0),
        ("exp(-40 loss), logarithms", exponential, 40.0, average_logarithms),
        ("stacked", stacked, 0.1), ("stacked, 10 samples for equal ones", stacked, 10.0),
    ):  # fmt: skip
        said[words] = combine(result, *how)
    for words, names in (
        ("forest for 30 %", ["forest"]), ("cvkt-svm for 30 %", ["cvkt-svm"]),
        ("both for 30 %", ["forest", "cvkt-svm"]),
    ):  # fmt: skip
        more = np.mean([result.said[name] for name in names], axis=0)
        said[words] = (0.7 * auto + 0.3 * more, left_out)
    return {words: result.scores(*pair) for words, pair in said.items()}


def measure_luck(result, rng):
    """How far the best of samples drawn anew is ahead of the best of the samples, and the best score."""
    rights = result.decide_all()
    rights = np.array([rights[method] for method in result.said])
    scores = result.balanced_accuracy(rights)
    members = [np.flatnonzero(result.y == k) for k in np.unique(result.y)]
    gaps = []
    for _ in range(N_DRAWS):
        drawn = [rng.choice(one, len(one)) for one in members]
        again = 100 * np.mean([rights[:, one].mean(axis=1) for one in drawn], axis=0)
        gaps.append(again.max() - again[scores.argmax()])
    return np.mean(gaps), scores.max()


def print_variants(results, best):
    rows = [make_variants(result) for result in results]
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])  # tasks x variants x 2
    print("\n| otherwise | regret | points more than as it is | log-loss |\n|---|---|---|---|")
    for k, name in enumerate(names):
        gain = "" if not k else by_set(results, table[:, k, 0] - table[:, 0, 0])
        regret = mean_by_set(results, best - table[:, k, 0])
        print(f"| {name} | {regret:.2f} | {gain} | {mean_by_set(results, table[:, k, 1]):.3f} |")
    left_out, chosen = np.zeros(len(results)), []
    for name in sorted({result.set for result in results}):
        inside = np.array([result.set == name for result in results])
        rest = [r for r, here in zip(results, inside, strict=True) if not here]
        means = [mean_by_set(rest, table[~inside, k, 0]) for k in range(len(names))]
        chosen.append(names[int(np.argmax(means))])
        left_out[inside] = table[inside, int(np.argmax(means)), 0]
    words = ", ".join(f"{name} x{chosen.count(name)}" for name in dict.fromkeys(chosen))
    regret = mean_by_set(results, best - left_out)
    print(f"\nThe best of these on all other sets: regret {regret:.2f} ({words})")


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--keep", type=Path, default=Path("predict_regret"))
    parser.add_argument("--held-out", action="store_true", help="sets on which nothing was settled")
    given = parser.parse_args()
    tasks = small_tasks.tasks(["wine"] if given.quick else None, given.held_out)
    results = [Results(task, given.keep) for task in tasks]
    results = [result for result in results if result.said]
    if len({result.set for result in results}) < 2:
        parser.exit(0, "results of two sets at least are wanted: run predict_regret.py first\n")
    rng = np.random.default_rng(0)
    luck, best = np.array([measure_luck(result, rng) for result in results]).T
    print(f"{len(results)} tasks of {len({r.set for r in results})} sets; points of balanced accuracy")
    gaps = [result.regret_by_half()["auto"] for result in results]
    print(f"Samples drawn anew: the best is ahead of the best as it was by {by_set(results, luck)}")
    print(f"The best by half of the folds is ahead of the default by {by_set(results, gaps)}")
    print_variants(results, best)
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
