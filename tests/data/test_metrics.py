import os
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from absentia import KernelViews
from absentia.data.metrics import are, ca_error, frobenius_error, similarity_of_rows, structural_similarity
from reference.structural_similarity import structural_similarity as slow_structural_similarity


def measure_are(truth, completed, **kw):
    n, n_views = np.shape(truth)[-1], 1 if np.ndim(truth) == 2 else len(truth)
    return are(truth, completed, np.zeros((n, n_views), dtype=bool), **kw)


ALL = [ca_error, measure_are, frobenius_error, structural_similarity]


@pytest.fixture
def kernels():
    """Three kernels over nine samples, and three others."""
    X = np.random.default_rng(0).normal(size=(6, 9, 4))
    K = X @ X.transpose(0, 2, 1) / 4
    return K[:3], K[3:]


# by hand


def test_ca_error_by_hand():
    # <A, B> = 1, |A| = sqrt(2), |B| = sqrt(2)
    A, B = np.array([[1.0, 0], [0, 1]]), np.array([[1.0, 1], [0, 0]])
    assert ca_error(A, B) == pytest.approx(0.5, rel=1e-12)
    assert ca_error(A, -A) == pytest.approx(2, rel=1e-12)
    assert ca_error(A, np.zeros((2, 2))) == 1


def test_frobenius_error_by_hand():
    A = np.array([[3.0, 0], [0, 4]])
    assert frobenius_error(A, [[3, 1], [1, 4]]) == pytest.approx(np.sqrt(2) / 5, rel=1e-12)


def test_are_by_hand():
    truth = np.array([[2.0, 0, 0], [0, 3, 4], [0, 4, 3]])
    completed = np.array([[9.0, 0, 0], [0, 3, 5], [0, 1, 7]])  # rows off by 7, 1 and 5
    assert are(truth, completed, [True, False, False]) == pytest.approx((1 / 5 + 1) / 2, rel=1e-12)
    assert are(truth, completed, [False, True, True]) == pytest.approx(7 / 2, rel=1e-12)


def test_are_averages_over_views_with_something_missing():
    truth = np.stack([np.eye(2)] * 3)
    completed = truth * np.array([1.5, 3.0, 7.0])[:, None, None]
    observed = np.array([[False, True, True], [True, False, True]])
    np.testing.assert_array_equal(are(truth, completed, observed, average=False), [0.5, 2, np.nan])
    assert are(truth, completed, observed) == 1.25
    assert np.isnan(are(truth, completed, np.ones((2, 3), dtype=bool)))


def test_are_skips_rows_whose_truth_is_zero():
    assert are(np.diag([0.0, 2.0]), np.eye(2), [False, False]) == 0.5


# laws


@pytest.mark.parametrize("size", [4, 9])
def test_structural_similarity_equals_its_slow_twin_and_scikit_image(kernels, size):
    kernels, window = [K[:, :size, :size] for K in kernels], min(size - 1, 7) | 1
    each = structural_similarity(*kernels, average=False, data_range=1.3)
    slow = [slow_structural_similarity(A, B, window, 1.3) for A, B in zip(*kernels, strict=True)]
    np.testing.assert_allclose(each, slow, rtol=1e-10)
    image = pytest.importorskip("skimage.metrics")
    theirs = [
        image.structural_similarity(A, B, win_size=window, data_range=1.3)
        for A, B in zip(*kernels, strict=True)
    ]
    np.testing.assert_allclose(each, theirs, rtol=1e-10)


def test_structural_similarity_defaults_equal_those_of_the_slow_twin(kernels):
    A, B = kernels[0][0], kernels[1][0]
    assert structural_similarity(A, B) == pytest.approx(slow_structural_similarity(A, B), rel=1e-10)


@pytest.mark.parametrize("measure", ALL)
def test_truth_itself_is_perfect(kernels, measure):
    perfect = 1 if measure is structural_similarity else 0
    each = measure(kernels[0], kernels[0], average=False)
    np.testing.assert_allclose(each, perfect, atol=1e-12)
    assert (np.asarray(measure(*kernels, average=False)) != perfect).all()


@pytest.mark.parametrize("measure", ALL)
def test_average_is_the_mean_of_each_view_on_its_own(kernels, measure):
    each = measure(*kernels, average=False)
    alone = [measure(A, B) for A, B in zip(*kernels, strict=True)]
    assert each.shape == (3,)
    np.testing.assert_allclose(each, alone, rtol=1e-12)
    average = measure(*kernels)
    assert isinstance(average, float)
    assert average == pytest.approx(np.mean(alone), rel=1e-12)


