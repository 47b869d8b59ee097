"""What the flags say about data: how to read them, kernels of views, labels."""

import numpy as np
import pandas as pd
import pytest

from absentia import AbsenceWarning, KernelViews, Views
from absentia.app.cli._data_checks import count_sentences, number_sentences
from absentia.app.cli._source import Features, Source, kernel_of, kernels_in_words, view_kernels
from absentia.app.cli._training import find_labels, label_sentence
from absentia.files import Labels, LoadedData

COUNTS = np.random.default_rng(0).poisson(0.5, size=(20, 6)).astype(float)
DATA = Views.from_dict({"text": COUNTS, "image": COUNTS + 0.5, "more": COUNTS * 1.5})


def opened(**per_view):
    return LoadedData(DATA, per_view)


def test_kernels_are_those_of_the_call_else_of_the_manifest_else_rbf():
    makes = view_kernels(opened(text={"kernel": "cosine"}, more={"log": True}), ["image=linear"], [])
    assert [kernel_of(makes, name) for name in DATA.names] == [
        ("cosine", False),
        ("linear", False),
        ("rbf", True),
    ]
    assert kernels_in_words(makes) == "rbf; text: cosine; more: log(1 + x); image: linear"
    for_all = view_kernels(opened(text={"kernel": "cosine", "log": True}), ["linear"], ["image"])
    assert [kernel_of(for_all, name) for name in DATA.names] == [
        ("linear", True),
        ("linear", True),
        ("linear", False),
    ]
    assert view_kernels(opened(), [], []).per_view is None


@pytest.mark.parametrize(
    ("kernels", "logs", "sentence"),
    [
        (["cubic"], [], "no kernel 'cubic'; choose one of rbf"),
        (["sound=rbf"], [], "--kernel: no view 'sound'; the views are 'text', 'image', 'more'"),
        ([], ["sound"], "--log: no view 'sound'"),
    ],
)
def test_what_is_not_there_is_named(kernels, logs, sentence):
    with pytest.raises(ValueError, match=sentence):
        view_kernels(opened(), kernels, logs)


def test_counts_get_advice_unless_something_was_chosen():
    (sentence,) = count_sentences(DATA, view_kernels(opened(), [], []))
    assert "view 'text' looks like counts" in sentence
    assert "--kernel text=cosine or --log text" in sentence
    for chosen in (view_kernels(opened(), ["text=cosine"], []), view_kernels(opened(), [], ["text"])):
        assert count_sentences(DATA, chosen) == []
    assert count_sentences(KernelViews.from_dense(np.eye(3)[None]), view_kernels(opened(), [], [])) == []


def test_options_are_those_of_reading():
    assert Source("pid", ("expr=gene_*", "clin=age,sex")).options() == {
        "id": "pid",
        "views": {"expr": ["gene_*"], "clin": ["age", "sex"]},
        "layer": None,
        "use_rep": None,
        "ignore": (),
        "transpose": False,
    }
    assert Source().options()["views"] is None


def test_labels_of_every_kind_are_said_in_a_line():
    known = np.array([True, True, False])
    some = {"known": known, "empty": 1, "unlabelled": 2}
    classes = Labels("classes", ("y",), np.array(["a", "b", ""]), **some, foreign=tuple("pqrs"))
    assert label_sentence(classes) == (
        "2 usable (a 1, b 1), 1 empty or NA, 2 sample(s) without a line, 4 ids in no view (ignored: p, q, r, ...)"
    )
    numbers = Labels("numbers", ("y",), np.array([1.5, 2, np.nan]), known)
    assert label_sentence(numbers) == "2 usable (numbers from 1.5 to 2)"
    survival = Labels("survival", ("t", "e"), np.array([[3.0, 1], [4, 0], [np.nan, 1]]), known)
    assert label_sentence(survival) == "2 usable (survival, 1 events)"
    several = Labels("multilabel", ("p", "q"), np.array([[1.0, np.nan], [0, 1], [np.nan, np.nan]]), known)
    assert label_sentence(several) == "2 usable (2 labels, 1 entries unknown)"


def test_categories_that_look_like_numbers_are_pointed_at():
    frame = pd.DataFrame({"weight": [f"{50 + k} kg" for k in range(10)], "stage": ["1a", "2b"] * 5})
    (sentence,) = number_sentences(Views.from_dict({"clin": frame}))
    assert (
        "column 'weight' is taken as a category of 10 levels, which begin with numbers (e.g. '50 kg')"
        in sentence
    )
    assert number_sentences(DATA) == []


def test_classes_that_differ_in_writing_only_are_pointed_at(tmp_path):
    ids = [f"s{k}" for k in range(4)]
    pd.DataFrame({"x": range(4)}, ids).to_csv(tmp_path / "a.csv")
    pd.DataFrame({"y": ["Tumor", "tumor", "normal", "normal"]}, ids).to_csv(tmp_path / "labels.csv")
    opened_here = Source().open(tmp_path)
    with pytest.warns(AbsenceWarning, match="the classes 'Tumor' and 'tumor' differ in writing only"):
        find_labels(tmp_path, Source(), opened_here, "labels.csv:y")


def test_how_much_of_kernels_is_made_can_be_said():
    makes = view_kernels(opened(), [], [], Features(approx="none", factors=7))
    assert (makes.approx, makes.n_landmarks) == (None, 7)
    usual = view_kernels(opened(), [], [], Features())
    assert usual.get_params() == view_kernels(opened(), [], []).get_params()
    with pytest.raises(ValueError, match="--factors"):
        view_kernels(opened(), [], [], Features(factors=0))
