"""..."""

import numpy as np
import pytest

from absentia import CVKT, AbsenceWarning, KernelViews, MeanFill, datasets, metrics, missingness
from absentia.methods.completion import Holdout
from conftest import random_kernels, random_problem
from helpers.cvkt_problems import DIGITS, factor_problem, published

EVERY = {
    "ridge": CVKT(rounds=1),
    "chosen": CVKT(),
    "3 rounds": CVKT(rounds=3),
    "landmarks": CVKT(n_landmarks=15, rounds=2),
    "closed": CVKT(solver="closed", rank=6, rounds=2),
    "overwriting": CVKT(keep_observed=False, rounds=2),
    "descent": CVKT(solver="descent", n_landmarks=0.4, rank=0.2, n_iter=20),
    "descent, keeping": CVKT(solver="descent", n_landmarks=0.4, rank=0.2, n_iter=20, keep_observed=True),
}


def test_rank_bounds_what_is_transferred():
    kv = random_problem()
    unseen = ~kv.observed[:, 0]
    for rank in (1, 4):
        K = CVKT(solver="closed", rank=rank).fit_transform(kv).block("view0")
        transferred = K[np.ix_(unseen, ~unseen)]
        assert np.linalg.matrix_rank(transferred, tol=1e-9) == rank + 1  # the mean is one more


def test_a_constant_diagonal_is_kept_by_completed_samples():
    for dtype in (np.float64, np.float32):
        K = (3 * random_kernels()).astype(dtype)
        K[:, np.arange(40), np.arange(40)] *= 1 + 1e-7 * np.arange(40, dtype=dtype)  # rounding
        kv = KernelViews.from_dense(K, observed=missingness.mcar((40, 4), 0.3, random_state=0))
        for ridge in ("loo", 1e-6):  # with hardly any penalty, predictions are longer than samples
            done = CVKT(ridge=ridge).fit_transform(kv)
            np.testing.assert_allclose([done.diagonal(name) for name in kv.names], 3, rtol=1e-5)
            assert np.abs(done.to_dense()).max() < 3 * (1 + 1e-5)


def test_the_diagonal_is_only_ever_raised():
    _, kv = factor_problem()
    done = CVKT().fit_transform(kv)
    for v, name in enumerate(kv.names):
        unseen = ~kv.observed[:, v]
        K = done.block(name)
        # what the transferred features alone would give: the Schur complement is the diagonal's raise
        across = K[np.ix_(unseen, ~unseen)]
        transferred = np.sum((across @ np.linalg.pinv(kv.block(name), rcond=1e-10)) * across, axis=1)
        level = np.median(kv.diagonal(name))
        np.testing.assert_allclose(K[unseen, unseen], np.maximum(transferred, level), rtol=1e-6)
        assert (transferred > level).any()
        assert (transferred < level).any()


def test_completed_kernels_are_no_less_definite_than_what_was_observed():
    """Kernels as indefinite as rounding may leave them: their negative part is not transferred."""
    K = random_kernels(60)
    w, L = np.linalg.eigh(K)
    w[:, :30] = -5e-7 * w[:, [-1]]
    K = (L * w[:, None]) @ L.transpose(0, 2, 1)
    K = (K + K.transpose(0, 2, 1)) / 2
    kv = KernelViews.from_dense(K, observed=missingness.mcar((60, 4), 0.3, random_state=0))
    for rounds in (1, 3):
        done = CVKT(rounds=rounds).fit_transform(kv)
        for name in kv.names:
            w, seen = np.linalg.eigvalsh(done.block(name)), np.linalg.eigvalsh(kv.block(name))
            assert seen[0] < -1e-7 * seen[-1]
            assert w[0] >= seen[0] - 1e-10 * w[-1]


def test_a_sample_without_any_view_becomes_the_mean():
    K, keep = random_kernels(), missingness.mcar((40, 4), 0.3, random_state=0)
    keep[7] = False
    with pytest.warns(AbsenceWarning, match="7"):
        kv = KernelViews.from_dense(K, observed=keep)
    for options in ({}, {"rounds": 3}, {"solver": "closed", "rank": 4}, {"keep_observed": False}):
        with pytest.warns(AbsenceWarning, match="no view at all"):
            done = CVKT(**options).fit_transform(kv)
        seen = keep[:, 0]
        row = done.block("view0")[7]
        if options.get("keep_observed", True):
            np.testing.assert_allclose(row[seen], kv.block("view0").mean(axis=0), rtol=1e-10)
        assert row[7] == pytest.approx(1)
    with pytest.warns(AbsenceWarning, match="no view at all"):
        row = (
            CVKT(solver="descent", n_landmarks=0.4, rank=0.2, n_iter=5).fit_transform(kv).block("view0")[7]
        )
    np.testing.assert_allclose(row, kv.block("view0").mean(), rtol=1e-10)


