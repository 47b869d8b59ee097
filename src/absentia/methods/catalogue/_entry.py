"""An entry of the catalogue: a class with some parameters set, under the name by which it is offered."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, Self

from absentia.core import Parameter, get_parameters

Family = Literal["completer", "classifier", "regressor", "survival", "matrix"]


@dataclass(frozen=True)
class Entry:
    """A method as it is offered by name.

    Attributes
    ----------
    family : str
        What it is: a completer, a classifier, a regressor, a survival model, or of one matrix.
    takes, gives : str
        "kernels", "features", "views or kernels", "a matrix"; "kernels", "classes", "numbers", "risks".
    name : str
    where : str
        The module below ``absentia.methods`` and the class in it, "completion:CVKT".
    when, cannot : str
        When to use it, and what it cannot do, in a line each.
    fixed : mapping
        Parameters that make it this method.
    without : tuple of str
        Parameters of the class that mean nothing for it.
    defaults : mapping
        Parameters that have another default here than in the class: a C that ``fit`` selects, where methods
        are ranked.
    max_samples : int or None
        How many samples it takes in reasonable time and memory, where that is few.
    forms_kernels : bool
        Whether it makes whole kernels of those that come as factors.
    default : bool
        Whether it is the method of its family if none is named.
    baseline : bool
        Whether it is what people do today, to hold others against.
    compared : tuple of str
        Tasks in which ``compare`` tries it if nobody says what to try: "classes", "labels", "numbers",
        "survival", "completion".
    aliases : tuple of str
        Other names that are understood: those of the papers, and older ones.  Case does not matter.
    variant_of : str
        Name of the entry that this one is with some of its parameters set; "" for a method of its own.
    """

    family: Family
    takes: str
    gives: str
    name: str
    where: str
    when: str
    cannot: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    max_samples: int | None = None
    forms_kernels: bool = False
    default: bool = False
    baseline: bool = False
    compared: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    variant_of: str = ""

    @classmethod
    def average_of_kinds(cls, family: Family, gives: str, where: str, **fields: Any) -> Self:
        """The default of its family."""
        when = "start here: several kinds of methods, weighted by what they tell of samples left out"
        cannot = "say in one number what each view counts"
        return cls(family, "views or kernels", gives, "auto", where, when, cannot, default=True, **fields)

    def variant(self, name: str, when: str, fixed: Mapping[str, Any], **fields: Any) -> Self:
        """This method with more parameters set, under a name of its own; `fields` are those of an entry."""
        plain = {"cannot": "", "default": False, "baseline": False, "compared": (), "aliases": ()}
        fixed = {**self.fixed, **fixed}
        return replace(self, name=name, when=when, fixed=fixed, variant_of=self.name, **{**plain, **fields})

    def by_kernel(self, name: str, when: str, **fixed: Any) -> tuple[Self, ...]:
        """Two variants, with linear and with rbf kernels, which `when` names in the place of {}."""
        kernels = ("linear", "rbf")
        return tuple(self.variant(f"{name}-{k}", when.format(k), {**fixed, "kernel": k}) for k in kernels)

    def load(self) -> Any:
        """Its class."""
        module, _, name = self.where.partition(":")
        return getattr(import_module(f"absentia.methods.{module}"), name)

    def parameters(self) -> dict[str, Parameter]:
        """The parameters that can be given as texts, by flag."""
        left_out = {*self.fixed, *self.without}
        declared = [p for p in get_parameters(self.load()).values() if p.spoken and p.name not in left_out]
        return {p.flag: replace(p, default=self.defaults.get(p.name, p.default)) for p in declared}

    def make(self, **options: Any) -> Any:
        """An unfitted estimator."""
        return self.load()(**{**self.fixed, **self.defaults, **options})

    def read(self, flags: Mapping[str, str]) -> dict[str, Any]:
        """Parameters out of texts by flag; refuse those that mean nothing here."""
        known = self.parameters()
        for flag in flags:
            if flag not in known:
                has = f"it has {', '.join(known)}" if known else "it has no parameters"
                raise ValueError(f"{flag} does not apply to method {self.name!r}; {has}")
        return {known[flag].name: known[flag].parse(text) for flag, text in flags.items()}
