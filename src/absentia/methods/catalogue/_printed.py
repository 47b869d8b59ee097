"""The methods of the papers by the names that these give them, as these print them.

What a command offers under such a name (an alias of an entry) has our defaults; here are the papers' own
algorithms and parameters, also of methods that no command offers.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sklearn.pipeline import make_pipeline

from absentia.core import check_name

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
