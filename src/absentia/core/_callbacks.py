"""What is seen of a fit on its way: a user's callback, lines on stderr, scikit-learn's callbacks.

All of them are called by the one loop (:func:`iterate`).  A fit may run it several times, from several
starts or for several classes: for callbacks, iterations count up once.

scikit-learn has callbacks since 1.9 (``sklearn.callback``): tasks, begun and ended, in a tree that reaches
from a search down to an iteration.  An estimator is the task ``fit``, an iteration one below it.
"""

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from absentia.core._serialization import TRACES
from absentia.core.optimize import Callback, Progress

#: Seconds between lines of progress, and the clock that counts them.
_PAUSE = 2.0
clock: Callable[[], float] = time.monotonic

_Fit = TypeVar("_Fit", bound=Callable[..., Any])


class CallbackList:
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


def make_callback(estimator: Any) -> CallbackList | None:
    """The callback that the loops of a fit call after each iteration; None if nobody listens."""
    listeners: list[Callback] = []
    if (callback := getattr(estimator, "callback", None)) is not None:
        listeners.append(callback)
    if getattr(estimator, "verbose", False):
        listeners.append(_print_progress(type(estimator).__name__))
    if (task := vars(estimator).get("_callback_fit_ctx")) is not None:
        listeners.append(_run_subtasks(estimator, task))
    return CallbackList(*listeners) if listeners else None


def clone_without_callbacks(estimator: Any, **parameters: Any) -> Any:
    """A clone with other parameters and no callbacks: a trial inside a fit is no progress of it."""
    from sklearn.base import clone

    other = clone(estimator)
    for name in TRACES:
        vars(other).pop(name, None)
    quiet = {"callback": None, "verbose": False}
    return other.set_params(**{k: v for k, v in quiet.items() if k in other.get_params()}, **parameters)


# ----------------------------------------------------------------------------------------- lines on stderr


def write_line(text: str) -> None:
    """A line on stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _print_progress(name: str) -> Callback:
    """A callback that writes a line every :data:`_PAUSE` seconds."""
    last = clock()

    def show(progress: Progress) -> None:
        nonlocal last
        if (now := clock()) - last >= _PAUSE:
            last = now
            # where there is no objective, what is watched is the change itself
            objective = (
                f"objective {progress.objective:.6g}, " if progress.objective != progress.change else ""
            )
            count = f"iteration {progress.iteration} of at most {progress.max_iter}"
            write_line(f"{name}: {count}, {objective}change {progress.change:.1e}")

    return show


# ----------------------------------------------------------------------------- scikit-learn's callbacks


def callback_mixin() -> Any:
    """scikit-learn's class for estimators with callbacks."""
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:
        raise ImportError(
            "set_callbacks wants scikit-learn 1.9 or newer; use callback=function here"
        ) from None
    return CallbackSupportMixin


def wrap_fit(fit: _Fit) -> _Fit:
    """A method ``fit`` that calls scikit-learn's callbacks, where some are set."""

    @wraps(fit)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        # one fit is one task, also where fit_transform calls fit or a class that of its base
        if not vars(self).get("_skl_callbacks") or "_callback_fit_ctx" in vars(self):
            return fit(self, *args, **options)
        from sklearn.callback import with_callbacks

        return with_callbacks(_as_task(fit))(self, *args, **options)

    return run  # type: ignore[return-value]


def _as_task(fit: Callable[..., Any]) -> Callable[..., Any]:
    def run(self: Any, *args: Any, **options: Any) -> Any:
        X, y = _argument(0, "X", args, options), _argument(1, "y", args, options)
        task = callback_mixin()._init_callback_context(self, max_subtasks=getattr(self, "_announced", 0))
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        result = fit(self, *args, **options)
        task.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes=dict)
        return result

    return run


def _argument(place: int, name: str, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    return args[place] if len(args) > place else options.get(name)


def _run_subtasks(estimator: Any, task: Any) -> Callback:
    """A callback that makes each iteration a task below that of the fit, as many as were announced."""

    def run(progress: Progress) -> bool:
        try:
            subtask = task.subcontext(task_name="iteration")
        except ValueError:  # from a second start, say, beyond those announced: the bar is full
            return False
        subtask.call_on_fit_task_begin(estimator=estimator)
        return bool(subtask.call_on_fit_task_end(estimator=estimator))

    return run
