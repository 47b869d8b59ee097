import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise

from absentia import AbsenceWarning, CombineKernels, KernelViews, ViewKernels, Views, missingness
from absentia.core._operators import Gram
from absentia.kernels._fitting import KERNELS, median_distance

NAN = np.nan


def two_views(n=12, seed=0):
    rng = np.random.default_rng(seed)
    tables = {
        name: rng.uniform(0.1, 1, (n, d)) * (rng.random((n, d)) > 0.2) for name, d in (("a", 5), ("b", 4))
    }
    views = Views.from_dict(tables)
    return views.hide(missingness.mcar(views, 0.25, random_state=seed))


def standardised(X, train):
    return (X - train.mean(0)) / train.std(0)


# -------------------------------------------------------------------------------------- against truth


def test_rbf_is_computed_on_standardised_observed_rows_with_the_median_width():
    views = two_views()
    kernels = ViewKernels("rbf").fit(views)
    for name in views.names:
        X = standardised(views.block(name), views.block(name))
        distances = pairwise.euclidean_distances(X, squared=True)[np.triu_indices(len(X), 1)]
        assert kernels.gamma_[name] == pytest.approx(1 / np.median(distances))
        wanted = pairwise.rbf_kernel(X, gamma=kernels.gamma_[name])
        np.testing.assert_allclose(kernels.fit_transform(views).block(name), wanted, rtol=1e-10)