@pytest.mark.parametrize("measure", [ca_error, measure_are, frobenius_error])
def test_order_of_samples_does_not_matter(kernels, measure):
    p = np.random.default_rng(1).permutation(9)
    shuffled = [K[:, p][:, :, p] for K in kernels]
    np.testing.assert_allclose(measure(*shuffled), measure(*kernels), rtol=1e-12)


def test_ca_error_is_blind_to_scale(kernels):
    truth, completed = kernels
    scale = np.array([0.1, 3.0, 100.0])[:, None, None]
    each = ca_error(truth, completed, average=False)
    np.testing.assert_allclose(ca_error(truth, scale * completed, average=False), each, rtol=1e-12)
    np.testing.assert_allclose(ca_error(scale * truth, completed, average=False), each, rtol=1e-12)


@pytest.mark.parametrize("measure", [measure_are, frobenius_error])
def test_relative_errors_scale_with_the_deviation(kernels, measure):
    truth, completed = kernels
    twice_as_far = truth + 2 * (completed - truth)
    assert measure(truth, twice_as_far) == pytest.approx(2 * measure(truth, completed), rel=1e-12)
    assert measure(5 * truth, 5 * completed) == pytest.approx(measure(truth, completed), rel=1e-12)


# what may come in


@pytest.mark.parametrize("measure", ALL)
def test_lists_are_stacks(kernels, measure):
    truth, completed = kernels
    assert measure(truth, list(completed)) == measure(truth, completed)


def test_are_asks_an_object_what_was_observed(kernels):
    observed = np.random.default_rng(0).random((9, 3)) < 0.5
    expected = are(*kernels, observed)
    assert are(*kernels, SimpleNamespace(observed=observed)) == expected
    assert are(*kernels, ~observed) != expected


def test_kernels_are_made_arrays_one_view_at_a_time():
    """Twelve kernels of 200 x 200 would be 4 MB in each of the two stacks."""
    rng, n = np.random.default_rng(0), 200
    factors = {f"v{v}": (range(n), rng.normal(size=(n, 2))) for v in range(12)}
    one, other = (
        KernelViews.from_factors(factors),
        KernelViews.from_factors({k: (i, x + 1) for k, (i, x) in factors.items()}),
    )
    wanted = [
        frobenius_error(one.to_dense(), other.to_dense(), average=False),
        ca_error(one.to_dense(), other.to_dense(), average=False),
    ]
    tracemalloc.start()
    try:
        found = [frobenius_error(one, other, average=False), ca_error(one, other, average=False)]
        assert tracemalloc.get_traced_memory()[1] < 8 * n * n * 8
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_kernels_with_gaps_are_refused_by_view():
    full = KernelViews.from_dense(np.stack([np.eye(9), np.eye(9) + 1]))
    keep = np.ones((9, 2), bool)
    keep[4, 1] = False
    with pytest.raises(ValueError, match="completed: 17 entries of view 1"):
        ca_error(full, full.hide(keep))


@pytest.mark.parametrize("measure", ALL)
def test_incomplete_kernels_are_refused_by_view(kernels, measure):
    truth, completed = kernels
    completed[1, 3, 4] = np.nan
    with pytest.raises(ValueError, match=r"completed: 1 entries of view 1 .* complete it first"):
        measure(truth, completed)
    with pytest.raises(ValueError, match="truth: 1 entries of view 1"):
        measure(completed, truth)


@pytest.mark.parametrize("measure", ALL)
def test_shapes_must_agree(kernels, measure):
    truth, completed = kernels
    with pytest.raises(ValueError, match=r"\(3, 9, 9\), completed \(2, 9, 9\)"):
        measure(truth, completed[:2])
    with pytest.raises(ValueError, match=r"completed has shape \(3, 9, 8\)"):
        measure(truth, completed[:, :, :8])
    with pytest.raises(ValueError, match="completed: views have shapes"):
        measure(truth, [completed[0], completed[1, :8, :8], completed[2]])


@pytest.mark.parametrize("measure", [ca_error, frobenius_error])
def test_a_true_kernel_of_zeros_is_refused(kernels, measure):
    kernels[0][2] = 0
    with pytest.raises(ValueError, match="truth: view 2 is all zero"):
        measure(*kernels)


