"""Who is held out when, and which cells are hidden."""

import numpy as np
import pytest

from absentia.experiment.comparison._problem import Problem
from absentia.experiment.comparison._splits import MECHANISMS, hashed, kept_cells, split
from comparing import made_problem


@pytest.mark.parametrize("task", ["classes", "numbers", "labels"])
def test_folds_part_the_samples(task):
    problem = made_problem(task)
    parts = split(problem, 4, 0, 1)
    assert sorted(np.concatenate([test for _, test in parts]).tolist()) == list(range(40))
    for train, test in parts:
        assert sorted([*train, *test]) == list(range(40))


def test_folds_have_their_share_of_every_class_and_of_large_numbers():
    problem = made_problem("classes")
    shares = [np.bincount(problem.y[test], minlength=2) for _, test in split(problem, 4, 0, 0)]
    assert np.ptp(shares, axis=0).max() <= 1
    problem = made_problem("numbers")
    large = problem.y > np.quantile(problem.y, 0.8)
    counts = [large[test].sum() for _, test in split(problem, 4, 0, 0)]
    assert max(counts) - min(counts) <= 1


def test_repeats_and_seeds_cut_otherwise():
    problem = made_problem("classes")
    cuts = [tuple(split(problem, 3, seed, repeat)[0][1].tolist()) for seed in (0, 1) for repeat in (0, 1)]
    assert len(set(cuts)) == 4
    assert tuple(split(problem, 3, 0, 0)[0][1].tolist()) == cuts[0]


def permuted(problem, rows):
    y = None if problem.y is None else problem.y[rows]
    data = problem.data[rows] if problem.takes_features else problem.data[np.ix_(rows, rows)]
    return Problem(data, problem.task, y, problem.classes, problem.kernel)


@pytest.mark.parametrize("task", ["classes", "numbers", "labels"])
@pytest.mark.parametrize("kind", ["features", "kernels"])
def test_folds_go_with_the_samples_not_with_their_order(task, kind):
    problem = made_problem(task)
    if kind == "kernels":
        problem = problem.changed(problem.kernels)
    rows = np.random.default_rng(3).permutation(40)
    other = permuted(problem, rows)
    for (_, test), (_, moved) in zip(split(problem, 3, 0, 1), split(other, 3, 0, 1), strict=True):
        assert sorted(problem.data.ids[test]) == sorted(other.data.ids[moved])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_hidden_cells_go_with_the_samples_not_with_their_order(mechanism):
    problem = made_problem("completion")
    rows = np.random.default_rng(3).permutation(40)
    keep = kept_cells(problem, mechanism, 0.2, 0, 1)
    np.testing.assert_array_equal(kept_cells(permuted(problem, rows), mechanism, 0.2, 0, 1), keep[rows])
    assert not (keep & ~problem.data.observed).any()
    assert keep.any(axis=1).all()
    assert (keep != kept_cells(problem, mechanism, 0.2, 0, 0)).any()
    assert (keep != kept_cells(problem, mechanism, 0.2, 1, 1)).any()


def test_how_many_cells_are_hidden():
    problem = made_problem("completion")
    observed = problem.data.observed
    for mechanism, wanted in (("mcar", round(0.2 * observed.sum())), ("own", round(0.2 * observed.sum()))):
        assert (observed & ~kept_cells(problem, mechanism, 0.2, 0, 0)).sum() == wanted
    hidden = (observed & ~kept_cells(problem, "per-view", 0.2, 0, 0)).sum(axis=0)
    np.testing.assert_array_equal(hidden, np.rint(0.2 * observed.sum(axis=0)))
    left = kept_cells(problem, "exclusive", 0.5, 0, 0)[observed.sum(axis=1) > 1].sum(axis=1)
    assert (left == 1).sum() >= round(0.5 * len(left))


def test_where_own_patterns_do_not_suffice_cells_go_at_random():
    keep = np.ones((40, 3), bool)
    keep[0, 2] = False
    problem = made_problem("completion", rate=0.0)
    whole = problem.data.observed.sum()
    assert (~kept_cells(problem, "own", 0.3, 0, 0)).sum() == round(0.3 * whole)  # nothing is absent
    nearly = problem.changed(problem.data.hide(keep))
    assert (nearly.data.observed & ~kept_cells(nearly, "own", 0.3, 0, 0)).sum() <= round(0.3 * whole)


def test_a_hash_tells_every_split_apart():
    one, other = np.arange(5), np.arange(5, 8)
    assert hashed(one, other) == hashed(one.astype(np.int32), other)
    assert hashed(one, other) != hashed(other, one)
    assert hashed(np.arange(6), np.arange(6, 8)) != hashed(one, other)
