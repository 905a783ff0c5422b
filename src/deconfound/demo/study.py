"""A whole study with a known truth: log, experiment and replay of a support desk.

Customers' messages reach the desk. A person there has one of six models write a hand-over note and says on a slider
how useful it was. ``mechanism`` holds the laws by which people choose and judge. The paper's assumptions hold exactly:

    A1  the experiment draws the model uniformly, whoever asks and whatever the message
    A2  the replay runs the very programs that wrote the notes in the experiment
    A3  one law gives the outcome from (message, note, person) everywhere
    A4  a program sees the message, never the person
    A5  the experiment's messages come from the population over which the values are averaged
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from deconfound.demo.mechanism import Mechanism
from deconfound.demo.message_text import tell
from deconfound.demo.messages import imagine
from deconfound.demo.quality import Case, mark, open_case
from deconfound.demo.text_sampling import TextSampler
from deconfound.demo.writers import WRITERS
from deconfound.design import FloatArray, IntArray

MODELS = tuple(WRITERS)
# The truth is an average over the same messages for every study: standard error about 0.0025 a model. Of the seeds
# 0 to 6 this one came closest to an average over 60,000 messages, within 0.0025 for every model.
TRUTH_SEED, TRUTH_CONTEXTS = 3, 5_000
LABEL_NOISE = 0.15


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much of everything: messages, notes per message, notes per person, replay draws."""

    log_contexts: int = 1_200
    log_repeats: int = 3
    log_people: int = 300
    experiment_contexts: int = 360
    experiment_people: int = 180
    draws: int = 2


@dataclass(frozen=True, slots=True)
class Demo:
    """Three tables and what only their maker knows.

    ``log`` and ``experiment`` have ``context_id``, ``context``, ``model``, ``output``, ``outcome`` and ``cluster``
    (the person), the log also ``label_*``, the experiment its ``propensity``; ``replay`` has ``draw`` and no outcome.
    """

    models: tuple[str, ...]
    log: pa.Table
    experiment: pa.Table
    replay: pa.Table
    mechanism: Mechanism

    @property
    def value(self) -> FloatArray:
        """The true mu(a) of each model (k,): expected outcome over messages, notes, people and noise."""
        return true_value(self.mechanism)

    @property
    def log_value(self) -> FloatArray:
        """The mean outcome (k,) that this sample of the log shows for each model."""
        model = np.array(self.log["model"].to_pylist())
        outcome = self.log["outcome"].to_numpy()
        return np.array([outcome[model == name].mean() for name in self.models])

    def q(self, table: pa.Table) -> FloatArray:
        """Give the true reward r*(x, m) of each row, from nothing but its context and output."""
        contexts = table["context"].to_pylist()
        cases = {context: open_case(context) for context in dict.fromkeys(contexts)}
        outputs = table["output"].to_pylist()
        return self.mechanism.reward(_marks([cases[context] for context in contexts], outputs))

    def write(self, directory: Path | str) -> None:
        """Save the three tables as ``log.parquet``, ``experiment.parquet`` and ``replay.parquet``."""
        from pyarrow import parquet

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in (("log", self.log), ("experiment", self.experiment), ("replay", self.replay)):
            parquet.write_table(table, folder / f"{name}.parquet")


@dataclass(frozen=True, slots=True)
class Streams:
    """Independent randomness for each step, so that the size of one leaves the others alone."""

    contexts: np.random.Generator
    people: np.random.Generator
    choices: np.random.Generator
    outputs: np.random.Generator
    outcomes: np.random.Generator
    labels: np.random.Generator


def make_demo(seed: int = 0, mechanism: Mechanism | None = None, sizes: Sizes | None = None) -> Demo:
    """Make the demo study; the same seed gives the same bytes."""
    mechanism, sizes = mechanism or Mechanism(), sizes or Sizes()
    log, experiment, replay = (_streams(source) for source in np.random.SeedSequence(seed).spawn(3))
    cases = make_cases(sizes.experiment_contexts, experiment.contexts)
    return Demo(
        models=MODELS,
        log=_log(mechanism, sizes, log),
        experiment=_experiment(cases, mechanism, sizes, experiment),
        replay=_replay(cases, sizes, replay),
        mechanism=mechanism,
    )


