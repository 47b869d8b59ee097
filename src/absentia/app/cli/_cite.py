"""``absentia cite``: what to cite, as BibTeX."""

from pathlib import Path

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
    from absentia import load
    from absentia.methods import citations

    used = []
    for name in methods:
        model = load(name) if Path(name).is_file() else name
        used.append(getattr(model, "classifier", model))
    out.file.write(citations.cite(*used))
