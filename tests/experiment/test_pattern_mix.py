"""Scores weighted to another mix of patterns: by hand, against simulated truth, with what is unknown bounded."""

import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import Views, compare
from absentia.experiment.pattern_mix import HeldOutSamples, PatternMix, make_mix, weigh_mix
from absentia.tasks import CLASSIFICATION, REGRESSION, TASKS, Classification
from helpers.comparison_problems import made_views, targets

pytestmark = pytest.mark.usefixtures("few_strengths")
NAMES = ("a", "b")
ALL, ONLY_A, ONLY_B = (True, True), (True, False), (False, True)
ACCURACY = CLASSIFICATION.metrics[1]
BALANCED = CLASSIFICATION.metrics[0]


def judged(y, right, patterns, task=CLASSIFICATION, overlap=1.0):
    statistics = np.asarray(right, dtype=float).reshape(len(y), -1)
    return HeldOutSamples(task, np.asarray(y), np.array(patterns, dtype=bool), {"m": statistics}, overlap)


def mix(shares):
    return PatternMix(np.array(list(shares), dtype=bool), np.array(list(shares.values())))


@pytest.fixture(scope="module")
def compared():
    views, factors = made_views(60, rate=0.4)
    y = targets("classes", factors)
    return compare(views, y, methods=["average", "linear"], repeats=1, cv=3, n_jobs=1), views, y


# ------------------------------------------------------------------------------------------- by hand


def test_accuracy_is_the_mean_of_the_patterns_and_balanced_accuracy_goes_with_the_classes():
    # every view: 8 of class 0 (6 right), 2 of class 1 (1 right); only a: 2 of class 0 (1), 8 of class 1 (2)
    y = [0] * 8 + [1] * 2 + [0] * 2 + [1] * 8
    right = [1] * 6 + [0] * 2 + [1, 0] + [1, 0] + [1] * 2 + [0] * 6
    data = judged(y, right, [ALL] * 10 + [ONLY_A] * 10)
    new = mix({ALL: 0.2, ONLY_A: 0.8})
    (row,) = weigh_mix(data, new, ACCURACY, prior=0.0)
    assert row.here == pytest.approx(10 / 20)
    assert row.expected.value == pytest.approx(0.2 * 0.7 + 0.8 * 0.3)
    assert row.change.value == pytest.approx(row.expected.value - row.here)
    (row,) = weigh_mix(data, new, BALANCED, prior=0.0)
    share = np.array([0.2 * 0.8 + 0.8 * 0.2, 0.2 * 0.2 + 0.8 * 0.8])  # of the classes in the new mix
    hits = np.array([0.2 * 0.6 + 0.8 * 0.1, 0.2 * 0.1 + 0.8 * 0.2])
    assert row.expected.value == pytest.approx((hits / share).mean())
    assert row.here == pytest.approx((7 / 10 + 3 / 10) / 2)


def test_costs_and_numbers_are_weighted_too():
    costs = np.array([[0.0, 5.0], [1.0, 0.0]])
    task = Classification(costs)
    y, predicted = np.array([0, 0, 1, 1]), np.array([1, 0, 1, 0])
    data = judged(y, task.sample_statistics(y, predicted), [ALL, ALL, ONLY_A, ONLY_A], task)
    (row,) = weigh_mix(data, mix({ALL: 0.25, ONLY_A: 0.75}), task.metrics[0], prior=0.0)
    assert (task.metrics[0].name, row.expected.value) == ("cost", pytest.approx(0.25 * 2.5 + 0.75 * 0.5))
    assert row.change.value > 0  # cheaper is better
    y, predicted = np.array([0.0, 2.0, 4.0, 6.0]), np.array([1.0, 2.0, 1.0, 6.0])
    statistics = REGRESSION.sample_statistics(y, predicted)
    data = judged(y, statistics, [ALL, ALL, ONLY_A, ONLY_A], REGRESSION)
    r2, rmse = REGRESSION.metrics
    w = np.array([0.1, 0.1, 0.4, 0.4])
    error, spread = w @ (y - predicted) ** 2, w @ (y - w @ y) ** 2
    new = mix({ALL: 0.2, ONLY_A: 0.8})
    assert weigh_mix(data, new, rmse, prior=0.0)[0].expected.value == pytest.approx(np.sqrt(error))
    assert weigh_mix(data, new, r2, prior=0.0)[0].expected.value == pytest.approx(1 - error / spread)


