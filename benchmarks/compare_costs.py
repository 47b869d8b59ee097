"""How long a fit of each method takes, beside what ``absentia compare`` expects before it runs.

    python benchmarks/compare_costs.py [--quick] [--task classes|numbers|completion] [--most SECONDS]

CPU seconds of one fit, one BLAS thread; the laws are in ``absentia.experiment.comparison._costs``.  Fits
that are expected to take longer than --most are left out.
"""

import argparse
import time
import warnings

import numpy as np

from absentia import Views, datasets, missingness
from absentia.core import at_most
from absentia.experiment.comparison import USUAL, expected, problem_of
from absentia.experiment.comparison._strategies import fit, strategy


def made(n, n_views, width, n_classes, seed=0):
    """Views with a common cause, and classes or numbers that it makes."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 5))
    tables = {
        f"v{v}": latent @ rng.normal(size=(5, width)) + rng.normal(size=(n, width)) for v in range(n_views)
    }
    views = Views.from_dict(tables)
    score = latent[:, 0] + 0.3 * rng.normal(size=n)
    y = (
        score
        if n_classes is None
        else np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    )
    return views.hide(missingness.mcar(views, 0.3, random_state=seed)), y


def problems(task, quick):
    sizes = (
        [(150, 3, 60, 2)]
        if quick
        else [(200, 3, 200, 2), (300, 4, 1500, 3), (400, 9, 50, 2), (1000, 6, 100, 8)]
    )
    for n, views, width, classes in sizes:
        data, y = made(n, views, width, None if task == "numbers" else classes)
        name = f"{n} x {views} x {width}" + (f", {classes} classes" if task == "classes" else "")
        yield name, problem_of(data, None if task == "completion" else y)
    if not quick and task != "numbers":
        digits, y = datasets.load_digit_views(n_samples=300, return_X_y=True)
        digits = digits.hide(missingness.mcar(digits, 0.3, random_state=0))
        yield "digits, 300 x 6", problem_of(digits, None if task == "completion" else y)


def seconds(method, problem):
    how, rows = strategy(method, problem), np.arange(len(problem.data))
    train = problem.part(rows, rows)
    kernels = problem.kernels if problem.task == "completion" else None
    start = time.process_time()
    if kernels is not None:
        how.estimator.fit_transform(kernels)
    else:
        fit(how, problem, train, problem.y)
    return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--task", choices=["classes", "numbers", "completion"], action="append")
    parser.add_argument("--most", type=float, default=60.0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for task in given.task or ["classes", "numbers", "completion"]:
        for name, problem in problems(task, given.quick):
            print(f"\n{task}: {name}\nmethod                measured  expected  ratio")
            for method in USUAL[task]:
                law = expected(method, problem) * (1.0 if task == "completion" else 1.25)
                if law > given.most:
                    continue
                try:
                    with at_most(1, 0):
                        took = seconds(method, problem)
                except ValueError as error:
                    print(f"{method:20s}  {str(error)[:70]}", flush=True)
                    continue
                print(f"{method:20s}  {took:8.2f}  {law:8.2f}  {took / law:5.2f}", flush=True)


if __name__ == "__main__":
    main()
