"""Laws every completer obeys, whatever its method; enrolled in tests/market.py."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from absentia import KernelViews, Views, missingness
from conftest import random_kernels, random_problem
from market import COMPLETERS, REORDERED

SEEDS = [(0, 0.2), (1, 0.35), (2, 0.5)]


@pytest.fixture(params=COMPLETERS)
def completer(request):
    return clone(COMPLETERS[request.param])


@pytest.fixture
def slack(request):
    return REORDERED.get(request.node.callspec.params["completer"], 1e-8)


@pytest.mark.parametrize(("seed", "absent"), SEEDS)
def test_everything_is_observed_and_what_was_is_untouched_to_the_bit(completer, seed, absent):
    kv = random_problem(absent=absent, seed=seed)
    done = completer.fit_transform(kv)
    assert done.observed.all()
    assert np.isfinite(done.to_dense()).all()
    for v, name in enumerate(kv.names):
        seen = np.ix_(kv.observed[:, v], kv.observed[:, v])
        np.testing.assert_array_equal(done.block(name)[seen], kv.block(name))


@pytest.mark.parametrize(("seed", "absent"), SEEDS)
def test_the_result_is_symmetric_and_positive_semidefinite(completer, seed, absent):
    K = completer.fit_transform(random_problem(absent=absent, seed=seed)).to_dense()
    np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_permuting_samples_permutes_the_result(completer, slack, rng):
    kv, order = random_problem(), rng.permutation(40)
    straight = completer.fit_transform(kv).to_dense()[:, order][:, :, order]
    np.testing.assert_allclose(
        completer.fit_transform(kv[np.ix_(order, order)]).to_dense(), straight, atol=slack
    )


def test_reordering_views_reorders_the_result(completer, slack):
    kv = random_problem()
    names = kv.names[::-1]
    straight = completer.fit_transform(kv).to_dense()[::-1]
    np.testing.assert_allclose(completer.fit_transform(kv.select(names)).to_dense(), straight, atol=slack)


def test_scaling_a_view_scales_its_result_and_no_other(completer, slack):
    kv = random_problem()
    scale = np.array([1.0, 100.0, 0.01, 7.0])
    scaled = KernelViews.from_dense(kv.to_dense() * scale[:, None, None], observed=kv.observed)
    back = completer.fit_transform(scaled).to_dense() / scale[:, None, None]
    np.testing.assert_allclose(back, completer.fit_transform(kv).to_dense(), atol=slack)


def test_nothing_missing_changes_nothing(completer):
    K = random_kernels()
    np.testing.assert_array_equal(completer.fit_transform(KernelViews.from_dense(K)).to_dense(), K)


def test_inputs_are_not_changed(completer):
    kv = random_problem()
    before = kv.to_dense()
    completer.fit_transform(kv)
    np.testing.assert_array_equal(kv.to_dense(), before)


def test_single_precision_blocks_are_kept_to_the_bit(completer):
    K = random_kernels().astype(np.float32)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 4), 0.3, random_state=0))
    done = completer.fit_transform(kv)
    seen = np.ix_(kv.observed[:, 0], kv.observed[:, 0])
    np.testing.assert_array_equal(done.block("view0")[seen], K[0][seen])


def test_clone_pickle_and_set_params_round_trip(completer):
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    assert clone(completer).get_params() == completer.get_params()
    assert type(completer)().set_params(**completer.get_params()).get_params() == completer.get_params()
    again = pickle.loads(pickle.dumps(completer))
    np.testing.assert_array_equal(again.transform(kv).to_dense(), done)


def test_fit_overwrites_no_parameter(completer):
    before = dict(completer.get_params())
    completer.fit(random_problem())
    assert completer.get_params() == before


def test_fit_then_transform_equals_fit_transform_and_remembers_who_was_there(completer):
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    np.testing.assert_array_equal(completer.fit(kv).transform(kv).to_dense(), done)
    assert completer.names_in_ == kv.names
    np.testing.assert_array_equal(completer.ids_, kv.ids)


def test_wrong_input_is_named(completer):
    with pytest.raises(TypeError, match=r"KernelViews are wanted, not Views.*ViewKernels"):
        completer.fit(Views.from_dict({"a": np.ones((3, 1))}))
    kv = random_problem()
    with pytest.raises(ValueError, match="2 rows against 40 columns"):
        completer.fit(kv[[0, 1]])
    with pytest.raises(ValueError, match="were there in training"):
        completer.fit(kv).transform(kv.select(kv.names[:2]))
    with pytest.raises(ValueError, match="40 training samples"):
        completer.transform(kv[np.ix_([0, 1], [2, 3])])


def test_square_kernels_with_another_mask_are_not_mistaken_for_the_training_ones(completer):
    kv = random_problem(absent=0.1)
    keep = missingness.mcar(kv, 0.1, random_state=3)
    with pytest.raises(ValueError, match="other samples are absent"):
        completer.fit(kv).transform(kv.hide(keep))
