"""From incomplete views to predictions, in one estimator."""

from absentia.methods.prediction._absent import AbsentClassifier
from absentia.methods.prediction._auto import LIBRARY, AutoClassifier
from absentia.methods.prediction._auto_regressor import AutoRegressor
from absentia.methods.prediction._auto_survival import AutoSurvival
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
from absentia.methods.prediction._factor_cox import FactorCox
from absentia.methods.prediction._factors import FactorLogistic, FactorModel, FactorRidge
from absentia.methods.prediction._fusion import LateFusion
from absentia.methods.prediction._kernel_pipeline import restrict_kernel, without_landmarks
from absentia.methods.prediction._perlabel import PerLabel
from absentia.methods.prediction._regressor import AbsentRegressor
from absentia.methods.prediction._stacking import ViewStacking
from absentia.methods.prediction._survival import AbsentSurvival, EarlyFusionSurvival
from absentia.methods.prediction._survival_forest import SurvivalForest
