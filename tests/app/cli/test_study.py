"""Options of ``absentia compare``, and the study that they ask for."""

import shlex

import numpy as np
import pytest

from absentia import Views, io
from absentia.app.cli._compare import CompareOptions
from absentia.app.cli._flags import LabelledReadOptions, ViewKernelOptions, flag_words
from absentia.app.cli._study import make_study, read_task_data


@pytest.fixture
def data(tmp_path):
    X = np.random.default_rng(0).normal(size=(30, 4))
    views, number = Views.from_dict({"a": X[:, :2], "b": X[:, 2:]}), X.sum(axis=1)
    io.write(tmp_path / "v.npz", views, y=(number > 0).astype(int), number=number)
    return tmp_path / "v.npz"


def test_only_what_was_given_is_said_again():
    assert flag_words(CompareOptions()) == []
    given = CompareOptions(methods=("average", "mkl"), repeats=2, rates=(0.1, 0.3), all_repeats=True)
    assert flag_words(given) == [
        *("--methods", "average", "mkl", "--repeats", "2", "--rates", "0.1", "0.3", "--all-repeats")
    ]


def test_the_command_in_the_design_is_the_command(data):
    options = CompareOptions(methods=("average",), repeats=1, memory_limit="2G")
    kernels = ViewKernelOptions(kernel=("linear",))
    study, _ = make_study(data, "y", LabelledReadOptions(), kernels, options, data.parent / "my folder")
    words = shlex.split(study.design.command)
    assert words[:5] == ["absentia", "compare", str(data), "--labels", "y"]
    assert words[5:] == [
        *("--kernel", "linear", "--methods", "average", "--repeats", "1", "--memory-limit", "2G"),
        *("-o", str(data.parent / "my folder")),
    ]
    assert study.design.call == shlex.join(words[2:7])
    assert study.design.memory_limit == 2 << 30
    assert study.data.kernel.kernel == "linear"


@pytest.mark.parametrize(
    ("labels", "task"), [("y", "classes"), ("number", "numbers"), (None, "completion")]
)
def test_what_is_compared_follows_from_the_labels(data, labels, task):
    problem, _ = read_task_data(data, labels, LabelledReadOptions(), ViewKernelOptions())
    assert problem.kind == task
    assert len(problem.data) == 30


def test_what_was_warned_of_goes_with_the_design(data):
    X = np.random.default_rng(0).poisson(0.3, size=(30, 8)).astype(float)
    X[0] = 1
    io.write(data, Views.from_dict({"counts": X, "other": X - 0.5}), y=np.arange(30) % 2)
    options = CompareOptions(methods=("average",))
    with pytest.warns(UserWarning, match="looks like counts"):
        study, _ = make_study(data, "y", LabelledReadOptions(), ViewKernelOptions(), options, None)
    assert any("'counts' looks like counts" in remark for remark in study.design.remarks)
