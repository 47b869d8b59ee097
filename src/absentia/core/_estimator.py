"""What every estimator shares: parameters declared once and checked, fitted models as plain data."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn import get_config
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.core._callbacks import CallbackList, callback_mixin, make_callback, wrap_fit, write_line
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
from absentia.core.optimize import Solution, Status

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
        for name in ("fit", "fit_transform"):
            if name in vars(cls):
                setattr(cls, name, wrap_fit(vars(cls)[name]))
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

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Let callbacks of scikit-learn (1.9 or newer), such as its ``ProgressBar``, hear of the fit.

        Parameters
        ----------
        *callbacks : objects with the methods of ``sklearn.callback.FitCallback``
            None at all takes away those that are set.
        """
        callback_mixin().set_callbacks(self, *callbacks)
        return self

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

    @property
    def _announced(self) -> int | None:
        """How many iterations there are at most, for progress bars; None: not known before."""
        return getattr(self, "max_iter", None)

    def _make_callback(self) -> CallbackList | None:
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
            write_line(f"{type(self).__name__}: {self.status_} ({self.n_iter_} iterations)")
        if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
            warn(f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)", ConvergenceWarning)
