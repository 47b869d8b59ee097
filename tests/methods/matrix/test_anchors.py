"""Row kernels through landmarks."""

import numpy as np

from absentia import PMAClassifier
from matrices import labelled


def test_landmarks_at_every_sample_change_nothing_and_fewer_change_little():
    X, _, gaps = labelled(120)
    full = PMAClassifier(gamma=0.3, random_state=0).fit(X, gaps)
    one = PMAClassifier(gamma=0.3, n_landmarks=119, random_state=0).fit(X, gaps)
    few = PMAClassifier(gamma=0.3, n_landmarks=60, random_state=0).fit(X, gaps)
    np.testing.assert_allclose(one.decision_function(X), full.decision_function(X), atol=0.02)
    assert np.mean(few.predict(X) == full.predict(X)) > 0.95
