"""What laws are tried on."""

import numpy as np
import pytest

from absentia.testing._problems import noisy, random_problem, refused


def test_problems_are_incomplete_and_the_same_every_time():
    one, other = random_problem(), random_problem()
    np.testing.assert_array_equal(one.to_dense(), other.to_dense())
    assert 0.5 < one.observed.mean() < 0.9


def test_noise_is_symmetric_and_small(rng):
    K = random_problem(10, 2, 0.0).to_dense()
    found = noisy(K, 1e-6, rng)
    np.testing.assert_array_equal(found, found.transpose(0, 2, 1))
    assert 0 < np.abs(found - K).max() < 1e-5


def test_what_is_not_refused_or_not_in_these_words_is_found_out():
    with refused(ValueError, "one", "word"):
        raise ValueError("one wrong word")
    with pytest.raises(AssertionError, match="nothing was refused"), refused(ValueError):
        pass
    with pytest.raises(AssertionError, match="does not say"), refused(ValueError, "other"):
        raise ValueError("one")
    with pytest.raises(TypeError), refused(ValueError):
        raise TypeError
