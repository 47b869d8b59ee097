"""About how long a fit takes, told from the size of the data, so that slow methods get fewer repeats.

Power laws through CPU seconds that ``benchmarks/compare_costs.py`` measures, good to a factor of three or
so.  They decide about repeats before anything is run, and do so for every process in the same way; what is
shown as time left while trials run is measured.
"""

from collections.abc import Mapping
from typing import NamedTuple

from absentia.experiment._findings import Task
from absentia.experiment.comparison._design import Design, n_folds
from absentia.experiment.comparison._problem import Problem

BUDGET = 480.0  # CPU seconds that the usual methods are to take together
LONGEST = 100.0  # CPU seconds beyond which a fit of a usual method is not tried unless it is asked for


class Size(NamedTuple):
    """Samples to learn from, views, features, and machines that are learned: of two classes one."""

    n: int
    views: int
    features: int
    machines: int

    @classmethod
    def of(cls, problem: Problem, share: float = 0.8) -> "Size":
        data = problem.data
        width = sum(data.block(name).shape[1] for name in data.names) if problem.takes_features else 0
        n_classes = len(problem.classes)
        machines = n_classes if problem.task == "labels" or n_classes > 2 else 1
        n = len(data) if problem.task == "completion" else round(share * len(data))
        return cls(n, data.n_views, width, machines)


class Law(NamedTuple):
    """``base + each (n/300)^power machines^many V/4 + wide (features/1000) machines (n/300)^.5``."""

    each: float
    power: float = 2.0
    many: float = 0.5
    wide: float = 0.0
    base: float = 0.05

    def seconds(self, size: Size) -> float:
        n = size.n / 300
        kernels = self.each * n**self.power * size.machines**self.many * size.views / 4
        return self.base + kernels + self.wide * size.features / 1000 * size.machines * n**0.5


LAWS: Mapping[Task, Mapping[str, Law]] = {"classes": {}, "numbers": {}, "labels": {}, "completion": {}}
OTHERWISE = Law(1.0)


def expected_seconds(method: str, task: Task, size: Size) -> float:
    """CPU seconds of a fit, about."""
    return LAWS[task].get(method, OTHERWISE).seconds(size)


def thinned(
    problem: Problem, design: Design, budget: float = BUDGET
) -> tuple[dict[str, int], dict[str, str]]:
    """Fewer repeats of slow methods, and why some are not tried, for all of it to take about `budget`.

    Every method gets as many repeats as fit into the same amount of time, one at least; the amount is the
    largest for which the sum stays within the budget.
    """
    size = Size.of(problem)
    each = {name: expected_seconds(name, problem.task, size) for name in design.methods}
    slow = {
        name: f"would take about {round(cost)} CPU s a fit on data of this size; ask for it by name"
        for name, cost in each.items()
        if cost > LONGEST
    }
    fits = 1 if problem.task == "completion" else n_folds(problem, design)
    costs = {name: fits * cost for name, cost in each.items() if name not in slow}
    counts = dict.fromkeys(costs, design.repeats)
    while sum(costs[name] * counts[name] for name in costs) > budget and max(counts.values()) > 1:
        dearest = max(
            (name for name in costs if counts[name] > 1), key=lambda name: costs[name] * counts[name]
        )
        counts[dearest] -= 1
    return {name: count for name, count in counts.items() if count < design.repeats}, slow


def expected(method: str, problem: Problem) -> float:
    """The same of a method on a problem; of a completer beside predictions, too."""
    task: Task = problem.task if method in LAWS[problem.task] else "completion"
    return expected_seconds(method, task, Size.of(problem))
