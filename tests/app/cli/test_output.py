"""Tables and sentences that several verbs say."""

import warnings
from pathlib import Path

import numpy as np

from absentia import KernelViews, Views
from absentia.app.cli._data_checks import concerns, indefinite_sentences
from absentia.app.cli._output import made_with, parameters_in_words, say_what_is_next, say_where


def test_where_files_are_is_said_of_those_that_were_written(capsys):
    say_where(completed_kernels=Path("[o].npz"), report=None)
    assert capsys.readouterr().out == "completed kernels: [o].npz\n"


def test_parameters_are_said_without_the_callback():
    assert parameters_in_words({"tol": 0.1, "callback": print}) == "tol=0.1"
    assert parameters_in_words({}) == "as they are"
    assert made_with().startswith("absentia 0")


def test_concerns_name_absence_missing_values_and_kernels_that_are_none():
    with warnings.catch_warnings(action="ignore"):
        kernels = KernelViews.from_dense(
            np.stack([np.eye(3) - 0.5, np.eye(3)]), np.array([[1, 1], [1, 1], [0, 0]])
        )
        views = Views.from_dict({"a": [[1.0, np.nan], [2.0, 1.0]]})
    assert ["no view at all" in one for one in concerns(kernels)] == [True]
    odd = KernelViews.from_dense([np.array([[1.0, 2.0], [2.0, 1.0]])])
    assert indefinite_sentences(odd, "mend it") == [
        "view 'view0': the kernel is not positive semidefinite (eigenvalues from -1 to 3); mend it"
    ]
    assert "--repair clip" in concerns(odd)[0]
    assert concerns(views) == [
        "values missing inside observed samples (a 1); kernels take the feature's mean"
    ]


def test_what_to_do_with_a_model_is_said_last(capsys):
    say_what_is_next(Path("m.absentia"), Path("m.html"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["model: m.absentia", "report: m.html"]
    assert lines[2].startswith("next:  ")
    assert lines[2].endswith("predict m.absentia NEW -o predicted.csv")
