"""How one view becomes a kernel: kernel functions, features filled and standardised, factors, centring."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy.spatial.distance import pdist

from absentia import AbsenceWarning, CombineKernels, KernelViews, ViewKernels, Views
from absentia.core import Gram
from absentia.kernels import KERNELS
from helpers.feature_views import two_views

NAN = np.nan


def test_tanimoto_and_jaccard_by_hand():
    X = np.array([[1.0, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
    wanted = np.array([[1, 0.25, 0], [0.25, 1, 0], [0, 0, 1]])
    for kernel in ("tanimoto", "jaccard"):
        np.testing.assert_allclose(
            ViewKernels(kernel).fit_transform(Views.from_dict({"a": X})).block("a"), wanted
        )
    counts = Views.from_dict({"a": X * 3})
    np.testing.assert_allclose(ViewKernels("jaccard").fit_transform(counts).block("a"), wanted)


@pytest.mark.parametrize("kernel", KERNELS)
def test_sparse_and_dense_views_agree(kernel):
    X = scipy.sparse.random(15, 6, density=0.6, format="csr", random_state=0)
    options = {"standardize": False}
    sparse = ViewKernels(kernel, **options).fit_transform(Views.from_dict({"a": X}))
    dense = ViewKernels(kernel, **options).fit_transform(Views.from_dict({"a": X.toarray()}))
    np.testing.assert_allclose(sparse.block("a"), dense.block("a"), atol=1e-10)


def test_the_median_over_many_rows_uses_a_sample_of_them():
    X = np.random.default_rng(0).normal(size=(3000, 5))
    kernels = ViewKernels(standardize=False, approx="nystrom", n_landmarks=2)
    gamma = kernels.fit(Views.from_dict({"a": X})).gamma_["a"]
    assert gamma == pytest.approx(1 / np.median(pdist(X, "sqeuclidean")), rel=0.05)


def test_missing_values_inside_a_row_take_the_training_mean():
    X = np.array([[1.0, 2.0], [3.0, NAN], [5.0, 4.0]])
    filled = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    wanted = ViewKernels("linear", standardize=False, normalize=None).fit_transform(
        Views.from_dict({"a": filled})
    )
    got = ViewKernels("linear", standardize=False, normalize=None).fit_transform(Views.from_dict({"a": X}))
    np.testing.assert_allclose(got.block("a"), wanted.block("a"))
    with pytest.raises(ValueError, match=r"view 'a': 1 value\(s\) are missing"):
        ViewKernels(missing_values="error").fit(Views.from_dict({"a": X}))


def test_a_feature_nobody_has_is_ignored_with_a_warning():
    X = np.array([[1.0, NAN], [3.0, NAN], [5.0, NAN]])
    with pytest.warns(AbsenceWarning, match="view 'a': 1 feature"):
        K = ViewKernels().fit_transform(Views.from_dict({"a": X}))
    np.testing.assert_allclose(
        K.block("a"), ViewKernels().fit_transform(Views.from_dict({"a": X[:, :1]})).block("a")
    )


@pytest.mark.parametrize("constant", [7.0, 0.1, 1e6 + 0.1])
@pytest.mark.parametrize("form", [np.array, scipy.sparse.csr_array])
def test_a_constant_feature_does_no_harm_to_new_samples(constant, form):
    X = np.column_stack([[1.0, 3.0, 5.0, 2.0, 4.0, 6.0, 2.5], np.full(7, constant)])
    X[6, 1] *= 1 + 1e-7
    views = Views.from_dict({"a": form(X)})
    alone = Views.from_dict({"a": form(X[:, :1])})
    new = ViewKernels().fit(views[:6]).transform(views[6:]).block("a")
    np.testing.assert_allclose(new, ViewKernels().fit(alone[:6]).transform(alone[6:]).block("a"), rtol=0.05)


def test_sparse_features_are_divided_by_their_deviation():
    X = scipy.sparse.random(40, 5, density=0.4, format="csr", random_state=0)
    X.data *= np.repeat(10.0 ** np.arange(5), 1)[X.indices]
    scaled = X.toarray() / X.toarray().std(0)
    assert scaled.max() > 3
    for clip, wanted in ((None, scaled), (3.0, np.minimum(scaled, 3))):
        kernels = ViewKernels("linear", normalize=None, clip=clip)
        got = kernels.fit_transform(Views.from_dict({"a": X})).block("a")
        np.testing.assert_allclose(got, wanted @ wanted.T, atol=1e-10)


def test_a_rare_value_does_not_move_a_new_sample_away_from_everybody():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    X[:, 3] = 0
    X[0, 3] = 1e-3  # one training sample has a little of it, a new one much
    new = X[1:2].copy()
    new[0, 3] = 1
    for clip, near in ((None, 0.0), (3.0, 0.3)):
        kernels = ViewKernels("rbf", clip=clip).fit(Views.from_dict({"a": X}))
        assert (kernels.transform(Views.from_dict({"a": new})).block("a").max() > near) == bool(clip)


def test_missing_values_of_new_samples_come_from_training():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0], [100.0, NAN], [200.0, 50.0]])
    filled = X.copy()
    filled[3, 1] = 5.0
    options = {"standardize": False, "normalize": None}
    got, wanted = (
        ViewKernels("linear", **options)
        .fit(Views.from_dict({"a": x[:3]}))
        .transform(Views.from_dict({"a": x[3:]}))
        for x in (X, filled)
    )
    np.testing.assert_allclose(got.block("a"), wanted.block("a"))


def test_features_of_new_samples_are_matched_by_name():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(8, 3)), columns=list("xyz"), index=list("abcdefgh"))
    model = ViewKernels().fit(Views.from_dict({"a": frame[:5]}))
    straight = model.transform(Views.from_dict({"a": frame[5:]})).block("a")
    shuffled = model.transform(Views.from_dict({"a": frame[5:][["z", "x", "y"]]})).block("a")
    np.testing.assert_allclose(shuffled, straight)
    with pytest.warns(AbsenceWarning, match=r"view 'a': 1 missing .*'y'\), 1 unknown \(ignored: 'w'\)"):
        fewer = model.transform(Views.from_dict({"a": frame[5:].rename(columns={"y": "w"})}))
    filled = model.transform(Views.from_dict({"a": frame[5:].assign(y=frame["y"][:5].mean())}))
    np.testing.assert_allclose(fewer.block("a"), filled.block("a"))


def asymmetric(X, Y):
    return np.arange(len(X))[:, None] + np.ones(len(Y))


@pytest.mark.parametrize(
    ("kernel", "sentence"),
    [
        (lambda X, Y: np.full((len(X), len(Y)), NAN), "is nan"),
        (asymmetric, "not symmetric"),
        (lambda X, Y: -X @ Y.T, "cannot be negative"),
    ],
)
def test_functions_that_are_no_kernels_are_refused(kernel, sentence):
    with pytest.raises(ValueError, match=f"view 'a'.*{sentence}"):
        ViewKernels(kernel).fit(two_views())


def test_a_view_that_says_nothing_contributes_nothing():
    views = Views.from_dict({"a": [[2.0], [2.0]], "b": [[1.0], [2.0]]})
    with pytest.warns(AbsenceWarning, match="view 'a'.*contributes nothing"):
        kernels = ViewKernels("linear").fit_transform(views)
    assert (kernels.block("a") == 0).all()


def test_new_samples_must_have_the_features_of_training():
    model = ViewKernels().fit(two_views())
    with pytest.raises(ValueError, match="view 'a' has 2 features but had 5"):
        model.transform(Views.from_dict({"a": np.ones((3, 2))}))
    with pytest.raises(ValueError, match="view 'z' was not there in training"):
        model.transform(Views.from_dict({"z": np.ones((3, 2))}))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("normalize", ["diagonal", "trace", None])
@pytest.mark.parametrize("center", [False, True])
def test_nystrom_with_every_sample_a_landmark_is_exact(kernel, normalize, center):
    views = two_views(20)
    options = {"normalize": normalize, "center": center}
    exact = ViewKernels(kernel, **options).fit(views[:14])
    factors = ViewKernels(kernel, **options, approx="nystrom", n_landmarks=100).fit(views[:14])
    for name in views.names:
        a, b = exact.fit_transform(views[:14]), factors.fit_transform(views[:14])
        assert isinstance(b.operator(name), Gram)
        np.testing.assert_allclose(b.block(name), a.block(name), atol=1e-6 * np.abs(a.block(name)).max())
    if kernel == "rbf":  # outside the span of the landmarks the approximation is only that
        new = factors.transform(views[:14])
        np.testing.assert_allclose(new.block("a"), factors.fit_transform(views[:14]).block("a"), atol=1e-6)
        np.testing.assert_allclose(new.diagonal("a"), b.diagonal("a"), atol=1e-6)


@pytest.mark.parametrize(("approx", "most"), [("nystrom", 0.03), ("rff", 0.15)])
def test_factors_approximate_the_kernel_of_old_and_new_samples(approx, most):
    rng = np.random.default_rng(0)
    views = Views.from_dict({"a": rng.normal(size=(300, 3))})
    exact = ViewKernels("rbf").fit(views[:200])
    close = ViewKernels("rbf", approx=approx, n_landmarks=150).fit(views[:200])
    pairs = [
        (exact.fit_transform(views[:200]), close.fit_transform(views[:200])),
        (exact.transform(views[200:]), close.transform(views[200:])),
    ]
    for a, b in pairs:
        error = np.linalg.norm(a.block("a") - b.block("a")) / np.linalg.norm(a.block("a"))
        assert error < most


def test_factors_of_single_precision_views_are_single_and_go_through_a_pipeline():
    X = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    kernels = ViewKernels(approx="nystrom", n_landmarks=10).fit_transform(Views.from_dict({"a": X}))
    assert kernels.operator("a").dtype == np.float32
    assert CombineKernels().fit_transform(kernels).shape == (50, 50)


def test_random_fourier_features_are_for_rbf_only():
    with pytest.raises(ValueError, match="view 'a': random Fourier features are for rbf"):
        ViewKernels("linear", approx="rff").fit(two_views())
    with pytest.raises(ValueError, match="approx must be"):
        ViewKernels(approx="magic").fit(two_views())


@pytest.mark.parametrize("approx", [None, "nystrom"])
def test_many_samples_in_another_order_have_the_same_kernels(approx):
    """Beyond a thousand rows the median is that of some of them, and landmarks always are."""
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=(1300, 3)), rng.permutation(1300)
    one, other = (
        ViewKernels(approx=approx, n_landmarks=20).fit(Views.from_dict({"a": x})) for x in (X, X[order])
    )
    assert other.gamma_["a"] == pytest.approx(one.gamma_["a"], rel=1e-10)
    new = Views.from_dict({"a": rng.normal(size=(4, 3))})
    np.testing.assert_allclose(
        other.transform(new).block("a"), one.transform(new).block("a")[:, order], atol=1e-9
    )


@pytest.mark.parametrize("normalize", ["diagonal", "trace", None])
def test_rows_are_centred_and_normalised_as_the_training_kernel_was(normalize):
    X = np.random.default_rng(0).normal(size=(6, 3)) + 2
    K, kernels = X @ X.T, ViewKernels("precomputed", center=True, normalize=normalize)
    found = kernels.fit_transform(KernelViews.from_dense([K]))
    H = np.eye(6) - 1 / 6
    wanted = H @ K @ H
    if normalize == "trace":
        wanted = wanted / wanted.diagonal().mean()
    if normalize == "diagonal":
        wanted = wanted / np.sqrt(np.outer(wanted.diagonal(), wanted.diagonal()))
    np.testing.assert_allclose(found.block("view0"), wanted, atol=1e-12)
    again = kernels.transform(KernelViews.from_dense([K])[[1, 4]])
    np.testing.assert_allclose(again.block("view0"), wanted[[1, 4]], atol=1e-12)
    np.testing.assert_allclose(again.diagonal("view0"), wanted.diagonal()[[1, 4]], atol=1e-12)


def test_logarithms_are_those_of_one_plus_the_value():
    X = np.random.default_rng(0).poisson(3.0, size=(12, 4)).astype(float)
    for form in (X, scipy.sparse.csr_array(X)):
        views = Views.from_dict({"a": form})
        logged = ViewKernels(per_view={"a": {"log": True}}).fit(views[:8])
        by_hand = ViewKernels().fit(Views.from_dict({"a": np.log1p(form)})[:8])
        np.testing.assert_allclose(
            logged.transform(views[8:]).block("a"),
            by_hand.transform(Views.from_dict({"a": np.log1p(form)})[8:]).block("a"),
            rtol=1e-12,
        )
    with pytest.raises(ValueError, match=r"view 'a': logarithms are for counts .* lowest value is -1;"):
        ViewKernels(log=True).fit(Views.from_dict({"a": X - X.min() - 1}))


def test_a_category_varies_as_much_as_a_number():
    frame = pd.DataFrame({"age": [50.0, 60, 70, 80], "stage": ["I", "II", "II", "III"]})
    kernel = ViewKernels("linear", normalize=None).fit_transform(Views.from_dict({"a": frame})).block("a")
    numbers = ViewKernels("linear", normalize=None).fit_transform(Views.from_dict({"a": frame[["age"]]}))
    levels = kernel - numbers.block("a")
    assert np.trace(levels) == pytest.approx(np.trace(numbers.block("a")))
    assert levels[1, 2] == pytest.approx(levels[1, 1])  # of one level
    assert levels[0, 1] < 0 < levels[0, 0]
