"""What every estimator shares: parameters declared once and checked, fitted models as plain data."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar, dataclass_transform

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from absentia.core._keeping import Packed, Pairs, kept, lean, packed, unpacked
from absentia.core._linalg import Array
from absentia.core._loop import Solution, Status
from absentia.core._parameters import parameters_of
from absentia.core._warn import warn

Class = TypeVar("Class", bound=type)


@dataclass_transform(eq_default=False)
def method(cls: Class) -> Class:
    """A class whose fields are its parameters: ``__init__`` only remembers, as scikit-learn wants it."""
    return dataclass(eq=False, repr=False)(cls)  # type: ignore[return-value]


class Method(BaseEstimator):  # type: ignore[misc]
    """Base of all estimators.

    A derived class declares its parameters as the fields of a dataclass (:func:`method`), or in its own
    ``__init__`` that does nothing else; ``fit`` begins with :meth:`_check_parameters`.
    """

    _pairwise = False  # True: learns from kernels, which scikit-learn splits by rows and columns

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        kept(cls)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {key: _in_pairs(one) for key, one in lean(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        whole = {k: dict(zip(*x, strict=True)) if isinstance(x, Pairs) else x for k, x in state.items()}
        self.__dict__.update(whole)

    def _check_parameters(self) -> None:
        """Every parameter as it was declared, and all of them together."""
        for name, parameter in parameters_of(self).items():
            parameter.check(getattr(self, name), type(self).__name__)
        self._check()

    def _check(self) -> None:
        """Raise if parameters do not go together."""

    def state(self) -> Packed:
        """All that was given and learned, as plain data; without a callback, which is code."""
        return packed(self, type(self).__name__)

    @classmethod
    def from_state(cls, state: Packed) -> Self:
        """The estimator of which this is the state."""
        found = unpacked(state.tree, state.arrays)
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

    def _record(self, solution: Solution[Any]) -> None:
        if solution.status is Status.NOT_FINITE and not solution.n_iter:
            raise ValueError(f"{type(self).__name__}: {solution.sentence}; there is none{self._remedy}")
        self.n_iter_ = solution.n_iter
        self.objective_ = solution.trace
        self.converged_ = solution.converged
        self.status_ = solution.sentence
        if solution.status is Status.NOT_FINITE:
            self.status_ += self._remedy
        if solution.status in (Status.MAX_ITER, Status.NOT_FINITE):
            sentence = f"{type(self).__name__} {self.status_} ({self.n_iter_} iterations)"
            warn(sentence, ConvergenceWarning)
