"""Small studies whose contexts come from one population or from two, for the checks of context alignment (A5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from benchmarks.checks import Case
from deconfound.data import Experiment, Log, Replay, Study
from deconfound.diagnose.alignment import compare_log_contexts, compare_replay_contexts, compare_target_contexts
from deconfound.diagnose.telling import Telling

MODELS = ("ash", "birch")
TOPICS = [[f"topic{topic}word{word}" for word in range(40)] for topic in range(4)]
COMMON = [f"common{word}" for word in range(60)]
POPULAR = [f"hello {a} {b}" for a in COMMON[:12] for b in COMMON[:10]]  # contexts that many people send, word for word
EXPERIMENT, LOG, FURTHER, TARGET = 100, 150, 100, 120
MOVED = 0.75  # share of contexts that a violated source takes from one topic of four
PLANTED = "three of four contexts moved to one topic of four"


@dataclass(frozen=True, slots=True)
class World:
    """How contexts are drawn, in a clean study as in a violated one."""

    popular: float = 0.0  # share of contexts that are one of ``POPULAR``
    users: int = 0  # contexts a user sends, all of one topic; 0 without users
    log: int = LOG  # rows


def cases() -> list[Case]:
    """Log, further replay and target; the log also with users and with popular contexts that both sources hold."""
    return [
        _case("A5 contexts of the log", _log, World()),
        _case("A5 the same, popular contexts", _log, World(popular=0.3, log=400)),
        _case("A5 the same, users with a topic", _log, World(users=2)),
        _case("A5 contexts of the replay", _replay, World()),
        _case("A5 contexts of the target", _target, World()),
    ]


Check = Callable[[np.random.Generator, World, float], Telling | None]


def _case(name: str, check: Check, world: World) -> Case:
    def p_value(rng: np.random.Generator, share: float) -> float:
        telling = check(rng, world, share)
        return 1.0 if telling is None else telling.p_value

    return Case(name, lambda rng: p_value(rng, 0.0), lambda rng: p_value(rng, MOVED), PLANTED)


def _log(rng: np.random.Generator, world: World, moved: float) -> Telling | None:
    ours, theirs = _contexts(EXPERIMENT, world, 0.0, rng), _contexts(world.log, world, moved, rng)
    return compare_log_contexts(_study(ours, theirs, (), world, rng), int(rng.integers(2**31)))


def _replay(rng: np.random.Generator, world: World, moved: float) -> Telling | None:
    ours, further = _contexts(EXPERIMENT, world, 0.0, rng), _contexts(FURTHER, world, moved, rng)
    return compare_replay_contexts(_study(ours, ours[:10], further, world, rng), int(rng.integers(2**31)))


def _target(rng: np.random.Generator, world: World, moved: float) -> Telling | None:
    ours = _contexts(EXPERIMENT, world, 0.0, rng)
    target = pa.table({"context": _contexts(TARGET, world, moved, rng)})
    return compare_target_contexts(_study(ours, ours[:10], (), world, rng), target, int(rng.integers(2**31)))


def _contexts(count: int, world: World, moved: float, rng: np.random.Generator) -> list[str]:
    """Texts of one topic each, in a row for as many as one user sends."""
    texts = []
    for number in range(count):
        if not world.users or number % world.users == 0:
            topic = 0 if rng.random() < moved else int(rng.integers(len(TOPICS)))
        if rng.random() < world.popular:
            texts.append(POPULAR[int(rng.integers(len(POPULAR)))])
        else:
            texts.append(" ".join(_some(TOPICS[topic], 5, rng) + _some(COMMON, int(rng.integers(5, 20)), rng)))
    return texts


def _some(words: list[str], count: int, rng: np.random.Generator) -> list[str]:
    return [words[at] for at in rng.integers(len(words), size=count).tolist()]


def _study(
    ours: list[str], theirs: list[str], further: list[str] | tuple[()], world: World, rng: np.random.Generator
) -> Study:
    replayed = list(dict.fromkeys([*ours, *further]))
    replay = _table(replayed * len(MODELS), np.repeat(np.arange(len(MODELS)), len(replayed)))
    draw = pa.array(np.zeros(replay.num_rows, dtype=np.int64))
    return Study.from_tables(
        Log(_judged(theirs, "log", world, rng), "log"),
        Experiment(_judged(ours, "experiment", world, rng), "experiment"),
        Replay(replay.append_column("draw", draw), "replay"),
    )


def _judged(texts: list[str], source: str, world: World, rng: np.random.Generator) -> pa.Table:
    table = _table(texts, rng.integers(len(MODELS), size=len(texts)))
    table = table.append_column("outcome", pa.array(rng.random(len(texts))))
    if world.users:
        users = [f"{source} {number // world.users}" for number in range(len(texts))]
        table = table.append_column("cluster", pa.array(users))
    return table


def _table(texts: list[str], model: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Table:
    models = [MODELS[code] for code in model.tolist()]
    return pa.table({"context_id": texts, "context": texts, "model": models, "output": ["so"] * len(texts)})
