"""Small studies whose log is given as rows and as a stream."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa

import deconfound as dc
from deconfound.data import Log, Study, stream_rows
from deconfound.demo import Sizes, make_demo

SIZES = Sizes(log_contexts=60, log_repeats=3, log_people=30, experiment_contexts=48, experiment_people=48, draws=1)


def streamed(study: Study, rows_per_part: int = 70) -> Study:
    """The study with its log as a stream of slices; the sample has all rows."""
    contexts = set(study.replay.arrow["context_id"].to_pylist())
    stream, sample = stream_rows(study.log, contexts, rows_per_part)
    return replace(study, log=sample, log_stream=stream)


@cache
def demo_study(kind: str = "text") -> Study:
    """The demo with log rows on replayed contexts, and no two equal rows; ``kind`` adds labels or columns."""
    demo = make_demo(3, sizes=SIZES)
    rng = np.random.default_rng(7)
    log, experiment, replay = demo.log, demo.experiment, demo.replay
    on_replayed = replay.select(["context_id", "context", "model", "output"])
    extra = {"outcome": rng.random(len(on_replayed)), "cluster": [f"user {n % 40}" for n in range(len(on_replayed))]}
    names = [name for name in log.column_names if name in {*on_replayed.column_names, *extra}]
    for name, column in extra.items():
        if name in names:
            on_replayed = on_replayed.append_column(name, pa.array(column))
    log = pa.concat_tables([log.select(names), on_replayed.select(names)], promote_options="default")
    if kind == "labels":
        length = np.array([len(text) for text in log["output"].to_pylist()]) / 100.0
        log = log.append_column("label_a", pa.array(length + rng.normal(size=len(log))))
        log = log.append_column("label_b", pa.array(rng.normal(size=len(log)) - length))
    if kind == "columns":
        log, experiment, replay = (_numeric(table, rng) for table in (log, experiment, replay))
    study = dc.load(log=log, experiment=experiment, replay=replay).in_content_order()
    return study if kind == "columns" else replace(study, log=_without_repeats(study.log))


def _numeric(table: pa.Table, rng: np.random.Generator) -> pa.Table:
    """Columns instead of text."""
    values = rng.normal(size=(len(table), 3))
    table = table.drop_columns(["context", "output"])
    for number in range(3):
        table = table.append_column(f"feature_{number}", pa.array(values[:, number]))
    return table


def _without_repeats(log: Log) -> Log:
    pairs = list(zip(log.arrow["context_id"].to_pylist(), log.arrow["output"].to_pylist(), strict=True))
    first = {pair: row for row, pair in reversed(list(enumerate(pairs)))}
    return log.filter(np.array([first[pair] == row for row, pair in enumerate(pairs)]))
