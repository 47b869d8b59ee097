"""Matrices with missing entries or labels: probabilistic matrix addition and what it is compared with."""
