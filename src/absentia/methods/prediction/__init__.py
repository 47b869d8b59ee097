"""From incomplete views to predictions, in one estimator."""

from absentia.methods.prediction._survival import AbsentSurvival
