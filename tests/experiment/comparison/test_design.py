"""From a question to trials: what follows from the data, the design and the seed, and nothing else."""

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from absentia import ViewKernels
from absentia.experiment.comparison import Design, Study, TaskData, choose_methods, make_task_data
from absentia.experiment.comparison._design import (
    DESIGN_FILE,
    count_folds,
    draw_kept_cells,
    hash_arrays,
    load_design,
)
from absentia.files import FileError
from absentia.tasks import TASKS as ALL
from helpers.comparison_problems import METHODS, made_data, made_design, made_views, targets, trials_of

TASKS = list(ALL)


def hashes(problem, design):
    found = [trial.hash for trial in trials_of(problem, design)]
    assert len(found) == len(set(found))
    return set(found)


# ------------------------------------------------------------------------------------------------ design


def test_a_design_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / DESIGN_FILE)
    with pytest.raises(FileError, match="is no regular file"):
        load_design(tmp_path)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"hide": 0.0}, "hide is a share between 0 and 1, not 0.0"),
        ({"hide": float("nan")}, "hide is a share"),
        ({"mechanism": "mnar"}, "mechanism is one of own, mcar, per-view, exclusive, not 'mnar'"),
        ({"repeats": 0}, "repeats is a whole number of 1 or more, not 0"),
        ({"repeats": True}, "repeats is a whole number"),
        ({"cv": 1}, "cv is a whole number of 2 or more, not 1"),
        ({"cv": 2.5}, "cv is a whole number"),
        ({"rates": (0.1, 1.0)}, r"rates are shares between 0 and 1, not \[0.1, 1.0\]"),
        ({"equivalence": -0.1}, "equivalence is a number from 0 on"),
        ({"equivalence": float("nan")}, "equivalence is a number from 0 on"),
        ({"time_limit": 0}, "time_limit is a positive number"),
        ({"memory_limit": -1}, "memory_limit is a positive number"),
    ],
)
def test_what_makes_no_sense_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Design(("mean",), **given)


def test_a_design_is_kept_and_comes_back(tmp_path):
    design = Design(
        ("mean", "zero"), "hash", "CA", 0.3, "mcar", (0.1, 0.5), 3, 4, 7, {"zero": 2}, {"em": "slow"},
        1, 0.02, "t", "c", "d", 5.0, 10**9, ("remark",),
    )  # fmt: skip
    design.save(tmp_path)
    assert load_design(tmp_path) == design
    assert (design.repeats_for("mean"), design.repeats_for("zero")) == (3, 2)


def test_what_is_no_design_is_said(tmp_path):
    with pytest.raises(FileError, match=r"is no folder of a comparison, as it has no design.json"):
        load_design(tmp_path)
    Design(("mean",)).save(tmp_path)
    said = json.loads((tmp_path / DESIGN_FILE).read_text())
    wrong = [
        *({"hide": 2}, {"other": 1}, {"hide": "x"}, {"hide": True}, {"equivalence": 10**400}),
        *({"title": 2.5}, {"call": [[1]]}, {"metric": 1}, {"methods": []}, {"methods": "mean"}),
        *({"methods": [{"a": 1}]}, {"remarks": [None]}, {"left_out": {"knn": 1}}),
        *({"repeats_of": {"knn": "x"}}, {"repeats_of": {"knn": 0}}, {"repeats_of_views": None}),
        *({"seed": -7}, {"seed": 1e300}, {"cv": "x"}, {"rates": ["x"]}, {"time_limit": "x"}),
    ]
    for broken in ("{", "[]", *(json.dumps(said | one) for one in wrong)):
        (tmp_path / DESIGN_FILE).write_text(broken)
        with pytest.raises(FileError, match="not the design of a comparison"):
            load_design(tmp_path)


def test_the_metric_is_checked_and_filled_in():
    problem = made_data("classes")
    assert Study(problem, Design(("average",)), "nowhere").design.metric == "balanced accuracy"
    with pytest.raises(ValueError, match="score 'R2' is none of"):
        Study(problem, Design(("average",), metric="R2"), "nowhere")


def test_folds_are_no_more_than_the_smallest_class_has_samples():
    views, _ = made_views(20)
    y = np.array(["a"] * 16 + ["b"] * 4)
    assert count_folds(make_task_data(views, y), Design(("average",), cv=5)) == 4
    assert count_folds(made_data("numbers"), Design(("ridge-zero",), cv=5)) == 5


# ------------------------------------------------------------------------------------------------ trials


@pytest.mark.parametrize("task", TASKS)
def test_a_larger_design_contains_the_smaller_one(task):
    problem = made_data(task)
    small = Design(METHODS[task][:2], repeats=2, cv=3)
    larger = [
        replace(small, repeats=4),
        replace(small, methods=METHODS[task]),
        replace(small, rates=(0.1, 0.4)),
        replace(small, title="t", command="c", call="d", equivalence=0.1, time_limit=3.0, remarks=("r",)),
    ]
    own = hashes(problem, small)
    for design in larger:
        assert own <= hashes(problem, design), design


