"""``absentia.plots``: what is drawn is what there is, where and at the size that is asked for."""

import matplotlib
import numpy as np
import pandas as pd
import pytest

import absentia
from absentia import (
    AutoClassifier,
    ConformalSets,
    KernelViews,
    MeanFill,
    MKLClassifier,
    ViewKernels,
    Views,
    inspection,
    plots,
)
from helpers.known_effects import planted

matplotlib.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def close_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def cohort():
    views, y = planted(90)
    return views, np.asarray(y)


@pytest.fixture(scope="module")
def model(cohort):
    views, y = cohort
    return AutoClassifier(["linear", "fusion-linear"]).fit(views[:60], y[:60])


def test_public_names_are_displays():
    kinds = [name for name in dir(plots) if name.endswith("Display") and name != "Display"]
    assert len(kinds) >= 15
    assert all(issubclass(getattr(plots, name), plots.Display) for name in kinds)


def test_strips_show_who_has_what(cohort):
    views, y = cohort
    display = plots.PresenceDisplay.from_views(views, y)
    image = display.ax_.images[0].get_array()
    assert image.shape == (views.n_views + 1, len(views))
    np.testing.assert_array_equal((image[:-1] == 1).sum(axis=1), views.observed.sum(axis=0))
    changes = (image[:-1, 1:] != image[:-1, :-1]).any(axis=0).sum()
    assert changes == len(views.patterns()[0]) - 1  # samples of a pattern stand together


def test_a_strip_has_the_colours_of_its_legend_and_what_is_there_is_dark(cohort):
    views, y = cohort
    display = plots.PresenceDisplay.from_views(views, y)
    image = display.ax_.images[0]
    strips = image.to_rgba(image.get_array(), norm=True)
    keys = display.ax_.get_legend()
    words = [text.get_text() for text in keys.get_texts()]
    legend = dict(zip(words, (patch.get_facecolor() for patch in keys.get_patches()), strict=True))
    for strip, present in zip(strips[:-1], views.observed.T, strict=True):
        assert (strip == legend["present"]).all(axis=1).sum() == present.sum()
        assert (strip == legend["absent"]).all(axis=1).sum() == (~present).sum()
    for kind in np.unique(y):
        assert (strips[-1] == legend[str(kind)]).all(axis=1).sum() == (y == kind).sum()
    assert sum(legend["present"][:3]) < sum(legend["absent"][:3])
    assert len(set(legend.values())) == len(legend)


def test_patterns_count_samples_by_class(cohort):
    views, y = cohort
    display = plots.PatternDisplay.from_views(views, y, max_patterns=2)
    patterns, counts = views.patterns()
    np.testing.assert_array_equal(display.patterns, patterns[:2])
    np.testing.assert_array_equal(display.counts.sum(axis=1), counts[:2])
    first = (views.observed == patterns[0]).all(axis=1)
    assert display.counts[0].tolist() == [int((y[first] == c).sum()) for c in display.classes]
    assert display.n_others == counts[2:].sum()


def test_labels_in_another_order_are_refused(cohort):
    views, y = cohort
    turned = pd.Series(y[::-1], index=views.ids[::-1])
    with pytest.raises(ValueError, match="order"):
        plots.PresenceDisplay.from_views(views, turned)
    with pytest.raises(ValueError, match="80 values for 90 samples"):
        plots.PatternDisplay.from_views(views, y[:80])


def test_kernels_are_sorted_by_label_and_absent_is_masked():
    K = np.arange(16.0).reshape(1, 4, 4)
    K = np.repeat(K + K.transpose(0, 2, 1) + 20 * np.eye(4), 2, axis=0)
    kernels = KernelViews.from_dense(K, observed=np.array([[1, 1], [1, 1], [0, 1], [1, 1]]))
    display = plots.KernelDisplay.from_kernels(
        ["b", "a", "b", "a"], before=kernels, after=MeanFill().fit_transform(kernels)
    )
    order = [1, 3, 0, 2]
    wanted = K[0][np.ix_(order, order)].copy()
    wanted[3, :] = wanted[:, 3] = np.nan
    np.testing.assert_allclose(display.kernels["before"][0], wanted)
    assert np.ma.getmaskarray(display.ax_[0, 0].images[0].get_array())[3].all()
    assert np.isfinite(display.kernels["after"]).all()
    with pytest.raises(ValueError, match="'other' has other samples"):
        plots.KernelDisplay.from_kernels(one=kernels, other=kernels[np.ix_([0, 1], [0, 1])])


