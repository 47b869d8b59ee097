"""Regions that hold for samples with the same views: coverage, hiding down, parts of patterns, hand-made quantiles."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import absentia
from absentia import (
    AbsentClassifier,
    AverageKernelSVC,
    ConformalSets,
    EarlyFusionClassifier,
    EarlyFusionRegressor,
    EarlyFusionSurvival,
    ViewKernels,
    Views,
)
from absentia.core import estimator
from absentia.methods.learning import Regressor, SurvivalModel

LOGISTIC = EarlyFusionClassifier("logistic", C=0.1)
RIDGE = EarlyFusionRegressor("ridge")
COX = EarlyFusionSurvival(alpha=1.0)


def make_data(n, seed=0):
    """Complete samples: a view that tells the factor well, one that hardly does; the factor."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    tables = {
        "strong": z[:, None] + 0.2 * rng.normal(size=(n, 3)),
        "weak": z[:, None] + 2 * rng.normal(size=(n, 2)),
    }
    return Views.from_dict(tables, ids=[f"s{seed}-{i}" for i in range(n)]), z, rng


def make_targets(z, rng, task):
    if task == "classes":
        return np.digitize(z + 0.1 * rng.normal(size=len(z)), [-0.5, 0.5])
    if task == "numbers":
        return z + 0.1 * rng.normal(size=len(z))
    time, until = rng.exponential(np.exp(-2 * z)), rng.exponential(3.0, size=len(z))
    return np.column_stack([np.minimum(time, until), time <= until])


def keep_weak(views, rows):
    keep = np.ones(views.observed.shape, bool)
    keep[rows, views.names.index("strong")] = False
    return views.hide(keep)


ESTIMATORS = {"classes": LOGISTIC, "numbers": RIDGE, "survival": COX}


@pytest.mark.parametrize("task", ESTIMATORS)
def test_new_samples_that_lack_a_view_are_covered_though_nobody_did_in_training(task):
    """Left as they are, calibration samples would promise what only complete samples keep."""
    views, z, rng = make_data(300)
    new, z_new, _ = make_data(1500, seed=1)
    y, y_new = make_targets(z, rng, task), make_targets(z_new, rng, task)
    new = keep_weak(new, np.arange(1500) < 750)
    reached = (
        ConformalSets(ESTIMATORS[task])
        .fit(views, y)
        .coverage_by_pattern(new, y_new)
        .set_index("pattern")["reached"]
    )
    # a standard error of sqrt(0.09 / 300 + 0.09 / 750) = 0.02, some more of censored times
    assert reached.loc["weak"] == pytest.approx(0.9, abs=0.075)
    assert reached.loc["strong + weak"] == pytest.approx(0.9, abs=0.075)
    plain = ConformalSets(ESTIMATORS[task], by="none").fit(views, y).coverage_by_pattern(new, y_new)
    if task != "survival":  # where a bound of who lacks a view is drawn to the mean's, and holds by luck
        assert plain.set_index("pattern")["reached"].loc["weak"] < 0.8


def test_whoever_lacks_a_view_for_a_reason_is_calibrated_among_themselves():
    """Here only samples of large spread lack the view: others, hidden down to the same, are easier."""
    rng = np.random.default_rng(0)
    hard = rng.random(2000) < 0.3
    z = rng.normal(size=2000)
    y = z + np.where(hard, 3.0, 0.3) * rng.normal(size=2000)
    views = Views.from_dict({"strong": rng.normal(size=(2000, 2)), "weak": z[:, None]})
    views = keep_weak(views, hard)
    model = ConformalSets(RIDGE).fit(views[:500], y[:500])
    table = model.coverage_by_pattern(views[500:], y[500:]).set_index("pattern")
    assert table.loc["weak", "n_calibration"] == hard[:500].sum()
    assert (table["reached"] - 0.9).abs().max() < 0.07
    plain = (
        ConformalSets(RIDGE, by="none").fit(views[:500], y[:500]).coverage_by_pattern(views[500:], y[500:])
    )
    assert plain.set_index("pattern").loc["weak", "reached"] < 0.8


