"""Generate the demo study: log, experiment and replay of a support desk, with known true values.

A support agent receives a customer's message, has one of six models write a hand-over note, and rates it from 0 to 1.
``mechanism`` defines how agents choose and rate. The paper's assumptions are satisfied exactly:

    A1  the experiment assigns models uniformly at random, independent of agent and message
    A2  the replay runs the same programs that wrote the notes of the experiment
    A3  outcomes depend on message, note and agent in the same way in log and experiment
    A4  a program reads the message only, nothing about the agent
    A5  the experiment's messages come from the population that the values refer to
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from deconfound.atomic import write_files
from deconfound.demo.mechanism import Mechanism
from deconfound.demo.message_text import render_message
from deconfound.demo.messages import sample_message
from deconfound.demo.quality import Case, parse_case, score_note
from deconfound.demo.text_sampling import TextSampler
from deconfound.demo.writers import WRITERS
from deconfound.design import FloatArray, IntArray
from deconfound.errors import check_seed

MODELS = tuple(WRITERS)
# The true value is an average over one fixed set of messages, with a standard error of about 0.0025 per model. Among
# seeds 0 to 6 this one is closest to an average over 60,000 messages: within 0.0025 for every model.
TRUTH_SEED, TRUTH_CONTEXTS = 3, 5_000
FILES = ("log.parquet", "experiment.parquet", "replay.parquet")  # that ``Demo.write`` writes
LABEL_NOISE = 0.15  # standard deviation


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of messages, notes per message, people and replay draws."""

    log_contexts: int = 1_200
    log_repeats: int = 3
    log_people: int = 300
    experiment_contexts: int = 360
    experiment_people: int = 180
    draws: int = 2


@dataclass(frozen=True, slots=True)
class Demo:
    """The three tables of a study, and its true values.

    ``log`` and ``experiment`` have ``context_id``, ``context``, ``model``, ``output``, ``outcome`` and ``cluster``
    (the person). The log also has ``label_*``, the experiment ``propensity``. ``replay`` has ``draw`` and no outcome.
    """

    models: tuple[str, ...]
    log: pa.Table
    experiment: pa.Table
    replay: pa.Table
    mechanism: Mechanism

    @property
    def value(self) -> FloatArray:
        """True value mu(a) of each model (k,): the expected outcome over messages, notes, people and noise."""
        return true_value(self.mechanism)

    @property
    def true_values(self) -> dict[str, float]:
        """True value by model name."""
        return dict(zip(self.models, (float(value) for value in self.value), strict=True))

    def true_reward(self, table: pa.Table) -> FloatArray:
        """True reward r*(x, m) of each row (n,), a function of its context and output alone."""
        contexts = table["context"].to_pylist()
        cases = {context: parse_case(context) for context in dict.fromkeys(contexts)}
        outputs = table["output"].to_pylist()
        return self.mechanism.reward(_scores([cases[context] for context in contexts], outputs))

    def write(self, directory: Path | str) -> None:
        """Save the three tables as ``log.parquet``, ``experiment.parquet`` and ``replay.parquet``."""
        from pyarrow import parquet

        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        contents = {}
        for name, table in zip(FILES, (self.log, self.experiment, self.replay), strict=True):
            sink = pa.BufferOutputStream()
            parquet.write_table(table, sink)
            contents[folder / name] = sink.getvalue().to_pybytes()
        write_files(contents)


@dataclass(frozen=True, slots=True)
class RandomStreams:
    """An independent generator per step, so that the size of one step does not change the others."""

    contexts: np.random.Generator
    people: np.random.Generator
    choices: np.random.Generator
    outputs: np.random.Generator
    outcomes: np.random.Generator
    labels: np.random.Generator


def make_demo(seed: int = 0, mechanism: Mechanism | None = None, sizes: Sizes | None = None) -> Demo:
    """Generate the demo study; the same seed gives the same bytes."""
    check_seed(seed)
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
    """Mean true reward of each model (k,) over a large fixed set of messages, one note per model and message."""
    streams = _streams(np.random.SeedSequence(TRUTH_SEED))
    cases = make_cases(contexts, streams.contexts)
    sampler = TextSampler(streams.outputs)
    notes = {name: [writer(case.message, sampler) for case in cases] for name, writer in WRITERS.items()}
    value = np.array([mechanism.reward(_scores(cases, outputs)).mean() for outputs in notes.values()])
    value.setflags(write=False)
    return value


