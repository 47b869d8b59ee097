"""What to cite: BibTeX of the papers that methods are from.

Entries stand in ``references.bib`` beside this file.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

from absentia.methods import catalogue
from absentia.methods.catalogue import Family, as_printed, paper_class
from absentia.methods.prediction import LIBRARY

#: Keys of the papers by the names of classes.
_CITED: Mapping[str, tuple[str, ...]] = {
    "MKMC": ("rivero2018parametric", "rivero2017mkmc"),
    "CVKT": ("huusari2022cvkt",),
    "MKC": ("bhadra2017mkc",),
    "EMFill": ("ghahramani1993em",),
    "SVTFill": ("cai2010svt",),
    "AbsentMKLClassifier": ("liu2020amkl",),
    "MKLClassifier": ("rakotomamonjy2008simplemkl",),
    "MKLRegressor": ("rakotomamonjy2008simplemkl",),
    "MMAFClassifier": ("chechik2008mmaf",),
    "PMAImputer": ("agovic2011pma",),
    "PMAClassifier": ("agovic2011pma",),
    "PMARegressor": ("agovic2011pma",),
    "MatrixLMC": ("agovic2011pma",),
    "LabelGP": ("agovic2011pma",),
    "PMF": ("salakhutdinov2007pmf",),
    "MLKNN": ("zhang2007mlknn",),
    "IBLR": ("cheng2009iblr",),
}
_OURSELVES = "absentia"
#: Parameters whose values name other methods.
_NAMES_METHODS = ("completer", "combine", "candidates")


def cite(*methods: Any) -> str:
    """BibTeX of the papers that methods are from, and of absentia.

    Parameters
    ----------
    *methods : str or estimator
        Names as commands or papers have them ("cvkt", "C-AMKL", "GPR"), or estimators, also pipelines, of
        which every step counts.  None at all: absentia alone.

    Returns
    -------
    str

    Examples
    --------
    >>> print(cite("pma").splitlines()[0])
    @inproceedings{agovic2011pma,
    """
    text = (Path(__file__).parent / "references.bib").read_text(encoding="utf-8")
    entries = {key: whole for whole, key in re.findall(r"(?ms)^(@\w+\{(\w+),.*?^\})", text)}
    classes = (name for method in methods for name in _classes_of(method))
    keys = dict.fromkeys([key for name in classes for key in _CITED.get(name, ())] + [_OURSELVES])
    return "\n\n".join(entries[key] for key in keys) + "\n"


def _classes_of(method: Any, within: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names of the classes that a method is made of; `within` are methods by name that it is a part of."""
    if isinstance(method, str):
        for one in () if method in within else _find_all(method):
            yield from _classes_of(one, within | {method})
        return
    yield type(method).__name__
    if not hasattr(method, "get_params"):
        return
    for name, value in method.get_params().items():
        if name == "candidates" and value == "auto":
            value = LIBRARY[method._family]["features"]
        for part in value if isinstance(value, list | tuple) else [value]:
            if hasattr(part, "get_params") or (
                isinstance(part, str)
                and name in _NAMES_METHODS
                and any(catalogue.is_method(part, family) for family in get_args(Family))
            ):
                yield from _classes_of(part, within)


def _find_all(name: str) -> list[Any]:
    """Estimators by a name: of every family that has it, or as a paper has it."""
    families = [one for one in get_args(Family) if catalogue.is_method(name, one)]
    if not families and paper_class(name):
        return [as_printed(name)]
    return [catalogue.find(name, family).make() for family in families or get_args(Family)]