@pytest.mark.parametrize("observed", [np.ones((3, 9), bool), np.ones(9, bool), np.ones((9, 3))])
def test_observed_must_be_boolean_samples_by_views(kernels, observed):
    with pytest.raises(ValueError, match=r"pass booleans of shape \(9, 3\)"):
        are(*kernels, observed)


# the published figures: Huusari et al. (2022), Table 2, a = 1 to 4

TABLE_2 = {
    "zero": {
        "ca": [0.143, 0.285, 0.427, 0.571],
        "are": [1.000, 1.000, 1.000, 1.000],
        "fro": [0.509, 0.695, 0.817, 0.902],
        "ssim": [0.269, 0.106, 0.055, 0.030],
    },
    "mean": {
        "ca": [0.015, 0.027, 0.038, 0.047],
        "are": [0.328, 0.335, 0.336, 0.336],
        "fro": [0.166, 0.231, 0.272, 0.301],
        "ssim": [0.633, 0.480, 0.418, 0.401],
    },
}
MEASURES = {
    "ca": lambda truth, completed, observed: ca_error(truth, completed),
    "are": are,
    "fro": lambda truth, completed, observed: frobenius_error(truth, completed),
    "ssim": lambda truth, completed, observed: structural_similarity(truth, completed),
}


def fill(truth, observed, constant):
    """Replace what was missing in each view by a constant, computed from its observed block."""
    filled = np.empty_like(truth)
    for v, seen in enumerate(observed.T):
        block = np.ix_(seen, seen)
        filled[v] = constant(truth[v][block])
        filled[v][block] = truth[v][block]
    return filled


@pytest.fixture(scope="module")
def simulated():
    folder = os.environ.get("ABSENTIA_DATA")
    if folder is None:
        pytest.skip("ABSENTIA_DATA names no folder of data sets")
    with np.load(Path(folder) / "cvkt_simulated_kernels.npz") as data:
        return data["K"].astype(np.float64), data["masks"]


@pytest.mark.parametrize("a", [1, 2, 3, 4])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("filling", ["zero", "mean"])
def test_fillings_reproduce_the_published_table(simulated, filling, measure, a):
    truth, observed = simulated[0], simulated[1][a - 1]
    completed = fill(truth, observed, np.mean if filling == "mean" else lambda block: 0.0)
    found = MEASURES[measure](truth, completed, observed)
    assert f"{found:.3f}" == f"{TABLE_2[filling][measure][a - 1]:.3f}"


# rows


def test_all_rows_are_as_similar_as_the_kernel(rng):
    K, K_hat = rng.random((2, 12, 12))
    assert similarity_of_rows(K, K_hat) == pytest.approx(structural_similarity(K, K_hat))
    assert similarity_of_rows(K, K_hat, data_range=5.0) == pytest.approx(
        structural_similarity(K, K_hat, data_range=5.0)
    )


@pytest.mark.parametrize(("n_rows", "window"), [(3, 3), (4, 3), (5, 5), (6, 5), (7, 7), (9, 7)])
def test_few_rows_have_a_smaller_window(rng, n_rows, window):
    K, K_hat = rng.random((2, n_rows, 15))
    squares = []
    for i in range(n_rows - window + 1):
        for j in range(15 - window + 1):
            a, b = (X[i : i + window, j : j + window] for X in (K, K_hat))
            cov = np.cov(a.ravel(), b.ravel())
            luminance = (2 * a.mean() * b.mean() + 4e-4) / (a.mean() ** 2 + b.mean() ** 2 + 4e-4)
            squares.append(luminance * (2 * cov[0, 1] + 36e-4) / (cov[0, 0] + cov[1, 1] + 36e-4))
    assert similarity_of_rows(K, K_hat) == pytest.approx(np.mean(squares))


@pytest.mark.parametrize("shape", [(2, 9), (9, 2), (0, 9), (1, 1)])
def test_too_few_rows_or_columns_have_no_similarity(shape):
    assert np.isnan(similarity_of_rows(np.ones(shape), np.ones(shape)))


def test_rows_must_be_the_same():
    with pytest.raises(ValueError, match="pass the same rows of both"):
        similarity_of_rows(np.ones((4, 9)), np.ones((5, 9)))
    with pytest.raises(ValueError, match="pass the same rows of both"):
        similarity_of_rows(np.ones(9), np.ones(9))
