"""Compiled code is stored for the next process, and compiled in memory where that fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import deconfound

MODULE = """
import os
from deconfound.features.kernels import compile_kernel

compile_kernel.sources_digest = lambda: os.environ.get("SOURCES", "")

@compile_kernel.compiled("int64(int64)")
def double(number):
    return 2 * number

print(double(21), "stored" if double.stats.cache_hits else "compiled")
"""


def run(folder: Path, cache: Path, sources: str = "") -> str:
    """What a fresh process prints that compiles a kernel; ``sources`` stands for the files that it includes."""
    path = folder / "doubling.py"
    if not path.exists():
        path.write_text(MODULE)
    source = str(Path(deconfound.__file__).parents[1])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": source, "SOURCES": sources}
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_a_second_process_finds_the_compiled_code_unless_a_source_changed_or_the_code_is_damaged(tmp_path):
    cache = tmp_path / "cache"
    assert run(tmp_path, cache) == "42 compiled"
    (tmp_path / "doubling.py").touch()
    assert run(tmp_path, cache) == "42 stored"
    assert run(tmp_path, cache, "another helper") == "42 compiled"
    for ending in ("*.nbc", "*.nbi"):
        for path in cache.rglob(ending):
            path.write_bytes(b"damaged")
        assert run(tmp_path, cache, "another helper") == "42 compiled"
    assert run(tmp_path, cache, "another helper") == "42 stored"


def test_a_cache_that_cannot_be_written_is_not_an_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert run(tmp_path, tmp_path / "file" / "cache").startswith("42")