def test_points_are_marked_by_what_samples_have(cohort):
    views, y = cohort
    points = np.random.default_rng(0).normal(size=(len(views), 2))
    display = plots.EmbeddingDisplay.from_views(views, y, points=points)
    drawn = np.concatenate([part.get_offsets() for part in display.ax_.collections])
    np.testing.assert_allclose(np.sort(drawn, axis=0), np.sort(points, axis=0))
    sizes = [len(part.get_offsets()) for part in display.ax_.collections]
    assert sizes[0] == views.patterns()[1][0]


def test_values_are_compared_in_deviations_of_what_was_observed():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(60, 1))
    tables = {name: 5 + 3 * (base + 0.3 * rng.normal(size=(60, 4))) for name in ("a", "b")}
    truth = Views.from_dict(tables)
    keep = np.ones((60, 2), bool)
    keep[:15, 0] = keep[15:30, 1] = False
    display = plots.ValuesDisplay.from_completed(
        absentia.complete_values(truth.hide(keep), keep="all"), truth
    )
    known = tables["a"][15:]
    wanted = ((tables["a"][:15] - known.mean(axis=0)) / known.std(axis=0)).ravel()
    np.testing.assert_allclose(display.values["a"][0], wanted)
    assert np.corrcoef(*display.values["a"])[0, 1] > 0.7
    shown = plots.ValuesDisplay(display.values | {"c": display.values["a"]}).plot().figure_
    shown.draw_without_rendering()
    assert shown.get_tightbbox().y1 <= shown.get_size_inches()[1]  # titles are whole
    with pytest.raises(ValueError, match="no view"):
        plots.ValuesDisplay.from_completed(
            absentia.complete_values(truth.hide(keep), keep="all"), truth.hide(keep)
        )


def test_weights_of_views_and_of_members(cohort, model):
    views, y = cohort
    machine = MKLClassifier().fit(ViewKernels().fit_transform(views), y)
    pd.testing.assert_frame_equal(
        plots.WeightDisplay.from_estimator(machine).table, pd.DataFrame(machine.weight_table())
    )
    members = plots.WeightDisplay.from_estimator(model).table
    assert members.index.tolist() == list(model.candidates_)
    np.testing.assert_allclose(members.sum(), 1)
    with pytest.raises(ValueError, match="learns no weights"):
        plots.WeightDisplay.from_estimator(ViewKernels())


def test_contributions_of_all_and_of_one(cohort, model):
    views, _ = cohort
    new = views[60:]
    long = inspection.contributions(model, new)
    one = plots.ContributionDisplay.from_estimator(model, new, sample=new.ids[2])
    own = long[long["id"] == new.ids[2]].set_index(["view", "class"])["contribution"]
    for (view, label), value in own.items():
        assert one.table.loc[view, label] == pytest.approx(value)
    every = plots.ContributionDisplay.from_estimator(model, new).table
    np.testing.assert_allclose(every.to_numpy().sum(), long["contribution"].abs().sum() / len(new))
    with pytest.raises(ValueError, match="no sample 'nobody'"):
        plots.ContributionDisplay.from_estimator(model, new, sample="nobody")


def test_importance_has_the_largest_first(model):
    table = plots.ImportanceDisplay.from_estimator(model, n=5).table
    assert len(table) == 5
    assert table["importance"].is_monotonic_decreasing


def test_calibration_counts_hits_in_bins():
    proba = np.r_[np.full(50, 0.2), np.full(50, 0.8)]
    y = np.r_[np.ones(10), np.zeros(40), np.ones(40), np.zeros(10)]
    display = plots.CalibrationDisplay.from_predictions(y, np.c_[1 - proba, proba], [0, 1], n_bins=2)
    (curve,) = display.curves.values()
    np.testing.assert_allclose(curve[["told", "came"]], [[0.2, 0.2], [0.8, 0.8]])
    assert (curve["low"] < curve["came"]).all()
    assert (curve["came"] < curve["high"]).all()
    groups = np.repeat(["many", "few"], [90, 10])
    display = plots.CalibrationDisplay.from_predictions(y, np.c_[1 - proba, proba], [0, 1], groups=groups)
    assert list(display.curves) == ["many (n = 90)", "other views (n = 10)"]


