"""Pictures of kernels, one byte a block."""

import numpy as np
import pytest

from absentia import KernelViews, MeanFill, missingness
from absentia.experiment.comparison._maps import NOTHING, SIDE, block_means, decoded, maps_of, picture_order
from comparing import made_maps, made_problem


@pytest.fixture(scope="module")
def problem():
    return made_problem("classes", n=50)


def test_blocks_are_means_over_those_that_have_the_view(problem):
    kernels = problem.kernels
    groups = np.array_split(np.arange(50), 7)
    K, observed = dense(kernels), kernels.observed
    for v in range(3):
        found = block_means(kernels, v, groups)
        for i, rows in enumerate(groups):
            for j, columns in enumerate(groups):
                own = K[v][np.ix_(rows[observed[rows, v]], columns[observed[columns, v]])]
                assert found[i, j] == pytest.approx(own.mean()) if own.size else np.isnan(found[i, j])


def dense(kernels):
    K = np.full((kernels.n_views, len(kernels), len(kernels)), np.nan)
    for v, name in enumerate(kernels.names):
        has = np.flatnonzero(kernels.observed[:, v])
        K[v][np.ix_(has, has)] = kernels.operator(name).to_dense()
    return K


def test_groups_without_anybody_are_empty(problem):
    keep = problem.data.observed.copy()
    keep[:10, 0], keep[:10, 1] = False, True
    kernels = made_problem("completion", n=50, rate=0.0).kernels.hide(keep)
    found = block_means(kernels, 0, np.array_split(np.arange(50), 10))
    assert np.isnan(found[:2]).all()
    assert np.isnan(found[:, :2]).all()
    assert np.isfinite(found[2:, 2:]).any()


def test_what_is_drawn_is_what_is_there(problem):
    kernels = problem.kernels
    part = kernels.hide(missingness.mcar(kernels, 0.2, random_state=0))
    completed = MeanFill().fit_transform(part)
    found = maps_of(problem, kernels, part, completed)
    order, words = picture_order(problem, kernels)
    groups = np.array_split(order, SIDE)
    assert (found["side"], found["order"]) == (SIDE, words)
    for v, name in enumerate(kernels.names):
        held = found["views"][name]
        step = (held["high"] - held["low"]) / (NOTHING - 1)
        for what, one in (("truth", kernels), ("hidden", part), ("completed", completed)):
            means, picture = block_means(one, v, groups), decoded(held, what, SIDE)
            np.testing.assert_array_equal(np.isnan(means), np.isnan(picture))
            np.testing.assert_allclose(picture, means, atol=step)
    assert np.isfinite(decoded(found["views"]["view0"], "completed", SIDE)).all()


def test_few_samples_make_a_smaller_picture():
    found = made_maps(made_problem("completion", n=12))
    assert found["side"] == 12
    assert decoded(found["views"]["view0"], "truth", 12).shape == (12, 12)


def test_a_kernel_of_one_value_can_be_drawn():
    kernels = KernelViews.from_dense(np.ones((2, 6, 6)))
    problem = made_problem("completion").changed(kernels)
    keep = np.ones((6, 2), bool)
    keep[0, 0] = False
    found = maps_of(problem, kernels, kernels.hide(keep), kernels)
    assert (decoded(found["views"][kernels.names[1]], "truth", 6) == 1).all()
    assert np.isnan(decoded(found["views"][kernels.names[0]], "hidden", 6)[0]).all()


def test_samples_are_ordered_by_class_and_in_classes_by_the_data(problem):
    order, words = picture_order(problem, problem.kernels)
    assert words == "Samples are ordered by class."
    assert (np.diff(problem.y[order]) >= 0).all()
    rows = np.random.default_rng(0).permutation(50)
    other = type(problem)(problem.data[rows], "classes", problem.y[rows], problem.classes, problem.kernel)
    np.testing.assert_array_equal(rows[picture_order(other, other.kernels)[0]], order)


def test_without_classes_alike_samples_are_neighbours():
    group = np.arange(30) % 2
    K = np.where(group[:, None] == group, 1.0, 0.1) + 0.5 * np.eye(30)
    kernels = KernelViews.from_dense(np.stack([K, K]))
    order, words = picture_order(made_problem("completion").changed(kernels), kernels)
    assert "leading direction" in words
    assert sorted(order) == list(range(30))
    assert (np.diff(group[order]) != 0).sum() == 1
