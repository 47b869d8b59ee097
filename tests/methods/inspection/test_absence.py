"""Why views are absent: planted reasons are found, coins are not, and what cannot be told is not told."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from absentia import ViewKernels, Views, datasets, inspection
from absentia.data.statistics import holm
from absentia.data.survival import Survival
from absentia.methods.inspection import _absence


def make_views(seed, n=100, share=0.3):
    """Three views of noise, the first of which everybody has; the others are absent by coin."""
    rng = np.random.default_rng(seed)
    tables = [rng.normal(size=(n, width)) for width in (4, 20, 60)]
    observed = np.column_stack([np.ones(n, dtype=bool), rng.random((n, 2)) > share])
    return Views.from_list(tables, ["a", "b", "c"], ids=[f"s{i}" for i in range(n)], observed=observed), rng


def get_row(why, view, source):
    table = why.table[(why.table["view"] == view) & (why.table["from"] == source)]
    assert len(table) == 1
    return table.iloc[0]


def plant(seed=0, n=150):
    """View b is absent where the first feature of a is large, c where the label is one, more or less."""
    views, rng = make_views(seed, n, share=0.0)
    y = rng.integers(2, size=n)
    large = np.asarray(views.block("a"))[:, 0] + rng.normal(scale=0.5, size=n) > 0.5
    keep = np.column_stack([np.ones(n, dtype=bool), ~large, rng.random(n) > 0.1 + 0.6 * y])
    return views.hide(keep), np.where(y == 1, "ill", "well")


def test_planted_reasons_are_found_and_said():
    views, y = plant()
    why = inspection.absence(views, pd.Series(y, index=views.ids, name="state"))
    from_a, from_y = get_row(why, "b", "a"), get_row(why, "c", "state")
    assert from_a["p corrected"] < 0.01
    assert from_y["p corrected"] < 0.01
    assert from_a["low"] < from_a["AUC"] < from_a["high"]
    assert from_a["low"] > 0.6
    assert why.pattern.p_corrected < 0.01
    assert why.pattern.value > 0.6
    assert why.pattern.chance == 0.5
    assert get_row(why, "b", "state")["p corrected"] > 0.05
    p = [*why.table["p"], why.pattern.p]
    np.testing.assert_allclose([*why.table["p corrected"], why.pattern.p_corrected], holm(p))
    assert any(s.startswith("b: who lacks it can be told from a (AUC 0.") for s in why.sentences)
    assert "alone predicts state with balanced accuracy" in why.sentences[-1]
    assert "(chance 50.0 %)" in why.sentences[-1]
    assert "p, corrected, <0.001" in why.pattern.words


def test_held_out_predictions_are_those_of_ridge_regression_fold_by_fold():
    from sklearn.linear_model import Ridge

    views, _ = plant()
    data = _absence._Samples.of(views, 7)
    absent = ~views.observed[:, 1]
    rows, folds, index = _absence._draw(data, np.ones(len(views), dtype=bool), absent)
    table, t = data.coordinates[0][rows], absent[rows].astype(float)
    scores = _absence._predict_held_out(table, t[index][:, :1, None], folds)[:, 0, 0]
    expected = np.zeros(len(t))
    for train, test in folds:
        size = ((table[train] - table[train].mean(axis=0)) ** 2).sum(axis=1).mean()
        losses = {}
        for penalty in _absence._PENALTIES:
            if np.isinf(penalty):
                losses[penalty] = ((t[train] - t[train].mean()) ** 2).sum() / (len(train) - 1) ** 2, 0.0
                continue
            model = Ridge(penalty * len(train) * size).fit(table[train], t[train])
            Z = table[train] - table[train].mean(axis=0)
            inner = Z.T @ Z + penalty * len(train) * size * np.eye(Z.shape[1])
            freedom = len(train) - 1 - np.trace(np.linalg.solve(inner, Z.T @ Z))
            loss = ((t[train] - model.predict(table[train])) ** 2).sum() / freedom**2
            losses[penalty] = loss, model.predict(table[test]) - t[train].mean()
        expected[test] = min(losses.values(), key=lambda pair: pair[0])[1]
    np.testing.assert_allclose(scores, expected, atol=1e-7)
    assert len(np.unique(scores)) > 100


def test_absence_by_coin_is_not_told():
    corrected, areas = [], []
    for seed in range(8):
        views, rng = make_views(seed)
        why = inspection.absence(
            views, rng.integers(3, size=100), pd.DataFrame({"age": rng.normal(size=100)}, index=views.ids)
        )
        corrected += [*why.table["p corrected"].dropna(), why.pattern.p_corrected]
        areas += why.table["AUC"].dropna().tolist()
    assert len(corrected) == 8 * 13
    assert np.mean(np.array(corrected) < 0.05) <= 1 / 20
    assert abs(np.mean(areas) - 0.5) < 0.04


@pytest.mark.slow
def test_p_values_are_those_of_chance_under_the_null():
    p = []
    for seed in range(150):
        views, rng = make_views(seed, n=60)
        why = inspection.absence(views, rng.normal(size=60))
        p.append([*why.table["p"], why.pattern.p])
    p = np.array(p, dtype=float)
    assert p.shape == (150, 11)
    for level in (
        0.02,
        0.05,
        0.1,
        0.2,
    ):  # above, many are one value: nothing is told in this or other draws
        assert 0.5 * level < (p <= level).mean() < 1.5 * level


@pytest.mark.parametrize("order", ["samples", "views"])
def test_order_decides_nothing(order):
    views, y = plant()
    if order == "samples":
        mixed = np.random.default_rng(5).permutation(len(views))
        other = inspection.absence(views[mixed], y[mixed])
    else:
        other = inspection.absence(views.select(["c", "a", "b"]), y)
    why = inspection.absence(views, y)
    first, second = (x.table.sort_values(["view", "from"]).reset_index(drop=True) for x in (why, other))
    pd.testing.assert_frame_equal(first, second, rtol=1e-7)
    assert why.pattern[2:] == pytest.approx(other.pattern[2:])


def test_names_of_classes_decide_nothing():
    views, y = plant()
    first = inspection.absence(views, y)
    for names in (np.where(y == "ill", "z", "b"), (y == "ill").astype(int)):
        other = inspection.absence(views, names)
        pd.testing.assert_frame_equal(first.table, other.table, rtol=1e-7)
        assert first.pattern[2:] == pytest.approx(other.pattern[2:])


def test_missing_values_of_another_view_are_a_row_of_their_own():
    views, _ = make_views(1, n=120)
    tables = views.to_dict()
    tables["a"] = tables["a"].copy()
    tables["a"][~views.observed[:, 1], 0] = np.nan
    why = inspection.absence(Views.from_list(list(tables.values()), list(tables)))
    assert get_row(why, "b", "missing values of a")["AUC"] == 1.0
    assert get_row(why, "b", "missing values of a")["low"] < 1.0
    assert get_row(why, "b", "a")["p corrected"] > 0.05


def test_covariates_go_by_id_and_may_be_categories():
    views, rng = make_views(2, n=120)
    site = np.where(views.observed[:, 2], "north", "south")
    table = pd.DataFrame({"site": site, "age": rng.normal(size=120)}, index=views.ids)
    why = inspection.absence(views, covariates=table.sample(frac=1, random_state=1))
    assert get_row(why, "c", "site")["AUC"] == 1.0
    assert get_row(why, "c", "age")["p corrected"] > 0.05
    with pytest.raises(TypeError, match="data frame by id"):
        inspection.absence(views, covariates=site)


def test_what_cannot_be_told_is_not_told():
    views, rng = make_views(3, n=40, share=0.0)
    observed = views.observed.copy()
    observed[:2, 1] = False
    observed[:, 2] = False
    with pytest.warns(UserWarning, match="observed for no sample"):
        few = Views.from_list(list(views.to_dict().values()), list(views.names), observed=observed)
    why = inspection.absence(few, rng.integers(2, size=40))
    assert set(why.table["view"]) == {"b", "c"}
    assert why.table["AUC"].isna().all()
    assert why.table["why not"][0] == "2 of 40 samples lack it, 5 are wanted"
    assert get_row(why, "c", "a")["why not"] == "0 of 40 samples have it, 5 are wanted"
    assert not why.sentences
    single = inspection.absence(views.select(["a"]), ["x"] * 3 + ["y"] * 37)
    assert single.table.empty
    assert single.pattern is None
    assert "fewer than two classes" in single.notes[0]
    constant = inspection.absence(views, np.full(40, 0.5))
    assert "it is the same for all" in constant.notes[0]
    same = inspection.absence(views, rng.integers(2, size=40))
    assert same.pattern is None
    assert "all samples have the same views" in same.notes[0]


def test_numbers_times_kernels_and_several_labels_are_taken():
    views, y = plant(n=120)
    sick = (y == "ill").astype(float)
    rng = np.random.default_rng(0)
    numbers = inspection.absence(views, sick + 0.3 * rng.normal(size=120))
    assert numbers.pattern.measure == "R2"
    assert numbers.pattern.value > 0.1
    times = Survival(rng.exponential(1 / (0.2 + 3 * sick)), rng.random(120) < 0.9)
    survival = inspection.absence(views, times)
    assert survival.pattern.measure == "concordance"
    assert survival.pattern.value > 0.6
    assert survival.pattern.p_corrected < 0.05
    several = inspection.absence(views, np.column_stack([sick, 1 - sick]))
    assert several.pattern is None
    assert get_row(several, "c", "the label")["p"] < 0.01
    kernels = inspection.absence(ViewKernels("linear").fit_transform(views), y)
    assert isinstance(kernels, inspection.Absence)
    assert get_row(kernels, "b", "a")["p corrected"] < 0.01
    with pytest.raises(ValueError, match="one for each is wanted"):
        inspection.absence(views, y[:-1])
    with pytest.raises(TypeError, match="Views are wanted"):
        inspection.absence({"a": np.zeros((3, 2))})


def test_many_samples_and_features_are_thinned_out_and_that_is_said(monkeypatch):
    monkeypatch.setattr(_absence, "_MAX_SAMPLES", 100)
    monkeypatch.setattr(_absence, "_MAX_FEATURES", 10)
    views, y = plant(n=300)
    why = inspection.absence(views, y)
    assert why.notes[0] == "100 of 300 samples are looked at"
    assert "10 of 60 features of c are looked at, evenly spaced" in why.notes
    assert why.table["n absent"].max() < 100


def test_classes_that_are_too_small_take_no_part():
    views, rng = make_views(4)
    y = np.where(np.arange(100) < 2, "rare", rng.choice(["a", "b"], 100))
    with_rare, without = inspection.absence(views, y), inspection.absence(views[2:], y[2:])
    assert with_rare.pattern.chance == without.pattern.chance == with_rare.pattern.value == 0.5


def test_unknown_labels_are_left_out():
    views, y = plant()
    partly = y.astype(object)
    partly[:50] = None
    why = inspection.absence(views, partly)
    alone = inspection.absence(views[50:], y[50:])
    assert why.table["n absent"][why.table["from"] == "the label"].tolist() == (
        alone.table["n absent"][alone.table["from"] == "the label"].tolist()
    )


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        score = np.concatenate([rng.normal(1.0, 1, 15), rng.normal(0, 1, 40)])
        area = roc_auc_score(np.repeat([1, 0], [15, 40]), score)
        low, high = _absence._find_area_interval(area, 15, 40)
        hits += low <= 0.7602 <= high
    assert 0.92 < hits / 400 < 0.985


def test_the_pattern_tells_of_small_classes_as_of_large_ones():
    views, y = datasets.make_multiview(200, 3, random_state=0).views, np.arange(200) % 4
    keep = np.ones(views.observed.shape, dtype=bool)
    keep[y == 0, 1] = keep[y == 1, 2] = False
    balanced = inspection.absence(views.hide(keep), y).pattern
    assert balanced.value == pytest.approx(0.75, abs=0.01)  # two of four classes, and half of the rest
    views = datasets.make_multiview(400, 2, random_state=0).views
    y, lacks = np.repeat(["a", "b", "c"], [280, 80, 40]), np.zeros(400, dtype=bool)
    lacks[:52] = lacks[280:310] = lacks[360:378] = True  # 18 of the 40 c, and 30 of the 80 b
    alone = inspection.absence(views.hide(np.column_stack([~lacks, np.ones(400, dtype=bool)])), y).pattern
    assert alone.value == pytest.approx((228 / 280 + 18 / 40) / 3)  # who lacks it is c
    assert alone.p_corrected < 0.05
