"""What methods are made of, for whoever adds one: see CONTRIBUTING.md."""

from absentia.core import (
    Array,
    Estimator,
    Fraction,
    Iterative,
    NonNegative,
    Positive,
    PositiveInt,
    RandomState,
    Range,
    Solution,
    Status,
    Stop,
    estimator,
    generator,
    iterate,
    parameters_of,
    warn,
)
