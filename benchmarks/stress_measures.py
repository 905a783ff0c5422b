"""The only part of the stress benchmark that calls the package: from tables to the numbers that are checked.

If an interval is no longer computed or a field has moved, this is the module to change.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

import deconfound as dc
from benchmarks.stress_generators import SimulatedStudy
from deconfound.design import FloatArray, IntArray
from deconfound.value import Contrast

LEVEL = 0.95
MAX_PAIRED_MODELS = 12  # with more models, single contrasts are those with the first model


@dataclass(frozen=True, slots=True)
class Pair:
    """The interval of value i minus value j."""

    i: int
    j: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Decisions:
    """Recommendations for n replayed contexts; models are numbered."""

    context: list[str]
    model: IntArray  # (n,)
    runner_up: IntArray  # (n,)
    clear: NDArray[np.bool_]  # (n,)
    q_interval: FloatArray | None  # (n, 2) of the recommended model; None if there is none
    margin_interval: FloatArray | None  # (n, 2) of its lead over the runner-up


@dataclass(frozen=True, slots=True)
class Routing:
    """What is reported about routing."""

    reference: int | None  # model that the gain is measured against; None for the best single model
    gain_interval: tuple[float, float] | None  # None where none is printed
    value_interval: tuple[float, float] | None
    one_model_suffices: bool
    min_gain: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, with models in the order of the simulated study. Intervals are (k, 2)."""

    estimate: FloatArray  # (k,)
    interval: FloatArray
    simultaneous: FloatArray
    direct_estimate: FloatArray
    direct_interval: FloatArray
    experiment_interval: FloatArray
    log_bias_interval: FloatArray  # simultaneous
    first: int  # model of the table's first row
    best_set: tuple[int, ...]
    single_pairs: list[Pair]  # each at the level
    all_pairs: list[Pair]  # together at the level
    decisions: Decisions
    fresh_model: IntArray  # recommended on the fresh contexts
    routing: Routing


def answer(study: SimulatedStudy) -> Answer | None:
    """Load and evaluate a study with default options; None where the package refuses to answer."""
    try:
        loaded = dc.load(log=study.log, experiment=study.experiment, replay=study.replay)
        result = dc.evaluate(loaded)
    except dc.DeconfoundError:
        return None
    order = [result.models.index(name) for name in study.models]
    code = {name: at for at, name in enumerate(study.models)}
    fresh = {one.context_id: code[one.model] for one in result.recommend(study.fresh)}
    bias = {one.model: (one.low, one.high) for one in result.log_bias.biases}
    return Answer(
        estimate=result.values.estimate[order],
        interval=result.values.interval(LEVEL)[order],
        simultaneous=result.values.interval(LEVEL, simultaneous=True)[order],
        direct_estimate=result.direct.estimate[order],
        direct_interval=result.direct.interval(LEVEL)[order],
        experiment_interval=result.experiment.interval(LEVEL)[order],
        log_bias_interval=np.array([bias[name] for name in study.models]),
        first=code[str(result.values.table(LEVEL)[0]["model"])],
        best_set=tuple(code[name] for name in result.values.best_set(LEVEL)),
        single_pairs=[_pair(result.values.contrast(a, b, LEVEL), code) for a, b in _single_pairs(study.models)],
        all_pairs=[_pair(contrast, code) for contrast in result.contrasts()],
        decisions=_decisions(result, code),
        fresh_model=np.array([fresh[name] for name in study.fresh_contexts.ids]),
        routing=_routing(result, code),
    )


def is_refused(study: SimulatedStudy) -> bool:
    """Whether a study with too few rows is refused as such, with exit code 4."""
    try:
        dc.evaluate(dc.load(log=study.log, experiment=study.experiment, replay=study.replay))
    except dc.EvidenceError:
        return True
    return False


def significant_pairs(study: SimulatedStudy) -> list[Pair] | None:
    """Simultaneous contrasts that exclude zero; None where the package refuses to answer."""
    try:
        result = dc.evaluate(dc.load(log=study.log, experiment=study.experiment, replay=study.replay))
    except dc.DeconfoundError:
        return None
    code = {name: at for at, name in enumerate(study.models)}
    return [_pair(contrast, code) for contrast in result.contrasts() if contrast.significant]


def _single_pairs(models: tuple[str, ...]) -> list[tuple[str, str]]:
    if len(models) > MAX_PAIRED_MODELS:
        return [(models[0], other) for other in models[1:]]
    return list(combinations(models, 2))


def _pair(contrast: Contrast, code: dict[str, int]) -> Pair:
    return Pair(code[contrast.model], code[contrast.reference], contrast.difference, contrast.low, contrast.high)


def _decisions(result: dc.Result, code: dict[str, int]) -> Decisions:
    rows = result.recommendations
    return Decisions(
        context=[one.context_id for one in rows],
        model=np.array([code[one.model] for one in rows]),
        runner_up=np.array([code[one.runner_up] for one in rows]),
        clear=np.array([one.verdict == "clear" for one in rows]),
        q_interval=np.array([(one.low, one.high) for one in rows]),
        margin_interval=np.array([(one.margin_low, one.margin_high) for one in rows]),
    )


def _routing(result: dc.Result, code: dict[str, int]) -> Routing:
    routing = result.routing
    return Routing(
        reference=code[routing.best],
        gain_interval=(routing.gain_low, routing.gain_high) if routing.gain and np.isfinite(routing.gain) else None,
        value_interval=(routing.value_low, routing.value_high),
        one_model_suffices=routing.verdict == "one model",
        min_gain=routing.min_gain,
    )
