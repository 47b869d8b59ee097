"""An entry of the catalogue: a class with some parameters set, under the name by which it is offered.

The methods of the papers by the names that these give them, as these print them.

What a command offers under such a name (an alias of an entry) has our defaults; here are the papers' own
algorithms and parameters, also of methods that no command offers.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Literal, Self

from sklearn.pipeline import make_pipeline

from absentia.core import Parameter, check_name, get_parameters

# ------------------------------------------------------------------------------- as the papers print them

_Step = tuple[str, Mapping[str, Any]]
_MKMC, _AMKL, _PMA = "completion:MKMC", "learning:AbsentMKLClassifier", "matrix:PMAClassifier"
_SUM = {"label_covariance": False}  # of two Gaussian processes, and nothing else
_IN_TURN = {**_SUM, "estimate": "paper", "gamma": "median", "center": False}  # with steps of inference
_DISCARD = {"discard": True}


def _mkmc(covariance: str, n_components: str | None = None) -> tuple[_Step]:
    counted = {} if n_components is None else {"n_components": n_components}
    return ((_MKMC, {"covariance": covariance, "algorithm": "paper", **counted}),)


def _mkl(completer: str) -> tuple[_Step, _Step]:
    return (f"completion:{completer}", {}), ("learning:MKLClassifier", {})


#: A class with its parameters, or two of which the first completes, by the name that the papers use.
_STEPS: Mapping[str, tuple[_Step, ...]] = {
    "FC-MKMC": _mkmc("full"),
    "PCA-MKMC": _mkmc("pca", "gk"),
    "FA-MKMC": _mkmc("fa", "gk"),
    "PCA-GK": _mkmc("pca", "gk"),
    "PCA-K": _mkmc("pca", "kaiser"),
    "FA-GK": _mkmc("fa", "gk"),
    "FA-K": _mkmc("fa", "kaiser"),
    "CVKT": (("completion:CVKT", {"solver": "descent"}),),
    "MKC": (("completion:MKC", {"variant": "ht", "center": False, "between": "observed"}),),
    "MKC-embd-ht": (("completion:MKC", {"variant": "ht", "center": False, "between": "observed"}),),
    "I-AMKL": ((_AMKL, {"formulation": "iterative"}),),
    "I-AMKL-lambda": ((_AMKL, {"formulation": "penalized", "two_step": True}),),
    "I-AMKL-λ": ((_AMKL, {"formulation": "penalized", "two_step": True}),),
    "C-AMKL": ((_AMKL, {"formulation": "convex"}),),
    "ZF-MKL": (("learning:MKLClassifier", {}),),
    "MF-MKL": _mkl("MeanFill"),
    "EM-MKL": _mkl("EMFill"),
    "SVT-MKL": _mkl("SVTFill"),
    "MMAF": (("learning:MMAFClassifier", {}),),
    "PMA-MAP": ((_PMA, {**_IN_TURN, "inference": "map"}),),
    "PMA-GIBBS": ((_PMA, {**_IN_TURN, "inference": "gibbs"}),),
    "PMA-EXACT": ((_PMA, {**_SUM, "inference": "exact"}),),
    "PMA-GIBBS-D": ((_PMA, {**_IN_TURN, "inference": "gibbs", **_DISCARD}),),
    "I-LMC": (("matrix:MatrixLMC", {}),),
    "GPR": (("matrix:LabelGP", {}),),
    "PMF": (("matrix:PMF", {}),),
    "MLKNN": (("matrix:MLKNN", {}),),
    "MLKNN-D": (("matrix:MLKNN", _DISCARD),),
    "IBLRML": (("matrix:IBLR", {}),),
    "IBLRML-D": (("matrix:IBLR", _DISCARD),),
    "MLSVM": (("matrix:PartialLabelSVM", {}),),
    "MLSVM-D": (("matrix:PartialLabelSVM", _DISCARD),),
}
_NAMES = {name.lower(): name for name in _STEPS}


def as_printed(name: str) -> Any:
    """A method of one of the papers by the paper's name, with the paper's algorithm and parameters.

    Our own defaults are often others, and better; what no paper says is as we have it.

    Parameters
    ----------
    name : str
        "FC-MKMC", "CVKT", "C-AMKL", "PMA-GIBBS", "I-LMC", ...; case does not matter.

    Returns
    -------
    estimator
        Unfitted; of MF-, EM- and SVT-MKL a pipeline that completes before it learns.

    Examples
    --------
    >>> as_printed("PCA-MKMC")
    MKMC(algorithm='paper', n_components='gk')
    >>> as_printed("mf-mkl").steps[0][1]
    MeanFill()
    """
    check_name("method of a paper", name.lower(), _NAMES)
    steps = [_load(where)(**parameters) for where, parameters in _STEPS[_NAMES[name.lower()]]]
    return steps[0] if len(steps) == 1 else make_pipeline(*steps)


def paper_class(name: str) -> str:
    """The class behind a name of the papers; empty if it is none."""
    steps = _STEPS.get(_NAMES.get(name.lower(), ""), ())
    return steps[-1][0].partition(":")[2] if steps else ""


def _load(where: str) -> Any:
    module, _, name = where.partition(":")
    return getattr(import_module(f"absentia.methods.{module}"), name)


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
