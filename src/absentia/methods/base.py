"""What methods are made of, for whoever adds one: see CONTRIBUTING.md."""

from absentia.core import (
    Iterative,
    Method,
    NonNegative,
    Positive,
    Range,
    Share,
    Whole,
    method,
    parameters_of,
)
