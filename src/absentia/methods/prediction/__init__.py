"""From incomplete views to predictions, in one estimator."""

from absentia.methods.prediction._absent import AbsentClassifier
from absentia.methods.prediction._chooser import LIBRARY, Chooser
from absentia.methods.prediction._fusion import LateFusion
from absentia.methods.prediction._joined import JoinedClassifier, JoinedRegressor
from absentia.methods.prediction._perlabel import PerLabel
from absentia.methods.prediction._prepared import for_views
from absentia.methods.prediction._regressor import AbsentRegressor
from absentia.methods.prediction._stacking import ViewStacking
from absentia.methods.prediction._survival import AbsentSurvival
