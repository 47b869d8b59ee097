"""A few coordinates per sample, of those of training and of new ones."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

import absentia
from absentia import (
    CVKT,
    MKMC,
    KernelViews,
    MeanFill,
    ViewEmbedding,
    ViewKernels,
    ZeroFill,
    datasets,
    models,
)
from absentia.methods import _embedding as module
from reference import kernel_pca


@pytest.fixture
def halves(digits):
    views, y = digits
    return views[:90], views[90:], y[:90], y[90:]


@pytest.mark.parametrize(
    "completer",
    [MeanFill("blocks"), CVKT(rounds=3), pytest.param(MKMC("pca", n_components=5), marks=pytest.mark.slow)],
)
def test_training_and_new_samples_are_those_of_the_reference(halves, completer):
    train, new, _, _ = halves
    embedding = ViewEmbedding(4, completer=completer).fit(train)
    maker = ViewKernels()
    done = completer.fit_transform(maker.fit_transform(train))
    K, weights = kernel_pca.fused(done.to_dense())
    scores, shares, _ = kernel_pca.embedding(K, 4)
    signs = np.sign((embedding.embedding_ * scores).sum(axis=0))
    np.testing.assert_allclose(embedding.embedding_, scores * signs, atol=1e-8)
    np.testing.assert_allclose(embedding.explained_variance_ratio_, shares, rtol=1e-8)
    np.testing.assert_allclose(embedding.weights_, weights, rtol=1e-9)
    np.testing.assert_allclose(embedding.explained_variance_, np.square(scores).mean(axis=0), rtol=1e-8)
    rows = completer.transform(maker.transform(new)).to_dense()
    expected = kernel_pca.projected(np.tensordot(weights, rows, 1), K, 4)
    np.testing.assert_allclose(embedding.transform(new), expected * signs, atol=1e-8)


def test_kernels_give_what_their_features_give(digits):
    views, _ = digits
    kernels = ViewKernels().fit_transform(views)
    train, new = np.arange(90), np.arange(90, 120)
    maker = ViewKernels().fit(views[train])
    of_features = ViewEmbedding(3).fit(views[train])
    of_kernels = ViewEmbedding(3, kernel="precomputed").fit(maker.fit_transform(views[train]))
    np.testing.assert_allclose(of_kernels.embedding_, of_features.embedding_, atol=1e-9)
    np.testing.assert_allclose(
        of_kernels.transform(maker.transform(views[new])), of_features.transform(views[new]), atol=1e-9
    )
    np.testing.assert_allclose(absentia.embed(kernels, 3), absentia.embed(views, 3), atol=1e-9)
    again = of_kernels.transform(
        maker.fit_transform(views[train])
    )  # the square ones of training themselves
    np.testing.assert_allclose(again, of_kernels.embedding_, atol=1e-9)


def test_complete_samples_that_come_again_lie_where_they_lay(halves):
    train = halves[0]
    embedding = ViewEmbedding(3).fit(train)
    whole = np.flatnonzero(train.observed.all(axis=1))
    assert len(whole) > 3
    np.testing.assert_allclose(embedding.transform(train[whole]), embedding.embedding_[whole], atol=1e-8)


def test_the_order_of_samples_and_views_does_not_matter(digits, rng):
    views, _ = digits
    shuffle = rng.permutation(len(views))
    other = views[shuffle].select(list(views.names)[::-1])
    np.testing.assert_allclose(absentia.embed(other, 5), absentia.embed(views, 5)[shuffle], atol=1e-7)


def test_it_tells_classes_apart_better_than_zeros_do(halves):
    train, new, y_train, y_new = halves

    def accuracy(completer):
        embedding = ViewEmbedding(8, completer=completer).fit(train)
        machine = KNeighborsClassifier(3).fit(embedding.embedding_, y_train)
        return machine.score(embedding.transform(new), y_new)

    assert accuracy("auto") > accuracy(ZeroFill()) + 0.1


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")  # of views that nobody has
def test_what_completes_is_chosen_by_what_is_linked(digits):
    views, _ = digits
    assert str(ViewEmbedding(2).fit(views).completer_) == "CVKT(n_landmarks=None, rounds=3)"
    alone = np.zeros(views.observed.shape, bool)
    alone[np.arange(len(views)), views.observed.argmax(axis=1)] = True
    assert str(ViewEmbedding(2).fit(views.hide(alone)).completer_) == "MeanFill()"
    assert str(ViewEmbedding(2, completer="zero").fit(views).completer_) == "ZeroFill()"
    with pytest.raises(ValueError, match="no method 'cvtk'; did you mean cvkt"):
        ViewEmbedding(2, completer="cvtk").fit(views)


def test_with_many_samples_landmarks_carry_what_is_transferred(digits, monkeypatch):
    monkeypatch.setattr(module, "_MAX_EXACT", 100)
    monkeypatch.setattr(module, "_N_LANDMARKS", 20)
    embedding = ViewEmbedding(2, kernel=ViewKernels(approx="nystrom", n_landmarks=15)).fit(digits[0])
    assert embedding.completer_.n_landmarks == 20
    assert embedding.transform(digits[0][:3]).shape == (3, 2)


def test_it_passes_through_scikit_learn(digits):
    views, y = digits
    of_views = cross_val_score(make_pipeline(ViewEmbedding(6), KNeighborsClassifier(3)), views, y, cv=3)
    kernels = ViewKernels().fit_transform(views)
    of_kernels = make_pipeline(ViewEmbedding(6, kernel="precomputed"), KNeighborsClassifier(3))
    assert of_views.mean() > 0.5
    assert cross_val_score(of_kernels, kernels, y, cv=3).mean() > 0.5
    assert clone(ViewEmbedding(6, completer=MeanFill())).get_params()["completer__of"] == "features"


def test_frames_have_ids_and_names(halves):
    train, new, _, _ = halves
    embedding = ViewEmbedding(2).set_output(transform="pandas")
    frame = embedding.fit_transform(train)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == ["viewembedding0", "viewembedding1"]
    assert frame.columns.tolist() == embedding.get_feature_names_out().tolist()
    assert frame.index.tolist() == train.ids.tolist()
    assert embedding.transform(new).index.tolist() == new.ids.tolist()


@pytest.mark.slow
def test_it_can_be_saved(halves, tmp_path):
    train, new, _, _ = halves
    for kernel in ("rbf", ViewKernels("linear", center=True)):
        embedding = ViewEmbedding(3, completer=CVKT(), kernel=kernel).fit(train)
        back = models.load(models.save(embedding, tmp_path / "e.npz"))
        np.testing.assert_array_equal(back.transform(new), embedding.transform(new))
        np.testing.assert_array_equal(back.embedding_, embedding.embedding_)
        assert back.get_feature_names_out().tolist() == embedding.get_feature_names_out().tolist()


@pytest.mark.filterwarnings("ignore::absentia.AbsenceWarning")  # some have neither view
def test_new_samples_may_lack_a_view_altogether(halves):
    train, new, _, _ = halves
    embedding = ViewEmbedding(2).fit(train)
    keep = np.zeros(new.observed.shape, bool)
    keep[:, :2] = True
    few = embedding.transform(new.select(new.names[:2]))
    np.testing.assert_allclose(few, embedding.transform(new.hide(keep)), atol=1e-10)


def test_views_complete_and_alone():
    views = datasets.load_digit_views(n_samples=30).views
    one = views.select([views.names[0]])
    assert ViewEmbedding(2).fit(one).completer_.__class__ is MeanFill
    assert np.isfinite(absentia.embed(views, 40)).all()
    assert not absentia.embed(views, 40)[:, 29:].any()


def test_what_is_wrong_is_said(halves):
    train, new, _, _ = halves
    with pytest.raises(TypeError, match="Views or KernelViews are wanted, not dict"):
        absentia.embed({"a": np.eye(3)})
    with pytest.raises(ValueError, match="n_components must be a whole number of 1 or more, not 0"):
        ViewEmbedding(0).fit(train)
    with pytest.raises(NotFittedError):
        ViewEmbedding().transform(new)
    with pytest.raises(TypeError, match="Views are wanted, as in training, not KernelViews"):
        ViewEmbedding(2).fit(train).transform(KernelViews.from_dense(np.eye(3)[None]))
    with pytest.raises(TypeError, match="KernelViews are wanted with kernel='precomputed', not Views"):
        ViewEmbedding(2, kernel="precomputed").fit(train)
    with pytest.raises(TypeError, match="KernelViews are wanted, not list"):
        ViewEmbedding(2).fit([np.eye(3)])
