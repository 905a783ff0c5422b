"""Small studies with repeated rows, for tests of features; their tables are put together without checks."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
import pyarrow as pa

from deconfound.data import Experiment, Log, Replay, Study
from deconfound.features import FeatureBlocks, FeatureSpec
from deconfound.loading import load

TableType = TypeVar("TableType", Log, Experiment, Replay)

SMALL = FeatureSpec(buckets=512)
CONTEXTS = ["Why is the sky blue?", "Sum 12 and 30.", "Translate: le chat noir", "Who wrote Faust?"]
OUTPUTS = ["Because of Rayleigh scattering.", "42", "The black cat", "- Goethe\n- not Marlowe", "", "I am not sure."]

KINDS = {
    "text, labels": (SMALL, {"labels": 3}),
    "text": (SMALL, {}),
    "text without surface": (replace(SMALL, surface=False), {}),
    "labels without surface": (replace(SMALL, surface=False, components=2), {"labels": 3}),
    "columns without text": (SMALL, {"features": 3, "labels": 2, "text": False}),
    "columns with surface": (replace(SMALL, source="columns"), {"features": 3}),
    "both": (replace(SMALL, source="both"), {"features": 3, "labels": 2}),
}
"""Each kind of features: a specification and the arguments of ``make_study``."""


def make_study(n=60, *, labels=0, features=0, text=True, seed=0) -> Study:
    tables = []
    for number, size in enumerate((n, 8, 8)):
        columns = _texts(size, seed + number) | _numbers(size, seed + 10 + number, "feature_", features)
        if not text:
            columns = {name: values for name, values in columns.items() if name not in ("context", "output")}
        tables.append(columns)
    outcome = np.random.default_rng(seed).random(n)
    log, experiment, replay = tables
    return Study(
        Log(pa.table(log | {"outcome": pa.array(outcome)} | _numbers(n, seed + 20, "label_", labels)), "log"),
        Experiment(pa.table(experiment | {"outcome": pa.array(outcome[:8])}), "experiment"),
        Replay(pa.table(replay | {"draw": pa.array(np.zeros(8, dtype=np.int64))}), "replay"),
        ("ant", "bee"),
        (),
        (),
    )


def make_log(n=60, *, labels=0, features=0, text=True) -> Log:
    return make_study(n, labels=labels, features=features, text=text).log


def columns_only_study(experiment_rows=40, seed=0) -> Study:
    """A valid study without text: three models, two features, outcomes that depend on the first."""
    rng = np.random.default_rng(seed)

    def table(contexts, models):
        quality = 0.2 * models + rng.normal(0.3, 0.1, len(models))
        columns = {"context_id": [f"c{at}" for at in contexts], "model": [f"m{at}" for at in models]}
        return quality, columns | {"feature_quality": quality, "feature_noise": rng.normal(size=len(models))}

    def with_outcome(quality, columns):
        return pa.table(columns | {"outcome": np.clip(quality + rng.normal(0, 0.05, len(quality)), 0, 1)})

    contexts = np.arange(experiment_rows)
    log = table(contexts.repeat(3) + 1000, rng.integers(3, size=3 * experiment_rows))
    experiment = table(contexts, rng.integers(3, size=experiment_rows))
    replay = table(contexts.repeat(3), np.tile(np.arange(3), experiment_rows))
    return load(log=with_outcome(*log), experiment=with_outcome(*experiment), replay=pa.table(replay[1]))


def _texts(n, seed):
    rng = np.random.default_rng(seed)
    context = rng.integers(len(CONTEXTS), size=n)
    return {
        "context_id": pa.array([f"c{at}" for at in context]),
        "model": pa.array(rng.choice(["ant", "bee"], size=n).tolist()),
        "context": pa.array([CONTEXTS[at] for at in context]),
        "output": pa.array([OUTPUTS[at] for at in rng.integers(len(OUTPUTS), size=n)]),
    }


def _numbers(n, seed, prefix, width):
    rng = np.random.default_rng(seed)
    # Rounded, so that some rows repeat.
    return {f"{prefix}{at}": pa.array(rng.normal(3 * at, 1 + at, size=n).round()) for at in range(width)}


def with_columns(source: TableType, **columns) -> TableType:
    """The same table with other values in some columns."""
    table = source.arrow
    for name, values in columns.items():
        at = table.column_names.index(name)
        table = table.set_column(at, name, pa.chunked_array([pa.array(values, type=table.schema.field(name).type)]))
    return replace(source, arrow=table)


def assert_same_bits(left: FeatureBlocks, right: FeatureBlocks) -> None:
    assert left.row_index.tolist() == right.row_index.tolist()
    assert (left.text is None) == (right.text is None)
    if left.text is not None:
        assert left.text.shape == right.text.shape
        assert left.text.indices.tobytes() == right.text.indices.tobytes()
        assert left.text.data.tobytes() == right.text.data.tobytes()
    for one, other in ((left.dense, right.dense), (left.psi, right.psi)):
        assert (one is None) == (other is None)
        assert one is None or one.tobytes() == other.tobytes()
