"""``absentia cite``: what to cite, as BibTeX."""

from pathlib import Path
from typing import Any

import absentia
from absentia.app._terminal import out


def cite(*methods: str) -> None:
    """Print BibTeX of the papers that methods are from, and of absentia.

    Example: absentia cite C-AMKL cvkt

    Example: absentia cite model.absentia

    Parameters
    ----------
    methods
        Names of methods, as commands or papers have them, or files of models.
    """
    models = [absentia.load(name) if Path(name).is_file() else name for name in methods]
    say_what_to_cite(*(getattr(model, "classifier", model) for model in models))


def say_what_to_cite(*used: Any) -> None:
    """BibTeX of what methods, by name or as estimators, are from."""
    out.file.write(absentia.cite(*used))
