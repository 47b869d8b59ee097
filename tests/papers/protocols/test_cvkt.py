import json

import numpy as np
import pytest
from sklearn.svm import SVC

from absentia import CVKT, MKC, KernelViews, MeanFill, datasets, metrics, missingness
from absentia.papers import Reproduction, find_experiment, summarise
from absentia.papers.protocols import _cvkt as protocol
from absentia.papers.protocols._cvkt import _ca_of_blocks, _draw_mask, _perform, _Problem


@pytest.fixture
def problem():
    """Thirty digits in three views, a third of the samples hidden in each."""
    views, y = datasets.load_digit_views(n_samples=30, return_X_y=True)
    views = views.select(views.names[:3])
    kernels = KernelViews.from_dense({name: protocol._rbf(views.block(name)) for name in views.names})
    keep = _draw_mask(kernels.observed.shape, {"seed": 0, "repeat": 1, "missing": 30})
    return _Problem(kernels, keep, views, np.asarray(y) % 2)


@pytest.fixture
def made_up(problem, monkeypatch):
    monkeypatch.setattr(protocol, "_SETS", {"made up": lambda key: problem})
    return problem


def key_of(method, parameters=(), data="made up", **others):
    known = {"data": data, "method": method, "parameters": dict(parameters), "repeat": 0, "seed": 0}
    return {**known, "missing": 30, **others}


# ------------------------------------------------------------------------------------------- scores


def test_a_trial_is_the_method_called_by_hand(made_up):
    found = _perform(key_of("MeanFill", {"of": "entries"}))
    done = MeanFill("entries").fit_transform(made_up.kernels.hide(made_up.keep)).to_dense()
    truth = made_up.kernels.to_dense()
    by_hand = metrics.ca_error(truth, done, average=False)
    assert list(found["scores"]["CA"].values()) == pytest.approx(by_hand)
    assert np.mean(list(found["scores"]["ARE"].values())) == pytest.approx(
        metrics.are(truth, done, made_up.keep)
    )
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_views_without_anything_hidden_are_not_scored(problem, monkeypatch):
    keep = problem.keep.copy()
    keep[:, 1] = True
    monkeypatch.setattr(protocol, "_SETS", {"made up": lambda key: _Problem(problem.kernels, keep)})
    found = _perform(key_of("ZeroFill"))
    names = problem.kernels.names
    assert list(found["scores"]["CA"]) == [names[0], names[2]]
    assert "right" not in found


def test_answers_are_those_of_an_svm_on_the_other_half(made_up):
    found = _perform(key_of("full"))
    train, test = protocol._split_halves(made_up, key_of("full"))
    assert sorted([*train, *test]) == list(range(30))
    name, y = made_up.kernels.names[0], made_up.y
    K = np.asarray(made_up.kernels.block(name))
    svm = SVC(kernel="precomputed").fit(K[np.ix_(train, train)], y[train])
    right = svm.predict(K[np.ix_(test, train)]) == y[test]
    assert found["right"][name] == "".join("1" if one else "0" for one in right)
    assert found["scores"]["accuracy"][name] == pytest.approx(right.mean())
    assert list(found["scores"]) == ["accuracy"]


def test_all_methods_of_a_repeat_are_judged_on_the_same_samples(made_up):
    splits = [
        protocol._split_halves(made_up, key_of(method, missing=m))[1]
        for method, m in (("a", 10), ("b", 50))
    ]
    np.testing.assert_array_equal(*splits)
    assert not np.array_equal(splits[0], protocol._split_halves(made_up, key_of("a", repeat=1))[1])


def test_a_common_representation_has_one_accuracy_for_all_views(made_up):
    found = _perform(key_of("MIC, SVM", {"scale": "minmax", "tol": 1e-2}))
    assert list(found["scores"]["accuracy"]) == list(made_up.kernels.names)
    assert len(set(found["right"].values())) == 1


# ------------------------------------------------------------------------------------------ choosing


MKC_GRID = {"variant": "ht", "c1": [1.0, 1000.0], "c2": [1.0], "c3": [0.001, 10.0]}


