"""From incomplete views to predictions, in one estimator."""
