"""From a reward to the value of each model, with errors that know of each other.

``values`` holds the result and what can be asked of it, ``estimators`` the plain estimators, ``power`` the one that
uses the reward only as far as it helps, ``doubt`` errors that know of a reward's bias, ``shrink`` point estimates
that lean on a biased source. ``own``, ``joint`` and
``compare`` are the numbers behind them.
"""

from deconfound.value.doubt import doubted
from deconfound.value.estimators import direct, doubly_robust, raw_log
from deconfound.value.own import FEWEST
from deconfound.value.power import experiment_alone, powered
from deconfound.value.shrink import shrunk
from deconfound.value.values import Contrast, Values

__all__ = [
    "FEWEST",
    "Contrast",
    "Values",
    "direct",
    "doubly_robust",
    "doubted",
    "experiment_alone",
    "powered",
    "raw_log",
    "shrunk",
]
