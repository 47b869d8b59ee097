"""Made-up findings of comparisons, for the pages."""

import dataclasses

import numpy as np
from scipy.special import erf

from absentia.experiment.results import (
    ComparisonResults,
    Contrast,
    CurvePoint,
    Difference,
    Interval,
    MethodRow,
    Metric,
    PatternScores,
    Recommendation,
    ViewWorth,
)

ACCURACY = Metric("accuracy", True, True, "share of samples whose class is right")
BALANCED = Metric("balanced accuracy", True, True, "mean over classes of the share that is found")
LOG_LOSS = Metric("log-loss", False, False, "how surprised the probabilities are by the truth")
R2 = Metric("R²", True, False, "share of the variance that is explained")
RMSE = Metric("RMSE", False, False, "root of the mean squared error, in units of the target")
F1 = Metric("micro F1", True, True, "harmonic mean of precision and recall over all labels")
ARE = Metric("relative error", False, False, "error of hidden kernel entries, relative to their size")

METRICS = {
    "classes": (ACCURACY, BALANCED, LOG_LOSS),
    "numbers": (R2, RMSE),
    "labels": (F1,),
    "completion": (ARE,),
}
NAMES = [
    *(
        "averaged-svm",
        "frequent",
        "mkl-sum",
        "zero-filled forest",
        "mean-filled svm",
        "cvkt-svm",
        "mkmc-svm",
    ),
    *(
        "late fusion",
        "stacking",
        "knn-completed mkl",
        "mmaf",
        "easy-mkl",
        "joined features, gradient boosting",
    ),
    *(
        "simple-mkl",
        "views as channels",
        "median-filled ridge",
        "kernel pca then logistic",
        "random features",
    ),
    *("nearest", "choose", "level-constrained mkl with a long name that goes on", "a", "b", "c", "d"),
]
VIEWS = ["expression", "methylation", "mutations", "images", "clinical", "text"]


def spans(metrics, quality, rng):
    """Scores that go with a quality between 0 and 1."""
    made = {}
    for metric in metrics:
        value = 0.55 + 0.38 * quality + 0.01 * rng.standard_normal()
        value = value if metric.higher else 1.6 - value
        half = rng.uniform(0.012, 0.035)
        made[metric.name] = Interval(value, value - half, value + half)
    return made


def method_rows(methods, metrics, seed=0, wanted=50):
    rng = np.random.default_rng(seed)
    quality = rng.beta(4, 2, len(methods))
    rows = [
        MethodRow(
            name, f"what {name} does, in a few words", i % 4 == 0 and i < 9, spans(metrics, quality[i], rng),
            float(rng.lognormal(0, 1.5)), float(rng.uniform(5, 300)), wanted, 0, wanted,
        )
        for i, name in enumerate(methods)
    ]  # fmt: skip
    main = metrics[0]
    return sorted(rows, key=lambda row: row.scores[main.name].value, reverse=main.higher)


def to_simplest(rows, simplest, metric, seed=0):
    rng = np.random.default_rng(seed)
    base = next(row for row in rows if row.method == simplest).scores[metric.name].value
    found = []
    for row in rows:
        if row.method == simplest or not row.scores:
            continue
        mean = (row.scores[metric.name].value - base) * (1 if metric.higher else -1)
        half = rng.uniform(0.01, 0.03)
        worse, below = (0.5 * (1 + erf((edge - mean) / half)) for edge in (-0.01, 0.01))
        same, better = below - worse, 1 - below
        p = float(np.exp(-(mean**2) / half**2 * 2))
        rng.integers(10, 60, size=2)
        found.append(
            Difference(
                row.method, mean, mean - half, mean + half, p, min(1.0, 5 * p), worse, same, better,
            )
        )  # fmt: skip
    return found


