"""How fast is text turned into features, next to scikit-learn and Vowpal Wabbit?

    python -m benchmarks.text_features --megabytes 8 --rounds 7

Invented English text, with capitals, punctuation and some characters outside ASCII, is hashed into words and word pairs
in 2^18 columns of unit length: by deconfound with one and two threads, and by scikit-learn's ``HashingVectorizer``.
Vowpal Wabbit (``pip install vowpal-wabbit-next``; left out if it is not installed) makes one learning pass over words
and word pairs in 2^18 weights. The programs take turns, and each keeps its best round.

The time is that of the processor: of the main thread, plus that of the other threads divided by their number. It is the
time of a machine with free cores, also when others use this one; elapsed time is printed beside it. The exit code is 1
if a ratio is below its target. The last lines time all features of a table, and the first use of compiled code in a new
process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.feature_extraction.text import HashingVectorizer

from deconfound.features.distinct_rows import BlockLayout, extract_features
from deconfound.features.hashing import hash_texts
from deconfound.features.text_arrays import read_texts

TARGETS = {"sklearn, one thread": 14.0, "sklearn, two threads": 24.0, "vowpal wabbit": 1.0}
BUCKETS = 2**18
VOCABULARY = 50_000
LETTERS = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrrddddlllluuucccmmmwwffggyyppbbvk"
MEGABYTE = 1e6
FIRST_USE = """
import time
import pyarrow
from deconfound.features import hashing, text_arrays
start = time.process_time()
hashing.hash_texts(text_arrays.read_texts(pyarrow.array(["first use"])), "context", 2**18)
print(time.process_time() - start)
"""


def invent_texts(megabytes: float, seed: int = 0) -> list[str]:
    """Texts of 60 to 600 words, which follow Zipf's law."""
    rng = np.random.default_rng(seed)
    letters = rng.choice(list(LETTERS), (VOCABULARY, 12))
    # Frequent words are short, as in English: 4.7 letters on average.
    lengths = np.minimum(1 + rng.poisson(np.linspace(2.6, 7.0, VOCABULARY)), 12)
    words = ["".join(row[:length]) for row, length in zip(letters, lengths, strict=True)]
    words[200::500] = ["café", "naïve", "—", "“so”", "👍"] * 20
    share = 1.0 / np.arange(1, VOCABULARY + 1)
    share /= share.sum()
    texts: list[str] = []
    size = 0
    while size < megabytes * MEGABYTE:
        drawn = rng.choice(VOCABULARY, int(rng.integers(60, 600)), p=share).tolist()
        sentences = [" ".join(words[n] for n in drawn[at : at + 14]) for at in range(0, len(drawn), 14)]
        texts.append(" ".join(f"{one[:1].upper()}{one[1:]}." for one in sentences))
        size += len(texts[-1].encode())
    return texts


@dataclass(frozen=True)
class Seconds:
    """The best round of a task, by each clock."""

    processor: float
    elapsed: float


def best_seconds(tasks: dict[str, Callable[[], int]], rounds: int) -> dict[str, Seconds]:
    """Shortest time of each task, which returns its number of threads; they take turns, so that other load hits all."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            elapsed, process, main = time.perf_counter(), time.process_time(), time.thread_time()
            threads = task()
            main = time.thread_time() - main
            others = (time.process_time() - process - main) / threads
            taken[name].append((main + others, time.perf_counter() - elapsed))
    return {name: Seconds(*np.min(rows, axis=0).tolist()) for name, rows in taken.items()}


def hash_with(threads: int, column: pa.Array) -> int:
    os.environ["DECONFOUND_THREADS"] = str(threads)
    hash_texts(read_texts(column), "context", BUCKETS)
    return threads


def hash_with_scikit_learn(texts: list[str]) -> int:
    HashingVectorizer(ngram_range=(1, 2), n_features=BUCKETS).transform(texts)
    return 1


def learn_with_vowpal_wabbit(path: Path) -> int:
    from vowpal_wabbit_next import run_cli_driver

    run_cli_driver(["-d", str(path), "-b", "18", "--ngram", "2", "--quiet"], onethread=True)
    return 1


def write_vowpal_wabbit(texts: list[str], path: Path) -> None:
    lines = (f"{number % 2} |t {text.replace('|', ' ').replace(':', ' ')}" for number, text in enumerate(texts))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure_hashing(texts: list[str], rounds: int) -> bool:
    sample = texts[: max(len(texts) // 8, 1)]
    sizes = {"all": sum(len(text.encode()) for text in texts), "sample": sum(len(text.encode()) for text in sample)}
    column = pa.array(texts, pa.large_string())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "texts.vw"
        write_vowpal_wabbit(sample, path)
        tasks: dict[str, Callable[[], int]] = {
            "deconfound, one thread": lambda: hash_with(1, column),
            "deconfound, two threads": lambda: hash_with(2, column),
            "scikit-learn": lambda: hash_with_scikit_learn(sample),
        }
        if find_spec("vowpal_wabbit_next"):
            tasks["vowpal wabbit"] = lambda: learn_with_vowpal_wabbit(path)
        seconds = best_seconds(tasks, rounds)
    speed = {}
    for name, taken in seconds.items():
        size = sizes["all" if name.startswith("deconfound") else "sample"] / MEGABYTE
        speed[name] = size / taken.processor
        print(f"{name:26s} {speed[name]:8.1f} MB/s   (elapsed: {size / taken.elapsed:.1f})")
    one, two = speed["deconfound, one thread"], speed["deconfound, two threads"]
    ratios = {"sklearn, one thread": one / speed["scikit-learn"], "sklearn, two threads": two / speed["scikit-learn"]}
    if "vowpal wabbit" in speed:
        ratios["vowpal wabbit"] = one / speed["vowpal wabbit"]
    for name, ratio in ratios.items():
        print(f"ratio to {name:24s} {ratio:6.1f}   target {TARGETS[name]:.0f}")
    return all(ratio >= TARGETS[name] for name, ratio in ratios.items())


def measure_features(texts: list[str]) -> None:
    """All features of a table: hashed text, modifiers and surface statistics of each pair."""
    half = len(texts) // 2
    table = pa.table({"context": texts[:half], "output": texts[half : 2 * half]})
    size = sum(len(text.encode()) for text in texts[: 2 * half]) / MEGABYTE
    for surface in (False, True):
        os.environ["DECONFOUND_THREADS"] = "1"
        layout = BlockLayout(BUCKETS, surface, ())
        extract_features(table.slice(0, 4), layout)  # compiles, if this is the first use
        start = time.process_time()
        extract_features(table, layout)
        name = "with surface statistics" if surface else "hashed text and modifiers"
        print(f"features of a table, {name}: {size / (time.process_time() - start):.1f} MB/s of processor time")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=8.0)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    texts = invent_texts(arguments.megabytes)
    hash_with(1, pa.array(texts[:2]))  # compiled before the clock starts
    good = measure_hashing(texts, arguments.rounds)
    measure_features(texts)
    done = subprocess.run([sys.executable, "-c", FIRST_USE], capture_output=True, text=True, check=True)
    print(f"first use in a new process: {float(done.stdout):.2f} s of processor time")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
