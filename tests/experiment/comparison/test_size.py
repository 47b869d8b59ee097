"""Comparisons on some of very many samples: what is drawn, what leading methods do with more."""

import json
import shutil

import numpy as np
import pytest

import absentia
from absentia import Views
from absentia.app.comparison import open_comparison
from absentia.experiment.learning_curve import ScoreContext, describe_lead
from absentia.tasks import CLASSIFICATION

METRIC = CLASSIFICATION.order_metrics("accuracy")[0]
JUDGED = ScoreContext(METRIC, 1000, 0.25, 0.01)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """400 samples, of which 90 are compared on, and the whole of them."""
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    tables = {name: rng.standard_normal((400, 4)) + y[:, None] for name in ("a", "b")}
    keep = rng.random((400, 2)) < 0.9
    keep[:, 0] |= ~keep[:, 1]
    views = Views.from_dict(tables).hide(keep)
    folder = tmp_path_factory.mktemp("many")
    options = {"methods": ["average", "linear"], "repeats": 1, "n_jobs": 1, "max_samples": 90, "cv": 4}
    return views, y, absentia.compare(views, y, folder=folder, **options)


def test_methods_are_compared_on_a_draw_by_class_and_fitted_once_to_all_but_a_few_others(many):
    _, y, found = many
    drawn = found.study.data
    known = 400
    assert len(drawn.data) == 90
    assert abs(drawn.y.mean() - y.mean()) < 0.05
    drawn_said, *order, fitted = found.results.at_size
    assert f"{known} samples: methods were compared on 90 of them" in drawn_said
    assert len(order) == 1
    assert (
        f"Fitted once to {known - round(0.2 * known)} samples and judged on {round(0.2 * known)}" in fitted
    )
    assert {curve.method for curve in found.learning_curve().samples} == {"average", "linear"}
    scores = found.study.design.finalists
    assert all(name in fitted for name in scores)


def test_a_folder_that_names_completers_and_no_finalists_is_opened(many, tmp_path):
    _, _, found = many
    shutil.copytree(found.study.folder, tmp_path / "before")
    path = tmp_path / "before" / "design.json"
    design = json.loads(path.read_text())
    del design["finalists"]
    path.write_text(json.dumps(design | {"completers": ["mean"]}))
    assert open_comparison(tmp_path / "before").table().equals(found.table())


def test_who_judges_full_fits_had_no_say_in_the_choice_of_methods(many):
    from absentia.experiment.comparison._study import FullFit

    _, _, found = many
    fit = FullFit(found.study.whole, 90, found.study.design.seed)
    train, test = fit.split
    ids = found.study.whole.data.ids
    assert not set(ids[test]) & set(found.study.data.data.ids)
    assert set(ids[train]) | set(ids[test]) == set(ids)
    assert not set(train) & set(test)


def test_the_folder_has_the_draw_alone_and_says_the_same_again(many):
    _, _, found = many
    again = open_comparison(found.study.folder)
    assert len(again.study.data.data) == 90
    assert again.results.at_size == found.results.at_size
    assert found.best_estimator().predict(found.study.whole.data).shape == (len(found.study.whole.data),)


def test_all_samples_are_compared_on_if_that_is_wanted(many):
    views, y, _ = many
    found = absentia.compare(views, y, methods=["linear"], repeats=1, cv=2, n_jobs=1)
    assert found.results.at_size == ()
    assert found.study.whole is None


SIZES = (2000.0, 3200.0, 4800.0, 6400.0, 8000.0)


def curve(best, slope, noise=0.001):
    rng = np.random.default_rng(int(1000 * best))
    return {
        n: {(0, k): best - slope * n**-0.5 + noise * e for k, e in enumerate(rng.standard_normal(5))}
        for n in SIZES
    }


def test_order_that_more_samples_would_change_is_told_from_one_that_stays():
    steep, flat, low = ("steep", curve(0.95, 10.0)), ("flat", curve(0.86, 1.0)), ("low", curve(0.7, 1.0))
    assert np.mean(list(flat[1][8000.0].values())) > np.mean(list(steep[1][8000.0].values()))
    said = describe_lead(flat, steep, JUDGED, 500_000)
    assert said.startswith("steep is expected to be")
    assert said.endswith("the order is expected to change.")
    assert describe_lead(flat, low, JUDGED, 500_000).endswith("the order is not expected to change.")
    alike = describe_lead(flat, ("twin", curve(0.861, 1.0, 0.02)), JUDGED, 500_000)
    assert "cannot be told" in alike
    few = {n: folds for n, folds in flat[1].items() if n > 5000}
    assert "5 folds at 2 sizes" in describe_lead(("flat", few), low, JUDGED, 500_000)
