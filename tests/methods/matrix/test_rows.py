"""New rows have the distribution of the dense model."""

import numpy as np

from absentia import PMAClassifier
from matrices import labelled, rbf
from reference import pma as reference


def test_new_rows_have_the_mean_and_variance_of_the_dense_model():
    X, _, gaps = labelled(40)
    model = PMAClassifier(gamma=0.3, label_covariance=True, n_samples=4000, random_state=0).fit(
        X[:35], gaps[:35]
    )
    addition = model.model_
    K = rbf(X, gamma=0.3)
    S = reference.covariance(K, addition.C, addition.N)
    seen = np.zeros((40, 4), dtype=bool)
    seen[:35] = ~np.isnan(gaps[:35])
    centred = np.where(seen, 2 * gaps - 1 - model.mean_, 0.0)
    mean, covariance = reference.condition(S, centred, seen)
    variance = np.zeros((40, 4))
    variance[~seen] = np.diagonal(covariance)
    found_mean, found_variance = model._distribution(X[35:])
    np.testing.assert_allclose(found_mean, mean[35:] + model.mean_, atol=1e-4)
    np.testing.assert_allclose(found_variance, variance[35:], rtol=0.05)
    np.testing.assert_allclose(
        model.scores_[:35][~seen[:35]], (mean + model.mean_)[:35][~seen[:35]], atol=1e-4
    )
