"""Studies in text with a known value of every model on every prompt, in which routing pays or does not.

A prompt has words of one of four topics among other words. The topic is visible in the prompt, and nothing else decides
which model is best. Outputs repeat words of the prompt and carry the style of their model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MODELS = ("ant", "bee", "cat")
EXPERIMENT_ROWS = 600
LOG_ROWS = 3_000
FRESH_CONTEXTS = 1_000
TOPIC_WORDS, OTHER_WORDS = 10, 6  # per prompt
LOG_BIAS = (0.0, -0.05, 0.12)  # of ratings in the log, by model
VALUE = (0.53, 0.50, 0.48)
INTERACTION = ((0.15, 0.05, -0.12, -0.08), (-0.10, 0.0, 0.15, -0.05), (-0.05, -0.05, -0.05, 0.15))
TOPIC_VOCABULARY = """
code python function compile loop array bug stack variable parser thread class module
verse poem rhyme stanza verse ballad sonnet lyric meter ode couplet refrain image
law contract clause tenant lease court statute liability party notice appeal deed breach
food recipe oven flour butter simmer onion dough garlic roast broth spice skillet
"""
VOCABULARY = {line.split()[0]: line.split()[1:] for line in TOPIC_VOCABULARY.strip().splitlines()}
TOPICS = tuple(VOCABULARY)
OTHERS = tuple(f"word{number}" for number in range(300))
STYLES = {"ant": "certainly here is", "bee": "in short", "cat": "great question"}


@dataclass(frozen=True, slots=True, eq=False)
class PlantedStudy:
    """Tables, and fresh prompts with the expected outcome of each model."""

    log: pa.Table
    experiment: pa.Table
    replay: pa.Table
    fresh: tuple[str, ...]
    fresh_q: FloatArray  # (n, k)


def make_study(seed: int, *, pays: bool) -> PlantedStudy:
    """One study; if routing does not pay, models differ by the same amount on every topic."""
    rng = np.random.default_rng([22, seed])
    interaction = np.array(INTERACTION) if pays else np.zeros((len(MODELS), len(TOPICS)))
    effect = np.array(VALUE)[:, None] + interaction - interaction.mean(axis=1, keepdims=True)  # (k, topics)
    topic, model = rng.integers(len(TOPICS), size=EXPERIMENT_ROWS), rng.integers(len(MODELS), size=EXPERIMENT_ROWS)
    prompts = [prompt(TOPICS[each], rng) for each in topic]
    experiment = _rows("e", prompts, topic, model, effect[model, topic], rng)
    replay = pa.table(
        {
            "context_id": [f"e{number}" for number in range(len(prompts)) for _ in MODELS],
            "context": [text for text in prompts for _ in MODELS],
            "model": [name for _ in prompts for name in MODELS],
            "output": [output(text, name, rng) for text in prompts for name in MODELS],
        }
    )
    log = _log(effect, rng)
    fresh_topic = rng.integers(len(TOPICS), size=FRESH_CONTEXTS)
    fresh = tuple(prompt(TOPICS[each], rng) for each in fresh_topic)
    return PlantedStudy(log, experiment, replay, fresh, effect[:, fresh_topic].T)


def prompt(topic: str, rng: np.random.Generator) -> str:
    words = [*rng.choice(VOCABULARY[topic], TOPIC_WORDS), *rng.choice(OTHERS, OTHER_WORDS)]
    return " ".join(rng.permutation(words))


def output(text: str, model: str, rng: np.random.Generator) -> str:
    return f"{STYLES[model]} " + " ".join(rng.choice(text.split(), 8)) + " " + " ".join(rng.choice(OTHERS, 8))


def _log(effect: FloatArray, rng: np.random.Generator) -> pa.Table:
    """Users choose cat more often, and rate it better than they would if it had been drawn."""
    topic = rng.integers(len(TOPICS), size=LOG_ROWS)
    model = rng.choice(len(MODELS), size=LOG_ROWS, p=(0.3, 0.2, 0.5))
    texts = [prompt(TOPICS[each], rng) for each in topic]
    return _rows("l", texts, topic, model, effect[model, topic] + np.array(LOG_BIAS)[model], rng)


def _rows(
    prefix: str, prompts: list[str], topic: IntArray, model: IntArray, mean: FloatArray, rng: np.random.Generator
) -> pa.Table:
    names = [MODELS[each] for each in model]
    return pa.table(
        {
            "context_id": [f"{prefix}{number}" for number in range(len(prompts))],
            "context": prompts,
            "model": names,
            "output": [output(text, name, rng) for text, name in zip(prompts, names, strict=True)],
            "outcome": (rng.random(len(prompts)) < mean).astype(np.float64),
            "topic": [TOPICS[each] for each in topic],
        }
    )
