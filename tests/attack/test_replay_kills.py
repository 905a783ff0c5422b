"""`kill -9` at random moments of a replay against a faulty server: nothing is lost, doubled or paid for twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.runner import UNSAVED_PER_CALL
from deconfound.loading import load_replay
from deconfound.replaying.replay_plan import ReplayPlan
from tests.support.replay_files import KEY, model, write_contexts, write_settings
from tests.support.scripted_server import Answer, Exchange, ScriptedServer, echo, error, scripted_server

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="kills processes")]

CONTEXTS, DRAWS, KILLS, CONCURRENCY = 500, 2, 20, 16
CALLS = CONTEXTS * DRAWS * 2
IN_FLIGHT = (1 + UNSAVED_PER_CALL) * CONCURRENCY
START = "import sys; from deconfound.cli import main; sys.exit(main())"
COMMAND = ["replay", "--contexts", "contexts.jsonl", "--models", "models.toml", "--draws", str(DRAWS)]


def faulty(exchange: Exchange) -> Answer:
    """One attempt in ten fails, in one of six ways; which, depends on the request and the attempt."""
    chance = random.Random(f"{exchange.body}{exchange.number}")  # noqa: S311
    good = Answer(echo(exchange).body, delay=chance.uniform(0.002, 0.02))
    faults = [
        error(500),
        error(429, Retry_After="0.05"),
        error(503),
        Answer(drop=True),
        Answer(good.body, cut_after=50),
        Answer(b"{not json"),
    ]
    return chance.choice(faults) if chance.random() < 0.1 else good


def start(folder: Path, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as stream:
        command = [sys.executable, "-c", START, *COMMAND, "--concurrency", str(CONCURRENCY)]
        return subprocess.Popen(command, cwd=folder, stdout=stream, stderr=stream, env={**os.environ, "MY_KEY": KEY})


def kill_at_random(process: subprocess.Popen[bytes], server: ScriptedServer, moments: random.Random) -> None:
    """After some answers, and one kill in five during the start."""
    begun, enough = server.answered.total(), moments.randint(1, 150)
    deadline = time.monotonic() + (moments.uniform(0, 1.5) if moments.random() < 0.2 else 60)
    while process.poll() is None and time.monotonic() < deadline and server.answered.total() < begun + enough:
        time.sleep(0.001)
    time.sleep(moments.uniform(0, 0.01))
    process.send_signal(signal.SIGKILL)
    process.wait()


def stored(folder: Path) -> set[bytes]:
    path = folder / "replay.cache.sqlite"
    if not path.exists():
        return set()
    with ReplyCache(path) as cache:
        return cache.known(list(keys))


keys: dict[bytes, bytes] = {}
"""The body of each key."""


def test_every_cell_once_and_every_answer_paid_once(tmp_path):
    """Seeds make the requests of draws differ, so that the server can count each cell.

    A call is in flight until its answer is in the cache. Each of the calls at once may have one answer on its way and,
    with a slow disk, ``UNSAVED_PER_CALL`` that wait to be written.
    """
    work = tmp_path / "work"
    work.mkdir()
    moments, log = random.Random(11), tmp_path / "log"  # noqa: S311
    with scripted_server(faulty) as server:
        write_contexts(work, [f"Where is parcel {at}? {{context}}" for at in range(CONTEXTS)])
        models = [model("a", "seed = 1"), model("b", "seed = 1", 'prompt = "<{context}>"')]
        settings = write_settings(work, server.url, *models, endpoint='key_env = "MY_KEY"')
        plan = ReplayPlan.load(work / "contexts.jsonl", settings, draws=DRAWS)
        keys.update((request.key, request.body) for request in plan.asked.requests(plan.asked.cells()))
        assert len(set(keys.values())) == CALLS
        before: set[bytes] = set()
        lost = hits = 0
        for _ in range(KILLS):
            asked = Counter(server.bodies)
            kill_at_random(start(work, log), server, moments)
            time.sleep(0.05)  # the server notices that its clients are gone
            now = stored(work)
            assert before <= now, "an answer was lost"
            again = [key for key in before if server.bodies[keys[key]] > asked[keys[key]]]
            assert not again, "a stored answer was asked for again"
            answered = {key for key, body in keys.items() if server.answered[body]}
            assert len(answered - now) <= lost + IN_FLIGHT
            lost, hits, before = len(answered - now), hits + (now > before), now
        codes = [start(work, log).wait()]
        while codes[-1] == 4 and len(codes) < 5:  # some calls met a fault in every attempt
            codes.append(start(work, log).wait())
        assert codes[-1] == 0, log.read_text()
    assert hits >= KILLS // 2, "the kills came too early to mean anything"
    extra = server.answered.total() - CALLS
    sys.stdout.write(f"{KILLS} kills, {hits} with new answers, {extra} answers of {CALLS} had to be asked for again\n")
    assert 0 <= extra <= KILLS * IN_FLIGHT
    table = load_replay(work / "replay.parquet").arrow
    cells = Counter(zip(*(table[name].to_pylist() for name in ("context_id", "model", "draw")), strict=True))
    assert len(cells) == CALLS
    assert set(cells.values()) == {1}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert sorted(path.name for path in work.iterdir()) == [
        "contexts.jsonl",
        "models.toml",
        "replay.cache.sqlite",
        "replay.parquet",
    ]
