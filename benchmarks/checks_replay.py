"""Small text studies, clean and violated, for the checks of the replay (A2) and of the output mechanism (A4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.checks import Case
from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.output_mechanism import compare_log_outputs
from deconfound.diagnose.replay_fidelity import compare_experiment_outputs, support_by_model
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays

MODELS = ("ash", "birch", "cedar")
WORDS = [f"{a}{b}{c}" for a in "bdfglmnprstv" for b in "aeiou" for c in ("n", "ra", "ld", "sk", "tel", "mo")]
OWN_WORDS = 40  # that a model uses beside the context's
STRANGE = [f"zz{number}" for number in range(60)]
CONTEXTS, LOG_ROWS, DRAWS = 120, 120, 2


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a study; nothing by default."""

    replaced: float = 0.0  # share of the words of one model's replay that come from elsewhere
    garbled: float = 0.0  # share of one model's replayed outputs that are garbage
    personal: float = 0.0  # share of the log's outputs that address the user by name


def cases() -> list[Case]:
    """Fidelity and support of the replay, and the output mechanism."""
    return [
        _case(
            "A2 replay fidelity", _fidelity, Violation(replaced=0.2), "a fifth of one model's replayed words replaced"
        ),
        _case(
            "A2 replay support", _support, Violation(garbled=0.25), "a quarter of one model's replayed outputs garbage"
        ),
        _case("A4 output mechanism", _mechanism, Violation(personal=0.5), "half of the log's outputs name their user"),
    ]


def _case(name: str, p_value: Callable[[Study, int], float], violation: Violation, planted: str) -> Case:
    def clean(rng: np.random.Generator) -> float:
        return p_value(make_study(rng, Violation()), int(rng.integers(2**31)))

    def violated(rng: np.random.Generator) -> float:
        return p_value(make_study(rng, violation), int(rng.integers(2**31)))

    return Case(name, clean, violated, planted)


def _fidelity(study: Study, seed: int) -> float:
    result = compare_experiment_outputs(StudyArrays.from_study(study, FeatureSpec()), seed)
    return 1.0 if result is None else result.p_value


def _support(study: Study, seed: int) -> float:
    """Bonferroni-adjusted over models, whatever the share; the check counts notable shares only."""
    by_model = support_by_model(StudyArrays.from_study(study, FeatureSpec()), seed)
    return min(1.0, len(by_model) * min(each.p_value for each in by_model))


def _mechanism(study: Study, seed: int) -> float:
    result = compare_log_outputs(StudyArrays.from_study(study, FeatureSpec()), study, seed)
    return 1.0 if result is None else result.p_value


def make_study(rng: np.random.Generator, violation: Violation) -> Study:
    """Three models that answer with words of the context and of their own, on contexts that the log shares."""
    contexts = [" ".join(_pick_words(WORDS, 6, 16, rng)) for _ in range(CONTEXTS)]
    experiment = _rows(np.arange(CONTEXTS), rng)
    log = _rows(rng.integers(CONTEXTS, size=LOG_ROWS), rng)
    context, model, draw = (axis.ravel() for axis in np.indices((CONTEXTS, len(MODELS), DRAWS)))
    logged = _write(contexts, *log, rng)
    named = rng.random(LOG_ROWS) < violation.personal
    logged = [
        f"dear {_pick_words(WORDS, 1, 2, rng)[0]} {text}" if hit else text
        for hit, text in zip(named, logged, strict=True)
    ]
    replayed = _write(contexts, context, model, rng)
    replayed = [_spoil(text, code, violation, rng) for code, text in zip(model, replayed, strict=True)]
    return Study.from_tables(
        Log(_table(contexts, *log, logged).append_column("outcome", pa.array(rng.random(LOG_ROWS))), "log"),
        Experiment(
            _table(contexts, *experiment, _write(contexts, *experiment, rng)).append_column(
                "outcome", pa.array(rng.random(CONTEXTS))
            ),
            "experiment",
        ),
        Replay(_table(contexts, context, model, replayed).append_column("draw", pa.array(draw)), "replay"),
    )


def _rows(context: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return context, rng.integers(len(MODELS), size=len(context))


def _write(contexts: list[str], context: np.ndarray, model: np.ndarray, rng: np.random.Generator) -> list[str]:
    outputs = []
    for at, code in zip(context.tolist(), model.tolist(), strict=True):
        copied = _pick_words(contexts[at].split(), 2, 6, rng)
        outputs.append(
            " ".join(copied + _pick_words(WORDS[code * OWN_WORDS : (code + 1) * OWN_WORDS], 4, 9 + 3 * code, rng))
        )
    return outputs


def _pick_words(words: list[str], low: int, high: int, rng: np.random.Generator) -> list[str]:
    """Between ``low`` and ``high - 1`` of the words, repeats allowed."""
    return [words[at] for at in rng.integers(len(words), size=rng.integers(low, high)).tolist()]


def _spoil(text: str, code: int, violation: Violation, rng: np.random.Generator) -> str:
    if code != 1:
        return text
    if rng.random() < violation.garbled:
        return " ".join(_pick_words(STRANGE, 25, 26, rng))
    words = text.split()
    hit = (rng.random(len(words)) < violation.replaced).tolist()
    return " ".join(_pick_words(STRANGE, 1, 2, rng)[0] if h else w for h, w in zip(hit, words, strict=True))


def _table(contexts: list[str], context: np.ndarray, model: np.ndarray, outputs: list[str]) -> pa.Table:
    return pa.table(
        {
            "context_id": [f"context-{at}" for at in context],
            "context": [contexts[at] for at in context],
            "model": [MODELS[code] for code in model],
            "output": outputs,
        }
    )
