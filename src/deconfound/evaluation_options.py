"""What an evaluation may be asked beyond its defaults, and which of it contradicts itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from deconfound.crossfit import BOOTSTRAP_REFITS
from deconfound.engines import EngineOptions
from deconfound.errors import UsageError
from deconfound.features import FeatureSpec
from deconfound.loading.sources import TableLike
from deconfound.value_methods import PAPER, Method

MIN_REFITS = 2  # one refit has no variance
DEFAULT_FEATURES = FeatureSpec()
DEFAULT_ENGINE = EngineOptions()


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationOptions:
    """What an evaluation may be asked beyond its defaults.

    ``surface_share`` fixes the share of surface statistics in phi; by default the experiment chooses it. ``target`` is
    a file or table of the contexts to generalize to, by default the experiment's; ``target_columns`` maps its columns
    as ``load`` does. ``cost`` is the cost of one output of every model, in units of the user's outcome (stars, on a
    scale of stars): values, recommendations and routing are net of it. ``refits`` is the number of bootstrap refits
    behind recommendations and attribution. ``extra_contexts`` averages over contexts that were replayed beyond the
    experiment's, too: right only if they were drawn from the same population, which no test can show. ``segments`` is a
    file or table of contexts, by ``context_id`` or ``context``, with columns that divide them, all of these or only
    ``segment_columns``: values are reported by them, as by the columns that ``load`` was given as ``segments``.
    ``engine`` is where a log that is too long for memory is summed.

    ``method`` "efficient" lets outcomes of identical outputs count for every model that could have written them: right
    only if models affect outcomes through their outputs alone, which is tested. "paper" is the paper's doubly robust
    formula without reward weight, small-sample correction and shrinkage. "direct" is the reward's own mean.
    """

    features: FeatureSpec = DEFAULT_FEATURES
    surface_share: float | None = None
    method: Method = "doubly robust"
    target: TableLike | None = None
    target_columns: Mapping[str, str] | None = None
    cost: Mapping[str, float] | None = None
    refits: int = BOOTSTRAP_REFITS
    extra_contexts: bool = False
    segments: TableLike | None = None
    segment_columns: Sequence[str] | None = None
    engine: EngineOptions = DEFAULT_ENGINE

    def __post_init__(self) -> None:
        if self.method not in get_args(Method):
            raise UsageError(f"method must be one of {', '.join(get_args(Method))}, not {self.method!r}.")
        if self.surface_share is not None and not 0.0 <= self.surface_share <= 1.0:
            raise UsageError(
                f"surface_share (--surface-share) must lie between 0 (text only) and 1, not {self.surface_share!r}."
            )
        if not isinstance(self.features, FeatureSpec):
            raise UsageError(f"features must be a FeatureSpec, not {self.features!r}.")
        if not isinstance(self.engine, EngineOptions):
            raise UsageError(f"engine must be EngineOptions, not {self.engine!r}.")
        if self.refits != int(self.refits) or self.refits < MIN_REFITS:
            raise UsageError(f"refits (--refits) must be a whole number of at least {MIN_REFITS}, not {self.refits}.")
        if self.extra_contexts and self.target is not None:
            raise UsageError(
                "extra_contexts (--extra-contexts) and target (--target) name two populations; give one of them."
            )
        if self.segment_columns is not None and self.segments is None:
            raise UsageError(
                "segment_columns are columns of the table segments (--segments-from); for those of the study's own "
                "tables, name them to load as segments."
            )
        if self.method == PAPER and (self.extra_contexts or self.target is not None):
            raise UsageError(
                "method paper is defined for the contexts of the experiment only; leave out target and extra_contexts, "
                "or choose method doubly robust."
            )
