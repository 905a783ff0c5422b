"""Kill a process that saves again and again, many times; a program of its own: ``python -m tests.support.kill_driver``.

Every kill hits a fork of this process. Nothing has to be imported again, so a hundred kills take seconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from deconfound.report.persistence import load, save
from deconfound.report.recommendations_io import RecommendationTable, write_recommendations
from deconfound.result import Result

MAX_DELAY = 0.15  # seconds until the kill; several saves
MAX_FACTOR = 20  # times as many kills if none hit a save: on a busy machine many come before the first one


def kill_repeatedly(
    save_one: Callable[[int], None], check: Callable[[], None], kills: int, folder: Path, *, read_meanwhile: bool = True
) -> int:
    """Kill saves at random moments; ``check`` runs after each kill, after one more save, and meanwhile.

    Return after how many kills an incomplete save was left: the others hit between two saves.
    """
    save_one(0)
    clean = len(files(folder))
    moments, hits = np.random.default_rng(0), 0
    for kill in range(MAX_FACTOR * kills):
        if kill >= kills and hits:
            break
        child = os.fork()
        if child == 0:
            save_forever(save_one)
        try:
            deadline = time.monotonic() + moments.uniform(0, MAX_DELAY)
            while (left := deadline - time.monotonic()) > 0:
                check() if read_meanwhile else time.sleep(left)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        check()
        hits += len(files(folder)) != clean
        save_one(0)
        check()
        if len(files(folder)) != clean:
            raise AssertionError(f"left behind: {files(folder)}")
    return hits


def files(folder: Path) -> list[str]:
    """Every file and folder in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def save_forever(save_one: Callable[[int], None]) -> None:
    """Alternate between two contents until killed."""
    try:
        while True:
            save_one(1)
            save_one(0)
    finally:
        os._exit(1)


def kill_result_saves(results: Sequence[Result], folder: Path, kills: int) -> int:
    """Saves of two results into one folder."""
    known = [result.document() for result in results]

    def check() -> None:
        if load(folder).document() not in known:
            raise AssertionError("neither the old result nor the new one")

    return kill_repeatedly(lambda at: save(results[at], folder), check, kills, folder)


def race_result_saves(results: Sequence[Result], folder: Path, kills: int) -> int:
    """Two processes save into one folder at the same time, while this one reads; then both are killed."""
    known = [result.document() for result in results]
    save(results[0], folder)
    clean, reads = len(files(folder)), 0
    for _ in range(kills):
        children = [fork_saver(result, folder) for result in results]
        try:
            deadline = time.monotonic() + MAX_DELAY
            while time.monotonic() < deadline:
                reads += load(folder).document() in known
        finally:
            for child in children:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        if load(folder).document() not in known:
            raise AssertionError("a mixture")
        save(results[0], folder)
        if len(files(folder)) != clean:
            raise AssertionError(f"left behind: {files(folder)}")
    return reads


def fork_saver(result: Result, folder: Path) -> int:
    """A process that saves one result until it is killed."""
    child = os.fork()
    if child == 0:
        save_forever(lambda _at: save(result, folder))
    return child


def kill_recommendation_writes(results: Sequence[Result], folder: Path, kills: int) -> int:
    """Writes of two lists of recommendations to one file."""
    folder.mkdir()
    path = folder / "recommendations.csv"
    # Few rows: most of the time goes into writing, which is what the kills shall hit.
    tables = [RecommendationTable(result.recommendations[:3], {}, result.level) for result in results]
    known = []
    for table in tables:
        write_recommendations(table, path)
        known.append(path.read_bytes())

    def check() -> None:
        if path.read_bytes() not in known:
            raise AssertionError("neither the old file nor the new one")

    return kill_repeatedly(lambda at: write_recommendations(tables[at], path), check, kills, folder)


def main() -> None:
    """Arguments: what to kill, a folder with the results "one" and "two", the number of kills."""
    what, place, kills = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    results = [load(place / name) for name in ("one", "two")]
    runs = {"result": kill_result_saves, "recommendations": kill_recommendation_writes, "race": race_result_saves}
    run = runs[what]
    sys.stdout.write(json.dumps({"kills": kills, "hits": run(results, place / "target", kills)}))


if __name__ == "__main__":
    main()
