"""Whole studies for the checks: every column that a check can use, one violation at a time.

Contexts have a topic and common words. Outputs repeat words of the context and add words of the model's own. People are
more or less generous; in the log generous people choose the later models, which confounds it. In the experiment models
are assigned at random.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.design import FloatArray, IntArray

TOPICS = [[f"topic{topic}word{word}" for word in range(40)] for topic in range(4)]
COMMON = [f"common{word}" for word in range(40)]  # each occurs in about a quarter of the contexts
WORDS = [f"{a}{b}{c}" for a in "bdfglmnprstv" for b in "aeiou" for c in ("n", "ra", "ld", "sk", "tel", "mo")]
STRANGE = [f"zz{number}" for number in range(60)]
OWN_WORDS = 40  # of a model
STRATA = np.array([[0.5, 0.1, 0.1, 0.1, 0.1, 0.1], [0.1, 0.3, 0.2, 0.2, 0.1, 0.1], [0.2, 0.2, 0.2, 0.1, 0.1, 0.2]])
GENEROSITY = 1.5  # how strongly generous people prefer the later models in the log


@dataclass(frozen=True, slots=True)
class Design:
    """Sizes and columns of a study without violations."""

    experiment: int = 360  # rows, each with a context of its own
    log: int = 720
    extra: int = 60  # replayed contexts beyond the experiment's
    recurring: int = 60  # log rows that rate an output of the experiment again
    replayed: float = 0.3  # share of the other log rows whose context was replayed
    models: int = 6
    draws: int = 1
    rows_per_person: int = 2
    uneven_people: bool = False  # most people have one row, a few have very many; then their rows spread over time
    target: int = 120
    assignment: Literal["uniform", "by row", "continuous", "by person", "uneven by person"] = "uniform"
    log_generosity: float = 0.0  # how much more generous the log's people are, in standard deviations
    steps: int = 0  # values of the outcome's scale; 0 for a continuous one
    text: bool = True  # else feature_* columns of contexts and outputs


@dataclass(frozen=True, slots=True)
class Violation:
    """What is wrong with a study; nothing by default."""

    lost: float = 0.0  # share of the first model's experiment rows that never reach the table
    late: float = 0.0  # share of the last third of the experiment that goes to the first model
    by_length: float = 0.0  # share of the longest third of the contexts that goes to the first model
    by_word: float = 0.0  # share of the contexts with one common word that goes to the first model
    replaced: float = 0.0  # share of the words of the second model's replay that come from elsewhere
    garbled: float = 0.0  # share of the second model's replayed outputs that are garbage
    steps: int = 0  # values of the experiment's scale, if another than the log's
    scale: float = 1.0  # the end of the experiment's scale
    inverted: bool = False  # the log has 0 for the best outcome
    drift: float = 0.0  # rise of the experiment's outcomes over its time
    personal: float = 0.0  # share of the log's outputs that name their user
    log_moved: float = 0.0  # share of the log's contexts that are moved to one topic
    extra_moved: float = 0.0  # the same for contexts replayed beyond the experiment's
    target_moved: float = 0.0  # the same for the target's contexts


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of log or experiment."""

    context: list[str]
    model: IntArray
    output: list[str]
    outcome: FloatArray
    person: IntArray
    time: FloatArray


def make_study(rng: np.random.Generator, design: Design, violation: Violation) -> tuple[Study, pa.Table]:
    """A study and a target of the same population, but for the violation."""
    contexts = make_contexts(design.experiment, 0.0, rng)
    extra = make_contexts(design.extra, violation.extra_moved, rng)
    experiment, propensities = make_experiment(contexts, design, violation, rng)
    log = make_log(contexts, experiment, design, violation, rng)
    replay = make_replay([*contexts, *extra], design, violation, rng)
    target = pa.table({"context": make_contexts(design.target, violation.target_moved, rng)})
    log_labels = {"label_long": [float(len(text)) for text in log.output], "label_noise": rng.random(len(log.output))}
    study = Study.from_tables(
        Log(rated(log, "log", design, log_labels), "log"),
        Experiment(rated(experiment, "experiment", design, propensities), "experiment"),
        Replay(replay, "replay"),
    )
    return study, target if design.text else columns_of(pa.table({"context": target["context"]}), with_output=False)