@pytest.mark.parametrize("task", TASKS)
def test_another_seed_data_or_kernel_is_another_trial(task):
    problem, design = made_data(task), made_design(task)
    own = hashes(problem, design)
    assert not own & hashes(problem, replace(design, seed=1))
    views, factors = made_views(seed=5)
    assert not own & hashes(make_task_data(views, targets(task, factors)), design)
    linear = TaskData(problem.data, task, problem.y, problem.classes, ViewKernels("linear"))
    assert not own & hashes(linear, design)


def test_other_folds_are_other_trials():
    problem = made_data("classes")
    design = made_design("classes")
    assert not hashes(problem, design) & hashes(problem, replace(design, cv=4))


def test_of_two_views_one_left_out_is_the_other_alone():
    problem = made_data("classes")
    two = problem.replace(problem.data.select(problem.data.names[:2]))
    kinds = [trial.key for trial in trials_of(two, made_design("classes", repeats=1))]
    asked = [tuple(key["views"]) for key in kinds if key["kind"] == "views" and key["fold"] == 0]
    assert sorted(asked) == sorted((name,) for name in two.data.names)
    hashes = [trial.hash for trial in trials_of(two, made_design("classes", repeats=1))]
    assert len(set(hashes)) == len(hashes)


def test_the_trials_of_a_prediction():
    problem = made_data("classes")
    design = made_design("classes", repeats=3, rates=(0.2,), repeats_of={"linear": 1})
    kinds = {}
    for trial in trials_of(problem, design):
        kinds.setdefault(trial.key["kind"], []).append(trial.key)
    assert len(kinds["predict"]) == 3 * (3 + 3 + 1)
    assert len(kinds["views"]) == 2 * 3 * 3 * 2  # repeats, folds, views, without and alone
    assert {key["method"] for key in kinds["views"]} == {"average"}
    assert {tuple(key["views"]) for key in kinds["views"]} == {
        *[(name,) for name in problem.data.names],
        *[tuple(n for n in problem.data.names if n != name) for name in problem.data.names],
    }
    assert len(kinds["rates"]) == 3 * (2 + 2 + 1)
    assert all(key["split"] for kind in ("predict", "views", "rates") for key in kinds[kind])


def test_every_method_has_the_same_folds():
    problem = made_data("classes")
    cuts = {}
    for trial in trials_of(problem, made_design("classes")):
        place = trial.key["repeat"], trial.key["fold"]
        cuts.setdefault(place, set()).add((trial.key["split"], trial.key["seed"], trial.key["cv"]))
    assert len(cuts) == 9
    assert all(len(found) == 1 for found in cuts.values())


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_trials_of_completion(repeats):
    problem = made_data("completion")
    design = made_design("completion", repeats=repeats, rates=(0.2, 0.4), repeats_of={"knn": 1})
    found = [(t.key["method"], t.key["rate"], t.key["repeat"]) for t in trials_of(problem, design)]
    assert sorted(found) == sorted(
        (method, rate, repeat)
        for method in METHODS["completion"]
        for rate in (0.2, 0.4)
        for repeat in range(1 if method == "knn" else repeats)
    )


def test_one_view_has_no_other_to_be_left_out():
    views, factors = made_views(rate=0.0)
    problem = make_task_data(views.select(["view0"]), targets("classes", factors))
    assert {trial.key["kind"] for trial in trials_of(problem, made_design("classes"))} == {"predict"}


def test_the_version_of_a_trial_hangs_on_what_its_answer_comes_from():
    problem = made_data("classes")
    versions = {}
    for trial in trials_of(problem, made_design("classes", rates=(0.2,))):
        versions.setdefault((trial.key["kind"], trial.key["method"]), set()).add(trial.key["version"])
    assert all(len(found) == 1 for found in versions.values())
    assert versions["predict", "average"] != versions["predict", "linear"]
    assert versions["predict", "average"] == versions["views", "average"]


# ----------------------------------------------------------------------------------- what is tried at all


@pytest.mark.parametrize("task", TASKS)
def test_the_simplest_is_always_tried_and_first(task):
    problem = made_data(task)
    other = METHODS[task][1]
    assert choose_methods(problem, [other])[0] == (ALL[task].simplest, other)
    assert choose_methods(problem, other)[0] == (ALL[task].simplest, other)
    assert choose_methods(problem, np.array([other, other]))[0] == (ALL[task].simplest, other)
    assert choose_methods(problem, "auto") == (ALL[task].compared_methods(), {})


def test_methods_that_want_features_are_left_out_of_kernels():
    problem = made_data("classes")
    kernels = problem.replace(ViewKernels().fit_transform(problem.data))
    names, left_out = choose_methods(kernels, "auto")
    assert set(left_out) == {"complete-cases", "linear", "forest", "boosting"}
    assert set(left_out.values()) == {"takes features, and the data are kernels"}
    assert not set(names) & set(left_out)
    with pytest.raises(ValueError, match="method 'forest' takes features, and the data are kernels"):
        choose_methods(kernels, ["forest"])


