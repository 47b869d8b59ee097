"""From views to kernels and from kernels to one kernel: against truth, by laws, on odd input."""

import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise

from absentia import AbsenceWarning, CombineKernels, KernelViews, ViewKernels, Views
from absentia.kernels import KERNELS
from helpers.feature_views import two_views

NAN = np.nan


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


def test_the_columns_of_new_kernels_must_be_the_training_samples():
    kv = ViewKernels().fit_transform(two_views())
    model = ViewKernels("precomputed").fit(kv[np.ix_(range(8), range(8))])
    with pytest.raises(ValueError, match="8 training samples"):
        model.transform(kv[np.ix_(range(8, 12), range(1, 9))])


@pytest.mark.parametrize("kernel", [*KERNELS, pairwise.linear_kernel])
def test_fitted_kernels_can_be_pickled(kernel):
    views = two_views()
    model = ViewKernels(kernel).fit(views)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(views).block("a"), model.transform(views).block("a"))


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
        "takes kernels, KernelViews",
    ),
]


@pytest.mark.parametrize(("bad", "error", "sentence"), BAD, ids=[s[:30] for _, _, s in BAD])
def test_bad_options_and_input_are_named(bad, error, sentence):
    with pytest.raises(error, match=sentence):
        bad()


# -------------------------------------------------------------------------------------------- factors


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
    with pytest.raises(TypeError, match=r"make_pipeline\(ViewKernels\(\), CombineKernels"):
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


def test_fitting_holds_one_kernel_at_a_time():
    """Twelve kernels of 600 x 600 would be 35 MB."""
    views = Views.from_list(list(np.random.default_rng(0).normal(size=(12, 600, 2))))
    ViewKernels().fit(views)
    tracemalloc.start()
    try:
        ViewKernels().fit(views)
        assert tracemalloc.get_traced_memory()[1] < 6 * 600 * 600 * 8
    finally:
        tracemalloc.stop()
