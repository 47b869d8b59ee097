"""Warnings that point at the user's own line, wherever in the package they are given."""

import sys
import warnings
from importlib.util import find_spec
from pathlib import Path

#: Frames of these packages are between us and the user, who has not written them.
_BETWEEN = tuple(
    str(Path(spec.origin).parent) + "/"
    for spec in map(find_spec, ("absentia", "sklearn", "joblib"))
    if spec is not None and spec.origin is not None
)


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside the package, or at the outermost one if there is none."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _between(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    note = category(message)
    note.of_absentia = True  # type: ignore[attr-defined]
    warnings.warn(note, stacklevel=level + 1)


def is_ours(warning: Warning | str) -> bool:
    """Whether a warning, as it is caught or shown, was given by :func:`warn` and not by another library."""
    return bool(getattr(warning, "of_absentia", False))


def _between(filename: str) -> bool:
    return Path(filename).as_posix().startswith(_BETWEEN)
