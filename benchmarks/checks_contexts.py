"""Small studies whose contexts come from one population or from two, for the checks of context shift (A5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.checks import Case
from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.context_shift import (
    compare_log_contexts,
    compare_replay_contexts,
    compare_target_contexts,
)
from deconfound.diagnose.two_sample_test import TwoSampleResult

MODELS = ("ash", "birch")
TOPICS = [[f"topic{topic}word{word}" for word in range(40)] for topic in range(4)]
COMMON = [f"common{word}" for word in range(60)]
POPULAR = [f"hello {a} {b}" for a in COMMON[:12] for b in COMMON[:10]]  # contexts that many people send, word for word
EXPERIMENT, LOG, EXTRA, TARGET = 100, 150, 100, 120
MOVED = 0.75  # share of contexts that a violated source takes from one topic of four
PLANTED = "three of four contexts moved to one topic of four"


@dataclass(frozen=True, slots=True)
class World:
    """How contexts are generated, in a clean study as in a violated one."""

    popular: float = 0.0  # share of contexts that are one of ``POPULAR``
    users: int = 0  # contexts per user, all of one topic; 0 without users
    log: int = LOG  # rows


def cases() -> list[Case]:
    """Log, extra replay and target; the log also with users and with popular contexts that occur in both sources."""
    return [
        _case("A5 contexts of the log", _log, World()),
        _case("A5 the same, popular contexts", _log, World(popular=0.3, log=400)),
        _case("A5 the same, users with a topic", _log, World(users=2)),
        _case("A5 contexts of the replay", _replay, World()),
        _case("A5 contexts of the target", _target, World()),
    ]


Check = Callable[[np.random.Generator, World, float], TwoSampleResult | None]


def _case(name: str, check: Check, world: World) -> Case:
    def p_value(rng: np.random.Generator, share: float) -> float:
        result = check(rng, world, share)
        return 1.0 if result is None else result.p_value

    return Case(name, lambda rng: p_value(rng, 0.0), lambda rng: p_value(rng, MOVED), PLANTED)


def _log(rng: np.random.Generator, world: World, moved: float) -> TwoSampleResult | None:
    own, other = _contexts(EXPERIMENT, world, 0.0, rng), _contexts(world.log, world, moved, rng)
    return compare_log_contexts(_study(own, other, (), world, rng), int(rng.integers(2**31)))


def _replay(rng: np.random.Generator, world: World, moved: float) -> TwoSampleResult | None:
    own, extra = _contexts(EXPERIMENT, world, 0.0, rng), _contexts(EXTRA, world, moved, rng)
    return compare_replay_contexts(_study(own, own[:10], extra, world, rng), int(rng.integers(2**31)))


def _target(rng: np.random.Generator, world: World, moved: float) -> TwoSampleResult | None:
    own = _contexts(EXPERIMENT, world, 0.0, rng)
    target = pa.table({"context": _contexts(TARGET, world, moved, rng)})
    return compare_target_contexts(_study(own, own[:10], (), world, rng), target, int(rng.integers(2**31)))


def _contexts(count: int, world: World, moved: float, rng: np.random.Generator) -> list[str]:
    """Texts of one topic each; those of one user follow each other."""
    texts = []
    for number in range(count):
        if not world.users or number % world.users == 0:
            topic = 0 if rng.random() < moved else int(rng.integers(len(TOPICS)))
        if rng.random() < world.popular:
            texts.append(POPULAR[int(rng.integers(len(POPULAR)))])
        else:
            texts.append(
                " ".join(_pick_words(TOPICS[topic], 5, rng) + _pick_words(COMMON, int(rng.integers(5, 20)), rng))
            )
    return texts


def _pick_words(words: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [words[at] for at in rng.integers(len(words), size=count).tolist()]


def _study(
    own: list[str], other: list[str], extra: list[str] | tuple[()], world: World, rng: np.random.Generator
) -> Study:
    replayed = list(dict.fromkeys([*own, *extra]))
    replay = _table(replayed * len(MODELS), np.repeat(np.arange(len(MODELS)), len(replayed)))
    draw = pa.array(np.zeros(replay.num_rows, dtype=np.int64))
    return Study.from_tables(
        Log(_rated(other, "log", world, rng), "log"),
        Experiment(_rated(own, "experiment", world, rng), "experiment"),
        Replay(replay.append_column("draw", draw), "replay"),
    )


def _rated(texts: list[str], source: str, world: World, rng: np.random.Generator) -> pa.Table:
    table = _table(texts, rng.integers(len(MODELS), size=len(texts)))
    table = table.append_column("outcome", pa.array(rng.random(len(texts))))
    if world.users:
        users = [f"{source} {number // world.users}" for number in range(len(texts))]
        table = table.append_column("cluster", pa.array(users))
    return table


def _table(texts: list[str], model: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    models = [MODELS[code] for code in model.tolist()]
    return pa.table({"context_id": texts, "context": texts, "model": models, "output": ["so"] * len(texts)})