@pytest.mark.parametrize("kernel", [*KERNELS, "a function"])
@pytest.mark.parametrize("normalize", ["diagonal", "trace", None])
@pytest.mark.parametrize("center", [False, True])
def test_new_rows_equal_the_training_rows_when_they_are_the_same(kernel, normalize, center):
    views = two_views()
    function = (lambda X, Y: (1 + X @ Y.T) ** 2) if kernel == "a function" else kernel
    model = ViewKernels(function, normalize=normalize, center=center)
    train = model.fit_transform(views)
    again = model.transform(views)
    for name in views.names:
        np.testing.assert_allclose(again.block(name), train.block(name), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(again.diagonal(name), train.diagonal(name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_positive_semidefinite_with_what_normalize_promises(kernel):
    views = two_views(30)
    for center in (False, True):
        for name, K in blocks(ViewKernels(kernel, center=center).fit_transform(views)):
            assert np.linalg.eigvalsh(K)[0] > -1e-10, name
            np.testing.assert_allclose(K.diagonal(), 1.0)
    for _, K in blocks(ViewKernels(kernel, normalize="trace").fit_transform(views)):
        assert K.diagonal().mean() == pytest.approx(1)


def blocks(kernels):
    return [(name, kernels.block(name)) for name in kernels.names]


def test_centring_removes_the_training_mean_only():
    views = two_views(20)
    model = ViewKernels("linear", standardize=False, normalize=None, center=True).fit(views[:12])
    new = model.transform(views[12:])
    for name in views.names:
        mean = views[:12].block(name).mean(0)
        A, B = views[12:].block(name) - mean, views[:12].block(name) - mean
        np.testing.assert_allclose(new.block(name), A @ B.T, atol=1e-12)
        np.testing.assert_allclose(new.diagonal(name), (A**2).sum(1), atol=1e-12)


def test_nothing_of_new_samples_is_learned():
    views = two_views(20)
    model = ViewKernels("rbf").fit(views[:12])
    alone = model.transform(views[[15]])
    together = model.transform(views[12:])
    for v, name in enumerate(views.names):
        if views.observed[15, v]:
            row = views.observed[12:15, v].sum()
            np.testing.assert_allclose(alone.block(name)[0], together.block(name)[row], rtol=1e-12)


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
    assert median_distance(X, "sqeuclidean") == pytest.approx(
        median_distance(X, "sqeuclidean", 3000), rel=0.05
    )


# -------------------------------------------------------------------------------- options, odd input


def test_views_may_have_kernels_of_their_own():
    views = two_views()
    model = ViewKernels(
        "rbf", per_view={"b": {"kernel": "linear", "normalize": None, "standardize": False}}
    )
    X = views.block("b")
    np.testing.assert_allclose(model.fit_transform(views).block("b"), X @ X.T)
    assert model.gamma_["b"] is None
    assert ViewKernels("rbf", per_view={"b": "cosine"}).fit(views).gamma_["b"] is None


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
    got = ViewKernels("linear", normalize=None).fit_transform(Views.from_dict({"a": X})).block("a")
    scaled = X.toarray() / X.toarray().std(0)
    np.testing.assert_allclose(got, scaled @ scaled.T, atol=1e-10)


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
    with pytest.raises(ValueError, match="view 'a': feature 'y' of the training samples"):
        model.transform(Views.from_dict({"a": frame[5:].rename(columns={"y": "w"})}))


def test_the_columns_of_new_kernels_must_be_the_training_samples():
    kv = ViewKernels().fit_transform(two_views())
    model = ViewKernels("precomputed").fit(kv[np.ix_(range(8), range(8))])
    with pytest.raises(ValueError, match="8 training samples"):
        model.transform(kv[np.ix_(range(8, 12), range(1, 9))])


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


@pytest.mark.parametrize("kernel", [*KERNELS, pairwise.linear_kernel])
def test_fitted_kernels_can_be_pickled(kernel):
    views = two_views()
    model = ViewKernels(kernel).fit(views)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(views).block("a"), model.transform(views).block("a"))


def test_a_view_that_says_nothing_contributes_nothing():
    views = Views.from_dict({"a": [[2.0], [2.0]], "b": [[1.0], [2.0]]})
    with pytest.warns(AbsenceWarning, match="view 'a'.*contributes nothing"):
        kernels = ViewKernels("linear").fit_transform(views)
    assert (kernels.block("a") == 0).all()


def test_a_view_that_training_lacks_is_carried_along():
    tables = {"a": np.random.default_rng(0).normal(size=(6, 2)), "b": np.full((6, 2), NAN)}
    tables["b"][4:] = 1.0
    views = Views.from_dict(tables)
    with pytest.warns(AbsenceWarning, match="'b' is observed for no sample"):
        model = ViewKernels().fit(views[:4])
    new = model.transform(views[4:])
    assert new.block("b").shape == (2, 0)
    with pytest.warns(AbsenceWarning):
        combined = CombineKernels().fit(model.fit_transform(views[:4])).transform(new)
    assert np.isfinite(combined).all()


def test_new_samples_may_lack_a_view_altogether():
    views = two_views()
    model = ViewKernels().fit(views)
    new = model.transform(Views.from_dict({"a": views.to_dict()["a"][views.observed[:, 0]][:3]}))
    np.testing.assert_array_equal(new.observed, [[True, False]] * 3)


def test_precomputed_kernels_are_normalised_and_split():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 4))
    kv = KernelViews.from_dense((A @ A.T)[None])
    train, test = np.arange(7), np.arange(7, 10)
    model = ViewKernels("precomputed", center=True)
    features = ViewKernels("linear", standardize=False, center=True)
    rows = Views.from_dict({"view0": A})
    np.testing.assert_allclose(
        model.fit_transform(kv[np.ix_(train, train)]).block("view0"),
        features.fit_transform(rows[train]).block("view0"),
    )
    np.testing.assert_allclose(
        model.transform(kv[np.ix_(test, train)]).block("view0"),
        features.transform(rows[test]).block("view0"),
    )


