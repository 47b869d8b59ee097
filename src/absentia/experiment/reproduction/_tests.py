"""Tables of statistics, made from trials of other tables, which say of each sample whether it was right."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from absentia.core import check_name
from absentia.experiment.reproduction._cells import Observed
from absentia.experiment.reproduction._experiment import Experiment

Statistic = Callable[[Experiment, Sequence[Mapping[str, Any]]], list[Observed]]
STATISTICS: dict[str, Statistic] = {}


def statistics_of(experiment: Experiment, records: Sequence[Mapping[str, Any]]) -> list[Observed]:
    """What the experiment's statistic makes of records."""
    check_name("statistic", experiment.statistic, STATISTICS)
    return STATISTICS[experiment.statistic](experiment, records)
