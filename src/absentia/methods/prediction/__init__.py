"""From incomplete views to predictions, in one estimator."""

from absentia.methods.prediction._absent import AbsentClassifier, AbsentRegressor
from absentia.methods.prediction._auto import LIBRARY, AutoClassifier, AutoRegressor, AutoSurvival
from absentia.methods.prediction._composite import restrict_kernel, without_landmarks
from absentia.methods.prediction._conformal import (
    Calibration,
    ConformalSets,
    HeldOutScores,
    Regions,
    can_calibrate,
    find_threshold,
)
from absentia.methods.prediction._early_fusion import EarlyFusionClassifier, EarlyFusionRegressor
from absentia.methods.prediction._export import export_estimator, is_sum
from absentia.methods.prediction._factors import FactorCox, FactorLogistic, FactorModel, FactorRidge
from absentia.methods.prediction._late_fusion import LateFusion, ViewStacking
from absentia.methods.prediction._perlabel import PerLabel
from absentia.methods.prediction._survival import AbsentSurvival, EarlyFusionSurvival, SurvivalForest