@pytest.mark.parametrize("solver", ["ridge", "closed", "descent"])
def test_a_view_never_seen_together_with_another_becomes_its_mean(solver):
    keep = np.ones((20, 3), bool)
    keep[:10, 2], keep[10:, :2] = False, False
    kv = KernelViews.from_dense(random_kernels(20, 3), observed=keep)
    cvkt = CVKT(solver=solver, rank=None if solver == "ridge" else 3, n_landmarks=5, n_iter=5)
    with pytest.warns(AbsenceWarning, match="sample 0 in view 'view2': the sample shares no view with any"):
        done = cvkt.fit_transform(kv)
    across = done.block("view2")[:10, 10:]
    wanted = kv.block("view2").mean(axis=0) if solver != "descent" else kv.block("view2").mean()
    np.testing.assert_allclose(across, np.broadcast_to(wanted, across.shape), rtol=1e-10)
    if solver != "descent":
        assert np.isnan(cvkt.ridge_[2])


@pytest.mark.parametrize("solver", ["ridge", "closed", "descent"])
def test_a_view_nobody_has_becomes_zero_and_a_single_view_its_mean(solver):
    keep = np.array([[1, 0]] * 5 + [[0, 0]])
    with pytest.warns(AbsenceWarning):
        kv = KernelViews.from_dense(random_kernels(6, 2), observed=keep)
    rank = None if solver == "ridge" else 2
    with pytest.warns(AbsenceWarning):
        done = CVKT(solver=solver, rank=rank, n_iter=5, n_landmarks=0.5).fit_transform(kv)
    assert (done.block("view1") == 0).all()
    wanted = kv.block("view0").mean(axis=0) if solver != "descent" else kv.block("view0").mean()
    np.testing.assert_allclose(done.block("view0")[5, :5], wanted, rtol=1e-10)


def test_a_view_in_which_all_samples_are_alike_changes_nothing():
    kv = random_problem()
    alone = CVKT(rounds=2).fit_transform(kv).to_dense()
    K = np.concatenate([np.nan_to_num(kv.to_dense()), 0.1 * np.ones((1, 40, 40))])
    keep = np.column_stack([kv.observed, kv.observed.sum(axis=1) > 1])  # nobody gets a second view by it
    wider = KernelViews.from_dense(K, observed=keep)
    np.testing.assert_allclose(CVKT(rounds=2).fit_transform(wider).to_dense()[:4], alone, atol=1e-10)


def test_samples_seen_in_one_view_only_are_not_learned_from():
    kv = random_problem(40, 3, 0.3)
    keep = kv.observed.copy()
    keep[0], keep[1] = [True, False, False], [False, True, True]
    K = random_kernels(40, 3)
    lonely = KernelViews.from_dense(K, observed=keep)
    without = CVKT(rounds=1).fit_transform(lonely[np.ix_(np.arange(1, 40), np.arange(1, 40))])
    unseen = ~keep[1:, 0]
    done = CVKT(rounds=1).fit_transform(lonely).block("view0")[1:, 1:]
    np.testing.assert_allclose(done[unseen], without.block("view0")[unseen], atol=1e-10)


def test_overwriting_smooths_the_observed_block_and_keeps_what_cannot_be_transferred():
    kv = random_problem(40, 3, 0.6, seed=3)
    # a ridge of one shrinks what is explained to about a half; the one that is chosen may be near none
    done, kept = (CVKT(keep_observed=keep, ridge=1.0).fit_transform(kv) for keep in (False, True))
    lonely = kv.observed.sum(axis=1) == 1
    for v, name in enumerate(kv.names):
        K, seen = done.block(name), kv.observed[:, v]
        stay = np.flatnonzero(seen & lonely)
        assert len(stay)
        assert np.linalg.eigvalsh(K)[0] > -1e-10
        np.testing.assert_array_equal(K[np.ix_(stay, stay)], kept.block(name)[np.ix_(stay, stay)])
        moved = seen & ~lonely
        assert np.abs(K - kept.block(name))[np.ix_(moved, moved)].max() > 0.1
        np.testing.assert_allclose(np.diagonal(K), 1, atol=1e-8)
        unseen = ~seen
        pair = np.ix_(unseen, unseen)
        np.testing.assert_allclose(K[pair], kept.block(name)[pair], atol=1e-10)


