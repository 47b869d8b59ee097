"""The public names: the one table, for type checkers and, at run time, for ``absentia`` itself."""

from absentia import datasets as datasets
from absentia import files as io  # noqa: F401
from absentia import papers as papers
from absentia.app.comparison import compare as compare
from absentia.app.comparison import open_comparison as open_comparison
from absentia.data import AbsenceWarning as AbsenceWarning
from absentia.data import KernelViews as KernelViews
from absentia.data import Views as Views
from absentia.data import metrics as metrics
from absentia.data import missingness as missingness
from absentia.data import statistics as statistics
from absentia.data import survival as survival
from absentia.files import read as read
from absentia.files import write as write
from absentia.kernels import AdjustViews as AdjustViews
from absentia.kernels import CombineKernels as CombineKernels
from absentia.kernels import ViewKernels as ViewKernels
from absentia.methods import inspection as inspection
from absentia.methods import models as models
from absentia.methods._embedding import ViewEmbedding as ViewEmbedding
from absentia.methods._embedding import embed as embed
from absentia.methods._values import CompletedValues as CompletedValues
from absentia.methods._values import complete_values as complete_values
from absentia.methods.completion import CVKT as CVKT
from absentia.methods.completion import MKC as MKC
from absentia.methods.completion import MKMC as MKMC
from absentia.methods.completion import AutoCompleter as AutoCompleter
from absentia.methods.completion import EMFill as EMFill
from absentia.methods.completion import KNNFill as KNNFill
from absentia.methods.completion import MeanFill as MeanFill
from absentia.methods.completion import SVTFill as SVTFill
from absentia.methods.completion import ZeroFill as ZeroFill
from absentia.methods.learning import AbsentMKLClassifier as AbsentMKLClassifier
from absentia.methods.learning import AverageKernelSVC as AverageKernelSVC
from absentia.methods.learning import KernelLogistic as KernelLogistic
from absentia.methods.learning import MKLClassifier as MKLClassifier
from absentia.methods.learning import MKLRegressor as MKLRegressor
from absentia.methods.learning import MMAFClassifier as MMAFClassifier
from absentia.methods.matrix import IBLR as IBLR
from absentia.methods.matrix import MLKNN as MLKNN
from absentia.methods.matrix import PMF as PMF
from absentia.methods.matrix import LabelGP as LabelGP
from absentia.methods.matrix import MatrixLMC as MatrixLMC
from absentia.methods.matrix import PartialLabelSVM as PartialLabelSVM
from absentia.methods.matrix import PMAClassifier as PMAClassifier
from absentia.methods.matrix import PMAImputer as PMAImputer
from absentia.methods.matrix import PMARegressor as PMARegressor
from absentia.methods.models import load as load
from absentia.methods.models import save as save
from absentia.methods.prediction import AbsentClassifier as AbsentClassifier
from absentia.methods.prediction import AbsentRegressor as AbsentRegressor
from absentia.methods.prediction import AbsentSurvival as AbsentSurvival
from absentia.methods.prediction import AutoClassifier as AutoClassifier
from absentia.methods.prediction import AutoRegressor as AutoRegressor
from absentia.methods.prediction import AutoSurvival as AutoSurvival
from absentia.methods.prediction import ConformalSets as ConformalSets
from absentia.methods.prediction import EarlyFusionClassifier as EarlyFusionClassifier
from absentia.methods.prediction import EarlyFusionRegressor as EarlyFusionRegressor
from absentia.methods.prediction import EarlyFusionSurvival as EarlyFusionSurvival
from absentia.methods.prediction import LateFusion as LateFusion
from absentia.methods.prediction import PerLabel as PerLabel
from absentia.methods.prediction import SurvivalForest as SurvivalForest
from absentia.methods.prediction import ViewStacking as ViewStacking

__version__: str
__all__: list[str]
