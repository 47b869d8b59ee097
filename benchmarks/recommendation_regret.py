"""What following ``compare`` costs: its advice on half of the samples, judged on the other half.

    python benchmarks/recommendation_regret.py --keep regret [--quick]       # some CPU minutes

Tasks are those of ``small_tasks.py``.  On a random half of each, ``compare`` tries seven methods in one
round of five folds; each of them is then fitted to that half and scored on the other,
in balanced accuracy.  Loss of a rule: the best of these scores, which is known in hindsight only and
lucky by some points, less that of the method that the rule takes.

Rules: what is recommended, with the priors of methods learned from all sets but the one that is judged
(the records of ``predict_regret.py`` in --keep, where what is done here is kept too); the best mean of the
folds; the best of the methods that are shown to be better than the simplest, else the simplest; always the
simplest; always the default.
"""

import json
import warnings
from pathlib import Path

import common  # before NumPy: one BLAS thread
import numpy as np
import small_tasks
from method_prior import learn_prior, read_differences
from sklearn.model_selection import train_test_split

from absentia.experiment.comparison import Design, Study, fit_to_all, make_task_data
from absentia.experiment.comparison._recommendation import PRIORS
from absentia.experiment.engine import Pool
from absentia.tasks import balanced_accuracy

METHODS = ("average", "linear", "cvkt-linear", "fusion-linear", "cvkt-rbf", "cvkt-svm", "auto")
TABLE = ("classes", "balanced accuracy")


def judge(task, prior, keep):
    """What the rules take on a half of the samples, and what every method reaches on the other."""
    views, y = task.make()
    train, test = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
    folder = keep / f"{task.name.replace('/', '-')} compared"
    with warnings.catch_warnings(action="ignore"):
        data = make_task_data(views[train], y[train])
        study = Study(data, Design(METHODS, repeats=1, cv=5, repeats_of_views=0), folder)
        study.save()
        if study.outstanding():  # processes take longer to begin than all the rest
            study.run(study.trials, Pool(1))
        scores = read_scores(folder / "other half.json", data, views[test], y[test])
        PRIORS[TABLE] = prior
        results = study.results()
    advice = results.recommendation
    rules = {
        "recommended": advice.recommended,
        "best mean": advice.best,
        "shown, else the simplest": advice.winner or advice.simplest,
        "always average": "average",
        "always auto": "auto",
    }
    gain = scores[advice.recommended] - scores["average"]
    expected = 100 * advice.expected.mean if advice.expected else 0.0
    return {"set": task.set, "task": task.name, "rules": rules, "scores": scores} | {
        "expected": expected, "gain": gain, "shown": advice.shown,
    }  # fmt: skip


def read_scores(file, data, views, y):
    """Points of balanced accuracy of every method, fitted to `data`, on other samples; they are kept."""
    if not file.exists():
        scores = {}
        for method in METHODS:
            right = np.asarray(fit_to_all(data, method, 0).predict(views)) == y
            scores[method] = 100 * balanced_accuracy(y, right).value
        file.write_text(json.dumps(scores))
    return json.loads(file.read_text())


def print_rules(rows):
    best = np.array([max(row["scores"].values()) for row in rows])
    print(f"\n{len(rows)} tasks of {len({row['set'] for row in rows})} sets, points of balanced accuracy\n")
    print("| rule | mean loss | 95 % of tasks | worst | takes the best | takes |")
    print("|---|---|---|---|---|---|")
    for rule in rows[0]["rules"]:
        taken = [row["rules"][rule] for row in rows]
        loss = best - np.array([row["scores"][m] for row, m in zip(rows, taken, strict=True)])
        counts = sorted({m: taken.count(m) for m in taken}.items(), key=lambda pair: -pair[1])
        words = ", ".join(f"{name} {count}" for name, count in counts[:3])
        cells = [f"{loss.mean():.2f}", f"{np.quantile(loss, 0.95):.1f}", f"{loss.max():.1f}"]
        print(f"| {rule} | " + " | ".join([*cells, f"{(loss == 0).mean():.0%}", words]) + " |")
    means = {key: np.mean([row[key] for row in rows]) for key in ("expected", "gain", "shown")}
    print(
        f"\nRecommended against average: {means['expected']:+.1f} points expected, {means['gain']:+.1f} on "
        f"the other half; shown in {means['shown']:.0%} of the tasks"
    )


def main():
    parser = common.parser(__doc__)
    parser.add_argument("--keep", type=Path, default=Path("predict_regret"))
    given = parser.parse_args()
    found = read_differences(given.keep)
    rows = []
    for task in small_tasks.tasks(["wine"] if given.quick else None):
        rest = [one for one in found if one[0] != task.set]
        rows.append(judge(task, learn_prior(rest), given.keep))
        rules = rows[-1]["rules"]
        print(f"{len(rows)} {task.name}: takes {rules['recommended']}", flush=True)
    print_rules(rows)
    print(f"source {common.SOURCE}")


if __name__ == "__main__":
    main()