def test_beats_the_mean_on_data_that_share_structure_and_rounds_help():
    data = datasets.make_multiview(120, 5, n_shared=3, noise=0.1, private_scale=0.2, random_state=0)
    keep = missingness.mcar(data.kernels, 0.6, random_state=0)
    kv = data.kernels.hide(keep)
    mean, once, often = (
        metrics.are(data.kernels, completer.fit_transform(kv), keep)
        for completer in (MeanFill(), CVKT(rounds=1), CVKT(rounds=4))
    )
    assert once < 0.7 * mean
    assert often < 0.9 * once


@pytest.mark.parametrize("kind", EVERY)
def test_training_samples_given_as_new_rows_are_completed_as_in_training(kind):
    kv = random_problem()
    cvkt = EVERY[kind]
    done = cvkt.fit_transform(kv)
    some = np.array([3, 31, 8, 0, 22, 17])
    rows = cvkt.transform(kv[np.ix_(some, np.arange(40))])
    assert rows.observed.all()
    for name in kv.names:
        wanted = done.block(name)[some]
        own = np.zeros_like(wanted, dtype=bool)
        own[np.arange(len(some)), some] = True
        np.testing.assert_allclose(rows.block(name)[~own], wanted[~own], atol=1e-8)
        np.testing.assert_allclose(rows.diagonal(name), wanted[own], atol=1e-8)


def test_new_rows_keep_what_was_observed_to_the_bit_and_factors_stay_factors():
    factors, arrays = factor_problem()
    train, new = np.arange(45), np.arange(45, 60)
    done = {}
    for kind, kv in (("factors", factors), ("arrays", arrays)):
        rows = kv[np.ix_(new, train)]
        done[kind] = CVKT(n_landmarks=6, rounds=2).fit(kv[np.ix_(train, train)]).transform(rows)
        for v, name in enumerate(kv.names):
            seen = np.ix_(rows.observed[:, v], rows.column_observed[:, v])
            np.testing.assert_array_equal(done[kind].block(name)[seen], rows.block(name))
    np.testing.assert_allclose(done["factors"].to_dense(), done["arrays"].to_dense(), atol=1e-8)