def pattern_scores(observed, names, methods, rng):
    masks, counts = np.unique(observed, axis=0, return_counts=True)
    order = np.argsort(-counts)[:8]
    rows = []
    for p in order:
        absent = [name for name, here in zip(names, masks[p], strict=True) if not here]
        words = f"without {', '.join(absent)}" if absent else "every view"
        present = tuple(bool(x) for x in masks[p])
        rows.append(
            PatternScores(words, present, int(counts[p]), {m: rng.uniform(0.6, 0.95) for m in methods})
        )
    rest = int(counts.sum() - counts[order].sum())
    if rest:
        rows.append(PatternScores("other patterns together", (), rest, dict.fromkeys(methods, 0.7)))
    return rows


def recommendation_of(rows, simplest):
    best = rows[0].method
    return Recommendation(
        simplest,
        best,
        best,
        best,
        f"Take {best}: it beats {simplest} by 3.1 points of accuracy, and no cheaper method is as good.",
        (
            "That it is better is shown (p = 0.004 after Holm, 95% interval +1.2 to +5.0 points).",
            "It costs 1.4 s of CPU a fit, 11 times as much as the simplest.",
        ),
        'from absentia import Views, choose\n\nviews = Views.from_folder("cohort")\nmodel = choose(\n'
        '    "mkmc-svm", n_components=12\n).fit(views, y)\nprint(model.predict(new))',
        f"absentia fit cohort --labels labels.csv:subtype --method '{best}' --output model.npz",
    )


def make_findings(
    n=300, n_views=4, n_methods=8, task="classes", seed=0, failures=False, n_classes=4,
    names=None, methods=None, **changes,
):  # fmt: skip
    """Findings with everything in them; `changes` are fields to replace."""
    rng = np.random.default_rng(seed)
    names = list(names or VIEWS[:n_views])
    methods = list(methods or NAMES[:n_methods])
    observed = rng.random((n, len(names))) > np.linspace(0.05, 0.45, len(names))
    observed[~observed.any(axis=1), 0] = True
    metrics, simplest = METRICS[task], methods[0]
    rows = method_rows(methods, metrics, seed)
    gaps = to_simplest(rows, simplest, metrics[0], seed)
    classes = [f"class {c}" for c in range(n_classes)] if task == "classes" else []
    counts = {
        m: rng.poisson(3, (n_classes, n_classes)) + 40 * np.eye(n_classes, dtype=int) for m in methods
    }
    rates = (0.0, 0.1, 0.3, 0.5)
    curves = [
        CurvePoint(row.method, rate, Interval(*(np.array(row.scores[metrics[0].name]) - 0.25 * rate)))
        for row in rows
        for rate in rates
    ]
    worth = [
        ViewWorth(name, Contrast(x, x - 0.015, x + 0.015, 0.03), Contrast(5 * x, 5 * x - 0.04, 5 * x + 0.04, 0.001))
        for name, x in zip(names, rng.uniform(-0.01, 0.05, len(names)), strict=True)
    ]  # fmt: skip
    if failures:
        rows = [*rows[:-1], *failing(rows[-1])]
    values = {
        "title": "Subtypes of a made-up cohort",
        "task": task,
        "metrics": metrics,
        "equivalence": 0.01,
        "recommendation": recommendation_of(rows, simplest),
        "rows": rows,
        "differences": gaps,
        "names": names,
        "observed": observed,
        "group_metric": metrics[0],
        "patterns": pattern_scores(observed, names, methods, rng),
        "views": worth,
        "views_with": rows[0].method,
        "curves": curves,
        "classes": classes,
        "confusion": counts if classes else {},
        "done": 500,
        "wanted": 500,
        "facts": {
            "data": "cohort, 4 tables",
            "folds": "5, repeated 10 times, stratified",
            "seed": "0",
            "absentia": "0.1",
            "command": "absentia compare cohort --labels labels.csv:subtype",
        },
    }
    return ComparisonResults(**(values | changes))


def failing(row):
    """A method that failed now and then, one that always did, one that was not tried."""
    yield dataclasses.replace(row, done=47, failed=3, errors=("K is not positive definite.",))
    yield MethodRow(
        "<b>always fails</b>",
        "fails",
        False,
        {},
        None,
        None,
        0,
        50,
        50,
        ("Singular matrix.", "Out of memory."),
    )
    yield MethodRow("not tried", "takes too long", False, left_out="it would take 40 GB for 2 000 samples")
