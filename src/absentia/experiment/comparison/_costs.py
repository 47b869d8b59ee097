"""About how long a fit takes, told from the size of the data, so that slow methods get fewer repeats.

Power laws through CPU seconds that ``benchmarks/compare_costs.py`` measures, good to a factor of three or
so.  They decide about repeats before anything is run, and do so for every process in the same way; what is
shown as time left while trials run is measured.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from absentia.data import MANY
from absentia.experiment._findings import Task
from absentia.experiment.comparison._design import Design, n_folds
from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._strategies import BASELINES, SIMPLEST

SHARE = 20.0  # CPU seconds that a usual method may take for its repeats
LONGEST = 60.0  # CPU seconds of a fit beyond which a method is not tried unless it is asked for
DRAWS = 3  # times that cells are hidden for a completer at least: one says nothing of chance
PATIENCE = 4  # times as long, for the baselines that every comparison shows


class Size(NamedTuple):
    """Samples to learn from, views, features, machines that are learned (of two classes one), and bins.

    Bins are the different values of the feature that has most, which trees cut.
    """

    n: int
    views: int
    features: int
    machines: int
    bins: int = 255

    @classmethod
    def of(cls, problem: Problem, share: float = 0.8) -> "Size":
        data, n_classes = problem.data, len(problem.classes)
        width, different = problem.size
        machines = n_classes if problem.task == "labels" or n_classes > 2 else 1
        n = len(data) if problem.task == "completion" else round(share * len(data))
        return cls(n, data.n_views, width, machines, min(different, 255))


class Law(NamedTuple):
    """``base + own machines + each (n/300)^power machines^many (V/4)^views``, and for a thousand features
    ``wide machines (n/300)^.5``, which goes with the bins if a method has any.
    """

    each: float
    power: float = 2.0
    wide: float = 0.01
    base: float = 0.05
    many: float = 0.5
    views: float = 1.0
    binned: bool = False
    own: float = 0.0

    def seconds(self, size: Size, thin: bool = False) -> float:
        """Of a fit to data of this size; `thin`: from factors, if samples are many."""
        n = size.n / 300
        growth = n**self.power
        if thin and size.n > MANY:
            growth = THIN * (MANY / 300) ** self.power * size.n / MANY
        kernels = self.each * growth * size.machines**self.many * (size.views / 4) ** self.views
        wide = self.wide * (0.15 + 0.85 * size.bins / 255 if self.binned else 1.0)
        features = wide * size.features / 1000 * size.machines * n**0.5
        return self.base + self.own * size.machines + kernels + features

    def per_label(self, times: float) -> "Law":
        """Of as many fits as there are labels, each `times` as long."""
        return self._replace(each=times * self.each, base=0.0, own=times * self.base, many=1.0)


_CLASSES = {
    "average": Law(0.025, wide=0.004),
    "complete-cases": Law(0.015),
    "mean-svm": Law(0.05),
    "linear": Law(0.07),
    "fusion": Law(0.12),
    "forest": Law(0.4, 1.3, wide=0.04, base=0.5, many=0.2),
    "boosting": Law(0.0, wide=1.6, base=0.5, binned=True),
    "mkl": Law(0.08),
    "amkl-convex": Law(0.08),
    "amkl-iterative": Law(0.28, wide=0.03),
    "amkl-penalized": Law(0.08),
    "knn-svm": Law(0.13),
    "svt-svm": Law(0.2, base=0.2, views=1.7),
    "cvkt-svm": Law(0.12, base=0.2, views=1.7),
    "cvkt-linear": Law(0.12, base=0.2, views=1.7),
    "cvkt-mkl": Law(0.35, base=0.2, views=1.7),
    "mkmc-svm": Law(1.2, 3.0, base=0.3, views=2.7),
    "em-svm": Law(0.7, 3.0, views=6.0),
    "stacking": Law(0.35, base=1.5, wide=0.04),
    "auto": Law(0.9, base=5.0, wide=0.1, views=1.5),
}
_PRICED = ("average", "mkl", "amkl-convex")  # whose C is chosen from more candidates for labels
LAWS: Mapping[Task, Mapping[str, Law]] = {
    "classes": _CLASSES,
    "numbers": {
        "ridge-zero": Law(0.05, 2.5),
        "ridge-mean": Law(0.05, 2.5),
        "complete-regression": Law(0.02, 2.5),
        "linear-regression": Law(0.02, 2.5),
        "forest-regression": Law(1.0, 1.3, wide=1.0, base=0.5),
        "boosting-regression": Law(0.0, wide=1.5, base=0.5, binned=True),
        "ridge": Law(0.15, 2.5),
        "mkl-regression": Law(0.5, 2.5),
    },
    "labels": {name: law.per_label(2.5 if name in _PRICED else 1.0) for name, law in _CLASSES.items()}
    | {"pma": Law(0.3, 2.5), "pma-cvkt": Law(0.5, 2.5)},
    "completion": {
        "mean": Law(0.01),
        "zero": Law(0.01),
        "knn": Law(0.15),
        "svt": Law(0.3, 2.5),
        "cvkt": Law(0.14),
        "mkmc-pca": Law(2.9, views=2.7),
        "mkmc-fa": Law(8.0, views=2.7),
        "mkmc-full": Law(1.4, 3.0, views=2.7),
        "em": Law(0.33, views=6.0),
        "auto": Law(4.0, views=2.7),
        "mkc-ht": Law(10.0, 3.0),
        "mkc-app": Law(10.0, 3.0),
        "mkc-sdp": Law(3.0, 3.0),
    },
}
OTHERWISE = Law(1.0)
#: Methods that take time linear in the samples where these are many, and kernels therefore factors.
LINEAR = {
    *("average", "mean-svm", "fusion", "stacking", "auto", "cvkt", "mkmc-pca", "mkmc-fa", "mean", "zero"),
    *("mkl", "amkl-convex", "amkl-iterative", "amkl-penalized", "cvkt-svm", "cvkt-linear", "cvkt-mkl"),
}
THIN = 0.25  # of the time that as many samples as are just not many take with whole kernels


def expected_seconds(method: str, task: Task, size: Size) -> float:
    """CPU seconds of a fit, about."""
    return LAWS[task].get(method, OTHERWISE).seconds(size, thin=method in LINEAR)


def thinned(problem: Problem, design: Design, share: float = SHARE) -> Design:
    """The same with fewer repeats of slow methods: as many as take a `share` of CPU seconds.

    What would take very long even so is left out, and why.  The simplest, which all are held to, stays.
    """
    simplest, size = SIMPLEST[problem.task], Size.of(problem)
    each = {name: expected_seconds(name, problem.task, size) for name in design.methods}
    slow = {name: _too_slow(cost) for name, cost in each.items() if cost > _patience(name, problem.task)}
    fits = 1 if problem.task == "completion" else n_folds(problem, design)
    costs = {name: fits * cost for name, cost in each.items() if name not in slow}
    least = DRAWS if problem.task == "completion" else 1
    counts = {name: max(least, int(share / cost)) for name, cost in costs.items() if name != simplest}
    views = 2 * problem.data.n_views * costs.get(simplest, 0.0)
    return replace(
        design,
        methods=tuple(costs),
        left_out={**design.left_out, **slow},
        repeats_of={name: count for name, count in counts.items() if count < design.repeats},
        repeats_of_views=design.repeats_of_views if views < share else 1,
        completers=tuple(name for name in design.completers if expected(name, problem) <= share),
    )


def _patience(name: str, task: Task) -> float:
    if name == SIMPLEST[task]:
        return float("inf")
    return LONGEST * (PATIENCE if name in BASELINES[task] else 1)


def _too_slow(cost: float) -> str:
    return f"would take about {round(cost)} CPU s a fit on data of this size; ask for it by name"


def expected(method: str, problem: Problem) -> float:
    """The same of a method on a problem; of a completer beside predictions, too."""
    own = method in LAWS[problem.task]
    return expected_seconds(method, problem.task if own else "completion", Size.of(problem))