def make_cases(count: int, rng: np.random.Generator) -> list[Case]:
    """Sample messages from the population."""
    sampler = TextSampler(rng)
    return [parse_case(render_message(sample_message(sampler), sampler)) for _ in range(count)]


def _streams(source: np.random.SeedSequence) -> RandomStreams:
    return RandomStreams(*(np.random.default_rng(child) for child in source.spawn(6)))


def _log(mechanism: Mechanism, sizes: Sizes, streams: RandomStreams) -> pa.Table:
    cases = make_cases(sizes.log_contexts, streams.contexts)
    index = np.repeat(np.arange(len(cases)), sizes.log_repeats)
    person, state = _people(sizes.log_people, len(index), streams.people)
    load = np.array([case.load for case in cases])[index]
    cumulative = mechanism.choice_probabilities(state, load).cumsum(axis=1)
    model = (streams.choices.random((len(index), 1)) > cumulative[:, :-1]).sum(axis=1)
    case_of_row = [cases[i] for i in index]
    outputs = _write_notes(case_of_row, model, streams.outputs)
    scores = _scores(case_of_row, outputs)
    outcome = mechanism.outcome(scores, state, streams.outcomes.standard_normal(len(index)))
    return pa.table(
        {
            **_texts("log", cases, index, model, outputs),
            "outcome": outcome,
            "cluster": [f"log-person-{number:03d}" for number in person],
            **_labels(scores, streams.labels),
        }
    )


def _experiment(cases: list[Case], mechanism: Mechanism, sizes: Sizes, streams: RandomStreams) -> pa.Table:
    index = np.arange(len(cases))
    person, state = _people(sizes.experiment_people, len(index), streams.people)
    model = streams.choices.integers(len(MODELS), size=len(index))
    outputs = _write_notes(cases, model, streams.outputs)
    scores = _scores(cases, outputs)
    outcome = mechanism.outcome(scores, state, streams.outcomes.standard_normal(len(index)))
    return pa.table(
        {
            **_texts("experiment", cases, index, model, outputs),
            "outcome": outcome,
            "propensity": np.full(len(index), 1 / len(MODELS)),
            "cluster": [f"experiment-person-{number:03d}" for number in person],
        }
    )


def _replay(cases: list[Case], sizes: Sizes, streams: RandomStreams) -> pa.Table:
    shape = (len(cases), len(MODELS), sizes.draws)
    index, model, draw = (axis.ravel() for axis in np.indices(shape))
    outputs = _write_notes([cases[i] for i in index], model, streams.outputs)
    return pa.table({**_texts("experiment", cases, index, model, outputs), "draw": draw})


def _people(count: int, rows: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """The person of each row (n,) and their state (n, 2); all get the same number of rows, in random order."""
    state = rng.standard_normal((count, 2))
    person = rng.permutation(np.arange(rows) % count)
    return person, state[person]


def _write_notes(cases: list[Case], model: IntArray, rng: np.random.Generator) -> list[str]:
    sampler = TextSampler(rng)
    writers = list(WRITERS.values())
    return [writers[code](case.message, sampler) for case, code in zip(cases, model.tolist(), strict=True)]


def _scores(cases: list[Case], outputs: list[str]) -> FloatArray:
    return np.array([score_note(case, output) for case, output in zip(cases, outputs, strict=True)])


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


def _labels(scores: FloatArray, rng: np.random.Generator) -> dict[str, FloatArray]:
    """Noisy auxiliary labels of each note; they depend on its quality scores, not on the person who rated it."""
    coverage, invented, bloat, padding, repetition, _ = scores.T
    labels = {
        "label_complete": coverage,
        "label_faithful": 1 - invented / 3,
        "label_brief": 1 - (bloat + repetition) / 2,
        "label_warm": 0.3 + 0.6 * padding,
    }
    return {name: np.clip(mean + LABEL_NOISE * rng.standard_normal(len(mean)), 0, 1) for name, mean in labels.items()}
