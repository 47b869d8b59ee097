"""``absentia compare --plan-only``: the study that flags ask for, and what its design remembers of them."""

import shlex

import numpy as np
import pandas as pd
import pytest

from absentia import Views, io
from absentia.experiment.comparison import open_study
from helpers.command_line import refused, run


@pytest.fixture
def data(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 6))
    views = Views.from_dict({"text": X[:, :2], "image": X[:, 2:4], "more": X[:, 4:]})
    number = X.sum(axis=1)
    io.write(tmp_path / "v.npz", views, y=(number > 0).astype(int), number=number)
    return tmp_path / "v.npz"


def plan(data, *flags, folder="compared"):
    """The study that is written for these flags."""
    given = [*flags] if "--methods" in flags else [*flags, "--methods", "average"]
    result = run("compare", data, *given, "--plan-only", "-o", data.parent / folder)
    assert result.returncode == 0, result.stderr
    return open_study(data.parent / folder)


def test_the_command_in_the_design_is_the_command(data):
    flags = ("--kernel", "linear", "--methods", "average", "--repeats", "1", "--memory-limit", "2G")
    study = plan(data, "--labels", "y", *flags, folder="my folder")
    words = shlex.split(study.design.command)
    assert words == [
        *("absentia", "compare", str(data), "--labels", "y", *flags, "-o", str(data.parent / "my folder"))
    ]
    assert study.design.call == shlex.join(words[2:7])
    assert study.design.memory_limit == 2 << 30
    assert study.data.kernel.kernel == "linear"


def test_only_flags_that_were_given_are_said_again(data):
    start = ("absentia", "compare", str(data), "--labels", "y")
    out = ("-o", str(data.parent / "compared"))
    assert plan(data, "--labels", "y").design.command == shlex.join([*start, "--methods", "average", *out])
    flags = ("--approx", "rff", "--factors", "9", "--kernel", "rbf", "--log", "text", "more")
    more = ("--methods", "average", "mkl", "--rates", "0.1", "0.3", "--all-repeats")
    command = plan(data, "--labels", "y", *flags, *more).design.command
    assert command == shlex.join([*start, *flags, *more, *out])


@pytest.mark.parametrize(
    ("labels", "task"), [("y", "classes"), ("number", "numbers"), (None, "completion")]
)
def test_what_is_compared_follows_from_the_labels(data, labels, task):
    method = {"classes": "average", "numbers": "ridge", "completion": "mean"}[task]
    study = plan(data, *(() if labels is None else ("--labels", labels)), "--methods", method)
    assert study.data.kind == task
    assert len(study.data.data) == 30


def test_what_was_warned_of_goes_with_the_design(data):
    X = np.random.default_rng(0).poisson(0.3, size=(30, 8)).astype(float)
    X[0] = 1
    io.write(data, Views.from_dict({"counts": X, "other": X - 0.5}), y=np.arange(30) % 2)
    study = plan(data, "--labels", "y")
    assert any("'counts' looks like counts" in remark for remark in study.design.remarks)


# ------------------------------------------------------------------------------------------------ kernels


def list_kernels(study):
    """Kernel and logarithm of each view."""
    made = study.data.kernel
    usual, exceptions = {"kernel": made.kernel, "log": made.log}, made.per_view or {}
    return [tuple((usual | exceptions.get(name, {})).values()) for name in study.data.data.names]


def test_kernels_are_those_of_the_call_else_rbf(data):
    chosen = plan(data, "--labels", "y", "--kernel", "image=linear", "--log", "more")
    assert list_kernels(chosen) == [("rbf", False), ("linear", False), ("rbf", True)]
    for_all = plan(data, "--labels", "y", "--kernel", "linear", "text=cosine", "--log", "image")
    assert list_kernels(for_all) == [("cosine", False), ("linear", True), ("linear", False)]
    assert plan(data, "--labels", "y").data.kernel.per_view is None


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--kernel", "cubic"), "no kernel 'cubic'; choose one of rbf"),
        (("--kernel", "sound=rbf"), "--kernel: no view 'sound'; the views are 'text', 'image', 'more'"),
        (("--log", "sound"), "--log: no view 'sound'"),
        (("--factors", "0"), "--factors is a whole number of 1 or more, not 0"),
    ],
)
def test_what_is_not_there_is_named(data, flags, sentence):
    refused(run("compare", data, "--labels", "y", *flags, "--plan-only", "-o", data.parent / "c"), sentence)


def test_how_much_of_kernels_is_made_can_be_said(data):
    made = plan(data, "--labels", "y", "--approx", "none", "--factors", 7).data.kernel
    assert (made.approx, made.n_landmarks) == (None, 7)


# ------------------------------------------------------------------------------------------------ reading


def test_a_wide_table_is_read_as_the_call_says(tmp_path):
    rng = np.random.default_rng(0)
    columns = ["gene_1", "gene_2", "age", "sex", "seen"]
    table = pd.DataFrame(rng.normal(size=(30, 5)), columns=columns).assign(pid=[f"P{i}" for i in range(30)])
    table["label"] = np.array(["no", "yes"])[np.arange(30) % 2]
    table.to_csv(tmp_path / "wide.csv", index=False)
    flags = ("--id", "pid", "--views", "expr=gene_*", "clin=age,sex,label")
    study = plan(tmp_path / "wide.csv", "--labels", "label", *flags)
    views = study.data.data
    assert {name: list(map(str, views.features(name))) for name in views.names} == {
        "expr": ["gene_1", "gene_2"],
        "clin": ["age", "sex"],
    }
    assert views.ids[0] == "P0"
    assert shlex.join(flags) in study.design.command
