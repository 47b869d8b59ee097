"""What every estimator shares: parameters declared and checked, fitted models as plain data, callbacks.

A user's callback and lines on stderr (``verbose``) are called by the one loop (:func:`iterate`).  A fit may
run it several times, from several starts or for several classes: for callbacks, iterations count up once.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar, dataclass_transform

import numpy as np
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import estimator_html_repr

from absentia.core._parameters import get_parameters
from absentia.core._serialization import Serialized, deserialize, plain_state, serializable, serialize
from absentia.core._warn import warn
from absentia.core.linalg import Array
from absentia.core.optimize import Callback, Progress, Solution, Status
from absentia.core.svg import tabulate_presence

_LINE_INTERVAL = 2.0  # seconds between lines of progress, by the clock
_clock: Callable[[], float] = time.monotonic

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(eq_default=False)
def estimator(cls: _Class) -> _Class:
    """Make a class a dataclass whose fields are its parameters; ``__init__`` stores them, no more."""
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

    def _repr_html_inner(self) -> str:
        """What a notebook shows: scikit-learn's diagram and, once fitted, who had which view."""
        observed, names = getattr(self, "_observed", None), getattr(self, "names_in_", ())
        diagram = estimator_html_repr(self)
        if observed is None or np.shape(observed)[1:] != (len(names),):
            return diagram
        words = f"Fitted to {len(observed)} samples. {getattr(self, 'sentence_', '')}"
        return diagram + tabulate_presence(words, names, observed)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return {
            kind: self._repr_html_inner() if kind == "text/html" else text for kind, text in bundle.items()
        }

    def __getstate__(self) -> dict[str, Any]:
        return plain_state(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def _check_parameters(self) -> None:
        """Raise if a parameter is not of the declared type and range, or if some do not go together."""
        for name, parameter in get_parameters(self).items():
            parameter.check(getattr(self, name), type(self).__name__)
        self._check()

    def _check(self) -> None:
        """Raise if parameters do not go together; a derived class says when."""

    def _with_ids(self, table: Array, ids: Array) -> Any:
        """Return `table` (n, p); as a frame with the n `ids` as index if ``set_output`` asks for pandas.

        scikit-learn names the columns, but knows of no ids other than the index of a frame that came in.
        """
        config = getattr(self, "_sklearn_output_config", {})
        if config.get("transform", get_config().get("transform_output")) != "pandas":
            return table
        import pandas as pd

        return pd.DataFrame(table, index=pd.Index(list(ids), tupleize_cols=False))

    def _any_output(self, *, transform: Any = None) -> Self:
        """The ``set_output`` of estimators that return kernels whatever is asked: pipelines call it.

        Parameters
        ----------
        transform : ignored
        """
        return self

    def state(self) -> Serialized:
        """Parameters and fitted attributes as plain data; without callbacks, which are code."""
        return serialize(self, type(self).__name__)

    @classmethod
    def from_state(cls, state: Serialized) -> Self:
        """Make the estimator whose :meth:`state` this is."""
        restored = deserialize(state.tree, state.arrays)
        if not isinstance(restored, cls):
            raise ValueError(f"this is the state of a {type(restored).__name__}, not of a {cls.__name__}")
        return restored


class Iterative:
    """Mixin of estimators that fit by :func:`iterate`: callbacks, and attributes that say how it ended."""

    n_iter_: int
    objective_: Array  # (n_iter_,) the objective after each iteration
    converged_: bool
    status_: str  # how the fit ended, in words
    _remedy: str = ""  # advice that follows the message where the objective is not finite

    def _make_callback(self) -> Callback | None:
        """Make the callback for all loops of one fit; None without `callback` and `verbose`."""
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

    def __init__(self, *callbacks: Callback) -> None:
        self._callbacks = callbacks
        self._past_iterations = 0  # of the loops that are over
        self._iteration = 0  # of the present loop

    def __call__(self, progress: Progress) -> bool:
        if progress.iteration <= self._iteration:  # another loop has begun
            self._past_iterations += self._iteration
        self._iteration = progress.iteration
        overall = replace(
            progress,
            iteration=self._past_iterations + progress.iteration,
            max_iter=self._past_iterations + progress.max_iter,
        )
        stops = [callback(overall) for callback in self._callbacks]  # all are called, even if one stops
        return any(stops)


def make_callback(estimator: Any) -> Callback | None:
    """Make what the loops of a fit call after each iteration, of the parameters `callback` and `verbose`.

    None if the estimator has neither.
    """
    callbacks: list[Callback] = []
    if (callback := getattr(estimator, "callback", None)) is not None:
        callbacks.append(callback)
    if getattr(estimator, "verbose", False):
        callbacks.append(_make_progress_printer(type(estimator).__name__))
    return _CallbackList(*callbacks) if callbacks else None


def clone_without_callbacks(estimator: Any, **parameters: Any) -> Any:
    """Clone with other `parameters`, and silent: fits inside a fit are no progress of it."""
    copy = clone(estimator)
    silent = {"callback": None, "verbose": False}
    return copy.set_params(**{k: v for k, v in silent.items() if k in copy.get_params()}, **parameters)


def _write_line(text: str) -> None:
    """A line on stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _make_progress_printer(name: str) -> Callback:
    """Make a callback that writes a line on stderr every :data:`_LINE_INTERVAL` seconds."""
    last_time = _clock()

    def print_progress(progress: Progress) -> None:
        nonlocal last_time
        now = _clock()
        if now - last_time < _LINE_INTERVAL:
            return
        last_time = now
        has_objective = progress.objective != progress.change  # loops without one pass the change as both
        objective = f"objective {progress.objective:.6g}, " if has_objective else ""
        count = f"iteration {progress.iteration} of at most {progress.max_iter}"
        _write_line(f"{name}: {count}, {objective}change {progress.change:.1e}")

    return print_progress
