"""Checks that every completer has to pass, whatever its method."""

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from absentia.core import Array
from absentia.data import KernelViews, Views, missingness
from absentia.methods.completion import Completer
from absentia.testing._tools import REORDERED, add_noise, random_kernels, random_problem, refused, register

_SEEDS = [(0, 0.2), (1, 0.35), (2, 0.5)]


def _assert_same(actual: Array, expected: Array, tolerance: float = REORDERED) -> None:
    """The same kernels, views x samples x samples, relative to each view's largest value."""
    largest = np.abs(expected).max(axis=(1, 2), keepdims=True)
    largest = np.where(largest > 0, largest, 1.0)
    np.testing.assert_allclose(actual / largest, expected / largest, atol=tolerance)


def _thin_problem(n: int = 20, ranks: tuple[int, ...] = (3, 4, 6), seed: int = 0) -> KernelViews:
    """Linear kernels of fewer features than samples: singular, as most that come from tables are."""
    rng = np.random.default_rng(seed)
    shared = rng.standard_normal((n, 3))
    features = [shared @ rng.standard_normal((3, r)) + 0.3 * rng.standard_normal((n, r)) for r in ranks]
    keep = missingness.mcar((n, len(ranks)), 0.3, random_state=seed)
    return KernelViews.from_dense(np.stack([x @ x.T for x in features]), observed=keep)


# --------------------------------------------------------------------------------------- what comes out


@register("completer")
def _observed_values_are_untouched_to_the_bit(completer: Completer) -> None:
    for seed, absent in _SEEDS:
        kv = random_problem(absent=absent, seed=seed)
        done = completer.fit_transform(kv)
        assert done.observed.all()
        assert np.isfinite(done.to_dense()).all()
        for v, name in enumerate(kv.names):
            block = np.ix_(kv.observed[:, v], kv.observed[:, v])
            np.testing.assert_array_equal(done.block(name)[block], kv.block(name))


@register("completer")
def _the_result_is_symmetric_and_positive_semidefinite(completer: Completer) -> None:
    for seed, absent in _SEEDS:
        K = completer.fit_transform(random_problem(absent=absent, seed=seed)).to_dense()
        np.testing.assert_array_equal(K, K.transpose(0, 2, 1))
        assert np.linalg.eigvalsh(K).min() > -1e-10


@register("completer")
def _nothing_missing_changes_nothing(completer: Completer) -> None:
    K = random_kernels()
    np.testing.assert_array_equal(completer.fit_transform(KernelViews.from_dense(K)).to_dense(), K)


@register("completer")
def _single_precision_blocks_are_kept_to_the_bit(completer: Completer) -> None:
    K = random_kernels().astype(np.float32)
    kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 4), 0.3, random_state=0))
    done = completer.fit_transform(kv)
    block = np.ix_(kv.observed[:, 0], kv.observed[:, 0])
    np.testing.assert_array_equal(done.block("view0")[block], K[0][block])


@register("completer")
def _new_rows_keep_what_was_observed_and_are_complete(completer: Completer) -> None:
    kv, train, new = random_problem(50), np.arange(40), np.arange(40, 50)
    rows = kv[np.ix_(new, train)]
    done = completer.fit(kv[np.ix_(train, train)]).transform(rows)
    assert done.observed.all()
    assert np.isfinite(done.to_dense()).all()
    for v, name in enumerate(kv.names):
        present, trained = rows.observed[:, v], rows.column_observed[:, v]
        np.testing.assert_array_equal(done.block(name)[np.ix_(present, trained)], rows.block(name))
        np.testing.assert_array_equal(done.diagonal(name)[present], rows.diagonal(name))


@register("completer")
def _a_score_is_better_the_less_is_missed(completer: Completer) -> None:
    kv, full = random_problem(), KernelViews.from_dense(random_kernels())
    completer.fit(kv)
    assert completer.score(kv, truth=full) <= 0
    assert np.isfinite(completer.score(kv))


# ------------------------------------------------------------------------------ what changes nothing


@register("completer")
def _permuting_samples_permutes_the_result(completer: Completer) -> None:
    """Whether their ids go with them or are given anew."""
    for kv in (random_problem(), _thin_problem()):
        order = np.random.default_rng(0).permutation(len(kv))
        straight = completer.fit_transform(kv).to_dense()[:, order][:, :, order]
        _assert_same(completer.fit_transform(kv[np.ix_(order, order)]).to_dense(), straight)
        renumbered = KernelViews.from_dense(kv.to_dense()[:, order][:, :, order])
        _assert_same(completer.fit_transform(renumbered).to_dense(), straight)


@register("completer")
def _reordering_views_reorders_the_result(completer: Completer) -> None:
    for kv in (random_problem(), _thin_problem()):
        straight = completer.fit_transform(kv).to_dense()[::-1]
        _assert_same(completer.fit_transform(kv.select(kv.names[::-1])).to_dense(), straight)
        _assert_same(
            completer.fit_transform(KernelViews.from_dense(kv.to_dense()[::-1])).to_dense(), straight
        )