@pytest.mark.slow
def test_mkc_is_chosen_by_what_is_shown(made_up):
    found = _perform(key_of("MKC, chosen", MKC_GRID))
    shown = made_up.kernels.hide(made_up.keep)
    part = shown.hide(missingness.mcar(shown.observed, 0.1, random_state=0))
    errors = {}
    for c1 in MKC_GRID["c1"]:
        for c3 in MKC_GRID["c3"]:
            done = MKC("ht", c1=c1, c3=c3, random_state=0).fit_transform(part)
            errors[c1, c3] = np.mean(list(_ca_of_blocks(shown, done).values()))
    c1, c3 = min(errors, key=errors.get)
    assert len(set(errors.values())) > 1
    done = MKC("ht", c1=c1, c3=c3, random_state=0).fit_transform(shown)
    by_hand = metrics.ca_error(made_up.kernels.to_dense(), done.to_dense(), average=False)
    assert list(found["scores"]["CA"].values()) == pytest.approx(by_hand)


@pytest.mark.parametrize("method", [pytest.param("MKC, chosen", marks=pytest.mark.slow), "CVKT"])
def test_what_is_hidden_has_no_part_in_an_answer(problem, method):
    """Other values there, the same completion."""
    other = {}
    for v, name in enumerate(problem.kernels.names):
        K = np.array(problem.kernels.block(name))
        gone = ~problem.keep[:, v]
        K[gone], K[:, gone] = 0.1, 0.1
        K[gone, gone] = 1.0
        other[name] = K
    changed = _Problem(KernelViews.from_dense(other), problem.keep)
    key = key_of(method, MKC_GRID if method != "CVKT" else {"solver": "descent", "n_iter": 5})
    one, two = (protocol._complete_problem(p, key).to_dense() for p in (problem, changed))
    np.testing.assert_array_equal(one, two)


def test_the_column_that_leaks_is_for_each_view_the_best_of_its_grid(made_up):
    shares = [0.4, 1.0]
    grid = {"n_landmarks": shares, "rank": shares, "n_iter": 5}
    found = _perform(key_of("CVKT, best", grid))["scores"]["CA"]
    single = [
        _perform(key_of("CVKT", {"solver": "descent", "n_landmarks": s, "rank": r, "n_iter": 5}))
        for s in shares
        for r in shares
    ]
    for name in made_up.kernels.names:
        assert found[name] == pytest.approx(min(one["scores"]["CA"][name] for one in single), abs=1e-12)


def test_the_error_chosen_by_is_that_of_the_paper(problem):
    done = CVKT(rounds=1).fit_transform(problem.shown)
    errors = _ca_of_blocks(problem.kernels, done)
    by_hand = metrics.ca_error(problem.kernels.to_dense(), done.to_dense(), average=False)
    assert list(errors.values()) == pytest.approx(by_hand)


# ---------------------------------------------------------------------------------------------- masks


def test_masks_hide_about_what_was_asked_and_leave_everyone_a_view():
    key = {"seed": 0, "repeat": 0, "missing": 50}
    keep = _draw_mask((4000, 3), key)
    assert keep.any(axis=1).all()
    assert (~keep).mean() == pytest.approx(0.5 - 0.125 / 3, abs=0.01)  # an eighth gets one of three back
    assert not np.array_equal(keep, _draw_mask((4000, 3), {**key, "repeat": 1}))
    np.testing.assert_array_equal(keep, _draw_mask((4000, 3), key))


def test_the_default_width_is_the_mean_of_all_distances():
    X = np.array([[0.0], [3.0]])  # distances 0, 3, 3, 0: mean 1.5
    assert protocol._rbf(X)[0, 1] == pytest.approx(np.exp(-9 / (2 * 1.5**2)))


# ---------------------------------------------------------------------------------------- the papers'


def test_that_width_gives_the_authors_kernels_of_the_digits(data_folder):
    problem = protocol._SETS["cvkt_digits200_kernels"](key_of("full", missing=10))
    for name in ("fou", "fac", "kar", "pix", "zer"):
        ours = protocol._rbf(problem.views.block(name))
        np.testing.assert_allclose(ours, problem.kernels.block(name), atol=1e-6)


