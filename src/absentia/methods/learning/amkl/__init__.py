"""Absent multiple kernel learning."""

from absentia.methods.learning.amkl._estimator import AbsentMKLClassifier
