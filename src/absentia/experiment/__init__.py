"""How well a method does on what it has not seen."""

from absentia.experiment import results
from absentia.experiment._forecast import forecast_seconds
from absentia.experiment._validation import (
    Gain,
    Quality,
    Validation,
    compare_with_baselines,
    count_steps,
    cross_validate,
    measure_hidden_errors,
)
from absentia.tasks import concordance, concordance_gain
from absentia.tasks import regression as numbers
