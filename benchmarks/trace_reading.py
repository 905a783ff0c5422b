"""How fast are traces read, and in how much memory?

    python -m benchmarks.trace_reading --megabytes 200

A file of LiteLLM payloads is written with records of the size that LiteLLM writes, about 12 kB each, most of it a
table of prices. It is then read three times: with ``json.loads`` of every line and nothing else, as records, and as
calls. Each reading runs in a process of its own, whose peak memory is printed. The exit code is 1 if calls take more
than four times as long as ``json.loads``.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from deconfound.traces.litellm import LiteLlm
from deconfound.traces.reader import Remarks
from deconfound.traces.records import records_of
from deconfound.traces.trace_files import trace_file

MAX_RATIO = 4.0  # times json.loads; unlike a speed, it hardly depends on the load of the machine
MEGABYTE = 1e6
WORDS = ("where", "is", "my", "parcel", "invoice", "paid", "twice", "please", "send", "again", "zoë", "日本", "😀")
PRICES = 220  # entries of the table of prices in each record
MESSAGES = 4


def payload(number: int, rng: random.Random) -> dict[str, object]:
    """One invented payload with the nesting of LiteLLM's."""
    messages = [{"role": "user", "content": " ".join(rng.choices(WORDS, k=60))} for _ in range(MESSAGES)]
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": messages[0]["content"]}}
    prices = {f"cost_per_unit_of_kind_{at}": rng.choice([None, 1.25e-06, True]) for at in range(PRICES)}
    return {
        "id": f"chatcmpl-{number}",
        "litellm_call_id": f"call-{number}",
        "trace_id": f"trace-{number}",
        "call_type": "acompletion",
        "status": "success",
        "cache_hit": None,
        "custom_llm_provider": "openai",
        "startTime": 1794835457.17 + number,
        "endTime": 1794835458.27 + number,
        "model": rng.choice(["openai/cedar-2", "openai/maple-1"]),
        "model_group": "chat",
        "request_tags": ["exp"],
        "end_user": f"u-{number % 997}",
        "messages": messages,
        "response": {"id": f"chatcmpl-{number}", "model": "cedar-2", "choices": [choice]},
        "model_parameters": {"stream": False},
        "metadata": {
            "requester_metadata": {"arm": "exp"},
            "routing_decision": None,
            **dict.fromkeys(map(str, range(30))),
        },
        "hidden_params": {"additional_headers": {"x-litellm-attempted-fallbacks": 0}},
        "model_map_information": {"model_map_key": "cedar-2", "model_map_value": prices},
    }


def write_file(path: Path, megabytes: float) -> int:
    """Write payloads until the file has the size; returns how many."""
    rng, number = random.Random(0), 0  # noqa: S311  (nothing secret)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes * MEGABYTE:
            lines = (json.dumps(payload(number + at, rng)) for at in range(500))
            file.write("\n".join(lines) + "\n")
            number += 500
    return number


def read_file(path: Path, how: str) -> int:
    """Read the file in one of the three ways; returns the number of lines, records or calls."""
    if how == "json.loads":
        with path.open("rb") as file:
            return sum(isinstance(json.loads(line), dict) for line in file)
    remarks = Remarks()
    records = records_of(trace_file(path), remarks)
    return sum(1 for _ in (LiteLlm().read(records, remarks) if how == "calls" else records))


def measure(path: Path, how: str) -> None:
    """Print the number of items, the seconds by the clock and of the processor, and the peak memory in MB."""
    start, processor = time.perf_counter(), time.process_time()
    count = read_file(path, how)
    spent = time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    print(json.dumps([count, time.perf_counter() - start, spent, peak]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Speed and memory of reading traces.")
    parser.add_argument("--megabytes", type=float, default=200)
    parser.add_argument(
        "--measure", nargs=2, metavar=("FILE", "HOW"), help="one reading, for the processes of this run"
    )
    given = parser.parse_args(arguments)
    if given.measure:
        measure(Path(given.measure[0]), given.measure[1])
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "litellm.jsonl"
        written = write_file(path, given.megabytes)
        size = path.stat().st_size / MEGABYTE
        print(f"{size:.0f} MB, {written:,} records, {1e3 * size / written:.1f} kB each")
        speeds: dict[str, float] = {}
        for how in ("json.loads", "records", "calls"):
            command = [sys.executable, "-m", "benchmarks.trace_reading", "--measure", str(path), how]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            count, seconds, spent, peak = json.loads(done.stdout)
            if count != written:
                raise ValueError(f"{how}: {count} of {written} were read")
            speeds[how] = size / spent
            ratio = speeds["json.loads"] / speeds[how]
            print(
                f"{how:10s} {size / spent:6.1f} MB per second of one core, {size / seconds:6.1f} by the clock, "
                f"{ratio:.2f} times json.loads, peak memory {peak:.0f} MB"
            )
    return 0 if speeds["json.loads"] <= MAX_RATIO * speeds["calls"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
