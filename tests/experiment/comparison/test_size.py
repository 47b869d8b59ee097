"""Comparisons on some of very many samples: what is drawn, and what learns from all."""

import json
import shutil

import numpy as np
import pytest

import absentia
from absentia import Views
from absentia.app.comparison import open_comparison


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


def test_methods_are_compared_on_a_draw_by_class(many):
    _, y, found = many
    drawn = found.study.data
    assert len(drawn.data) == 90
    assert abs(drawn.y.mean() - y.mean()) < 0.05
    assert found.results.facts["drawn"] == "90 of 400 samples, by class where there are classes"


def test_a_folder_that_names_finalists_and_completers_is_opened(many, tmp_path):
    _, _, found = many
    shutil.copytree(found.study.folder, tmp_path / "before")
    path = tmp_path / "before" / "design.json"
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"finalists": ["linear"], "completers": ["mean"]})
    )
    assert open_comparison(tmp_path / "before").table().equals(found.table())


def test_the_folder_has_the_draw_alone_and_says_the_same_again(many):
    _, _, found = many
    again = open_comparison(found.study.folder)
    assert len(again.study.data.data) == 90
    assert again.results.facts == found.results.facts
    assert found.best_estimator().predict(found.study.whole.data).shape == (len(found.study.whole.data),)


def test_all_samples_are_compared_on_if_that_is_wanted(many):
    views, y, _ = many
    found = absentia.compare(views, y, methods=["linear"], repeats=1, cv=2, n_jobs=1)
    assert "drawn" not in found.results.facts
    assert found.study.whole is None
