"""How fast a replay is: calls against a server of 20 ms, and the resumption of 100,000 stored outputs.

    python -m benchmarks.replay_throughput

The server runs in a process of its own and does next to nothing. Ideal are concurrency / latency calls per second. For
comparison, the same calls are made by a bare loop around aiohttp, without retries, cache or checks: what is missing to
the ideal there is the library and the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from deconfound.endpoints.reply import Reply
from deconfound.endpoints.reply_cache import ReplyCache
from deconfound.endpoints.runner import RunOptions, run_requests
from deconfound.replaying.replay_plan import ReplayPlan

LATENCY = 0.020
CONCURRENCY = 64
MODELS = """
[endpoints.local]
url = "{url}"
total_timeout = 60

[models.a]
endpoint = "local"
model = "small-1"
prompt = "Summarize:\\n\\n{{context}}"
max_tokens = 400

[models.b]
endpoint = "local"
model = "small-1"
system = "Be brief."
"""


@contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.support.scripted_server", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            port = process.stdout.readline().strip() if process.stdout is not None else ""
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def make_plan(folder: Path, url: str, contexts: int, draws: int) -> ReplayPlan:
    (folder / "models.toml").write_text(MODELS.format(url=url), encoding="utf-8")
    texts = [f"Message {at}: " + "the parcel has not arrived and nobody answers. " * 10 for at in range(contexts)]
    pq.write_table(pa.table({"context": texts}), folder / "contexts.parquet")
    return ReplayPlan.load(folder / "contexts.parquet", folder / "models.toml", draws=draws)


def run_once(folder: Path, url: str, calls: int) -> tuple[float, float]:
    """Calls per second, and processor time per call in microseconds."""
    plan = make_plan(folder, url, calls // 2, 1)
    cells = list(plan.asked.cells())
    with ReplyCache(folder / f"{time.time_ns()}.sqlite") as cache:
        start, cpu = time.perf_counter(), time.process_time()
        outcome = run_requests(plan.asked.work(cells), len(cells), cache, RunOptions(CONCURRENCY))
        elapsed = time.perf_counter() - start
        if not outcome.replies == len(cells) == len(cache):
            raise RuntimeError(f"only {outcome.replies} of {len(cells)} calls were answered")
    return len(cells) / elapsed, (time.process_time() - cpu) / len(cells) * 1e6


def bare_once(url: str, calls: int) -> float:
    """Calls per second of a loop around aiohttp."""
    import aiohttp

    body = json.dumps({"model": "small-1", "messages": [{"role": "user", "content": "the parcel " * 45}]}).encode()

    async def work(session: aiohttp.ClientSession, numbers: Iterator[int]) -> None:
        for _ in numbers:
            async with session.post(f"{url}/chat/completions", data=body, allow_redirects=False) as response:
                json.loads(await response.read())

    async def main() -> float:
        numbers = iter(range(calls))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            start = time.perf_counter()
            await asyncio.gather(*(work(session, numbers) for _ in range(CONCURRENCY)))
            return calls / (time.perf_counter() - start)

    return asyncio.run(main())


def throughput(repeats: int, calls: int) -> None:
    ideal = CONCURRENCY / LATENCY
    with server() as url, tempfile.TemporaryDirectory() as place:
        run_once(Path(place), url, 200)
        ratios, bare, cpu = [], [], []
        for _ in range(repeats):
            speed, microseconds = run_once(Path(place), url, calls)
            ratios.append(speed / ideal)
            cpu.append(microseconds)
            bare.append(bare_once(url, calls) / ideal)
    print(
        f"{calls:,} calls at concurrency {CONCURRENCY}, latency {LATENCY * 1000:.0f} ms, ideal {ideal:,.0f} per second"
    )
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, found in (("replay", ratios), ("bare aiohttp", bare)):
        listed = ", ".join(f"{one:.2f}" for one in found)
        print(f"{name:12}  best {max(found):.2f}  median {statistics.median(found):.2f}  all {listed}")
    print(f"processor time per call: {min(cpu):.0f} to {max(cpu):.0f} microseconds")


RESUME = """
import resource, sys, time
start = time.perf_counter()
from deconfound.cli import main
code = main(sys.argv[1:])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
elapsed, used = time.perf_counter() - start, time.process_time()
print(f"resumed in {elapsed:.1f} s ({used:.1f} s of processor time), {peak:.0f} MB, exit code {code}", file=sys.stderr)
"""


def resume(cells: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = make_plan(folder, "http://127.0.0.1:9/v1", cells // 4, 2)
        replies = [
            (cell.key, Reply("An answer of some words. " * 12, "ok", "stop", "small-1", 120, 60, False, 0.4))
            for cell in plan.asked.cells()
        ]
        with ReplyCache(folder / "replay.cache.sqlite") as cache:
            cache.put(replies)
        print(f"{len(replies):,} stored outputs")
        options = ["--contexts", "contexts.parquet", "--models", "models.toml", "--draws", "2", "-q"]
        for _ in range(repeats):
            done = subprocess.run(
                [sys.executable, "-c", RESUME, "replay", *options],
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
            print(done.stderr.strip().splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--cells", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.calls:
        throughput(options.repeats, options.calls)
    if options.cells:
        resume(options.cells, options.repeats)


if __name__ == "__main__":
    main()