def test_a_precomputed_view_among_features_is_found_by_its_columns():
    A = np.random.default_rng(0).normal(size=(6, 3))
    ids = list("abcdef")
    K = pd.DataFrame(A @ A.T, index=ids, columns=ids)
    views = Views.from_dict({"k": K.loc[["c", "a", "e", "b"]], "x": pd.DataFrame(A, index=ids)})
    model = ViewKernels("linear", standardize=False, normalize=None, per_view={"k": "precomputed"})
    train = views[[0, 1, 2]]  # c, a, e
    kernels = model.fit_transform(train)
    np.testing.assert_allclose(kernels.block("k"), K.loc[list("cae"), list("cae")])
    new = model.transform(views[[3, 4]])  # b has the view, d has not
    np.testing.assert_allclose(new.block("k"), K.loc[["b"], list("cae")])
    np.testing.assert_allclose(new.diagonal("k"), [K.loc["b", "b"]])


def fit(views=None, **options):
    return lambda: ViewKernels(**options).fit(two_views() if views is None else views)


BAD = [
    (fit(kernel="rbff"), ValueError, r"view 'a': no kernel 'rbff'.*'rbf'"),
    (fit(gamma=-1), ValueError, "gamma must be"),
    (fit(gamma="scale"), ValueError, "gamma must be"),
    (fit(normalize="l2"), ValueError, "normalize must be"),
    (fit(missing_values="drop"), ValueError, "missing_values must be"),
    (fit(per_view={"c": "rbf"}), ValueError, r"per_view names 'c'.*\['a', 'b'\]"),
    (fit(per_view={"a": {"gama": 1}}), ValueError, "no option 'gama'"),
    (
        fit(Views.from_dict({"a": [[-1.0], [1.0]]}), kernel="chi2"),
        ValueError,
        "view 'a'.*lowest value is -1",
    ),
    (fit(np.ones((3, 3))), TypeError, r"Views are wanted, not ndarray.*Views\.from_dict"),
    (fit(KernelViews.from_dense(np.eye(3)[None])), ValueError, r"ViewKernels\('precomputed'\)"),
    (
        fit(Views.from_dict({"a": np.eye(3)}, ids=list("xyz")), kernel="precomputed"),
        ValueError,
        "no column for",
    ),
]


@pytest.mark.parametrize(("bad", "error", "sentence"), BAD, ids=[s[:30] for _, _, s in BAD])
def test_bad_options_and_input_are_named(bad, error, sentence):
    with pytest.raises(error, match=sentence):
        bad()


def test_new_samples_must_have_the_features_of_training():
    model = ViewKernels().fit(two_views())
    with pytest.raises(ValueError, match="view 'a' has 2 features but had 5"):
        model.transform(Views.from_dict({"a": np.ones((3, 2))}))
    with pytest.raises(ValueError, match="view 'z' was not there in training"):
        model.transform(Views.from_dict({"z": np.ones((3, 2))}))


# -------------------------------------------------------------------------------------------- factors


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


# ------------------------------------------------------------------------------------------ combining


def test_the_sum_is_zero_filled_and_divided_by_the_root_of_the_counts():
    kv = ViewKernels().fit_transform(two_views())
    zero = np.nan_to_num(kv.to_dense()).sum(0)
    counts = kv.observed.sum(1)
    np.testing.assert_allclose(CombineKernels().fit_transform(kv), zero / np.sqrt(np.outer(counts, counts)))
    np.testing.assert_allclose(CombineKernels(normalize=None).fit_transform(kv), zero)


def test_new_rows_are_normalised_by_their_own_and_the_training_diagonal():
    kv = ViewKernels("linear", normalize=None).fit_transform(two_views(20))
    train, test = np.arange(12), np.arange(12, 20)
    model = CombineKernels({"a": 2.0, "b": 0.5}).fit(kv[np.ix_(train, train)])
    zero = np.nan_to_num(kv.to_dense())
    full = 2 * zero[0] + 0.5 * zero[1]
    root = np.sqrt(full.diagonal())
    wanted = (full / root[:, None] / root)[np.ix_(test, train)]
    np.testing.assert_allclose(model.transform(kv[np.ix_(test, train)]), wanted)