def test_methods_for_few_samples_are_left_out_of_many():
    problem = made_data("completion", n=501)
    _, left_out = choose_methods(problem, "auto")
    assert left_out == dict.fromkeys(
        ("mkc-ht", "mkc-app", "mkc-sdp"), "is for at most 500 samples, and there are 501"
    )


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match="mkl"):
        choose_methods(made_data("classes"), ["mkll"])
    with pytest.raises(ValueError, match="pma"):
        choose_methods(made_data("classes"), ["pma"])  # of several labels alone
    assert "pma" in choose_methods(made_data("labels"), ["pma"])[0]


# ------------------------------------------------------------------- who is held out, and what is hidden


@pytest.mark.parametrize("task", ["classes", "numbers", "survival", "labels"])
def test_folds_part_the_samples(task):
    problem = made_data(task)
    parts = problem.split(4, 0, 1)
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(40))
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(40))


def test_folds_have_their_share_of_every_class_and_of_large_numbers():
    problem = made_data("classes")
    shares = [np.bincount(problem.y[test], minlength=2) for _, test in problem.split(4, 0, 0)]
    assert np.ptp(shares, axis=0).max() <= 1
    problem = made_data("numbers")
    large = problem.y > np.quantile(problem.y, 0.8)
    counts = [large[test].sum() for _, test in problem.split(4, 0, 0)]
    assert max(counts) - min(counts) <= 1


def test_repeats_and_seeds_cut_otherwise():
    problem = made_data("classes")
    cuts = [tuple(problem.split(3, seed, repeat)[0][1].tolist()) for seed in (0, 1) for repeat in (0, 1)]
    assert len(set(cuts)) == 4
    assert tuple(problem.split(3, 0, 0)[0][1].tolist()) == cuts[0]


def permuted(problem, rows):
    y = None if problem.y is None else problem.y[rows]
    data = problem.data[rows] if problem.has_features else problem.data[np.ix_(rows, rows)]
    return TaskData(data, problem.kind, y, problem.classes, problem.kernel)


@pytest.mark.parametrize("task", ["classes", "numbers", "survival", "labels"])
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_folds_go_with_the_samples_not_with_their_order(task, kind):
    problem = made_data(task)
    if kind == "kernels":
        problem = problem.replace(problem.kernels)
    rows = np.random.default_rng(3).permutation(40)
    other = permuted(problem, rows)
    for (_, test), (_, moved) in zip(problem.split(3, 0, 1), other.split(3, 0, 1), strict=True):
        assert sorted(problem.data.ids[test]) == sorted(other.data.ids[moved])


@pytest.mark.parametrize("mechanism", ["own", "mcar", "per-view", "exclusive"])
def test_hidden_cells_go_with_the_samples_not_with_their_order(mechanism):
    problem = made_data("completion")
    rows = np.random.default_rng(3).permutation(40)
    keep = draw_kept_cells(problem, mechanism, 0.2, 0, 1)
    np.testing.assert_array_equal(
        draw_kept_cells(permuted(problem, rows), mechanism, 0.2, 0, 1), keep[rows]
    )
    assert not (keep & ~problem.data.observed).any()
    assert keep.any(axis=1).all()
    assert (keep != draw_kept_cells(problem, mechanism, 0.2, 0, 0)).any()
    assert (keep != draw_kept_cells(problem, mechanism, 0.2, 1, 1)).any()


def test_how_many_cells_are_hidden():
    problem = made_data("completion")
    observed = problem.data.observed
    for mechanism, wanted in (("mcar", round(0.2 * observed.sum())), ("own", round(0.2 * observed.sum()))):
        assert (observed & ~draw_kept_cells(problem, mechanism, 0.2, 0, 0)).sum() == wanted
    hidden = (observed & ~draw_kept_cells(problem, "per-view", 0.2, 0, 0)).sum(axis=0)
    np.testing.assert_array_equal(hidden, np.rint(0.2 * observed.sum(axis=0)))
    left = draw_kept_cells(problem, "exclusive", 0.5, 0, 0)[observed.sum(axis=1) > 1].sum(axis=1)
    assert (left == 1).sum() >= round(0.5 * len(left))


def test_where_own_patterns_do_not_suffice_cells_go_at_random():
    keep = np.ones((40, 3), bool)
    keep[0, 2] = False
    problem = made_data("completion", rate=0.0)
    whole = problem.data.observed.sum()
    assert (~draw_kept_cells(problem, "own", 0.3, 0, 0)).sum() == round(0.3 * whole)  # nothing is absent
    nearly = problem.replace(problem.data.hide(keep))
    assert (nearly.data.observed & ~draw_kept_cells(nearly, "own", 0.3, 0, 0)).sum() <= round(0.3 * whole)


def test_a_hash_tells_every_split_apart():
    one, other = np.arange(5), np.arange(5, 8)
    assert hash_arrays(one, other) == hash_arrays(one.astype(np.int32), other)
    assert hash_arrays(one, other) != hash_arrays(other, one)
    assert hash_arrays(np.arange(6), np.arange(6, 8)) != hash_arrays(one, other)
