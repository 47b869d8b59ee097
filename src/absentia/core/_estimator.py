"""What every estimator shares: parameters declared and checked, fitted models as plain data, callbacks.

A user's callback and lines on stderr (``verbose``) are called by the one loop (:func:`iterate`).  A fit may
run it several times, from several starts or for several classes: for callbacks, iterations count up once.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning

from absentia.core._parameters import get_parameters
from absentia.core._serialization import (
    Pairs,
    Serialized,
    deserialize,
    plain_state,
    serializable,
    serialize,
)
from absentia.core._warn import warn
from absentia.core.linalg import Array
from absentia.core.optimize import Callback, Progress, Solution, Status

#: Seconds between lines of progress, and the clock that counts them.
_PAUSE = 2.0
_clock: Callable[[], float] = time.monotonic

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(eq_default=False)
def estimator(cls: _Class) -> _Class:
    """A class whose fields are its parameters: ``__init__`` only remembers, as scikit-learn wants it."""
    return dataclass(eq=False, repr=False)(cls)  # type: ignore[return-value]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.

    A derived class declares its parameters as the fields of a dataclass (:func:`estimator`), or in its own
    ``__init__`` that does nothing else; ``fit`` begins with :meth:`_check_parameters`.
    """

    _pairwise = False  # True: learns from kernels, which scikit-learn splits by rows and columns

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        serializable(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {key: _as_pairs(value) for key, value in plain_state(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        pairs = {key: value for key, value in state.items() if isinstance(value, Pairs)}
        self.__dict__.update(state, **{key: dict(zip(*value, strict=True)) for key, value in pairs.items()})

    def _check_parameters(self) -> None:
        """Every parameter as it was declared, and all of them together."""
        for name, parameter in get_parameters(self).items():
            parameter.check(getattr(self, name), type(self).__name__)
        self._check()

    def _check(self) -> None:
        """Raise if parameters do not go together."""

    def _with_ids(self, table: Array, ids: Array) -> Any:
        """`table`, with the ids of its rows as index where ``set_output`` asks for pandas frames.

        scikit-learn names the columns, but knows of no ids other than the index of a frame that came in.
        """
        config = getattr(self, "_sklearn_output_config", {})
        if config.get("transform", get_config().get("transform_output")) != "pandas":
            return table
        import pandas as pd

        return pd.DataFrame(table, index=pd.Index(list(ids), tupleize_cols=False))

    def _any_output(self, *, transform: Any = None) -> Self:
        """Nothing to set: kernels come out whatever is asked for.  Here for pipelines, which set it all.

        Parameters
        ----------
        transform : ignored
        """
        return self

    def state(self) -> Serialized:
        """All that was given and learned, as plain data; without callbacks, which are code."""
        return serialize(self, type(self).__name__)

    @classmethod
    def from_state(cls, state: Serialized) -> Self:
        """The estimator of which this is the state."""
        restored = deserialize(state.tree, state.arrays)
        if not isinstance(restored, cls):
            raise ValueError(f"this is the state of a {type(restored).__name__}, not of a {cls.__name__}")
        return restored


def _as_pairs(value: Any) -> Any:
    """A dict whose keys are tuples as pairs, which skops can write."""
    plain = not isinstance(value, dict) or all(type(key) in (str, int, float) for key in value)
    return value if plain else Pairs(list(value), list(value.values()))


class Iterative:
    """Fitted attributes of whatever runs through :func:`iterate`."""

    n_iter_: int
    objective_: Array
    converged_: bool
    status_: str
    _remedy: str = ""  # what to do where the objective is not finite

    def _make_callback(self) -> Callback | None:
        """The callback of all loops of one fit; None if nobody listens."""
        return make_callback(self)

    def _set_convergence(self, solution: Solution[Any]) -> None:
        """Set the fitted attributes from how a loop ended, and warn if it did not converge."""
        if solution.status is Status.NOT_FINITE and not solution.n_iter:
            raise ValueError(f"{type(self).__name__}: {solution.message}; there is none{self._remedy}")
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.trace
        self.converged_ = solution.converged
        self.status_ = solution.message
        if solution.status is Status.NOT_FINITE:
            self.status_ += self._remedy
        if getattr(self, "verbose", False):
            _write_line(f"{type(self).__name__}: {self.status_} ({self.n_iter_} iterations)")
        if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
            warn(f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)", ConvergenceWarning)


# ------------------------------------------------------------------------------------------------ callbacks


class _CallbackList:
    """A callback that calls several, with iterations that count on from loop to loop."""

    def __init__(self, *listeners: Callback) -> None:
        self._listeners = listeners
        self._before = self._last = 0  # iterations of the loops that are over, and of the present one

    def __call__(self, progress: Progress) -> bool:
        if progress.iteration <= self._last:  # another loop has begun
            self._before += self._last
        self._last = progress.iteration
        iteration, max_iter = self._before + progress.iteration, self._before + progress.max_iter
        overall = replace(progress, iteration=iteration, max_iter=max_iter)
        stops = [listener(overall) for listener in self._listeners]  # all are called, whoever stops
        return any(stops)


def make_callback(estimator: Any) -> Callback | None:
    """The callback that the loops of a fit call after each iteration; None if nobody listens."""
    listeners: list[Callback] = []
    if (callback := getattr(estimator, "callback", None)) is not None:
        listeners.append(callback)
    if getattr(estimator, "verbose", False):
        listeners.append(_print_progress(type(estimator).__name__))
    return _CallbackList(*listeners) if listeners else None


def clone_without_callbacks(estimator: Any, **parameters: Any) -> Any:
    """A clone with other parameters and no callbacks: a trial inside a fit is no progress of it."""
    other = clone(estimator)
    quiet = {"callback": None, "verbose": False}
    return other.set_params(**{k: v for k, v in quiet.items() if k in other.get_params()}, **parameters)


def _write_line(text: str) -> None:
    """A line on stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _print_progress(name: str) -> Callback:
    """A callback that writes a line every :data:`_PAUSE` seconds."""
    last = _clock()

    def show(progress: Progress) -> None:
        nonlocal last
        if (now := _clock()) - last >= _PAUSE:
            last = now
            # where there is no objective, what is watched is the change itself
            objective = (
                f"objective {progress.objective:.6g}, " if progress.objective != progress.change else ""
            )
            count = f"iteration {progress.iteration} of at most {progress.max_iter}"
            _write_line(f"{name}: {count}, {objective}change {progress.change:.1e}")

    return show