def test_samples_of_nested_patterns_lend_what_a_pattern_lacks():
    # only a: one sample, wrong; every view, nested: all right; only b, not nested: all wrong
    data = judged([0] * 21, [0] + [1] * 10 + [0] * 10, [ONLY_A] + [ALL] * 10 + [ONLY_B] * 10)
    (row,) = weigh_mix(data, mix({ONLY_A: 1.0}), ACCURACY, prior=1.0)
    assert row.expected.value == pytest.approx(1 / 2)
    (row,) = weigh_mix(data, mix({ONLY_A: 1.0}), ACCURACY, prior=3.0)
    assert row.expected.value == pytest.approx(3 / 4)


@pytest.mark.parametrize("task", ["classes", "numbers", "labels"])
def test_influence_is_the_derivative_of_the_score(task):
    rng = np.random.default_rng(0)
    if task == "labels":
        y = np.where(rng.random((12, 3)) < 0.2, np.nan, rng.integers(0, 2, (12, 3)))
        values = rng.integers(0, 2, (12, 3))
    else:
        y = rng.integers(0, 3, 12) if task == "classes" else rng.normal(size=12)
        values = rng.integers(0, 3, 12) if task == "classes" else rng.normal(size=12)
    statistics, weights = TASKS[task].sample_statistics(y, values), rng.dirichlet(np.ones(12))
    step = 1e-6
    for name, (value, influence) in TASKS[task].weigh_scores(y, statistics, weights).items():
        assert weights @ influence == pytest.approx(0, abs=1e-12)
        for i in range(12):
            moved = (1 - step) * weights + step * np.eye(12)[i]
            ahead = TASKS[task].weigh_scores(y, statistics, moved)[name].value
            assert (ahead - value) / step == pytest.approx(influence[i], abs=1e-4 * (1 + abs(influence[i])))


# ------------------------------------------------------------------------------------------- intervals


def test_intervals_grow_where_a_pattern_has_few_samples():
    def width(n_few, right=0.8):
        n = 200
        hits = np.arange(n + n_few) % 10 < 10 * right
        data = judged(np.arange(n + n_few) % 2, hits, [ALL] * n + [ONLY_A] * n_few)
        (row,) = weigh_mix(data, mix({ALL: 0.3, ONLY_A: 0.7}), BALANCED)
        return row.expected.high - row.expected.low

    widths = [width(n) for n in (200, 40, 10, 2)]
    assert widths == sorted(widths)
    assert widths[0] < 0.15 < 0.3 < widths[-1]
    assert width(5, right=1.0) > 0.2  # all right may have been luck


def test_intervals_hold_the_truth_as_often_as_they_say():
    """True rates by pattern and class are known, and so is the score in the new mix."""
    rng = np.random.default_rng(0)
    patterns, here, new = [ALL, ONLY_A, ONLY_B], np.array([0.6, 0.3, 0.1]), np.array([0.1, 0.3, 0.6])
    frequency, rate = np.array([0.3, 0.5, 0.8]), np.array([[0.9, 0.7], [0.8, 0.6], [0.5, 0.9]])
    share = new @ np.column_stack([1 - frequency, frequency])
    hits = new @ (np.column_stack([1 - frequency, frequency]) * rate)
    truth = {ACCURACY: hits.sum(), BALANCED: (hits / share).mean()}
    held = dict.fromkeys(truth, 0)
    values = {metric: [] for metric in truth}
    for _ in range(300):
        member = rng.choice(3, 200, p=here)
        y = (rng.random(200) < frequency[member]).astype(int)
        data = judged(y, rng.random(200) < rate[member, y], np.array(patterns)[member])
        for metric in truth:
            (row,) = weigh_mix(data, mix(dict(zip(patterns, new, strict=True))), metric)
            values[metric].append(row.expected.value)
            held[metric] += row.expected.low <= truth[metric] <= row.expected.high
    for metric, count in held.items():
        assert np.mean(values[metric]) == pytest.approx(truth[metric], abs=0.02)
        assert 0.91 * 300 < count <= 300


# ------------------------------------------------------------------------------------ what is not known


def test_patterns_that_nobody_had_are_named(compared):
    found, views, _ = compared
    seen = "+".join(views.names)
    weighted = found.weigh_patterns({seen: 0.6, "": 0.4})
    assert weighted.unknown == pytest.approx(0.4)
    whole = found.weigh_patterns({seen: 1.0})
    for row, alone in zip(weighted.scores, whole.scores, strict=True):
        assert row.expected == pytest.approx(alone.expected)  # of what is known
    words = " ".join(weighted.sentences)
    assert "Of 40% of the new mix nothing is known" in words
    assert "no view (40.0%)" in words
    nothing = found.weigh_patterns({"": 1.0})
    assert nothing.scores == ()
    assert nothing.sentences[-1].endswith("No score can be told.")
    assert nothing.table().empty