def test_labels_by_coin_are_covered_by_sets_that_say_nothing():
    views, _, rng = make_data(600)
    y = rng.integers(2, size=600)
    table = ConformalSets(LOGISTIC).fit(views[:300], y[:300]).coverage_by_pattern(views[300:], y[300:])
    assert table["reached"].item() > 0.8
    assert table["vacuous"].item() > 0.6
    assert table["size"].item() == pytest.approx(1 + table["vacuous"].item())


# -------------------------------------------------------------------------------------- counted by hand


@estimator
class Nothing(Regressor):
    """Predicts zero, and remembers from whom each fit learned and whom it was asked about."""

    _takes = "views"
    asked = []

    def _learn(self, X, y, weight):
        self._prior = 0.0
        self.learned = X.ids

    def _predict(self, X):
        self.asked.append((self.learned.tolist(), X.ids.tolist(), X.observed.tolist()))
        return np.zeros(len(X))


@estimator
class Exponential(SurvivalModel):
    """Steps of a survival curve exp(-t) at times 1, 2, ..., 50, the same for everybody."""

    _takes = "views"

    def _learn(self, X, y, weight):
        self.event_times_ = self._hazard = np.arange(1.0, 51)

    def _predict(self, X):
        return np.zeros(len(X))


def one_view(n):
    return Views.from_dict({"a": np.arange(float(n))[:, None]}, ids=[f"x{i}" for i in range(n)])


@pytest.mark.parametrize(
    ("n", "coverage", "half_width"), [(19, 0.9, 18), (9, 0.9, 9), (8, 0.9, np.inf), (10, 0.5, 6)]
)
def test_intervals_are_as_wide_as_counted_by_hand(n, coverage, half_width):
    y = np.arange(1.0, n + 1) * (-1) ** np.arange(n)
    for by in ("pattern", "none"):
        low, high = (
            ConformalSets(Nothing(), coverage, by=by, min_samples=1)
            .fit(one_view(n), y)
            .predict_interval(one_view(2))[0]
        )
        assert high == pytest.approx(half_width)
        assert low == -high


def test_lower_bounds_count_by_hand_how_long_samples_were_followed():
    """Of twenty, four are lost between the first event and the second: later ones count 19 / 15 each."""
    time = np.array([1.0, 1.2, 1.4, 1.6, 1.8, *range(2, 17)])
    happened = ~((time > 1) & (time < 2))
    model = ConformalSets(Exponential(), 0.8).fit(one_view(20), np.column_stack([time, happened]))
    # earlier events and a new one may be 0.2 * 21 = 4.2: 1 + 1 + 19/15 before 3, too many before 4
    assert 1 + 1 + 19 / 15 < 4.2 < 1 + 1 + 2 * 19 / 15
    assert model.predict_lower(one_view(1)).tolist() == [3.0]
    seen = ConformalSets(Exponential(), 0.8).fit(one_view(20), np.column_stack([time, np.ones(20)]))
    assert seen.predict_lower(one_view(1)).tolist() == [1.0]  # the fourth of 20, rounded down to a step
    too_few = ConformalSets(Exponential(), 0.97).fit(one_view(20), np.column_stack([time, happened]))
    assert too_few.predict_lower(one_view(1)).tolist() == [0.0]


def test_the_table_counts_who_is_inside():
    views, z, rng = make_data(240)
    views = keep_weak(views, np.arange(0, 240, 3))
    y = np.array(["low", "middle", "high"])[make_targets(z, rng, "classes")]
    model = ConformalSets(LOGISTIC).fit(views[:150], y[:150])
    y[239] = "never seen"
    table = model.coverage_by_pattern(views[150:], y[150:])
    sets = model.predict_set(views[150:])
    inside = np.array([label in model.classes_[row] for label, row in zip(y[150:], sets, strict=True)])
    weak = ~views.observed[150:, 0]
    assert table["pattern"].tolist() == ["strong + weak", "weak"]
    assert table["n"].tolist() == [(~weak).sum(), weak.sum()]
    np.testing.assert_allclose(table["reached"], [inside[~weak].mean(), inside[weak].mean()])
    np.testing.assert_allclose(
        table["size"], [sets[~weak].sum(axis=1).mean(), sets[weak].sum(axis=1).mean()]
    )
    assert (table["low"] < table["reached"]).all()
    assert (table["high"] > table["reached"]).all()
    assert table["calibrated"].tolist() == table["pattern"].tolist()