@cache
def true_value(mechanism: Mechanism, contexts: int = TRUTH_CONTEXTS) -> FloatArray:
    """Average the exact reward over a large fixed set of messages, each answered once by every model."""
    streams = _streams(np.random.SeedSequence(TRUTH_SEED))
    cases = make_cases(contexts, streams.contexts)
    dice = TextSampler(streams.outputs)
    notes = {name: [writer(case.message, dice) for case in cases] for name, writer in WRITERS.items()}
    value = np.array([mechanism.reward(_marks(cases, outputs)).mean() for outputs in notes.values()])
    value.setflags(write=False)
    return value


def make_cases(count: int, rng: np.random.Generator) -> list[Case]:
    """Draw messages from the population."""
    dice = TextSampler(rng)
    return [open_case(tell(imagine(dice), dice)) for _ in range(count)]


def _streams(source: np.random.SeedSequence) -> Streams:
    return Streams(*(np.random.default_rng(child) for child in source.spawn(6)))


def _log(mechanism: Mechanism, sizes: Sizes, streams: Streams) -> pa.Table:
    cases = make_cases(sizes.log_contexts, streams.contexts)
    index = np.repeat(np.arange(len(cases)), sizes.log_repeats)
    person, state = _people(sizes.log_people, len(index), streams.people)
    load = np.array([case.load for case in cases])[index]
    chances = mechanism.choice(state, load).cumsum(axis=1)
    model = (streams.choices.random((len(index), 1)) > chances[:, :-1]).sum(axis=1)
    asked = [cases[i] for i in index]
    outputs = _write(asked, model, streams.outputs)
    marks = _marks(asked, outputs)
    outcome = mechanism.outcome(marks, state, streams.outcomes.standard_normal(len(index)))
    return pa.table(
        {
            **_texts("log", cases, index, model, outputs),
            "outcome": outcome,
            "cluster": [f"log-person-{number:03d}" for number in person],
            **_labels(marks, streams.labels),
        }
    )


def _experiment(cases: list[Case], mechanism: Mechanism, sizes: Sizes, streams: Streams) -> pa.Table:
    index = np.arange(len(cases))
    person, state = _people(sizes.experiment_people, len(index), streams.people)
    model = streams.choices.integers(len(MODELS), size=len(index))
    outputs = _write(cases, model, streams.outputs)
    marks = _marks(cases, outputs)
    outcome = mechanism.outcome(marks, state, streams.outcomes.standard_normal(len(index)))
    return pa.table(
        {
            **_texts("experiment", cases, index, model, outputs),
            "outcome": outcome,
            "propensity": np.full(len(index), 1 / len(MODELS)),
            "cluster": [f"experiment-person-{number:03d}" for number in person],
        }
    )


def _replay(cases: list[Case], sizes: Sizes, streams: Streams) -> pa.Table:
    shape = (len(cases), len(MODELS), sizes.draws)
    index, model, draw = (axis.ravel() for axis in np.indices(shape))
    outputs = _write([cases[i] for i in index], model, streams.outputs)
    return pa.table({**_texts("experiment", cases, index, model, outputs), "draw": draw})


def _people(count: int, rows: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    # Everybody gets the same number of rows, in an order that has nothing to do with the messages.
    state = rng.standard_normal((count, 2))
    person = rng.permutation(np.arange(rows) % count)
    return person, state[person]


def _write(cases: list[Case], model: IntArray, rng: np.random.Generator) -> list[str]:
    dice = TextSampler(rng)
    writers = list(WRITERS.values())
    return [writers[code](case.message, dice) for case, code in zip(cases, model.tolist(), strict=True)]


def _marks(cases: list[Case], outputs: list[str]) -> FloatArray:
    return np.array([mark(case, output) for case, output in zip(cases, outputs, strict=True)])


def _texts(
    source: str, cases: list[Case], index: IntArray, model: IntArray, outputs: list[str]
) -> dict[str, list[str]]:
    rows = index.tolist()
    return {
        "context_id": [f"{source}-{row:04d}" for row in rows],
        "context": [cases[row].context for row in rows],
        "model": [MODELS[code] for code in model.tolist()],
        "output": outputs,
    }


def _labels(marks: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Give auxiliary judgements of each note by outsiders: noisy, and blind to the person who asked."""
    coverage, invented, bloat, padding, repetition, _ = marks.T
    seen = {
        "label_complete": coverage,
        "label_faithful": 1 - invented / 3,
        "label_brief": 1 - (bloat + repetition) / 2,
        "label_warm": 0.3 + 0.6 * padding,
    }
    return {name: np.clip(truth + LABEL_NOISE * rng.standard_normal(len(truth)), 0, 1) for name, truth in seen.items()}
