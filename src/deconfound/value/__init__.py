"""From a reward to the value of each model, with errors that know of each other.

``values`` holds the result and what can be asked of it, ``estimators`` the plain estimators, ``power`` the one that
uses the reward only as far as it helps, ``doubt`` errors that know of a reward's bias, ``shrink`` point estimates
that lean on a biased source. ``own``, ``joint`` and
``compare`` are the numbers behind them.
"""

from deconfound.value.control_variate import experiment_only, tuned_doubly_robust
from deconfound.value.estimators import direct, doubly_robust, raw_log
from deconfound.value.reward_bias import with_reward_bias
from deconfound.value.shrinkage import shrink_toward
from deconfound.value.small_sample import MIN_ROWS_PER_MODEL
from deconfound.value.values import Contrast, Values

__all__ = [
    "MIN_ROWS_PER_MODEL",
    "Contrast",
    "Values",
    "direct",
    "doubly_robust",
    "experiment_only",
    "raw_log",
    "shrink_toward",
    "tuned_doubly_robust",
    "with_reward_bias",
]
