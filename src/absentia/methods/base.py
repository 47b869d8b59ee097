"""What methods are made of, for whoever adds one: see CONTRIBUTING.md."""

from absentia.core import (
    Estimator,
    Fraction,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    Range,
    estimator,
    parameters_of,
)
