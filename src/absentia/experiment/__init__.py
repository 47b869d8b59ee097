"""How well a method does on what it has not seen."""

from absentia.experiment import _findings as findings
from absentia.experiment import _numbers as numbers
from absentia.experiment._completions import accuracy
from absentia.experiment._quality import Quality, beside_others, hidden_errors, unexplained
from absentia.experiment._readings import Gain
from absentia.experiment._survival import (
    Outlook,
    check_events,
    concordance,
    cross_validate_survival,
    gained,
)
from absentia.experiment._validation import (
    FEWEST,
    Plan,
    Validation,
    check_classes,
    cross_validate,
    learn,
    price,
    spaced,
)