def test_calibration_coverage_and_plans_of_models(cohort, model):
    views, y = cohort
    display = plots.CalibrationDisplay.from_estimator(model, views[60:], y[60:])
    assert sum(int(name.split("n = ")[1].rstrip(")")) for name in display.curves) == 30
    sets = ConformalSets(AutoClassifier(["linear"])).fit(views[:60], y[:60])
    shown = plots.CoverageDisplay.from_estimator(sets, views[60:], y[60:], coverage=0.8).table
    pd.testing.assert_frame_equal(shown, sets.coverage_by_pattern(views[60:], y[60:], 0.8))
    plan = inspection.plan(model, views[60:], among=views[:60], n_draws=3)
    line = plots.PlanDisplay.from_plan(plan).ax_.lines[0]
    np.testing.assert_allclose(line.get_ydata()[1:], plan["cumulative gain"])
    with pytest.raises(ValueError, match="no column 'cumulative cost'"):
        plots.PlanDisplay.from_plan(plan[["view"]])


def test_absence_is_hollow_where_it_may_be_chance(cohort):
    absence = inspection.absence(*cohort)
    display = plots.AbsenceDisplay.from_absence(absence)
    assert len(display.table) == absence.table["AUC"].notna().sum()


class _Risk:
    def predict(self, X):
        return -np.asarray(X)


def test_survival_groups_by_risk():
    time = np.arange(1.0, 31.0)
    y = np.c_[time, np.ones(30)]
    display = plots.SurvivalDisplay.from_estimator(_Risk(), time, y)
    assert list(display.curves) == [f"{word} risk (n = 10)" for word in ("low", "middle", "high")]
    assert display.curves["high risk (n = 10)"].times.max() == 10
    assert display.p < 0.001
    assert plots.SurvivalDisplay.from_times(y).p is None


def test_ranks_are_those_of_nemenyi():
    scores = pd.DataFrame(
        np.random.default_rng(0).normal(size=(12, 4)) + np.arange(4), columns=list("abcd")
    )
    display = plots.CriticalDifferenceDisplay.from_scores(scores)
    wanted = absentia.statistics.nemenyi(scores.to_numpy())
    np.testing.assert_allclose(display.result.ranks, wanted.ranks)
    words = " ".join(text.get_text() for text in display.ax_.texts)
    assert f"d ({wanted.ranks[3]:.2f})" in words


@pytest.mark.usefixtures("few_strengths")
def test_comparison_and_learning_curve(cohort):
    views, y = cohort
    found = absentia.compare(
        views, y, methods=["average", "linear"], repeats=1, cv=3, n_jobs=1, learning_curve=True
    )
    display = plots.ComparisonDisplay.from_comparison(found)
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == found.table().index.tolist()
    bold = [label.get_text() for label in display.ax_.get_yticklabels() if label.get_fontweight() == "bold"]
    assert bold == [found.best]
    curve = plots.LearningCurveDisplay.from_comparison(found)
    assert {own.method for own in curve.curve.samples} == {
        text.get_text() for text in curve.ax_.get_legend().texts
    }


def test_axes_that_are_given_are_drawn_into(cohort):
    views, y = cohort
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(8, 3))
    assert plots.PresenceDisplay.from_views(views, ax=left).ax_ is left
    panels = plots.PatternDisplay.from_views(views, y, ax=right)
    box = right.get_position()
    assert panels.figure_ is figure
    for panel in panels.ax_:
        assert panel.get_position().x0 >= box.x0 - 1e-9
    loose = figure.add_axes((0.1, 0.1, 0.3, 0.3))
    assert plots.PatternDisplay.from_views(views, ax=loose).figure_ is figure


@pytest.mark.parametrize(("ending", "start"), [("pdf", b"%PDF"), ("svg", b"<?xml"), ("png", b"\x89PNG")])
def test_files_have_the_size_of_a_journal(cohort, tmp_path, ending, start):
    display = plots.PresenceDisplay.from_views(cohort[0])
    height, width = display.figure_.get_size_inches()[::-1]
    path = display.save(tmp_path / f"figure.{ending}", "single")
    assert path.read_bytes().startswith(start)
    np.testing.assert_allclose(display.figure_.get_size_inches(), [3.5, 3.5 * height / width])
    again = plots.PresenceDisplay.from_views(cohort[0]).save(tmp_path / f"again.{ending}", "single")
    assert again.read_bytes() == path.read_bytes()  # nothing of the clock, no random names
    with pytest.raises(ValueError, match=r"ends in \.pdf, \.svg, \.png"):
        display.save(tmp_path / "figure.gif")
    with pytest.raises(ValueError, match="width"):
        display.save(path, "huge")
