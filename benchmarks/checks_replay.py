"""Small text studies, clean and violated, for the checks of replay validity (A2) and of hidden paths (A4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.checks import Case
from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.hidden_path import compare_log
from deconfound.diagnose.replay_validity import compare_experiment, supports
from deconfound.features import FeatureSpec
from deconfound.features.study_arrays import StudyArrays

MODELS = ("ash", "birch", "cedar")
WORDS = [f"{a}{b}{c}" for a in "bdfglmnprstv" for b in "aeiou" for c in ("n", "ra", "ld", "sk", "tel", "mo")]
OWN = 40  # words that a model likes best
STRANGE = [f"zz{number}" for number in range(60)]
CONTEXTS, LOG_ROWS, DRAWS = 120, 120, 2


@dataclass(frozen=True, slots=True)
class Broken:
    """What is wrong with a study; nothing by default."""

    replaced: float = 0.0  # share of the words of one model's replay that come from elsewhere
    garbled: float = 0.0  # share of one model's replayed outputs that are garbage
    personal: float = 0.0  # share of the log's outputs that address the user by name


def cases() -> list[Case]:
    """One for each of the two assumptions, and one for support."""
    return [
        _case("A2 replay validity", _validity, Broken(replaced=0.2), "a fifth of one model's replayed words replaced"),
        _case("A2 replay support", _support, Broken(garbled=0.25), "a quarter of one model's replayed outputs garbage"),
        _case("A4 hidden path", _hidden, Broken(personal=0.5), "half of the log's outputs name their user"),
    ]


def _case(name: str, p_value: Callable[[Study, int], float], broken: Broken, planted: str) -> Case:
    def clean(rng: np.random.Generator) -> float:
        return p_value(make_study(rng, Broken()), int(rng.integers(2**31)))

    def violated(rng: np.random.Generator) -> float:
        return p_value(make_study(rng, broken), int(rng.integers(2**31)))

    return Case(name, clean, violated, planted)


def _validity(study: Study, seed: int) -> float:
    telling = compare_experiment(StudyArrays.from_study(study, FeatureSpec()), seed)
    return 1.0 if telling is None else telling.p_value


def _support(study: Study, seed: int) -> float:
    """The smallest p-value of a model, times the models looked at; a finding asks for a notable share, too."""
    found = supports(StudyArrays.from_study(study, FeatureSpec()), seed)
    return min(1.0, len(found) * min(each.p_value for each in found))


def _hidden(study: Study, seed: int) -> float:
    telling = compare_log(StudyArrays.from_study(study, FeatureSpec()), study, seed)
    return 1.0 if telling is None else telling.p_value


def make_study(rng: np.random.Generator, broken: Broken) -> Study:
    """Three models that answer with words of the context and of their own, on contexts that the log shares."""
    contexts = [" ".join(_some(WORDS, 6, 16, rng)) for _ in range(CONTEXTS)]
    experiment = _rows(np.arange(CONTEXTS), rng)
    log = _rows(rng.integers(CONTEXTS, size=LOG_ROWS), rng)
    context, model, draw = (axis.ravel() for axis in np.indices((CONTEXTS, len(MODELS), DRAWS)))
    said = _write(contexts, *log, rng)
    named = rng.random(LOG_ROWS) < broken.personal
    said = [f"dear {_some(WORDS, 1, 2, rng)[0]} {text}" if hit else text for hit, text in zip(named, said, strict=True)]
    again = _write(contexts, context, model, rng)
    again = [_spoilt(text, code, broken, rng) for code, text in zip(model, again, strict=True)]
    return Study.from_tables(
        Log(_table(contexts, *log, said).append_column("outcome", pa.array(rng.random(LOG_ROWS))), "log"),
        Experiment(
            _table(contexts, *experiment, _write(contexts, *experiment, rng)).append_column(
                "outcome", pa.array(rng.random(CONTEXTS))
            ),
            "experiment",
        ),
        Replay(_table(contexts, context, model, again).append_column("draw", pa.array(draw)), "replay"),
    )


def _rows(context: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return context, rng.integers(len(MODELS), size=len(context))


def _write(contexts: list[str], context: np.ndarray, model: np.ndarray, rng: np.random.Generator) -> list[str]:
    outputs = []
    for at, code in zip(context.tolist(), model.tolist(), strict=True):
        copied = _some(contexts[at].split(), 2, 6, rng)
        outputs.append(" ".join(copied + _some(WORDS[code * OWN : (code + 1) * OWN], 4, 9 + 3 * code, rng)))
    return outputs


def _some(words: list[str], low: int, high: int, rng: np.random.Generator) -> list[str]:
    """Between ``low`` and ``high - 1`` of the words, repeats allowed."""
    return [words[at] for at in rng.integers(len(words), size=rng.integers(low, high)).tolist()]


def _spoilt(text: str, code: int, broken: Broken, rng: np.random.Generator) -> str:
    if code != 1:
        return text
    if rng.random() < broken.garbled:
        return " ".join(_some(STRANGE, 25, 26, rng))
    words = text.split()
    hit = (rng.random(len(words)) < broken.replaced).tolist()
    return " ".join(_some(STRANGE, 1, 2, rng)[0] if h else w for h, w in zip(hit, words, strict=True))


def _table(contexts: list[str], context: np.ndarray, model: np.ndarray, outputs: list[str]) -> pa.Table:
    return pa.table(
        {
            "context_id": [f"context-{at}" for at in context],
            "context": [contexts[at] for at in context],
            "model": [MODELS[code] for code in model],
            "output": outputs,
        }
    )