def test_scores_of_pairs_are_refused_and_those_of_probabilities_replaced():
    views, factors = made_views(40, rate=0.3)
    found = compare(
        views, targets("classes", factors), methods=["average"], repeats=1, cv=2, n_jobs=1, score="auc"
    )
    weighted = found.weigh_patterns(views)
    assert weighted.metric.name == "accuracy"
    assert weighted.sentences[0] == "AUC wants probabilities, which are not recorded: accuracy is weighted."
    survival = compare(views, targets("survival", factors), methods=["cox-zero"], repeats=1, cv=2, n_jobs=1)
    with pytest.raises(ValueError, match="survival are of pairs"):
        survival.weigh_patterns(views)


# ---------------------------------------------------------------------------------------- in and out


def test_the_same_mix_changes_nothing(compared):
    found, views, _ = compared
    weighted = found.weigh_patterns(views)
    for row in weighted.scores:
        assert row.expected.value == row.here
        assert row.change == (0, 0, 0)
    assert "as with the patterns here" in weighted.sentences[0]
    assert weighted.sentences[0].startswith(f"With {found.best}, balanced accuracy")
    assert weighted.pattern_table()["judged"].sum() == len(views)


def test_data_tables_and_mappings_say_the_same(compared):
    found, views, _ = compared
    new = views[:30]
    patterns, counts = new.patterns()
    texts = ["+".join(name for name, has in zip(views.names, row, strict=True) if has) for row in patterns]
    given = [
        new,
        dict(zip(texts, counts.tolist(), strict=True)),
        pd.Series(100 * counts / counts.sum(), texts),
        pd.DataFrame({"pattern": texts, "share": counts}),
        {name: new.to_frame(name).dropna(how="all") for name in views.names},
    ]
    first, *others = [found.weigh_patterns(one).table() for one in given]
    for other in others:
        pd.testing.assert_frame_equal(first, other)
    reordered = new.select(views.names[::-1])
    pd.testing.assert_frame_equal(first, found.weigh_patterns(reordered).table())


def test_order_and_names_change_nothing(compared):
    found, views, y = compared
    new = {views.names[0]: 0.7, "+".join(views.names): 0.3}
    shuffled = np.random.default_rng(0).permutation(len(views))
    names = np.where(y[shuffled] == "late", "A", "Z")
    again = compare(
        views[shuffled].select(views.names[::-1]),
        names,
        methods=["average", "linear"],
        repeats=1,
        cv=3,
        n_jobs=1,
    )
    one, two = found.weigh_patterns(new).table(), again.weigh_patterns(new).table()
    pd.testing.assert_frame_equal(one, two.loc[one.index], rtol=1e-9)


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ({"a": 0.5}, "sum to 0.5; give all patterns"),
        ({"a": 0.5, "c": 0.5}, "no view 'c'; the views are"),
        ({"a+b": 0.5, "b+a": 0.5}, "'every view' has two shares"),
        ({"a": -1.0, "b": 2.0}, "numbers from 0 on"),
        ({}, "numbers from 0 on"),
        (pd.DataFrame({"a": [1], "share": [1]}), "has a column 'pattern'"),
        (pd.DataFrame({"pattern": ["a"]}), "has a column 'share'"),
        (pd.DataFrame({"pattern": ["a"], "share": ["much"]}), "are numbers, not"),
        (Views.from_dict({"z": [[1.0]]}), "none of the views"),
    ],
)
def test_what_is_no_mix_is_refused(new, words):
    with pytest.raises(ValueError, match=words):
        make_mix(new, NAMES)
    with pytest.raises(TypeError, match="int came; new samples"):
        make_mix(3, NAMES)


def test_a_finished_comparison_is_weighted_too(tmp_path):
    views, factors = made_views(40, rate=0.3)
    y = targets("numbers", factors)
    found = compare(views, y, methods=["ridge-zero"], repeats=1, cv=3, n_jobs=1, folder=tmp_path)
    mix = {views.names[0]: 1.0} if (views.observed == [True, False, False]).all(axis=1).any() else views
    again = absentia.open_comparison(tmp_path)
    pd.testing.assert_frame_equal(found.weigh_patterns(mix).table(), again.weigh_patterns(mix).table())
