"""How do time, memory and accuracy of an evaluation grow with the number of randomized rows?

    python -m benchmarks.long_experiment --rows 1000 5000 20000
    python -m benchmarks.long_experiment --rows 20000 --family all --texts short

Invented studies: ``--log`` log rows, six models, one draw per replayed cell, users with several rows each, and a log
whose users rate some models higher if they choose them. A tenth of the log's rows have a context of the experiment.
Each evaluation runs in a process of its own. Printed are seconds by the clock and of the processor (all cores added
up), peak memory, the processor's seconds in each stage, the error of the values, and the error of the reward's
differences between models on one context.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import deconfound as dc
from deconfound.design import FloatArray, IntArray
from deconfound.evaluation import PAPER_FAMILY_NAMES, prepare
from deconfound.metrics import rmse

MODELS = ("ant", "bee", "cat", "dog", "elk", "fox")
VOCABULARY, TOPICS = 5_000, 12
WORDS = {"long": (40, 80), "short": (4, 8)}  # smallest and largest number of words of an output
CONTEXT_WORDS = (15, 30)
ROWS_PER_USER = 4
SHARED_CONTEXTS = 0.1  # share of the log's rows whose context is in the experiment
LOG_BIAS = 0.15  # by how much users rate the model of their choice higher in the log


@dataclass(frozen=True, slots=True)
class Invented:
    """The tables of a study, and the truth."""

    log: pa.Table
    experiment: pa.Table
    replay: pa.Table
    value: FloatArray  # (k,)
    q: FloatArray  # (contexts, k) by sorted context id


class Writer:
    """Draws texts whose words decide how good they are."""

    def __init__(self, rng: np.random.Generator, words: tuple[int, int]) -> None:
        self.rng, self.words = rng, words
        share = 1.0 / np.arange(1, VOCABULARY + 1)
        by_topic = share * rng.gamma(0.5, 2.0, (TOPICS, VOCABULARY))
        by_model = rng.gamma(2.0, 0.5, (len(MODELS), VOCABULARY))
        self._topic_share = _cumulative(by_topic)
        self._cell_share = _cumulative((by_topic[:, None] * by_model).reshape(-1, VOCABULARY))
        self.effect = rng.normal(0.0, 1.0, VOCABULARY)
        self.by_topic = rng.normal(0.0, 0.06, (TOPICS, len(MODELS)))
        self.by_model = np.linspace(0.05, -0.05, len(MODELS))
        self.word = np.array([f"w{number}x" for number in range(VOCABULARY)], dtype=object)

    def contexts(self, topic: IntArray) -> list[str]:
        """One text per topic number."""
        return [" ".join(self.word[n]) for n in self._draw(self._topic_share, topic, CONTEXT_WORDS)]

    def outputs(self, topic: IntArray, model: IntArray) -> tuple[list[str], FloatArray]:
        """One output per topic and model, and the probability that it is liked."""
        drawn = self._draw(self._cell_share, topic * len(MODELS) + model, self.words)
        style = np.array([self.effect[n].sum() / np.sqrt(len(n)) for n in drawn])
        good = 0.5 + self.by_model[model] + self.by_topic[topic, model] + 0.08 * style
        return [" ".join(self.word[n]) for n in drawn], np.clip(good, 0.05, 0.95)

    def _draw(self, cumulative: FloatArray, group: IntArray, words: tuple[int, int]) -> list[IntArray]:
        sizes = self.rng.integers(*words, size=len(group))
        drawn: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(group)
        for number in np.unique(group).tolist():
            at = np.flatnonzero(group == number)
            picks = np.searchsorted(cumulative[number], self.rng.random(int(sizes[at].sum())))
            for place, part in zip(at.tolist(), np.split(picks, np.cumsum(sizes[at])[:-1]), strict=True):
                drawn[place] = part
        return drawn


def _cumulative(weights: FloatArray) -> FloatArray:
    total = np.cumsum(weights, axis=1)
    return np.asarray(total / total[:, -1:])


def invent(rows: int, log_rows: int, texts: str, seed: int) -> Invented:
    """A study of ``rows`` randomized rows, one per context."""
    rng = np.random.default_rng([seed, rows, log_rows])
    writer = Writer(np.random.default_rng(seed), WORDS[texts])
    topic = rng.integers(TOPICS, size=rows)
    contexts, ids = writer.contexts(topic), np.array([f"e{number:07d}" for number in range(rows)])
    model = rng.integers(len(MODELS), size=rows)
    outputs, good = writer.outputs(topic, model)
    names = np.array(MODELS)
    experiment = pa.table(
        {
            "context_id": ids,
            "context": contexts,
            "model": names[model],
            "output": outputs,
            "outcome": (rng.random(rows) < good).astype(np.float64),
            "cluster": [f"u{number}" for number in rng.integers(max(rows // ROWS_PER_USER, 2), size=rows)],
        }
    )
    every_topic, every_model = np.repeat(topic, len(MODELS)), np.tile(np.arange(len(MODELS)), rows)
    replayed, q = writer.outputs(every_topic, every_model)
    replay = pa.table(
        {
            "context_id": np.repeat(ids, len(MODELS)),
            "context": np.repeat(np.array(contexts, dtype=object), len(MODELS)),
            "model": names[every_model],
            "output": replayed,
        }
    )
    log = invent_log(writer, experiment, topic, log_rows, rng)
    q = q.reshape(rows, len(MODELS))
    return Invented(log, experiment, replay, q.mean(axis=0), q)


def invent_log(writer: Writer, experiment: pa.Table, topic: IntArray, rows: int, rng: np.random.Generator) -> pa.Table:
    shared = rng.random(rows) < SHARED_CONTEXTS
    place = rng.integers(len(topic), size=rows)
    log_topic = np.where(shared, topic[place], rng.integers(TOPICS, size=rows))
    user = rng.integers(max(rows // ROWS_PER_USER, 2), size=rows)
    favorite = rng.integers(len(MODELS), size=int(user.max()) + 1)[user]
    chosen = np.where(rng.random(rows) < 0.5, favorite, rng.integers(len(MODELS), size=rows))
    outputs, good = writer.outputs(log_topic, chosen)
    own = writer.contexts(log_topic)
    biased = np.clip(good + LOG_BIAS * (chosen == favorite) * (chosen % 2), 0.0, 1.0)
    ids, texts = experiment["context_id"].to_pylist(), experiment["context"].to_pylist()
    return pa.table(
        {
            "context_id": [ids[place[i]] if shared[i] else f"l{i:07d}" for i in range(rows)],
            "context": [texts[place[i]] if shared[i] else own[i] for i in range(rows)],
            "model": np.array(MODELS)[chosen],
            "output": outputs,
            "outcome": (rng.random(rows) < biased).astype(np.float64),
            "cluster": [f"u{number}" for number in user],
        }
    )


def run_child(folder: Path, families: tuple[str, ...]) -> None:
    """Evaluate the tables of a folder and print what it took."""
    truth = np.load(folder / "truth.npz")
    log, experiment, replay = (folder / f"{name}.parquet" for name in ("log", "experiment", "replay"))
    study = dc.load(log=log, experiment=experiment, replay=replay)
    started, times = (perf_counter(), process_time()), [("start", process_time())]
    prepared = prepare(study, progress=lambda stage, _: times.append((stage, process_time())))
    errors = {}
    for family in families:
        fitted = prepared.cross_fit(family)
        result = prepared.result(fitted)
        wrong = centered(fitted.q) - centered(truth["q"][prepared.arrays.experiment.context])
        errors[family] = (rmse(result.values.estimate, truth["value"]), float(np.sqrt((wrong**2).mean())))
    times.append(("end", process_time()))
    seconds: dict[str, float] = {}
    for (stage, start), (_, end) in pairwise(times):
        seconds[stage] = seconds.get(stage, 0.0) + end - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(json.dumps([perf_counter() - started[0], process_time() - started[1], peak, seconds, errors]))


def centered(q: FloatArray) -> FloatArray:
    return np.asarray(q - q.mean(axis=1, keepdims=True))


def measure(rows: int, log_rows: int, texts: str, families: tuple[str, ...], seed: int) -> float:
    """Print one study's line and stages; the seconds by the clock."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        study = invent(rows, log_rows, texts, seed)
        for name in ("log", "experiment", "replay"):
            pq.write_table(getattr(study, name), folder / f"{name}.parquet")
        np.savez(folder / "truth.npz", value=study.value, q=study.q)
        del study
        command = [sys.executable, "-m", "benchmarks.long_experiment", "--child", place, "--family", *families]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    elapsed, processor, peak, seconds, errors = json.loads(done.stdout.splitlines()[-1])
    print(f"{rows:,} experiment rows, {log_rows:,} log rows, {texts} texts, {', '.join(families)}:")
    print(f"  {elapsed:.1f} s by the clock, {processor:.1f} s of the processor, peak memory {peak:.2f} GiB")
    for family, (value_error, q_error) in errors.items():
        print(f"  {family}: RMSE of the values {value_error:.4f}, of differences between models {q_error:.4f}")
    for stage, spent in sorted(seconds.items(), key=lambda item: -item[1]):
        if spent >= 0.02 * processor:
            print(f"    {spent:7.1f} s  {stage}")
    sys.stdout.flush()
    return float(elapsed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000, 20_000])
    parser.add_argument("--log", type=int, default=20_000)
    parser.add_argument("--texts", choices=list(WORDS), default="long")
    parser.add_argument("--family", nargs="+", default=["auto"], help='names, or "all" for the six of the paper')
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    families = PAPER_FAMILY_NAMES if arguments.family == ["all"] else tuple(arguments.family)
    if arguments.child is not None:
        run_child(arguments.child, families)
        return
    for rows in arguments.rows:
        measure(rows, arguments.log, arguments.texts, families, arguments.seed)


if __name__ == "__main__":
    main()