def test_the_combination_stays_positive_semidefinite():
    for seed in range(5):
        K = CombineKernels().fit_transform(ViewKernels().fit_transform(two_views(30, seed)))
        assert np.linalg.eigvalsh(K)[0] > -1e-10


@pytest.mark.parametrize("weights", ["best", [1.0], [1.0, -1.0], [0.0, 0.0], {"c": 1.0}])
def test_bad_weights_are_refused(weights):
    with pytest.raises(ValueError, match="weights"):
        CombineKernels(weights).fit(ViewKernels().fit_transform(two_views()))


def test_columns_must_be_the_training_samples():
    kv = ViewKernels().fit_transform(two_views())
    model = CombineKernels().fit(kv[np.ix_(range(8), range(8))])
    with pytest.raises(ValueError, match="8 training samples"):
        model.transform(kv)
    with pytest.raises(TypeError, match=r"put ViewKernels\(\) before"):
        CombineKernels().fit(two_views())


# ----------------------------------------------------------------------------- laws of both transformers


def twelve():
    return ViewKernels().fit_transform(two_views())


# name: (transformer, its input, its answer as arrays)
LAWS = {
    "kernels": (ViewKernels(), two_views, lambda K: [K.block(n) for n in K.names]),
    "factors": (
        ViewKernels(approx="nystrom", n_landmarks=6),
        two_views,
        lambda K: [K.block("a"), K.block("b")],
    ),
    "combined": (CombineKernels(), twelve, lambda K: [K]),
    "weighted": (CombineKernels({"a": 2.0, "b": 1.0}, normalize=None), twelve, lambda K: [K]),
}


@pytest.fixture(params=LAWS)
def law(request):
    model, make, arrays = LAWS[request.param]
    return clone(model), make(), arrays


def assert_equal(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_nothing_is_transformed_before_fitting(law):
    model, X, _ = law
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_inputs_and_parameters_are_not_changed(law):
    model, X, _ = law
    before, parameters = [X.block(n).copy() for n in X.names], dict(model.get_params())
    model.fit(X).transform(X)
    assert_equal([X.block(n) for n in X.names], before)
    assert model.get_params() == parameters


def test_fitting_twice_is_fitting_once_and_copies_answer_alike(law):
    model, X, arrays = law
    once = arrays(clone(model).fit(X).transform(X))
    part = X[np.ix_(range(7), range(7))] if isinstance(X, KernelViews) else X[:7]
    assert_equal(arrays(model.fit(part).fit(X).transform(X)), once)
    assert_equal(arrays(pickle.loads(pickle.dumps(model)).transform(X)), once)
    again = type(model)().set_params(**model.get_params())
    assert again.get_params() == model.get_params()
    assert_equal(arrays(again.fit(X).transform(X)), once)


def test_other_input_gets_one_sentence(law):
    model, X, _ = law
    model.fit(X)
    for wrong in (np.eye(3), None, [[1.0]], {"a": np.eye(3)}):
        for call in (clone(model).fit, model.transform):
            with pytest.raises(TypeError, match=r"^(Kernel)?Views are wanted, not \w+; [^\n]+$"):
                call(wrong)


def test_nobody_to_learn_from_is_refused(law):
    model, X, _ = law
    nobody = X[np.ix_([], [])] if isinstance(X, KernelViews) else X[[]]
    with pytest.raises(ValueError, match="there is no sample to learn from"):
        model.fit(nobody)


def test_views_in_another_order_are_found_by_name_and_others_refused():
    views = two_views()
    model = ViewKernels().fit(views)
    straight, turned = model.transform(views), model.transform(views.select(["b", "a"]))
    assert turned.names == straight.names
    assert_equal([K for _, K in blocks(turned)], [K for _, K in blocks(straight)])
    kernels = ViewKernels().fit_transform(views)
    combine = CombineKernels().fit(kernels)
    for other in (kernels.select(["b", "a"]), kernels.select(["a"])):
        with pytest.raises(ValueError, match="were there in training"):
            combine.transform(other)


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