# ------------------------------------------------------------------------------------ parts of patterns


def three_views():
    """Everybody has a; 60 of 120 have b, 10 of these c: too few to be calibrated."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=120)
    observed = np.column_stack([np.ones(120, bool), np.arange(120) < 60, np.arange(120) < 10])
    tables = {
        name: z[:, None] + scale * rng.normal(size=(120, 2))
        for name, scale in (("a", 2), ("b", 0.5), ("c", 0.1))
    }
    return Views.from_dict(tables, observed=observed), z


def test_a_rare_pattern_is_answered_by_the_largest_part_that_is_not():
    views, z = three_views()
    model = ConformalSets(RIDGE).fit(views, z)
    patterns = {
        tuple(np.array(model.names_in_)[p]): n
        for p, n in zip(model.patterns_, model.n_calibration_, strict=True)
    }
    assert patterns == {(): 120, ("a",): 60, ("b",): 60, ("a", "b"): 50}
    rich = views[:10]
    without = rich.hide(np.tile([True, True, False], (10, 1)))
    np.testing.assert_array_equal(model.predict_interval(rich), model.predict_interval(without))
    b_and_c = rich.hide(np.tile([False, True, True], (10, 1)))
    only_b = rich.hide(np.tile([False, True, False], (10, 1)))
    np.testing.assert_array_equal(model.predict_interval(b_and_c), model.predict_interval(only_b))
    table = model.coverage_by_pattern(rich, z[:10])
    assert table[["pattern", "calibrated", "n_calibration"]].to_numpy().tolist() == [
        ["a + b + c", "a + b", 50]
    ]


def test_of_whom_nothing_is_known_as_much_is_said_as_of_anybody():
    views, z = three_views()
    model = ConformalSets(RIDGE).fit(views, z)
    nobody = views[:2].hide(np.zeros((2, 3), bool))
    half = np.sort(np.abs(z - z.mean()))[int(np.ceil(0.9 * 121)) - 1]
    np.testing.assert_allclose(model.predict_interval(nobody), [[z.mean() - half, z.mean() + half]] * 2)


def test_views_are_found_by_name():
    views, z = three_views()
    model = ConformalSets(RIDGE).fit(views, z)
    np.testing.assert_array_equal(
        model.predict_interval(views[20:70].select(["c", "a", "b"])), model.predict_interval(views[20:70])
    )
    composite = ConformalSets(absentia.AbsentRegressor(None)).fit(
        views, z
    )  # which takes samples without a view that nobody has
    lacks = views[60:].select(["b", "a"])
    np.testing.assert_allclose(composite.predict_interval(lacks), composite.predict_interval(views[60:]))


def test_many_views_are_calibrated_by_the_patterns_that_there_are():
    rng = np.random.default_rng(0)
    observed = rng.random((200, 9)) < 0.7
    observed[:40] = np.arange(9) != 4
    views = Views.from_list([rng.normal(size=(200, 2)) for _ in range(9)], observed=observed)
    y = rng.normal(size=200)
    model = ConformalSets(RIDGE).fit(views, y)
    assert len(model.patterns_) <= 64 + 10
    assert (model.patterns_.sum(axis=1) == 8).any()
    assert (model.patterns_.sum(axis=1) == 1).sum() == 9
    assert np.isfinite(model.predict_interval(views)).all()
    turned = views.select(views.names[::-1])
    again = ConformalSets(RIDGE).fit(turned, y)
    np.testing.assert_array_equal(
        np.unique(again.patterns_[:, ::-1], axis=0), np.unique(model.patterns_, axis=0)
    )
    np.testing.assert_allclose(again.predict_interval(turned), model.predict_interval(views), rtol=1e-6)


def test_of_equal_parts_the_first_by_name_counts():
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    observed = np.arange(60)[:, None] // 30 == [[0, 1]]
    views = Views.from_list(
        [z[:, None] + 1, z[:, None] + rng.normal(size=(60, 1))], ["b", "a"], observed=observed
    )
    new = Views.from_list([[[0.5]], [[-2.0]]], ["b", "a"])
    model = ConformalSets(RIDGE).fit(views, z)
    interval = model.predict_interval(new)
    np.testing.assert_array_equal(interval, model.predict_interval(new.hide([[False, True]])))
    other = ConformalSets(RIDGE).fit(views.select(["a", "b"]), z)
    np.testing.assert_allclose(other.predict_interval(new), interval, rtol=1e-9)


# ------------------------------------------------------------------------------------- folds and groups


def test_nobody_is_predicted_by_a_model_that_has_seen_the_group():
    views, y = one_view(60), np.arange(60.0)
    groups = np.arange(60) // 4
    for given in (groups, None):
        Nothing.asked.clear()
        ConformalSets(Nothing()).fit(views, y, groups=given)
        place = {x: i if given is None else given[i] for i, x in enumerate(views.ids.tolist())}
        held_out = [pair for pair in Nothing.asked if np.any(pair[2])]  # not those that are hidden whole
        assert len(held_out) == 5
        for learned, asked, _ in held_out:
            assert not {place[x] for x in learned} & {place[x] for x in asked}
        assert sorted(x for _, asked, _ in held_out for x in asked) == sorted(views.ids.tolist())


def test_order_and_names_decide_nothing():
    views, z, rng = make_data(120)
    views = keep_weak(views, np.arange(0, 120, 3))
    y = make_targets(z, rng, "classes")
    sets = ConformalSets(LOGISTIC).fit(views[:90], y[:90]).predict_set(views[90:])
    order = rng.permutation(90)
    other = views.select(["weak", "strong"])
    again = ConformalSets(LOGISTIC).fit(other[order], y[order]).predict_set(other[90:])
    np.testing.assert_array_equal(again, sets)
    renamed = (
        ConformalSets(LOGISTIC).fit(views[:90], np.array(["c", "a", "b"])[y[:90]]).predict_set(views[90:])
    )
    np.testing.assert_array_equal(renamed, sets[:, [1, 2, 0]])
    assert sets.any(axis=1).all()


def test_no_set_is_empty():
    views, z, rng = make_data(200)
    y = make_targets(z, rng, "classes")
    model = ConformalSets(LOGISTIC, 0.2).fit(views, y)
    sets = model.predict_set(views)
    np.testing.assert_array_equal(sets.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[sets.argmax(axis=1)], model.estimator_.predict(views))


@pytest.mark.parametrize("task", ESTIMATORS)
def test_another_coverage_can_be_asked_for_than_that_of_the_fit(task):
    """As if it had been fitted with it, patterns that have too few samples for it included."""
    views, z, rng = make_data(120)
    views = keep_weak(views, np.arange(0, 120, 4))
    y = make_targets(z, rng, task)
    model = ConformalSets(ESTIMATORS[task], 0.6).fit(views, y)
    method = {"classes": "predict_set", "numbers": "predict_interval", "survival": "predict_lower"}[task]
    for coverage in (0.6, 0.9, 0.97):  # the last takes 33 samples, and 30 lack the strong view
        other = ConformalSets(ESTIMATORS[task], coverage).fit(views, y)
        np.testing.assert_array_equal(
            getattr(model, method)(views, coverage), getattr(other, method)(views)
        )
        assert model.coverage_by_pattern(views, y, coverage).equals(other.coverage_by_pattern(views, y))
    assert other.n_calibration_.tolist() != model.n_calibration_.tolist()
    with pytest.raises(ValueError, match="coverage must be a number above 0 and below 1, not"):
        getattr(model, method)(views, 1.2)


def test_many_scores_are_thinned_alike_whatever_the_order(monkeypatch):
    monkeypatch.setattr("absentia.methods.prediction._conformal._MAX_SCORES", 50)
    views, z, rng = make_data(120)
    y = make_targets(z, rng, "numbers")
    model = ConformalSets(RIDGE).fit(views, y)
    assert model.n_calibration_.tolist() == [50] * 4
    order = rng.permutation(120)
    again = ConformalSets(RIDGE).fit(views[order], y[order])
    np.testing.assert_allclose(again.calibration_.scores, model.calibration_.scores, rtol=1e-6)


# ------------------------------------------------------------------------------------- files and kernels


@pytest.mark.parametrize("task", ESTIMATORS)
def test_a_saved_model_says_the_same(task, tmp_path):
    views, z, rng = make_data(100)
    views = keep_weak(views, np.arange(0, 100, 2))
    model = ConformalSets(ESTIMATORS[task], random_state=3).fit(views, make_targets(z, rng, task))
    path = absentia.save(model, tmp_path / "sets.absentia")
    back = absentia.load(path)
    method = {"classes": "predict_set", "numbers": "predict_interval", "survival": "predict_lower"}[task]
    np.testing.assert_array_equal(getattr(back, method)(views), getattr(model, method)(views))
    assert absentia.models.describe(path)["views"] == ["strong", "weak"]
    assert repr(clone(back)) == repr(model)


def test_kernels_are_held_out_by_rows_and_columns():
    """Fifty have both views, which are too few here: they are answered by one of them."""
    views, z, rng = make_data(120)
    keep = np.ones((120, 2), bool)
    keep[0::2, 0], keep[1:20:2, 1] = False, False
    y = make_targets(z, rng, "classes")
    square = ViewKernels("linear").fit_transform(views.hide(keep))
    model = ConformalSets(AbsentClassifier(None, kernel="precomputed", C=1.0), min_samples=55).fit(
        square, y
    )
    assert model.n_calibration_.tolist() == [120, 60, 60]  # nothing, weak, strong, of whom 50 have both
    rows = square[np.ix_(np.arange(119), np.arange(120))]
    np.testing.assert_array_equal(model.predict_set(square)[:119], model.predict_set(rows))


# ------------------------------------------------------------------------------------------------ errors


def test_what_cannot_be_is_said():
    views, z, rng = make_data(40)
    y = make_targets(z, rng, "classes")
    with pytest.raises(ValueError, match="estimator must be a classifier with predict_proba"):
        ConformalSets(AverageKernelSVC()).fit(views, y)
    with pytest.raises(ValueError, match="estimator must be"):
        ConformalSets(EarlyFusionClassifier).fit(views, y)
    with pytest.raises(ValueError, match="coverage must be a number above 0 and below 1"):
        ConformalSets(LOGISTIC, 1.0).fit(views, y)
    with pytest.raises(ValueError, match=r"groups has shape \(3,\) for 40 samples"):
        ConformalSets(LOGISTIC).fit(views, y, groups=[1, 2, 3])
    with pytest.raises(ValueError, match="all samples are of one group"):
        ConformalSets(LOGISTIC).fit(views, y, groups=np.zeros(40))
    rare = np.where(np.arange(40) < 3, 2, np.arange(40) % 2)
    with pytest.raises(
        ValueError, match=r"fitted to 3\d of 40 samples, the others held out: .* class 2 has 2 sample"
    ):
        ConformalSets(absentia.AutoClassifier({"linear": LOGISTIC})).fit(views, rare)
    with pytest.raises(TypeError, match="Views are wanted, not dict"):
        ConformalSets(LOGISTIC).fit(views, y).predict_set({"strong": [[1.0]]})
    with pytest.raises(NotFittedError):
        ConformalSets(LOGISTIC).predict_set(views)
    assert not hasattr(ConformalSets(LOGISTIC), "predict_interval")
    assert not hasattr(ConformalSets(RIDGE), "predict_lower")
    assert hasattr(ConformalSets(COX), "predict_lower")
