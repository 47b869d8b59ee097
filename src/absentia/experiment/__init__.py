"""How well a method does on samples it has not seen."""

from absentia.experiment._validation import FEWEST, Plan, Validation, cross_validate, learn

__all__ = ["FEWEST", "Plan", "Validation", "cross_validate", "learn"]