def test_the_first_repeat_of_the_digits_has_the_authors_mask_and_later_ones_their_own(data_folder):
    masks = datasets.load_benchmark("cvkt_digits200_kernels").extra["masks"]
    sets = protocol._SETS["cvkt_digits200_kernels"]
    for number, missing in enumerate((10, 20, 30, 40, 50)):
        np.testing.assert_array_equal(sets(key_of("full", missing=missing)).keep, masks[number])
        later = sets(key_of("full", missing=missing, repeat=1)).keep
        assert later.any(axis=1).all()
        assert (~later).mean() == pytest.approx(missing / 100, abs=0.04)


@pytest.mark.parametrize("view", [1, 4])
def test_later_repeats_of_the_embryos_hide_as_many_other_samples(data_folder, view):
    problems = [protocol._SETS["embryo_kernels"](key_of("full", view=view, repeat=r)) for r in range(3)]
    masks = [one.keep[:, one.kernels.names.index(f"view{view}")] for one in problems]
    holdout = datasets.load_benchmark("embryo_kernels").extra[f"holdout_view{view}_30"]
    assert len({int((~keep).sum()) for keep in masks} | {int(holdout.sum())}) == 1
    assert not np.array_equal(masks[1], masks[0])
    assert not np.array_equal(masks[1], masks[2])
    assert all(one.hidden == [f"view{view}"] for one in problems)


def test_gestures_are_complete_before_hiding(data_folder):
    problem = protocol._SETS["uwave_train"](key_of("full", missing=30))
    assert problem.kernels.observed.all()
    assert problem.keep.shape == (896, 3)
    assert len(np.unique(problem.y)) == 8


@pytest.mark.parametrize("name", ["cvkt-table2", "cvkt-table3"])
def test_zero_and_mean_imputation_are_the_printed_numbers_to_the_last_digit(data_folder, tmp_path, name):
    """All four measures: 32 numbers of Table 2, 40 of Table 3."""
    experiment = find_experiment(name)
    trials = Reproduction(experiment, tmp_path).trials
    records = [
        {"trial": trial.key, "status": "done", "result": _perform(trial.key), "cost": {}}
        for trial in trials
        if trial.key["method"] in ("ZeroFill", "MeanFill") and trial.key["repeat"] == 0
    ]
    tables = summarise(experiment, records).tables
    cells = [
        (measure.name, row.name, row.cells[column])
        for measure in experiment.measures
        for row in tables[measure.name]
        for column in ("zero", "mean")
    ]
    assert len(cells) == {"cvkt-table2": 32, "cvkt-table3": 40}[name]
    assert [place[:2] for place in cells if not place[2].exact] == []


def test_a_table_of_both_data_sets_shares_its_trials_with_the_others(data_folder, tmp_path):
    """Table 8 is made from the trials of Tables 4 and 5, and these from those of the figures."""
    hashes = {
        name: {
            trial.hash
            for trial in Reproduction(find_experiment(f"cvkt-{name}").reduce(repeats=2), tmp_path).trials
        }
        for name in ("table4", "table5", "table6", "table7", "table8", "figure6", "figure7")
    }
    assert hashes["table8"] <= hashes["table4"] | hashes["table5"]
    assert hashes["table4"] <= hashes["figure6"]
    assert hashes["table5"] <= hashes["figure7"]
    assert hashes["table6"] <= hashes["figure6"]
    assert hashes["table7"] <= hashes["figure7"]


@pytest.mark.parametrize("name", [f"cvkt-{what}" for what in ("table2", "table4", "figure6", "figure7")])
def test_in_small_there_are_no_claims_about_methods_that_are_left_out(name):
    small = find_experiment(name).reduce(quick=True)
    columns = {column.name for column in small.columns}
    assert len(columns) < len(find_experiment(name).columns)
    assert all({claim.first, claim.second} <= columns for claim in small.claims)
