"""Small matrix arithmetic, conditioning of Gaussians, permutations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from absentia.core import linalg as linalg
from absentia.core.linalg import ConditionalGaussian, group_by_pattern, invert_permutation


def spd(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


def test_cholesky_names_the_matrix_that_fails():
    with pytest.raises(linalg.NotPositiveDefiniteError, match="the model"):
        linalg.cholesky(np.diag([1.0, -1.0]), "the model")


def test_cholesky_inverse_has_both_triangles():
    A = spd(7)
    np.testing.assert_allclose(linalg.cholesky_inverse(linalg.cholesky(A)) @ A, np.eye(7), atol=1e-9)
    with pytest.raises(linalg.NotPositiveDefiniteError, match=r"^matrix \(2x2\) is singular"):
        linalg.cholesky_inverse(np.diag([1.0, 0.0]))


def test_kernels_are_centred_as_their_features_are(rng):
    X = rng.normal(size=(6, 3)) + 2
    away = X - X.mean(axis=0)
    np.testing.assert_allclose(linalg.center_kernel(X @ X.T), away @ away.T, atol=1e-12)
    assert linalg.center_kernel(np.zeros((0, 0))).shape == (0, 0)


def test_distances_are_those_of_pairs_and_never_negative(rng):
    A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    wanted = ((A[:, None] - B[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(linalg.squared_distances(A, B), wanted, rtol=1e-10)
    far = A + 1e6
    assert (linalg.squared_distances(far, far) >= 0).all()


def test_what_has_no_length_stays_nothing():
    np.testing.assert_array_equal(linalg.inverse_sqrt(np.array([4.0, 0.0, 0.25, -1.0])), [0.5, 0, 2, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thin_products_are_summed_in_double_precision(rng, dtype):
    A, B = rng.normal(size=(50, 2)).astype(dtype), rng.normal(size=(50, 3)).astype(dtype)
    found = linalg.thin_gram(A, B, chunk=7)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, A.T.astype(float) @ B, rtol=1e-5)
    large = np.array([[1e8], [1.0], [-1e8]], dtype)  # in single precision 1e8 + 1 is 1e8
    assert linalg.thin_gram(large, np.ones((3, 1), dtype), chunk=1).item() == 1.0


def test_what_is_handed_out_cannot_be_written_to():
    own = np.zeros(3)
    found = linalg.as_readonly(own)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    own[0] = 1
    assert found[0] == 1


@pytest.mark.parametrize(
    ("eigenvalues", "bad"),
    [
        ([0.0, 1.0, 2.0], False),
        ([-1e-9, 1.0, 2.0], False),
        ([-0.1, 1.0, 2.0], True),
        ([-1e-5, 1.0, 2.0], True),
        ([-1.0, -1.0, -1.0], True),
    ],
)
@pytest.mark.parametrize("unit", [1e-150, 0.3, 1.0, 1e150])
def test_indefinite_tells_rounding_from_negative_eigenvalues(eigenvalues, bad, unit):
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    A = unit * linalg.symmetrize((U * eigenvalues) @ U.T)
    found = linalg.psd_violation(A)
    assert (found is not None) == bad
    if bad:
        assert found == pytest.approx((unit * min(eigenvalues), unit * max(eigenvalues)), rel=1e-6)


def test_what_counts_as_rounding_is_measured_by_the_largest_eigenvalue():
    U = np.linalg.qr(np.column_stack([[1.0, 1, 1, 1], [1, -1, 0, 0], [1, 1, -2, 0], [1, 1, 1, -3]]))[0]
    for lowest, bad in ((-0.9e-6, False), (-1.1e-6, True)):
        # the largest lies across what a few powers of a vector of ones could find
        A = linalg.symmetrize((U * [0.1, 1.0, 0.2, lowest]) @ U.T)
        assert (linalg.psd_violation(A) is not None) == bad
        assert (linalg.psd_violation(A, tol=1e-7) is not None) is True


def test_small_and_hollow_matrices_are_judged_too():
    assert linalg.psd_violation(np.zeros((0, 0))) is None
    assert linalg.psd_violation(np.zeros((3, 3))) is None
    assert linalg.psd_violation(np.array([[-2.0]])) == (-2.0, -2.0)
    assert linalg.psd_violation(np.array([[0.0, 3.0], [3.0, 0.0]])) == pytest.approx((-3.0, 3.0))
    assert linalg._extreme_eigenvalues(np.diag([2.0, -1.0, 5.0])) == (-1.0, 5.0)


def test_indefinite_accepts_single_precision_kernels():
    X = np.random.default_rng(0).normal(size=(80, 3)).astype(np.float32)
    assert linalg.psd_violation(X @ X.T) is None


def test_clip_and_shift_make_positive_semidefinite_and_leave_good_matrices():
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    A = linalg.symmetrize((U * [-0.5, 0.1, 1.0, 2.0]) @ U.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(linalg.clip_eigenvalues(A)), [0, 0.1, 1, 2], atol=1e-12)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(linalg.shift_eigenvalues(A)), [0, 0.6, 1.5, 2.5], atol=1e-12
    )
    good = spd(4)
    np.testing.assert_array_equal(linalg.shift_eigenvalues(good), good)


def test_a_whitener_whitens_and_is_triangular(rng):
    A = rng.normal(size=(6, 9))
    A = A @ A.T
    R = linalg.whitening_matrix(A)
    np.testing.assert_allclose(R @ A @ R.T, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(R.T @ R @ A, np.eye(6), atol=1e-9)
    assert not np.triu(R, 1).any()
    assert linalg.whitening_matrix(np.zeros((0, 0))).shape == (0, 0)


def test_a_whitener_names_the_matrix_that_has_none():
    with pytest.raises(
        linalg.NotPositiveDefiniteError, match=r"precision \(2x2\) is not positive definite"
    ):
        linalg.whitening_matrix(np.diag([1.0, -1.0]), "precision")


def test_leading_eigenpairs_are_all_there(rng, monkeypatch):
    A = rng.normal(size=(7, 7))
    A = A + A.T
    values, vectors = np.linalg.eigh(A)
    found, U = linalg.leading_eigenpairs(A, 3)
    np.testing.assert_allclose(found, values[-3:], rtol=1e-10)
    np.testing.assert_allclose(np.abs((U * vectors[:, -3:]).sum(axis=0)), 1, rtol=1e-10)
    assert len(linalg.leading_eigenpairs(A, 9)[0]) == 7
    whole = linalg.scipy.linalg.eigh

    def fewer(A, subset_by_index=None, **options):
        found, U = whole(A, subset_by_index=subset_by_index, **options)
        return (found[2:], U[:, 2:]) if subset_by_index else (found, U)

    monkeypatch.setattr(linalg.scipy.linalg, "eigh", fewer)
    again, U = linalg.leading_eigenpairs(A, 3)
    np.testing.assert_allclose(again, values[-3:], rtol=1e-10)
    assert U.shape == (7, 3)


@pytest.mark.parametrize("n_seen", [0, 1, 3, 5])
def test_conditioning_by_precision_agrees_with_the_definition(rng, n_seen):
    A = rng.standard_normal((6, 6))
    Sigma = A @ A.T + np.eye(6)
    o, h = np.arange(n_seen), np.arange(n_seen, 6)
    B = np.linalg.solve(Sigma[np.ix_(o, o)], Sigma[np.ix_(o, h)])
    covariance = Sigma[np.ix_(h, h)] - Sigma[np.ix_(h, o)] @ B
    precision = np.linalg.inv(Sigma)
    conditional = ConditionalGaussian.by_precision(precision, o, h)
    np.testing.assert_allclose(conditional.B, B, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(conditional.covariance, covariance, rtol=1e-10)
    np.testing.assert_allclose(conditional.L @ conditional.L.T, precision[np.ix_(h, h)], rtol=1e-10)


def test_nothing_is_given_of_nothing():
    found = ConditionalGaussian.by_precision(np.eye(3), np.arange(3), np.arange(0))
    assert found.B.shape == (3, 0)
    assert found.covariance.shape == (0, 0)


@given(st.permutations(range(7)))
def test_the_inverse_undoes(order):
    order = np.array(order)
    np.testing.assert_array_equal(np.arange(7)[order][invert_permutation(order)], np.arange(7))


@given(hnp.arrays(bool, st.tuples(st.integers(0, 8), st.integers(1, 4))))
def test_every_row_is_in_the_group_of_its_pattern(mask):
    groups = list(group_by_pattern(mask))
    assert sorted(i for _, rows in groups for i in rows.tolist()) == list(range(len(mask)))
    assert len({pattern.tobytes() for pattern, _ in groups}) == len(groups)
    for pattern, rows in groups:
        assert (mask[rows] == pattern).all()
        assert (np.diff(rows) > 0).all()
