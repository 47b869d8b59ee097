"""Data in several views, whole views absent: complete the kernels, or learn without them.

Names are loaded when first used, so that ``import absentia`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from absentia import datasets as datasets
    from absentia import io as io
    from absentia import metrics as metrics
    from absentia import missingness as missingness
    from absentia import models as models
    from absentia.classification.amkl import AbsentMKLClassifier as AbsentMKLClassifier
    from absentia.classification.mkl import MKLClassifier as MKLClassifier
    from absentia.classification.mkl import MKLRegressor as MKLRegressor
    from absentia.completion.baselines import MeanFill as MeanFill
    from absentia.completion.baselines import ZeroFill as ZeroFill
    from absentia.completion.cvkt import CVKT as CVKT
    from absentia.completion.emfill import EMFill as EMFill
    from absentia.completion.knn import KNNFill as KNNFill
    from absentia.completion.mkmc import MKMC as MKMC
    from absentia.completion.svt import SVTFill as SVTFill
    from absentia.kernels import CombineKernels as CombineKernels
    from absentia.kernels import ViewKernels as ViewKernels
    from absentia.kernelviews import KernelViews as KernelViews
    from absentia.matrix.baselines import IBLR as IBLR
    from absentia.matrix.baselines import MLKNN as MLKNN
    from absentia.matrix.baselines import PMF as PMF
    from absentia.matrix.baselines import LabelGP as LabelGP
    from absentia.matrix.baselines import MatrixLMC as MatrixLMC
    from absentia.matrix.baselines import PartialLabelSVM as PartialLabelSVM
    from absentia.matrix.pma import PMAClassifier as PMAClassifier
    from absentia.matrix.pma import PMAImputer as PMAImputer
    from absentia.matrix.pma import PMARegressor as PMARegressor
    from absentia.matrix.tensor import PMATensorImputer as PMATensorImputer
    from absentia.presence import AbsenceWarning as AbsenceWarning
    from absentia.views import Views as Views

__version__ = "0.1.0"

#: The whole public API: each name and the module it lives in ("" for modules themselves).
_HOME = {
    "datasets": "",
    "io": "",
    "metrics": "",
    "missingness": "",
    "models": "",
    "AbsenceWarning": "presence",
    "AbsentMKLClassifier": "classification.amkl",
    "CVKT": "completion.cvkt",
    "CombineKernels": "kernels",
    "EMFill": "completion.emfill",
    "IBLR": "matrix.baselines",
    "KNNFill": "completion.knn",
    "KernelViews": "kernelviews",
    "MKLClassifier": "classification.mkl",
    "MKLRegressor": "classification.mkl",
    "LabelGP": "matrix.baselines",
    "MKMC": "completion.mkmc",
    "MLKNN": "matrix.baselines",
    "MatrixLMC": "matrix.baselines",
    "MeanFill": "completion.baselines",
    "PMAClassifier": "matrix.pma",
    "PMAImputer": "matrix.pma",
    "PMARegressor": "matrix.pma",
    "PMATensorImputer": "matrix.tensor",
    "PMF": "matrix.baselines",
    "PartialLabelSVM": "matrix.baselines",
    "SVTFill": "completion.svt",
    "ViewKernels": "kernels",
    "Views": "views",
    "ZeroFill": "completion.baselines",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"absentia has no {name!r}; it has {', '.join(sorted(_HOME))}")
    if not _HOME[name]:
        return import_module(f"absentia.{name}")
    value = getattr(import_module(f"absentia.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *_HOME]