def test_new_samples_without_any_view_become_the_mean():
    kv = random_problem()
    train, new = np.arange(30), np.arange(30, 40)
    keep = np.ones((10, 4), bool)
    keep[4] = False
    rows = kv[np.ix_(new, train)].hide(keep)
    cvkt = CVKT().fit(kv[np.ix_(train, train)])
    with pytest.warns(AbsenceWarning, match=r"4 absent cell\(s\), e.g. sample 34 in view 'view0'"):
        done = cvkt.transform(rows)
    seen = kv.observed[:30, 0]
    mean = kv.to_dense()[0][:30, :30][np.ix_(seen, seen)].mean(axis=0)
    np.testing.assert_allclose(done.block("view0")[4][seen], mean, rtol=1e-10)
    assert done.diagonal("view0")[4] == pytest.approx(1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "magic"}, "solver must be 'ridge', 'closed' or 'descent'"),
        ({"ridge": -1.0}, "ridge must be a number of 0 or more or 'loo'"),
        ({"ridge": "cv"}, "of 0 or more or 'loo', not"),
        ({"ridge": True}, "of 0 or more or 'loo', not"),
        ({"rounds": 0}, "rounds must be a whole number of 1 or more"),
        ({"n_iter": 2.5}, "n_iter must be a whole number of 1 or more"),
        ({"rank": 0}, "rank must be a whole number"),
        ({"rank": True}, "rank must be a whole number"),
        ({"n_landmarks": 1.5}, "n_landmarks must be a whole number"),
        ({"solver": "descent", "rounds": 2}, "one round"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        CVKT(**options).fit(random_problem())


def test_kernels_that_are_not_positive_semidefinite_are_refused():
    K = random_kernels()
    K[2] -= 0.5 * np.eye(40)
    with pytest.raises(ValueError, match="'view2': the kernel is not positive semidefinite"):
        CVKT().fit(KernelViews.from_dense(K))


@pytest.mark.parametrize(
    ("level", "are", "are_6", "ca", "paper"),
    [
        pytest.param(0, 0.10, 0.09, 0.0015, 0.148, marks=pytest.mark.slow),
        pytest.param(2, 0.13, 0.11, 0.005, 0.167, marks=pytest.mark.slow),
        (4, 0.165, 0.145, 0.010, 0.197),
    ],
)
def test_digits_are_completed_better_than_published(data_folder, level, are, are_6, ca, paper):
    truth, keep, kv = published(data_folder, DIGITS, level)
    once, often = CVKT().fit_transform(kv), CVKT(rounds=6).fit_transform(kv)
    assert metrics.are(truth, once, keep) <= are < paper
    assert metrics.are(truth, often, keep) <= are_6
    assert metrics.ca_error(truth, once) <= ca
    assert metrics.ca_error(truth, often) <= ca
    for done in (once, often):
        for name in kv.names:
            w, seen = np.linalg.eigvalsh(done.block(name)), kv.block(name).astype(np.float64)
            assert w[0] >= min(np.linalg.eigvalsh(seen)[0], 0) - 1e-10 * w[-1]


@pytest.mark.parametrize(
    ("level", "are", "paper"), [(0, 0.08, 0.152), (1, 0.09, 0.169), (2, 0.11, 0.198), (3, 0.13, 0.283)]
)
def test_simulated_kernels_are_completed_better_than_published(data_folder, level, are, paper):
    truth, keep, kv = published(data_folder, "cvkt_simulated_kernels", level)
    assert metrics.are(truth, CVKT(rounds=3).fit_transform(kv), keep) <= are < paper


@pytest.mark.parametrize(("view", "paper"), [(1, 0.843), (2, 0.723), (3, 0.739), (4, 0.690), (5, 0.734)])
def test_embryos_are_completed_better_than_published(data_folder, view, paper):
    data = datasets.load_benchmark("embryo_kernels", data_folder)
    some = np.flatnonzero(data.kernels.observed[:, view])
    kv = data.kernels[np.ix_(some, some)]
    kv = kv.select([name for name, seen in zip(kv.names, kv.observed.T, strict=True) if seen.any()])
    name, held_out = f"view{view}", data.extra[f"holdout_view{view}_30"][some]
    keep = np.ones(kv.observed.shape, bool)
    keep[held_out, kv.names.index(name)] = False
    done = CVKT().fit_transform(kv.hide(keep))
    assert metrics.are(kv.block(name), done.block(name), ~held_out) < 0.9 * paper


@pytest.mark.slow_params("4-options0", "4-options2")
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"n_landmarks": 0.5}])
@pytest.mark.parametrize("level", [*(pytest.param(n, marks=pytest.mark.slow) for n in (0, 2)), 4])
def test_new_digits_are_completed_nearly_as_well_as_training_digits(data_folder, level, options):
    """Every fifth digit, left out of the fit and brought in by its rows, against fitting on all."""
    truth, keep, kv = published(data_folder, DIGITS, level)
    new = np.arange(200) % 5 == 0
    train = np.ix_(~new, ~new)
    rows = CVKT(**options).fit(kv[train]).transform(kv[np.ix_(new, ~new)]).to_dense()
    together = CVKT(**options).fit_transform(kv).to_dense()[:, new][:, :, ~new]
    wanted = truth.to_dense()[:, new][:, :, ~new]

    def error(found):
        relative = np.linalg.norm(found - wanted, axis=2) / np.linalg.norm(wanted, axis=2)
        return np.mean([r[~seen].mean() for r, seen in zip(relative, keep[new].T, strict=True)])

    assert error(rows) <= error(together) + 0.02


def test_rounds_chosen_along_one_path_have_the_errors_of_fits_from_scratch():
    kv = random_problem(60, 4, 0.3)
    trial = Holdout.of(kv)
    cvkt = CVKT(ridge=0.3).fit(kv)
    assert len(cvkt.heldout_curve_) > 2
    for rounds, error in cvkt.heldout_curve_.items():
        again = CVKT(ridge=0.3, rounds=rounds).fit_transform(trial.part)
        assert trial.error(again) == pytest.approx(error, rel=1e-9)


def test_later_rounds_are_eased_only_where_that_completes_hidden_samples_better():
    data = datasets.make_multiview(120, 5, n_shared=3, noise=0.1, private_scale=0.2, random_state=0)
    kv = data.kernels.hide(missingness.mcar(data.kernels, 0.3, random_state=0))
    chosen, trial = CVKT().fit(kv), Holdout.of(kv)
    assert chosen.easing_ == 0.5
    plain = CVKT(rounds=chosen.rounds_).fit_transform(trial.part)
    assert min(chosen.heldout_curve_.values()) < trial.error(plain)
    assert CVKT(rounds=3).fit(kv).easing_ == 1


def test_many_samples_get_landmarks_by_themselves():
    kv = random_problem(40, 4, 0.3)
    assert all(drawn is None for drawn in CVKT(rounds=1).fit(kv)._landmarks)
    thin = {name: (np.arange(3000), np.ones((3000, 5))) for name in "ab"}
    assert CVKT(rounds=1).fit(KernelViews.from_factors(thin))._landmarks == [None, None]
    many = CVKT(rounds=1).fit(KernelViews.from_dense(np.stack([np.eye(1001)] * 2)))
    assert [len(drawn) for drawn in many._landmarks] == [300, 300]
