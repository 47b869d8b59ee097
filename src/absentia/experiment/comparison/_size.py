"""Very many samples: methods are compared on some of them, and the leading ones learn from nearly all.

Which samples are drawn follows from the data and the seed.  What a leading method is judged on when it has
learned from nearly all are samples that had no say in which methods lead.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from absentia.core import Array
from absentia.experiment.comparison._data import TaskData
from absentia.experiment.comparison._design import _VERSION, Design, draw_training_part, make_plan
from absentia.experiment.comparison._trial import learn_and_score
from absentia.experiment.engine import Record, Trial, declared_versions
from absentia.experiment.results import ComparisonResults
from absentia.tasks import Metric

#: Of more samples, so many are drawn to compare on; at most so many are held out of fits to the others.
MAX_COMPARED = 10_000
_TEST_SHARE = 0.2
_N_FINALISTS = 3
FULL_FIT_SECONDS = 600.0  # CPU seconds that such a fit may take


def _draw(data: TaskData, most: int, seed: int) -> Array:
    """Positions of at most `most` samples, of each class alike; spaced over an order of the data's own."""
    n = len(data.data)
    if data.y is None:
        return np.sort(data.order[np.linspace(0, n - 1, min(most, n)).astype(int)])
    return draw_training_part(data, np.arange(n), most / n, [seed])


def draw_compared(data: TaskData, most: int | None, seed: int) -> tuple[TaskData, TaskData | None]:
    """What is compared on: all samples, or `most` of more; then all there are, too.

    Samples in groups, or in time, are compared on as they are.  Features in chunks are read into memory.
    """
    few = most is not None and len(data.data) > most
    if not few or data.data.groups is not None or data.times is not None:
        return data, None
    assert most is not None
    some = data.take(_draw(data, most, seed))
    return replace(some, data=some.data.to_memory()) if getattr(some.data, "chunked", False) else some, data


def choose_finalists(results: ComparisonResults) -> tuple[str, ...]:
    """The method that is recommended, and those of the best mean scores beside it."""
    measured = [row.method for row in results.rows if row.scores]  # the best first
    first = [results.recommendation.recommended] if measured else []
    return tuple(dict.fromkeys([*first, *measured]))[:_N_FINALISTS]


@dataclass(frozen=True, eq=False)
class FullFit:
    """Does trials of kind "full": learn from nearly all samples `whole`, be judged on some of the others.

    Those on which methods were compared, `compared` of them by the `seed`, are all learned from.
    """

    whole: TaskData
    compared: int
    seed: int

    @cached_property
    def split(self) -> tuple[Array, Array]:
        """Positions that are learned from, and that are judged on."""
        n = len(self.whole.data)
        others = np.setdiff1d(np.arange(n), _draw(self.whole, self.compared, self.seed))
        share = min(MAX_COMPARED, _TEST_SHARE * n) / len(others)
        test = draw_training_part(self.whole, others, min(share, 1.0), [self.seed, 1])
        return np.setdiff1d(np.arange(n), test), test

    def __call__(self, key: Mapping[str, Any]) -> dict[str, Any]:
        train, test = self.split
        return learn_and_score(key, self.whole, train, test) | {"n_train": len(train), "n_test": len(test)}


def make_full_trials(data: TaskData, design: Design) -> list[Trial]:
    """A fit of each finalist to nearly all of the samples that there are."""
    plans = [make_plan(method, data, design.seed) for method in design.finalists]
    return [
        Trial(
            {
                "kind": "full",
                "data": data.hash,
                "samples": design.n_samples,
                "method": plan.name,
                "parameters": plan.parameters,
                "version": declared_versions(*plan.classes, comparison=_VERSION),
                "seed": design.seed,
            }
        )
        for plan in plans
    ]


def describe_size(
    design: Design, n_compared: int, records: Iterable[Record], metric: Metric, order: Sequence[str]
) -> tuple[str, ...]:
    """What is said of a comparison on some of the samples: the rule, the order, and fits to the others."""
    if not design.n_samples:
        return ()
    drawn = (
        f"{design.n_samples:,} samples: methods were compared on {n_compared:,} of them, drawn by "
        "class where there are classes."
    )
    found = {record.trial["method"]: record for record in records}
    done = [record for record in found.values() if record.done]
    said = [drawn, *order]
    if done:
        sizes = done[0].result
        score: Callable[[Record], float] = lambda r: r.result["scores"].get(metric.name) or np.nan  # noqa: E731
        done.sort(key=score, reverse=metric.higher)
        scores = ", ".join(f"{r.trial['method']} {metric.format(score(r))}" for r in done)
        said.append(
            f"Fitted once to {sizes['n_train']:,} samples and judged on {sizes['n_test']:,} others that "
            f"had no say in the choice of methods, {metric.name}: {scores}."
        )
    said += [
        f"{name} was not fitted to nearly all samples: {record.error}"
        for name, record in found.items()
        if not record.done
    ]
    return tuple(said)
