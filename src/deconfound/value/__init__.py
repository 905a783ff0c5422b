"""From a reward and an experiment to the value of each model, with the covariance of the errors.

``experiment`` is the input and ``values`` the result. ``estimators`` has the plain estimators, ``control_variate`` the
one that weights the reward, ``efficient`` the one that uses outputs shared by several models, ``shrinkage`` point
estimates moved toward a biased source, ``log_bias`` the bias of the raw log. ``clusters``, ``small_sample``,
``bounded_interval`` and ``multiple_comparisons`` are the statistics behind them.
"""

from deconfound.value.control_variate import experiment_only, tuned_doubly_robust
from deconfound.value.estimators import direct, doubly_robust, raw_log, raw_log_from_sums
from deconfound.value.experiment import ScoredExperiment
from deconfound.value.log_bias import LogBias, ModelBias, estimate_log_bias
from deconfound.value.mean_weights import MIN_ROWS_PER_MODEL
from deconfound.value.shrinkage import shrink_toward
from deconfound.value.values import Contrast, Values

__all__ = [
    "MIN_ROWS_PER_MODEL",
    "Contrast",
    "LogBias",
    "ModelBias",
    "ScoredExperiment",
    "Values",
    "direct",
    "doubly_robust",
    "estimate_log_bias",
    "experiment_only",
    "raw_log",
    "raw_log_from_sums",
    "shrink_toward",
    "tuned_doubly_robust",
]
