"""How well a method does on what it has not seen."""

from absentia.experiment import results
from absentia.experiment._quality import Quality, compare_completers, measure_hidden_errors
from absentia.experiment._validation import Gain, Validation, count_steps, cross_validate
from absentia.tasks import concordance, concordance_gain
from absentia.tasks import regression as numbers
