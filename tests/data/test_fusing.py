"""Embeddings of complete kernels, one by one and all together."""

import numpy as np
import pytest

from absentia import CVKT, KernelViews, MeanFill
from conftest import random_problem
from reference import kernel_pca


@pytest.fixture
def done():
    return MeanFill("blocks").fit_transform(random_problem())


def test_all_together_is_the_reference(done):
    K, _ = kernel_pca.fused(done.to_dense())
    found = done.to_embedding(3)
    expected, _, _ = kernel_pca.embedding(K, 3)
    np.testing.assert_allclose(found, kernel_pca.same_but_for_signs(found, expected), atol=1e-9)


def test_each_view_on_its_own_is_the_reference(done):
    found = done.to_embedding(2, per_view=True)
    assert list(found) == list(done.names)
    for name, scores in found.items():
        expected, _, _ = kernel_pca.embedding(done.block(name), 2)
        np.testing.assert_allclose(scores, kernel_pca.same_but_for_signs(scores, expected), atol=1e-9)


def test_neither_a_views_scale_nor_the_order_of_samples_or_views_matters(done, rng):
    K, shuffle = done.to_dense(), rng.permutation(len(done))
    scaled = K * np.array([1e-3, 1.0, 1e5, *[1.0] * (len(K) - 3)])[:, None, None]
    names = list(done.names)[::-1]
    other = KernelViews.from_dense(
        scaled[::-1][:, shuffle][:, :, shuffle], ids=done.ids[shuffle], names=names
    )
    np.testing.assert_allclose(other.to_embedding(3), done.to_embedding(3)[shuffle], atol=1e-8)


def test_a_view_of_samples_that_are_all_one_counts_for_nothing(done):
    K = {name: done.block(name) for name in done.names}
    with_one = KernelViews.from_dense({**K, "constant": np.ones((len(done), len(done)))}, ids=done.ids)
    np.testing.assert_allclose(with_one.to_embedding(3), done.to_embedding(3), atol=1e-9)


def test_incomplete_kernels_are_refused_with_advice():
    kv = random_problem()
    with pytest.raises(
        ValueError, match=r"is absent for \d+ sample\(s\), e\.g\. \d+; complete the kernels"
    ):
        kv.to_embedding(2)
    with pytest.raises(ValueError, match="is absent for"):
        kv.to_embedding(2, per_view=True)
    assert CVKT().fit_transform(kv).to_embedding(2).shape == (40, 2)


@pytest.mark.parametrize("wrong", [0, 2.5, "three"])
def test_a_number_of_components_is_wanted(done, wrong):
    with pytest.raises(ValueError, match="n_components must be a whole number of 1 or more"):
        done.to_embedding(wrong)


def test_rows_of_new_samples_have_an_embedding_of_their_own_elsewhere(done):
    with pytest.raises(ValueError, match="square"):
        done[np.ix_([0, 1], [2, 3])].to_embedding(1)