@register("completer")
def _rounding_changes_nothing_that_shows(completer: Completer) -> None:
    """Another processor, or number of threads, rounds the last digits differently; so does this."""
    for kv, sizes in ((random_problem(), (1e-15, 1e-13)), (_thin_problem(), (1e-14,))):
        straight, rng = completer.fit_transform(kv).to_dense(), np.random.default_rng(0)
        for size in sizes:
            rounded = KernelViews.from_dense(add_noise(kv.to_dense(), size, rng))
            _assert_same(completer.fit_transform(rounded).to_dense(), straight)


@register("completer")
def _scaling_a_view_scales_its_result_and_no_other(completer: Completer) -> None:
    kv = random_problem()
    straight = completer.fit_transform(kv).to_dense()
    for scales in ([1.0, 1e6, 1e-6, 7.0], [1e-6] * 4):
        scale = np.array(scales)[:, None, None]
        scaled = KernelViews.from_dense(kv.to_dense() * scale, observed=kv.observed)
        _assert_same(completer.fit_transform(scaled).to_dense() / scale, straight)


@register("completer")
def _inputs_are_not_changed(completer: Completer) -> None:
    kv = random_problem()
    before = kv.to_dense()
    completer.fit_transform(kv)
    np.testing.assert_array_equal(kv.to_dense(), before)


# ------------------------------------------------------------------------------- how estimators behave


@register("completer")
def _fitting_twice_is_fitting_once(completer: Completer) -> None:
    kv, other = random_problem(), random_problem(30, 3, 0.1, seed=1)
    once = completer.fit_transform(kv).to_dense()
    completer.fit(other)
    np.testing.assert_array_equal(completer.fit_transform(kv).to_dense(), once)


@register("completer")
def _fit_then_transform_equals_fit_transform(completer: Completer) -> None:
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    np.testing.assert_array_equal(completer.fit(kv).transform(kv).to_dense(), done)
    assert completer.names_in_ == kv.names
    np.testing.assert_array_equal(completer.ids_, kv.ids)


@register("completer")
def _fitting_overwrites_no_parameter(completer: Completer) -> None:
    before = dict(completer.get_params())
    completer.fit(random_problem())
    assert completer.get_params() == before


@register("completer")
def _clones_pickles_and_states_are_lossless(completer: Completer) -> None:
    kv = random_problem()
    done = completer.fit_transform(kv).to_dense()
    assert clone(completer).get_params() == completer.get_params()
    assert type(completer)().set_params(**completer.get_params()).get_params() == completer.get_params()
    for again in (pickle.loads(pickle.dumps(completer)), type(completer).from_state(completer.state())):
        np.testing.assert_array_equal(again.transform(kv).to_dense(), done)


# ------------------------------------------------------------------------------------ what is refused


@register("completer")
def _nothing_is_transformed_before_fitting(completer: Completer) -> None:
    with refused(NotFittedError):
        clone(completer).transform(random_problem())


@register("completer")
def _kernels_beyond_what_numbers_hold_are_refused_by_name(completer: Completer) -> None:
    for scale in (1e-300, 1e-200, 1e200, 1e300):
        K = random_problem().to_dense()
        K[1] *= scale
        with refused(ValueError, "view 'view1': ", "mean diagonal is ", "divide the kernel"):
            completer.fit(KernelViews.from_dense(K))


@register("completer")
def _wrong_input_is_named(completer: Completer) -> None:
    with refused(TypeError, "KernelViews are wanted, not Views", "ViewKernels"):
        completer.fit(Views.from_dict({"a": np.ones((3, 1))}))  # type: ignore[arg-type]
    wrong: Any
    for wrong in (np.eye(3), None, [[1.0]]):
        with refused(TypeError, "KernelViews are wanted, not"):
            completer.fit(wrong)
    kv = random_problem()
    with refused(ValueError, "there is no sample to learn from"):
        completer.fit(kv[np.ix_([], [])])
    with refused(ValueError, "2 rows against 40 columns"):
        completer.fit(kv[[0, 1]])
    completer.fit(kv)
    for other in (kv.select(kv.names[:2]), kv.select(kv.names[::-1])):
        with refused(ValueError, "were there in training"):
            completer.transform(other)
    with refused(TypeError, "KernelViews are wanted, not ndarray"):
        completer.transform(np.eye(40))  # type: ignore[arg-type]
    with refused(ValueError, "40 training samples"):
        completer.transform(kv[np.ix_([0, 1], [2, 3])])


@register("completer")
def _square_kernels_with_another_mask_are_not_taken_for_the_training_ones(completer: Completer) -> None:
    kv = random_problem(absent=0.1)
    keep = missingness.mcar(kv, 0.1, random_state=3)
    with refused(ValueError, "other samples are absent"):
        completer.fit(kv).transform(kv.hide(keep))