def make_contexts(count: int, moved: float, rng: np.random.Generator) -> list[str]:
    """Distinct texts with words of one topic and common words."""
    topics = np.where(rng.random(count) < moved, 0, rng.integers(len(TOPICS), size=count)).tolist()
    return [
        " ".join([*pick_words(TOPICS[topic], 5, rng), *pick_words(COMMON, int(rng.integers(5, 20)), rng)])
        for topic in topics
    ]


def pick_words(words: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [words[at] for at in rng.integers(len(words), size=count).tolist()]


def make_experiment(
    contexts: list[str], design: Design, violation: Violation, rng: np.random.Generator
) -> tuple[Source, dict[str, object]]:
    rows = len(contexts)
    person, state, time = make_people(rows, design, rng)
    model, declared = assign(contexts, person, time, design, violation, rng)
    output = write(contexts, model, rng)
    outcome = rate(output, model, state, rng)
    outcome = (1.0 - violation.drift) * outcome + violation.drift * time
    outcome = violation.scale * on_scale(outcome, violation.steps or design.steps)
    arrived = np.flatnonzero((model != 0) | (rng.random(rows) >= violation.lost))
    rows_of = arrived.tolist()
    source = Source(
        [contexts[at] for at in rows_of],
        model[arrived],
        [output[at] for at in rows_of],
        outcome[arrived],
        person[arrived],
        time[arrived],
    )
    propensities: dict[str, object] = {
        f"propensity_model-{code}": declared[arrived, code] for code in range(design.models)
    }
    return source, {"propensity": declared[arrived, model[arrived]], **propensities}


def assign(
    contexts: list[str],
    person: IntArray,
    time: FloatArray,
    design: Design,
    violation: Violation,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """The assigned model of each row, and the declared probabilities of all models."""
    rows = len(contexts)
    length = np.array([len(context) for context in contexts])
    declared = np.full((rows, design.models), 1.0 / design.models)
    if design.assignment == "by row":
        declared = np.where((length > np.median(length))[:, None], STRATA[0], STRATA[1])
    elif design.assignment == "continuous":
        declared = 0.94 * rng.dirichlet(np.ones(design.models), size=rows) + 0.06 / design.models
    elif design.assignment == "uneven by person":
        declared = STRATA[rng.integers(len(STRATA), size=rows)][person]
    has_word = np.array([COMMON[0] in context.split() for context in contexts])
    forced = np.maximum.reduce(
        [
            np.where(time > 2 / 3, violation.late, 0.0),
            np.where(length > np.quantile(length, 2 / 3), violation.by_length, 0.0),
            np.where(has_word, violation.by_word, 0.0),
        ]
    )[:, None]
    chances = (1 - forced) * declared + forced * (np.arange(design.models) == 0)
    uniform = rng.random((rows, 1))
    if design.assignment in ("by person", "uneven by person"):
        uniform = uniform[person]
    model = (uniform > chances.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return model, declared


def make_people(rows: int, design: Design, rng: np.random.Generator) -> tuple[IntArray, FloatArray, FloatArray]:
    """Each row's person, that person's generosity, and a time within the person's session."""
    person, session = np.arange(rows) // design.rows_per_person, 0.01
    if design.uneven_people:
        sizes = 1 + np.minimum(rng.pareto(1.0, rows), rows / 3).astype(np.int64)
        person, session = np.repeat(np.arange(rows), sizes)[:rows], 0.2
    start, state = (1 - session) * rng.random(rows), rng.standard_normal(rows)
    return person, state[person], start[person] + session * rng.random(rows)


def make_log(
    contexts: list[str], experiment: Source, design: Design, violation: Violation, rng: np.random.Generator
) -> Source:
    rows = design.log
    person, state, time = make_people(rows, design, rng)
    state = state + design.log_generosity
    odds = GENEROSITY * state[:, None] * np.linspace(-1.0, 1.0, design.models)
    model = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    own = make_contexts(rows, violation.log_moved, rng)
    replayed = rng.integers(len(contexts), size=rows).tolist()
    is_replayed = (rng.random(rows) < design.replayed).tolist()
    context = [contexts[at] if hit else text for at, hit, text in zip(replayed, is_replayed, own, strict=True)]
    output = write(context, model, rng)
    again = rng.choice(len(experiment.context), min(design.recurring, len(experiment.context)), replace=False).tolist()
    for at, row in enumerate(again):
        context[at], output[at], model[at] = experiment.context[row], experiment.output[row], experiment.model[row]
    outcome = on_scale(rate(output, model, state, rng), design.steps)
    named = (rng.random(rows) < violation.personal).tolist()
    output = [
        f"dear {pick_words(WORDS, 1, rng)[0]} {text}" if hit else text for hit, text in zip(named, output, strict=True)
    ]
    return Source(context, model, output, 1.0 - outcome if violation.inverted else outcome, person, time)


def write(contexts: list[str], model: IntArray, rng: np.random.Generator) -> list[str]:
    """Outputs: some words of the context, some of the model's own; later models write more."""
    outputs = []
    for context, code in zip(contexts, model.tolist(), strict=True):
        copied = pick_words(context.split(), int(rng.integers(2, 6)), rng)
        own = WORDS[code * OWN_WORDS : (code + 1) * OWN_WORDS]
        outputs.append(" ".join([*copied, *pick_words(own, int(rng.integers(4, 12 + code)), rng)]))
    return outputs


def rate(output: list[str], model: IntArray, state: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Outcomes in [0, 1] from the output's length, the model and the person's generosity."""
    length = np.array([len(text.split()) for text in output])
    merit = 0.25 * (length - 12.0) + 0.1 * model + 0.5 * state + 0.7 * rng.standard_normal(len(model))
    return np.asarray(1.0 / (1.0 + np.exp(-merit)))


def on_scale(outcome: FloatArray, steps: int) -> FloatArray:
    return np.asarray(np.minimum(np.floor(outcome * steps), steps - 1) / (steps - 1)) if steps else outcome


def make_replay(contexts: list[str], design: Design, violation: Violation, rng: np.random.Generator) -> pa.Table:
    context, model, draw = (axis.ravel() for axis in np.indices((len(contexts), design.models, design.draws)))
    texts = [contexts[at] for at in context.tolist()]
    output = write(texts, model, rng)
    if violation.replaced or violation.garbled:
        output = [
            spoil(text, violation, rng) if code == 1 else text
            for text, code in zip(output, model.tolist(), strict=True)
        ]
    table = text_table(texts, model, output)
    return (table if design.text else columns_of(table, with_output=True)).append_column("draw", pa.array(draw))


def spoil(text: str, violation: Violation, rng: np.random.Generator) -> str:
    if rng.random() < violation.garbled:
        return " ".join(pick_words(STRANGE, 25, rng))
    words = text.split()
    hit = (rng.random(len(words)) < violation.replaced).tolist()
    return " ".join(pick_words(STRANGE, 1, rng)[0] if h else word for h, word in zip(hit, words, strict=True))


def rated(source: Source, role: str, design: Design, more: dict[str, object]) -> pa.Table:
    table = text_table(source.context, source.model, source.output)
    columns = {
        "outcome": source.outcome,
        "cluster": [f"{role}-{number}" for number in source.person.tolist()],
        "time": source.time,
        **more,
    }
    table = table if design.text else columns_of(table, with_output=True)
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def text_table(contexts: list[str], model: IntArray, outputs: list[str]) -> pa.Table:
    names = [f"model-{code}" for code in model.tolist()]
    return pa.table({"context_id": contexts, "context": contexts, "model": names, "output": outputs})


def columns_of(table: pa.Table, with_output: bool) -> pa.Table:
    """The same rows with a few numbers in place of the texts."""
    texts = table["context"].to_pylist()
    topics = [int(text[len("topic")]) for text in texts]
    numbers = {"feature_words": [float(len(text.split())) for text in texts]}
    numbers |= {f"feature_topic_{code}": [float(topic == code) for topic in topics] for code in range(3)}
    columns: dict[str, object] = {"context_id": texts, **numbers}
    if with_output:
        outputs = table["output"].to_pylist()
        columns["model"] = table["model"]
        columns["feature_output_words"] = [float(len(text.split())) for text in outputs]
        columns["feature_output_letters"] = [float(len(text)) for text in outputs]
    return pa.table(columns)
