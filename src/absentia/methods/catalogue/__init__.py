"""The one list of methods: what there is, what it takes and gives, when to use it, what it cannot do.

The command line, its flags, ``compare``, the demo, the documentation and the generic checks read it.  A
method is one entry in the module of its task; its class is loaded when it is first needed.  Entries stand
in the order in which ``compare`` runs them: what is simple first.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from absentia.core import check_name
from absentia.methods.catalogue import classification, completion, regression, survival
from absentia.methods.catalogue._entry import Entry, Family
from absentia.methods.catalogue._entry import as_printed as as_printed
from absentia.methods.catalogue._entry import paper_class as paper_class

CATALOGUE: tuple[Entry, ...] = (
    *completion.ENTRIES,
    *classification.ENTRIES,
    *regression.ENTRIES,
    *survival.ENTRIES,
)


def list_entries(*families: Family, variants: bool = False) -> dict[str, Entry]:
    """The methods of these families by name; with `variants` also those with some parameter set."""
    return {
        entry.name: entry
        for entry in CATALOGUE
        if entry.family in families and (variants or not entry.variant_of)
    }


def variants_of(entry: Entry) -> list[Entry]:
    """The entries that are this method with some parameters set."""
    return [one for one in CATALOGUE if (one.family, one.variant_of) == (entry.family, entry.name)]


def find(name: str, *families: Family, more: Mapping[str, Entry] = MappingProxyType({})) -> Entry:
    """The method of that name or alias, or an error that says which it may have meant.

    With `more` entries by name, which are not in the catalogue.
    """
    entries = {**_by_any_name(*families), **more}
    if name.lower() not in entries:
        if name.lower() == "survival-forest":
            raise ValueError(f"method {name!r} wants scikit-survival: pip install scikit-survival")
        _explain_elsewhere(name, entries)
        check_name("method", name, entries)
    return entries[name.lower()]


_DOES: dict[Family, str] = {
    "completer": "completes kernels (absentia complete)",
    "matrix": "completes one matrix (absentia complete)",
    "classifier": "learns classes (absentia fit)",
    "regressor": "learns numbers (absentia fit)",
    "survival": "learns risks (absentia fit)",
}


def _explain_elsewhere(name: str, entries: Mapping[str, Entry]) -> None:
    """Raise if a name is that of a method which does something else, or which no command offers."""
    other = _by_any_name(*get_args(Family)).get(name.lower())
    if other is not None:
        users = [one.name for one in entries.values() if one.fixed.get("completer") == other.name]
        use = f"; used by {', '.join(dict.fromkeys(users))}" if users else ""
        raise ValueError(f"no method {name!r} here: {other.name} {_DOES[other.family]}{use}")
    if found := paper_class(name):
        raise ValueError(
            f"no method {name!r} here: it is absentia.{found}, in Python absentia.as_printed({name!r})"
        )


def is_method(name: str, *families: Family) -> bool:
    """Whether a method of these families has that name or alias."""
    return name.lower() in _by_any_name(*families)


def _by_any_name(*families: Family) -> dict[str, Entry]:
    entries = list_entries(*families, variants=True)
    aliases = {alias.lower(): entry for entry in entries.values() for alias in entry.aliases}
    return aliases | entries
