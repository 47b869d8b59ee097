"""How far methods are from the simplest one on small cohorts: mean and standard deviation, in shares.

Balanced accuracy less that of ``average``, on 72 tasks of 40 to 320 samples made of 23 public sets, every
set counting the same; what chance adds to the spread is taken off.  All methods decide by probability over
frequency.  Made by::

    python benchmarks/predict_regret.py --keep regret
    python benchmarks/method_prior.py --keep regret
"""

_BALANCED_ACCURACY = {
    "linear": (-0.019, 0.01),
    "cvkt-linear": (-0.003, 0.0448),
    "cvkt-rbf": (0.0013, 0.0652),
    "zero-rbf": (-0.0111, 0.028),
    "fusion-linear": (-0.0074, 0.03),
    "fusion-rbf": (-0.0011, 0.032),
    "forest": (-0.0333, 0.0466),
    "cvkt-svm": (0.0163, 0.0465),
    "complete-cases": (-0.0896, 0.0938),
    "auto": (0.0276, 0.0183),
    "fusion": (-0.0011, 0.032),
}
#: By task and metric.
PRIORS = {("classes", "balanced accuracy"): _BALANCED_ACCURACY}
