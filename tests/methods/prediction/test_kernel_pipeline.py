"""The first stage: kernels of views, completed."""

import numpy as np
import pytest

from absentia import CVKT, AbsentClassifier, KernelViews, ViewKernels, Views
from absentia.data import Presence
from absentia.methods.prediction import restrict_kernel
from absentia.methods.prediction._composite import (
    KernelPipeline,
    _make_completer,
    check_per_view,
    restrict_estimator,
)
from helpers.digit_samples import half_seen_digits


def test_views_become_complete_kernels_and_new_samples_rows_of_them():
    views, _ = half_seen_digits()
    train, new = views[:40], views[40:]
    prepared = KernelPipeline("rbf", "cvkt")
    K = prepared.fit_transform(train)
    assert K.observed.all()
    assert K.shape == (40, 40)
    rows = prepared.transform(new)
    assert rows.observed.all()
    assert rows.shape == (20, 40)
    makes, completes = ViewKernels("rbf"), _make_completer("cvkt")
    wanted = completes.fit_transform(makes.fit_transform(train))
    np.testing.assert_array_equal(K.to_dense(), wanted.to_dense())
    np.testing.assert_array_equal(rows.to_dense(), completes.transform(makes.transform(new)).to_dense())


def test_without_a_completer_absent_stays_absent_and_kernels_get_one_scale():
    views, _ = half_seen_digits()
    kernels = ViewKernels().fit_transform(views)
    large = KernelViews.from_dense(7 * kernels.to_dense(), names=kernels.names)
    K = KernelPipeline(completer=None).fit_transform(large)
    np.testing.assert_array_equal(K.observed, kernels.observed)
    np.testing.assert_allclose([K.mean_diagonal(name) for name in K.names], 1.0)


def test_completers_come_by_name_or_as_they_are():
    assert _make_completer(None) is None
    given = CVKT(rounds=2)
    assert _make_completer(given) is not given
    assert _make_completer(given).rounds == 2
    with pytest.raises(ValueError, match="method 'cvtk'"):
        _make_completer("cvtk")
    with pytest.raises(ValueError, match="a name, a completer or None"):
        _make_completer(3)


def test_own_values_that_a_file_has_not_are_the_training_mean():
    views, _ = half_seen_digits()
    makes = ViewKernels()
    kernels, rows = makes.fit_transform(views[:40]), makes.transform(views[40:])
    prepared = KernelPipeline(completer="cvkt")
    prepared.fit_transform(kernels)
    columns = Presence(rows.column_ids, rows.names, rows.column_observed)
    blocks = {name: rows.block(name) for name in rows.names}
    unknown = {name: np.full(len(blocks[name]), np.nan) for name in rows.names}
    with pytest.warns(UserWarning, match="values with themselves"):
        found = prepared.transform(KernelViews.between(rows, columns, blocks, unknown))
    wanted = prepared.transform(rows)  # of an rbf kernel all are one
    for name in rows.names:
        np.testing.assert_allclose(found.diagonal(name), wanted.diagonal(name))
        np.testing.assert_allclose(found.block(name), wanted.block(name))


def test_who_has_which_view_is_a_kernel_of_its_own():
    views, _ = half_seen_digits()
    tables = {name: np.nan_to_num(views.padded(name, np.arange(len(views)))) for name in views.names[:3]}
    keep = np.ones((len(views), 3), dtype=bool)
    keep[::3, 0] = keep[1::4, 1] = False
    views = Views.from_dict(tables, observed=keep)
    for completer in ("mean", None):
        prepared = KernelPipeline(completer=completer, presence=True)
        K, plain = (
            prepared.fit_transform(views[:40]),
            KernelPipeline(completer=completer).fit_transform(views[:40]),
        )
        assert K.names == (*views.names, "presence")
        Z = keep[:40, :2] * 1.0  # the third is had by all
        Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
        np.testing.assert_allclose(K.block("presence"), Z @ Z.T, atol=1e-12)
        np.testing.assert_array_equal(K.observed[:, :3], plain.observed)
        np.testing.assert_array_equal(K.block(views.names[0]), plain.block(views.names[0]))
        rows = prepared.transform(views[:40])  # of samples that were there: the same again
        np.testing.assert_allclose(rows.block("presence"), Z @ Z.T, atol=1e-12)
        some = prepared.transform(views.select(views.names[1:])[40:])
        assert some.shape == (len(views) - 40, 40)
        assert some.names == K.names


def test_there_is_none_where_nobody_lacks_anything_and_its_name_is_free():
    views, _ = half_seen_digits()
    tables = {name: np.nan_to_num(views.padded(name, np.arange(len(views)))) for name in views.names[:2]}
    full = Views.from_dict(tables)
    assert KernelPipeline(presence=True).fit_transform(full).names == full.names
    named = full.rename({full.names[0]: "presence"}).hide(np.arange(len(full))[:, None] < [len(full), 30])
    assert KernelPipeline(presence=True).fit_transform(named).names[-1] == "presence2"


@pytest.mark.parametrize("combine", ["average", pytest.param("mkl", marks=pytest.mark.slow)])
def test_a_classifier_reads_who_has_which_view_where_it_is_asked_to(combine):
    rng = np.random.default_rng(0)
    y = rng.random(90) < 0.5
    X = Views.from_list([rng.normal(size=(90, 3)) for _ in range(2)])
    X = X.hide(np.column_stack([np.ones(90, bool), y ^ (rng.random(90) < 0.1)]))
    model = AbsentClassifier(combine=combine, presence=True).fit(X[:60], y[:60])
    assert model.score(X[60:], y[60:]) > 0.8
    assert model.weights_.shape == (2,)
    assert model.contributions(X[60:]).shape == (30, 2, 2)
    assert AbsentClassifier(combine=combine).fit(X[:60], y[:60]).score(X[60:], y[60:]) < 0.8


def test_a_kernel_says_nothing_of_views_that_are_not_there():
    kernel = ViewKernels("cosine", log=True, per_view={"a": "linear", "b": {"gamma": 2.0}})
    one = restrict_kernel(kernel, ["b", "c"])
    assert (one.kernel, one.log, one.per_view) == ("cosine", True, {"b": {"gamma": 2.0}})
    assert restrict_kernel(kernel, ["c"]).per_view is None
    assert restrict_kernel("rbf", ["c"]) == "rbf"
    base = AbsentClassifier(None, kernel=kernel, C=3.0)
    assert restrict_estimator(base, ["a"]).kernel.per_view == {"a": "linear"}
    assert restrict_estimator(base, ["a"]).C == 3.0
    assert base.kernel.per_view == kernel.per_view
    check_per_view(kernel, ["a", "b", "c"])
    check_per_view("rbf", ["c"])
    with pytest.raises(ValueError, match=r"per_view names 'b', but the views are \['a', 'c'\]"):
        check_per_view(kernel, ["a", "c"])
