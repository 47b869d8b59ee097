"""Warnings that point at the user's own line, wherever in the package they are given, and once where they
would come from every fold.

Python shows a sentence once for a line, but forgets that it did whenever somebody changes the filters, as
happens between fits; and counts and examples differ from fold to fold.  So one call that fits many times (a
cross-validation, a search) gives sentences once that differ by numbers and examples only, and a pipeline's
fit the same sentence once, unless a filter asks for all of them.
"""

import re
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

#: Frames of these packages are between us and the user, who has not written them.
_BETWEEN = tuple(
    str(Path(spec.origin).parent) + "/"
    for spec in map(find_spec, ("absentia", "sklearn", "joblib"))
    if spec is not None and spec.origin is not None
)
_MANY_FITS, _ONE_FIT = "/sklearn/model_selection/", "/sklearn/pipeline.py"
#: Examples, and numbers that are no part of a name.
_DIFFERS = re.compile(r"e\.g\. [^;:]*|(?<![\w'\"])\d[\d.e+-]*")
#: Where a call remembers what it has said: beside its variables, with which that is forgotten.
_SAID = "absentia said"


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside the package, or at the outermost one if there is none."""
    frame, level = sys._getframe(1), 1
    meta: FrameType | None = None
    while frame.f_back is not None and _between(frame.f_code.co_filename):
        if _fits_others(frame):
            meta = frame
        frame, level = frame.f_back, level + 1
    if meta is None or not _said_already(message, category, frame, meta):
        note = category(message)
        note.of_absentia = True  # type: ignore[attr-defined]
        warnings.warn(note, stacklevel=level + 1)


def is_absentia_warning(warning: Warning | str) -> bool:
    """Whether a warning, as it is caught or shown, was given by :func:`warn` and not by another library."""
    return bool(getattr(warning, "of_absentia", False))


def _between(filename: str) -> bool:
    return Path(filename).as_posix().startswith(_BETWEEN)


def _fits_others(frame: FrameType) -> bool:
    name = Path(frame.f_code.co_filename).as_posix()
    return _MANY_FITS in name or name.endswith(_ONE_FIT)


def _said_already(message: str, category: type[Warning], user: FrameType, meta: FrameType) -> bool:
    """Whether the outermost call that fits others, `meta`, has said as much; it has from now on."""
    if _action(message, category, user) not in ("default", "module", "once"):
        return False
    many = _MANY_FITS in Path(meta.f_code.co_filename).as_posix()
    sentence = _DIFFERS.sub("", message) if many else message, category
    said = meta.f_locals.setdefault(_SAID, set())
    before = sentence in said
    said.add(sentence)
    return before


def _action(message: str, category: type[Warning], user: FrameType) -> str:
    """What the filters do with a warning, as :mod:`warnings` finds it out."""
    filters = getattr(warnings, "_get_filters", lambda: warnings.filters)()
    module = str(user.f_globals.get("__name__", ""))
    for action, text, kind, place, line in filters:
        fits = _matches(text, message) and _matches(place, module) and line in (0, user.f_lineno)
        if fits and issubclass(category, kind):
            return str(action)
    return "default"


def _matches(pattern: Any, text: str) -> bool:
    if pattern is None or isinstance(pattern, str):
        return pattern in (None, text)
    return pattern.match(text) is not None
