"""What the report of a fit tells of the model."""

import numpy as np

from absentia import AbsentClassifier, AutoClassifier, EarlyFusionClassifier, MMAFClassifier, ViewKernels
from absentia.app.cli._fitting import _kernel_words, _model_fields
from absentia.experiment import Validation
from absentia.methods.models import Model
from absentia.tasks import Predictions
from helpers.known_effects import planted


def judged(**changes):
    return Validation(None, {"it": Predictions(None, changes.pop("probabilities", 1))}, None, {}, **changes)


def test_importances_are_told_where_there_are_any():
    views, y = planted(40)
    line = AbsentClassifier(kernel="linear", C=1.0).fit(views, y)
    told = _model_fields(Model(line), judged(gains=[]))
    assert len(told["importance"]) == 10
    assert max(told["importance"], key=lambda one: one[2])[:2] == ("tells", "key")
    assert told["importance_of"] == ""
    assert "why_no_gains" not in told
    curved = AbsentClassifier(C=1.0).fit(views, y)
    assert "importance" not in _model_fields(Model(curved), judged(gains=[]))
    chooser = AutoClassifier({"trees": EarlyFusionClassifier(n_trees=10)}).fit(views, y)
    assert _model_fields(Model(chooser), judged(gains=[]))["importance_of"] == "the mean of trees (100%)"


def test_the_rule_of_decisions_is_told_where_it_is_not_the_largest_chance():
    views, y = planted(40)
    trees = {"trees": EarlyFusionClassifier(n_trees=10)}
    fewer = np.sort(np.r_[np.flatnonzero(y == "no"), np.flatnonzero(y == "yes")[:5]])
    rare = AutoClassifier(trees).fit(views[fewer], y[fewer])
    rule = _model_fields(Model(rare), judged(gains=[]))["rule"]
    assert "probability times weight (no 1, yes 4." in rule  # how much rarer it is
    for plain in (AutoClassifier(trees, decision="accuracy"), AbsentClassifier(C=1.0)):
        assert "rule" not in _model_fields(Model(plain.fit(views, y)), judged(gains=[]))


def test_why_gains_are_not_told():
    views, y = planted(40)
    own = AbsentClassifier(C=1.0, kernel="precomputed").fit(ViewKernels().fit_transform(views), y)
    assert "the data are kernels" in _model_fields(Model(own), judged())["why_no_gains"]
    joined = MMAFClassifier().fit(views, y)
    assert (
        "without probabilities" in _model_fields(Model(joined), judged(probabilities=None))["why_no_gains"]
    )


def test_kernels_are_told_with_their_exceptions():
    per_view = {"text": {"kernel": "cosine"}, "more": {"log": True}}
    assert _kernel_words(ViewKernels(per_view=per_view)) == "rbf; text: cosine; more: log(1 + x)"
