"""Are learning curves to be believed: what twice the samples, or a view for all, would add, and did.

    python benchmarks/learning_curve.py --keep curves [--quick]       # some 12 CPU minutes

Of each set n = 80 and 160 samples are drawn, twice.  Cells are absent at random (30 %), and half of
those who can spare the first view lack it too.  ``compare`` with the default method says from these what
2n samples would reach, and what the first view would add if everybody had it.  The truth is the mean
over four other draws of n samples, of n more, and of the first view for everybody, in training and test,
measured on samples that are in neither draw.  "naive" is that all stays as it is.

Constants of ``experiment/learning_curve.py`` were settled on the sets of SETTLED, the others are reported.
Targets have two classes, which keeps it cheap.
"""

import json
import tempfile
import warnings
import zlib
from itertools import product
from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks

from absentia import Views, datasets, missingness
from absentia.experiment.comparison import Design, Study, fit_to_all, make_task_data
from absentia.experiment.engine import Pool
from absentia.tasks import balanced_accuracy

SETTLED = ("made-near", "musk1", "scene", "splice", "emotions")
REPORTED = ("pima", "yeast", "spambase", "made-far", "mfeat", "digits")
MADE = {"made-near": (0.5, 0.5, 20), "made-far": (2.0, 1.0, 100)}
WHAT = {"score": "score at 2n", "gain": "gain by n more", "view": "gain by a view for all"}
MAX_TEST = 1000
N_TRUTHS = 4  # draws of training samples that the truth is the mean of
METHOD, TRUTH = "auto", "true.json"


def load(name):
    """Tables by view and classes of all samples of a set; of made-up ones more than elsewhere."""
    if name in MADE:
        private, noise, n_features = MADE[name]
        made = datasets.make_multiview(
            1500, 4, private_scale=private, noise=noise, n_features=n_features, random_state=0
        )
        return {view: np.asarray(made.views.block(view)) for view in made.views.names}, made.target
    if name == "digits":
        views, y = datasets.load_digit_views(return_X_y=True)
        return {view: np.asarray(views.block(view)) for view in views.names}, (y < 5).astype(int)
    targets = {target: (tables, y) for target, tables, y in small_tasks.SETS[name][0]()}
    tables, y = targets.get("pairs") or next(iter(targets.values()))
    return tables, np.asarray(y)


def draw(name, n, number):
    """Views as they are found, views in which everybody has the first, and classes, in drawn order."""
    tables, y = load(name)
    rng = np.random.default_rng([zlib.crc32(name.encode()), n, number])
    full = Views.from_dict(tables)
    rows = rng.permutation(np.flatnonzero((y >= 0) & full.observed.any(axis=1)))[: 3 * n + MAX_TEST]
    full, y = full[rows], np.unique(y[rows], return_inverse=True)[1]
    found = full.hide(missingness.mcar(full, 0.3, random_state=rng))
    spare = rng.permutation(np.flatnonzero(found.observed[:, 0] & (found.observed.sum(axis=1) > 1)))
    keep = found.observed.copy()
    keep[:, 0] = full.observed[:, 0]
    everybody = full.hide(keep)
    keep = np.ones_like(found.observed)
    keep[spare[: len(spare) // 2], 0] = False
    return found.hide(keep), everybody, y


def score(train_views, train_y, test_views, test_y):
    fitted = fit_to_all(make_task_data(train_views, train_y), METHOD)
    right = np.asarray(fitted.predict(test_views)) == test_y
    return balanced_accuracy(test_y, right).value


def measure_truth(found, everybody, y, n, number):
    """Mean scores on samples that were not drawn: of n, of 2n, of n with the first view for everybody.

    Means over draws of those who are learned from; none of the n that ``compare`` had is tested on.
    """
    rng = np.random.default_rng([number, n])
    scores = []
    for _ in range(N_TRUTHS):
        drawn = rng.permutation(len(y))
        own, both = np.sort(drawn[:n]), np.sort(drawn[: 2 * n])
        test = np.setdiff1d(np.arange(n, len(y)), both)
        learned = [(found, own), (found, both), (everybody, own)]
        scores.append([score(data[rows], y[rows], data[test], y[test]) for data, rows in learned])
    return dict(zip(("n", "2n", "everybody"), np.mean(scores, axis=0).tolist(), strict=True))


def judge(name, n, number, keep):
    """What was said of a draw, and what is true."""
    folder = Path(keep) / f"{name}-{n}-{number}"
    found, everybody, y = draw(name, n, number)
    design = Design(("average", METHOD), repeats=3, repeats_of_views=0, learning_curve=True)
    study = Study(make_task_data(found[:n], y[:n]), design, folder)
    study.save()
    first = found.names[0]
    wanted = [t for t in study.trials if t.key["method"] == METHOD and t.key.get("view", first) == first]
    there = study.records.of(wanted)
    study.run([trial for trial in wanted if trial.hash not in there], Pool(1))
    if not (folder / TRUTH).exists():
        (folder / TRUTH).write_text(json.dumps(measure_truth(found, everybody, y, n, number)))
    true = json.loads((folder / TRUTH).read_text())
    learned = study.results().learning_curve
    curve = next(curve for curve in learned.samples if curve.method == METHOD)
    view = next(curve for curve in learned.views if curve.view == first)
    return {
        "set": name, "n": n, "now": curve.points[-1].score.value, "identified": curve.identified,
        "score": (curve.expected, true["2n"]), "gain": (curve.gain, true["2n"] - true["n"]),
        "view": (view.gain, true["everybody"] - true["n"]),
    }  # fmt: skip


def summarise(rows):
    """Mean absolute errors, in points, of what was said and of "it stays as it is"; intervals that hold."""
    for what, words in WHAT.items():
        told = [row for row in rows if row[what][0] is not None]
        said, true = ([row[what][k] for row in told] for k in (0, 1))
        naive = [row["now"] if what == "score" else 0.0 for row in told]
        off = np.array([one.value for one in said]) - true
        holds = np.mean([one.low <= x <= one.high for one, x in zip(said, true, strict=True)])
        width = 100 * np.mean([one.high - one.low for one in said])
        yield {
            "what": words, "cases": len(told), "said": 100 * np.mean([one.value for one in said]),
            "true": 100 * np.mean(true), "error": 100 * np.abs(off).mean(),
            "naive error": 100 * np.abs(np.array(naive) - true).mean(),
            "holds the truth": holds, "width": width,
        }  # fmt: skip


def main():
    parser = common.parser(__doc__)
    parser.add_argument(
        "--keep", help="folder for records, which are used again; by default a temporary one"
    )
    given = parser.parse_args()
    groups = {"settled": SETTLED, "reported": REPORTED}
    if given.quick:
        groups = {"settled": SETTLED[:1], "reported": REPORTED[:1]}
    with warnings.catch_warnings(action="ignore"), tempfile.TemporaryDirectory() as temporary:
        for group, names in groups.items():
            sizes, numbers = ((80,), (0,)) if given.quick else ((80, 160), (0, 1))
            rows = [judge(*case, given.keep or temporary) for case in product(names, sizes, numbers)]
            print(f"{group}: {', '.join(names)}")
            common.table(summarise(rows))
            known = [row for row in rows if row["identified"]]
            print(f"{len(known)} of {len(rows)} curves identified; of these")
            common.table(summarise(known) if known else [])


if __name__ == "__main__":
    main()
