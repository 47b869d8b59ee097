"""Warnings point at the user's line, however deep inside they are given."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline

from absentia import MKMC, AbsenceWarning, CombineKernels, KernelViews, MKLClassifier, ViewKernels, Views
from absentia.core import is_absentia_warning, warn
from absentia.core._warn import _DIFFERS, _action
from conftest import random_kernels


def test_a_warning_names_the_line_that_called_the_package():
    with pytest.warns(UserWarning, match="hello") as caught:
        warn("hello")
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


def test_neither_the_package_nor_scikit_learn_is_blamed():
    with pytest.warns(AbsenceWarning, match="no view at all"):
        views = Views.from_dict({"a": [[1.0], [2.0], [np.nan]], "b": [[1.0], [0.0], [np.nan]]})
    with pytest.warns(AbsenceWarning, match="no view at all") as caught:
        make_pipeline(ViewKernels("linear"), CombineKernels()).fit_transform(views)
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


def test_a_method_that_did_not_converge_says_so_at_the_call():
    keep = np.ones((20, 3), dtype=bool)
    keep[:5, 0] = False
    kernels = KernelViews.from_dense(random_kernels(20, 3), observed=keep)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MKMC(n_components=2, max_iter=1).fit_transform(kernels)
    assert {Path(w.filename) for w in caught} == {Path(__file__)}


# ------------------------------------------------------------------------------------ once for all folds


def gappy(empty=6):
    """Views of samples some of which have none, and labels."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((60, 2))
    table[:: 60 // empty] = np.nan
    with warnings.catch_warnings(action="ignore"):
        views = Views.from_dict({"a": table, "b": table**2}, ids=[f"P{i}" for i in range(60)])
    return views, np.arange(60) % 2


def shown_by(call, action="default"):
    """What a call writes to stderr with the filters that people have."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        call()
    return [str(one.message) for one in caught]


def validated(views, y, **options):
    pipeline = make_pipeline(ViewKernels(), MKLClassifier(**options))
    return lambda: cross_val_score(pipeline, views, y, cv=KFold(5, shuffle=True, random_state=0))


def test_a_cross_validation_says_once_what_every_fold_would_say():
    found = shown_by(validated(*gappy()))
    assert len(found) == 2
    assert "no view at all" in found[0]
    assert "take no part in training" in found[1]
    searched = GridSearchCV(
        make_pipeline(ViewKernels(), MKLClassifier()), {"mklclassifier__C": [1, 2]}, cv=3
    )
    assert len(shown_by(lambda: searched.fit(*gappy()))) == 2


def test_other_data_are_spoken_of_again():
    call = validated(*gappy())
    other = validated(*gappy(empty=10))
    assert [len(shown_by(one)) for one in (call, other)] == [2, 2]


def test_what_one_call_has_said_does_not_silence_the_next():
    """Their frames and data are often at the same place in memory, one after the other."""
    place = Path(sklearn.__file__).parent / "model_selection" / "made_up.py"
    space = {"warn": warn}
    source = "def fit_folds(X):\n    for fold in range(2):\n        warn(f'{fold} samples are lost')"
    exec(compile(source, place, "exec"), space)
    shown = [len(shown_by(lambda: space["fit_folds"](np.zeros(3)))) for _ in range(20)]
    assert shown == [1] * 20


def test_whoever_asks_for_all_warnings_gets_all():
    assert len(shown_by(validated(*gappy()), "always")) == 10
    with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match="AbsenceWarning"):
        validated(*gappy())()


def test_a_pipeline_says_the_same_sentence_once():
    views, _ = gappy()
    pipeline = make_pipeline(ViewKernels(), MKMC(n_components=1, tol=1e-2))
    found = shown_by(lambda: pipeline.fit(views))
    assert [one for one in found if "no view at all" in one] == found[:1]


def test_sentences_of_different_views_are_different():
    many = [
        "view 'view0' is observed for no sample; it carries no information",
        "view 'view1' is observed for no sample; it carries no information",
        "8 sample(s) have no view at all, e.g. 29, 46, 64; nothing can be said",
        "10 sample(s) have no view at all, e.g. 'P4', 'P1'; nothing can be said",
        "reached max_iter (2 iterations)",
        "reached max_iter (12 iterations), error 1.5e-05",
    ]
    forms = [_DIFFERS.sub("", one) for one in many]
    assert forms[0] != forms[1]
    assert forms[2] == forms[3]
    assert forms[4] != forms[5]


def test_filters_are_read_as_python_reads_them():
    frame = sys._getframe()
    with warnings.catch_warnings():
        warnings.resetwarnings()
        assert _action("hello", UserWarning, frame) == "default"
        warnings.filterwarnings("ignore", "hel", module=__name__)
        assert _action("hello", UserWarning, frame) == "ignore"
        assert _action("bye", UserWarning, frame) == "default"
        warnings.filterwarnings("once", category=AbsenceWarning)
        assert _action("hello", AbsenceWarning, frame) == "once"
        assert _action("hello", UserWarning, frame) == "ignore"
    with warnings.catch_warnings():
        warnings.filters.insert(0, ("always", None, UserWarning, "elsewhere", 0))
        assert _action("hello", UserWarning, frame) != "always"


def test_our_warnings_are_told_from_those_of_others():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn("ours")
        warnings.warn("theirs", stacklevel=1)
    assert [is_absentia_warning(one.message) for one in caught] == [True, False]
    assert (str(caught[0].message), caught[0].category) == ("ours", UserWarning)
    assert not is_absentia_warning("a text")
