"""Parameters declared once: what is accepted, what is refused and in which words, what texts stand for."""

import inspect
import math
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from sklearn.base import clone

import absentia
from absentia.core import (
    Estimator,
    Fraction,
    NonNegative,
    Positive,
    PositiveInt,
    Range,
    estimator,
    get_parameters,
)


@estimator
class Sample(Estimator):
    """A method.

    Parameters
    ----------
    solver : {"quick", "slow"}, default "quick"
        How to solve.  More about that.
    n_parts, rank : int
        How many.
    """

    solver: Literal["quick", "slow"] = "quick"
    _: KW_ONLY
    n_parts: PositiveInt | Literal["auto"] = "auto"
    rank: PositiveInt | Fraction | None = None
    weight: Positive = 1.0
    tol: NonNegative = 1e-3
    angle: Annotated[float, Range(least=-1, below=1)] = 0.0
    keep: bool = True
    anything: Any = None
    callback: Callable[[int], bool] | None = None

    def _check(self):
        if self.solver == "slow" and self.n_parts == "auto":
            raise ValueError("solver='slow' wants a number of parts")


@estimator
class Derived(Sample):
    """Another.

    Parameters
    ----------
    more : float
        How much more.
    solver, rank
        As in :class:`Sample`.
    """

    more: Positive = 2.0


def test_fields_are_parameters_as_scikit_learn_wants_them():
    assert repr(Sample("slow", n_parts=2)) == "Sample(n_parts=2, solver='slow')"
    assert clone(Sample(rank=0.5)).get_params()["rank"] == 0.5
    assert set(get_parameters(Derived)) == {*get_parameters(Sample), "more"}
    with pytest.raises(TypeError, match="positional"):
        Sample("slow", 2)


GOOD = [
    {"solver": "slow", "n_parts": 1},
    {"n_parts": np.int64(3)},
    {"rank": 5},
    {"rank": 0.5},
    {"rank": 1.0},
    {"weight": 3},
    {"tol": 0},
    {"tol": np.float32(0.5)},
    {"angle": -1},
    {"keep": np.bool_(False)},
    {"anything": object()},
    {"callback": print},
]
BAD = [
    ({"solver": "fast"}, "Sample: solver must be 'quick' or 'slow', not 'fast'"),
    ({"solver": None}, "solver must be 'quick' or 'slow', not None"),
    ({"n_parts": 0}, "n_parts must be a whole number of 1 or more or 'auto', not 0"),
    ({"n_parts": True}, "n_parts must be .* not True"),
    ({"n_parts": 2.0}, "n_parts must be .* not 2.0"),
    ({"rank": 1.5}, "rank must be a whole number of 1 or more, a number above 0 up to 1 or None, not 1.5"),
    ({"weight": 0}, "weight must be a number above 0, not 0"),
    ({"tol": -1}, "tol must be a number of 0 or more, not -1"),
    ({"tol": math.inf}, "tol must be .* not inf"),
    ({"tol": math.nan}, "tol must be .* not nan"),
    ({"tol": "small"}, "tol must be .* not 'small'"),
    ({"angle": 1}, "angle must be a number from -1 and below 1, not 1"),
    ({"keep": 1}, "keep must be True or False, not 1"),
    ({"callback": 3}, "callback must be a Callable or None, not 3"),
    ({"solver": "slow"}, "solver='slow' wants a number of parts"),
]


@pytest.mark.parametrize("given", GOOD)
def test_what_is_declared_is_accepted(given):
    Sample(**given)._check_parameters()
    Derived(**given)._check_parameters()


@pytest.mark.parametrize(("given", "sentence"), BAD)
def test_what_is_not_is_refused_by_name(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Sample(**given)._check_parameters()


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("solver", "slow", "slow"),
        ("n_parts", "7", 7),
        ("n_parts", "auto", "auto"),
        ("rank", "5", 5),
        ("rank", "0.5", 0.5),
        ("rank", "none", None),
        ("keep", "no", False),
        ("weight", "1e-3", 1e-3),
    ],
)
def test_texts_are_read(name, text, value):
    found = get_parameters(Sample)[name].parse(text)
    assert found == value
    assert type(found) is type(value)


def test_texts_that_mean_nothing_are_refused_in_the_words_of_the_command_line():
    parameters = get_parameters(Sample)
    with pytest.raises(ValueError, match="--parts is a whole number of 1 or more or auto, not 'many'"):
        parameters["n_parts"].parse("many")
    with pytest.raises(ValueError, match="--keep is yes or no, not '2'"):
        parameters["keep"].parse("2")
    assert [p.flag for p in parameters.values() if p.spoken] == [
        "--solver",
        "--parts",
        "--rank",
        "--weight",
        "--tol",
        "--angle",
        "--keep",
    ]


def test_words_come_from_the_docstring_or_the_one_it_refers_to():
    assert get_parameters(Sample)["solver"].words == "How to solve.  More about that."
    assert get_parameters(Sample)["rank"].words == get_parameters(Sample)["n_parts"].words == "How many."
    assert get_parameters(Derived)["solver"].words == "How to solve.  More about that."
    assert get_parameters(Derived)["more"].words == "How much more."


def test_a_plain_signature_serves_as_well():
    class Plain(Estimator):
        """With an ``__init__`` of its own."""

        def __init__(self, size: PositiveInt = 3):
            self.size = size

    Plain()._check_parameters()
    with pytest.raises(ValueError, match="Plain: size must be a whole number of 1 or more, not 0"):
        Plain(0)._check_parameters()


def estimators():
    found = [getattr(absentia, name) for name in absentia.__all__]
    return [one for one in found if isinstance(one, type) and issubclass(one, Estimator)]


@pytest.mark.parametrize("cls", estimators(), ids=lambda cls: cls.__name__)
def test_every_parameter_of_every_estimator_has_words_and_a_default_that_is_allowed(cls):
    for name, parameter in get_parameters(cls).items():
        if parameter.default is not inspect.Parameter.empty:
            parameter.check(parameter.default, cls.__name__)
        assert parameter.words, f"{cls.__name__}.{name}"
