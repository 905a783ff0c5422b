"""The kinds of studies on which all checks are measured together: clean ones, and one per violation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from benchmarks.checks_studies import Design, Violation, make_study
from deconfound.data import Study
from deconfound.demo.demo_study import Sizes, make_demo
from deconfound.loading import load

FULL = Design()
BY_ROW = replace(FULL, assignment="by row")
BY_PERSON = replace(FULL, assignment="by person", rows_per_person=1)
LONG_LOG = replace(FULL, log=2_000)
STARS = replace(LONG_LOG, steps=5)
SESSIONS = replace(FULL, rows_per_person=3)
FEW_SESSIONS = replace(FULL, experiment=120, rows_per_person=4)
SMALL = Design(experiment=60, log=120, extra=20, recurring=20, models=3)
TEXT = Design(experiment=120, log=240, extra=30, recurring=30, models=3, draws=2)
CONTEXTS = Design(experiment=100, log=150, extra=100, recurring=0, replayed=0.0, models=2, rows_per_person=1)

Draw = Callable[[int], tuple[Study, pa.Table | None]]
"""Makes the study with the given number, and a target if there is one."""


@dataclass(frozen=True, slots=True)
class CleanKind:
    """A kind of study in which every assumption holds."""

    name: str
    draw: Draw
    studies: int


@dataclass(frozen=True, slots=True)
class ViolatedKind:
    """A violation of the size in ``benchmarks/checks_*.py``, and the check that should detect it."""

    name: str
    check: str
    planted: str
    design: Design
    violation: Violation


def generated(seed: int, design: Design) -> Draw:
    """Clean studies of one design, each with a target from the same population."""
    return lambda number: make_study(np.random.default_rng([31, seed, number]), design, Violation())


def demo(contexts: int) -> Draw:
    """The demo with this number of experiment rows, and a log ten times as long."""
    sizes = Sizes(
        log_contexts=contexts * 10 // 3,
        log_people=max(contexts * 5 // 6, 20),
        experiment_contexts=contexts,
        experiment_people=contexts // 2,
    )

    def draw(number: int) -> tuple[Study, pa.Table | None]:
        tables = make_demo(10_000 * contexts + number, sizes=sizes)
        return load(log=tables.log, experiment=tables.experiment, replay=tables.replay), None

    return draw


CLEAN_KINDS = (
    CleanKind("all columns", generated(0, FULL), 300),
    CleanKind("all columns, propensity by row", generated(1, replace(FULL, assignment="by row")), 100),
    CleanKind("all columns, assigned by person", generated(2, replace(FULL, assignment="by person")), 100),
    CleanKind("all columns, generous log", generated(6, replace(FULL, log_generosity=1.0)), 100),
    CleanKind("all columns, yes or no", generated(3, replace(FULL, steps=2)), 100),
    CleanKind("all columns, 60 rows, 3 models", generated(4, SMALL), 300),
    CleanKind("feature columns instead of text", generated(5, replace(FULL, text=False)), 100),
    CleanKind("demo, 90 rows", demo(90), 100),
    CleanKind("demo, 180 rows", demo(180), 60),
    CleanKind("demo, 360 rows", demo(360), 40),
)

RATIO, OVER_TIME, BY_CONTEXT = "sample ratio", "assignment over time", "assignment by context"
DRIFT = "outcome over time (experiment)"
HALF_LOST = "one model loses 50 % of its rows"
MOVED = "three of four contexts moved to one topic of four"

VIOLATED_KINDS = (
    ViolatedKind("A1 sample ratio", RATIO, HALF_LOST, FULL, Violation(lost=0.5)),
    ViolatedKind("A1 sample ratio, propensity by row", RATIO, HALF_LOST, BY_ROW, Violation(lost=0.5)),
    ViolatedKind("A1 sample ratio, assigned by person", RATIO, HALF_LOST, BY_PERSON, Violation(lost=0.5)),
    ViolatedKind("A1 over time", OVER_TIME, "35 % of the last third to one model", FULL, Violation(late=0.35)),
    ViolatedKind(
        "A1 over time, propensity by row",
        OVER_TIME,
        "50 % of the last third to one model",
        BY_ROW,
        Violation(late=0.5),
    ),
    ViolatedKind(
        "A1 by context, length",
        BY_CONTEXT,
        "40 % of the longest third to one model",
        FULL,
        Violation(by_length=0.4),
    ),
    ViolatedKind(
        "A1 by context, words",
        BY_CONTEXT,
        "75 % of contexts with one word to one model",
        FULL,
        Violation(by_word=0.75),
    ),
    ViolatedKind(
        "A2 replay fidelity",
        "replay fidelity",
        "a fifth of one model's words replaced",
        TEXT,
        Violation(replaced=0.2),
    ),
    ViolatedKind(
        "A2 replay support",
        "replay support",
        "a quarter of one model's outputs garbage",
        TEXT,
        Violation(garbled=0.25),
    ),
    ViolatedKind(
        "A3 values, discrete",
        "outcome values",
        "log in five steps, experiment yes or no",
        STARS,
        Violation(steps=2),
    ),
    ViolatedKind("A3 values, range", "outcome values", "experiment ends at 0.8", LONG_LOG, Violation(scale=0.8)),
    ViolatedKind("A3 direction", "outcome direction", "log inverted", LONG_LOG, Violation(inverted=True)),
    ViolatedKind("A3 matching outputs, 60 pairs", "matching outputs", "log inverted", FULL, Violation(inverted=True)),
    ViolatedKind("A3 over time", DRIFT, "outcomes rise by 0.2", replace(FULL, rows_per_person=1), Violation(drift=0.2)),
    ViolatedKind("A3 over time, 120 sessions", DRIFT, "outcomes rise by 0.3", SESSIONS, Violation(drift=0.3)),
    ViolatedKind("A3 over time, 30 sessions", DRIFT, "outcomes rise by 0.6", FEW_SESSIONS, Violation(drift=0.6)),
    ViolatedKind(
        "A4 output mechanism",
        "output mechanism",
        "half of the log's outputs name their user",
        replace(TEXT, log=150, replayed=1.0),
        Violation(personal=0.5),
    ),
    ViolatedKind("A5 contexts of the log", "contexts of the log", MOVED, CONTEXTS, Violation(log_moved=0.75)),
    ViolatedKind("A5 contexts of the replay", "contexts of the replay", MOVED, CONTEXTS, Violation(extra_moved=0.75)),
    ViolatedKind("A5 contexts of the target", "contexts of the target", MOVED, CONTEXTS, Violation(target_moved=0.75)),
)
