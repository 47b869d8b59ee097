"""Does a score hold under another mix of patterns: what was expected of held-out samples, and what came.

    python benchmarks/shift.py [--quick] [--settle]       # some 7 CPU minutes

Of each set 600 samples are drawn, cells hidden in four patterns of views, and ``compare`` says what
balanced accuracy to expect in another mix of these (:meth:`Comparison.weigh_patterns`).  The truth is that
of the method fitted to the 600, on up to 1500 other samples in that mix.  "unweighted" is the score as it
was.  Natural sets keep their own absence: half of the samples is compared on, the other is weighted to a
mix in which samples that lack the first view count three times as much.  In a made-up case absence
hangs on the class: seven in ten of the second, and one in ten of the first class, lack the better view.

Errors are in points: of single draws, and of their mean.  ``--settle`` tries other numbers of samples that
are lent to a pattern.
"""

import tempfile
import warnings
import zlib

import common  # before NumPy: one BLAS thread
import learning_curve
import numpy as np
import small_tasks

from absentia import Views
from absentia.experiment import pattern_mix
from absentia.experiment.comparison import Design, Study, fit_to_all, make_task_data
from absentia.experiment.engine import Pool
from absentia.experiment.pattern_mix import PatternMix

HIDDEN = ("digits", "mfeat", "spambase", "yeast", "scene", "splice", "made-near", "made-far")
NATURAL = {"3sources": "topic", "cll": "IGHV"}
MADE = "by class"
N, MAX_TEST = 600, 1500
HERE, THEN = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])
BY_CLASS = {"better": 0.5, "worse": 1.5}  # views and their noise
METHODS = ("linear", "fusion-linear")
PRIORS = (0.0, 1.0, 2.0, 4.0, 8.0)


