"""What every estimator shares: parameters declared once and checked, fitted models as plain data."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.core._callbacks import Watch, say, support, watch, watched
from absentia.core._linalg import Array
from absentia.core._loop import Solution, Status
from absentia.core._output import with_ids
from absentia.core._parameters import parameters_of
from absentia.core._serialization import (
    Pairs,
    Serialized,
    deserialize,
    plain_state,
    serializable,
    serialize,
)
from absentia.core._warn import warn

Class = TypeVar("Class", bound=type)


@dataclass_transform(eq_default=False)
def estimator(cls: Class) -> Class:
    """A class whose fields are its parameters: ``__init__`` only remembers, as scikit-learn wants it."""
    return dataclass(eq=False, repr=False)(cls)  # type: ignore[return-value]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.

    A derived class declares its parameters as the fields of a dataclass (:func:`method`), or in its own
    ``__init__`` that does nothing else; ``fit`` begins with :meth:`_check_parameters`.
    """

    _pairwise = False  # True: learns from kernels, which scikit-learn splits by rows and columns

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in ("fit", "fit_transform"):
            if name in vars(cls):
                setattr(cls, name, watched(vars(cls)[name]))
        serializable(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {key: _in_pairs(one) for key, one in plain_state(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = {k: dict(zip(*x, strict=True)) if isinstance(x, Pairs) else x for k, x in state.items()}
        self.__dict__.update(whole)

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Let callbacks of scikit-learn (1.9 or newer), such as its ``ProgressBar``, hear of the fit.

        Parameters
        ----------
        *callbacks : objects with the methods of ``sklearn.callback.FitCallback``
            None at all takes away those that are set.
        """
        support().set_callbacks(self, *callbacks)
        return self

    def _check_parameters(self) -> None:
        """Every parameter as it was declared, and all of them together."""
        for name, parameter in parameters_of(self).items():
            parameter.check(getattr(self, name), type(self).__name__)
        self._check()

    def _check(self) -> None:
        """Raise if parameters do not go together."""

    def _with_ids(self, table: Array, ids: Array) -> Any:
        """A table that comes out, with its rows' ids where frames are asked for that have an index."""
        return with_ids(self, table, ids)

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
        found = deserialize(state.tree, state.arrays)
        if not isinstance(found, cls):
            raise ValueError(f"this is the state of a {type(found).__name__}, not of a {cls.__name__}")
        return found


def _in_pairs(value: Any) -> Any:
    """A dict whose keys are tuples as pairs, which skops can write."""
    speaks = not isinstance(value, dict) or all(type(key) in (str, int, float) for key in value)
    return value if speaks else Pairs(list(value), list(value.values()))


class Iterative:
    """Fitted attributes of whatever runs through :func:`iterate`."""

    n_iter_: int
    objective_: Array
    converged_: bool
    status_: str
    _remedy: str = ""  # what to do where the objective is not finite

    @property
    def _announced(self) -> int | None:
        """How many iterations there are at most, for whoever draws a bar; None: not known before."""
        return getattr(self, "max_iter", None)

    def _watch(self) -> Watch | None:
        """What the loops of one fit tell of their iterations, if anybody watches: one for all of them."""
        return watch(self)

    def _record(self, solution: Solution[Any]) -> None:
        if solution.status is Status.NOT_FINITE and not solution.n_iter:
            raise ValueError(f"{type(self).__name__}: {solution.sentence}; there is none{self._remedy}")
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.trace
        self.converged_ = solution.converged
        self.status_ = solution.sentence
        if solution.status is Status.NOT_FINITE:
            self.status_ += self._remedy
        if getattr(self, "verbose", False):
            say(f"{type(self).__name__}: {self.status_} ({self.n_iter_} iterations)")
        if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
            sentence = f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)"
            warn(sentence, ConvergenceWarning)