def make_patterns(n_views):
    """Every view, and without the first half, without the second half, with the last alone."""
    patterns = np.ones((4, n_views), bool)
    patterns[1, : n_views // 2] = False
    patterns[2, n_views // 2 :] = False
    patterns[3, :-1] = False
    return patterns


def deal(n, shares, rng):
    return rng.choice(len(shares), n, p=shares)


def draw_hidden(name, rng):
    """Samples to compare on, those of tomorrow, and the new mix."""
    tables, y = learning_curve.load(name)
    views, y = Views.from_dict(tables), np.asarray(y)
    rows = rng.permutation(np.flatnonzero((y >= 0) & views.observed.all(axis=1)))[: N + MAX_TEST]
    views, y = views[rows], np.unique(y[rows], return_inverse=True)[1]
    patterns, n_test = make_patterns(views.n_views), len(rows) - N
    which = np.append(deal(N, HERE, rng), deal(n_test, THEN, rng))
    views = views.hide(patterns[which])
    return (views[:N], y[:N]), (views[N:], y[N:]), np.ones(n_test), PatternMix(patterns, THEN)


def draw_by_class(name, rng):
    """Absence that hangs on the class; tomorrow eight in ten have only the worse view."""
    y = rng.integers(0, 2, 8000)
    tables = {
        name: 0.5 * y[:, None] + noise * rng.normal(size=(8000, 5)) for name, noise in BY_CLASS.items()
    }
    lacks = rng.random((8000, 2)) < np.where(y[:, None] == 1, [0.7, 0.1], [0.1, 0.3])
    lacks[lacks.all(axis=1), 1] = False
    patterns, member = np.unique(~lacks, axis=0, return_inverse=True)
    shares = np.where(patterns[:, 0], 0.1, 0.8)
    test = np.arange(N, len(y))
    parts = [rng.permutation(test[member[test] == p])[: int(1000 * x)] for p, x in enumerate(shares)]
    rows = np.concatenate(parts)
    views = Views.from_dict(tables, observed=~lacks)
    return (views[:N], y[:N]), (views[rows], y[rows]), np.ones(len(rows)), PatternMix(patterns, shares)


def draw_natural(name, rng):
    """Halves of a set with its own absence; patterns of fewer than 8 samples are left out."""
    targets = {target: (tables, y) for target, tables, y in small_tasks.SETS[name][0]()}
    tables, y = targets[NATURAL[name]]
    views, y = Views.from_dict(tables), np.asarray(y)
    member = np.unique(views.observed, axis=0, return_inverse=True)[1].ravel()
    large = np.bincount(member)[member] >= 8
    rows = rng.permutation(np.flatnonzero((y >= 0) & views.observed.any(axis=1) & large))
    views, y = views[rows], np.unique(y[rows], return_inverse=True)[1]
    half = len(rows) // 2
    odds = np.where(views.observed[half:, 0], 1.0, 3.0)
    patterns, place = np.unique(views.observed[half:], axis=0, return_inverse=True)
    shares = np.bincount(place.ravel(), odds)
    return (
        (views[:half], y[:half]),
        (views[half:], y[half:]),
        odds,
        PatternMix(patterns, shares / shares.sum()),
    )


def score(y, right, weights):
    """Balanced accuracy of samples that weigh."""
    return float(np.mean([np.average(right[y == k], weights=weights[y == k]) for k in np.unique(y)]))


def judge(name, number, priors):
    """Expected intervals by number of lent samples, what came, and the unweighted score; of two methods."""
    rng = np.random.default_rng([zlib.crc32(name.encode()), number])
    draw = draw_natural if name in NATURAL else draw_by_class if name == MADE else draw_hidden
    (views, y), (new, new_y), odds, mix = draw(name, rng)
    data, said = make_task_data(views, y), {}
    with tempfile.TemporaryDirectory() as folder:
        study = Study(data, Design(("average", *METHODS), repeats=2, repeats_of_views=0), folder)
        study.save()
        study.run([trial for trial in study.trials if trial.key["method"] in METHODS], Pool(1))
        for prior in priors:
            pattern_mix.weigh_mix.__kwdefaults__["prior"] = prior
            said[prior] = {row.method: row for row in study.weigh_patterns(mix).scores}
        plain = {row.method: row.scores for row in study.results().rows}
    for method in METHODS:
        fitted = fit_to_all(data, method)
        right = np.asarray(fitted.predict(new)) == new_y
        rows = {prior: scores[method] for prior, scores in said.items()}
        yield rows, score(new_y, right, odds), plain[method]["balanced accuracy"].value


def summarise(name, cases, prior):
    said = [rows[prior] for rows, _, _ in cases]
    true, plain = (np.array([case[k] for case in cases]) for k in (1, 2))
    value = np.array([row.expected.value for row in said])
    holds = [row.expected.low <= x <= row.expected.high for row, x in zip(said, true, strict=True)]
    return {
        "set": name, "draws": len(cases), "unweighted": 100 * plain.mean(), "expected": 100 * value.mean(),
        "true": 100 * true.mean(), "error of the mean": 100 * (value - true).mean(),
        "error": 100 * np.abs(value - true).mean(), "error, unweighted": 100 * np.abs(plain - true).mean(),
        "holds the truth": float(np.mean(holds)),
        "width": 100 * float(np.mean([row.expected.high - row.expected.low for row in said])),
    }  # fmt: skip


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--settle", action="store_true", help="other numbers of lent samples too")
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    names = ("digits", "by class") if given.quick else (*HIDDEN, *NATURAL, MADE)
    draws = 2 if given.quick else given.draws
    default = pattern_mix.PRIOR_SAMPLES
    priors = PRIORS if given.settle else (default,)
    results = {}
    with warnings.catch_warnings(action="ignore"):
        for name in names:
            results[name] = [case for number in range(draws) for case in judge(name, number, priors)]
            print(name, flush=True)
    for prior in priors:
        rows = [summarise(name, cases, prior) for name, cases in results.items()]
        print(f"{prior:g} samples lent to a pattern")
        common.table(rows)
        means = {key: float(np.mean([row[key] for row in rows])) for key in list(rows[0])[5:]}
        common.table([{"": "mean", **means}])
    largest = max(abs(row["error of the mean"]) for row in rows)
    claims = [common.Claim("largest error of a set's mean, points", largest, at_most=2.0)]
    common.finish("shift", given.quick, rows, claims)


if __name__ == "__main__":
    main()
