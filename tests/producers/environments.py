"""Environments with a real producer of traces, apart from our own: their packages must not enter our lock files."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deconfound.file_lock import locked_file

SCRIPTS = Path(__file__).parent / "scripts"
INSTALL_SECONDS = 900
RUN_SECONDS = 300
PASSED_ON = ("LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR")
"""Variables that scripts see of ours: no keys, no addresses and no settings of a producer."""


class NotInstalledError(Exception):
    """The producer cannot be installed here, such as without a network."""


@dataclass(frozen=True, slots=True)
class Producer:
    """Pinned packages of pip and, with Node from pip, of npm; ``variables`` are set where its scripts run.

    ``bare_requirements`` are installed without what they depend on.
    """

    name: str
    requirements: tuple[str, ...]
    node_packages: tuple[str, ...] = ()
    bare_requirements: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder_name(self) -> str:
        """Different for other packages and for another Python."""
        bare = (self.bare_requirements,) if self.bare_requirements else ()
        content = repr((self.requirements, self.node_packages, *bare, sys.version_info[:2]))
        return f"{self.name}-{hashlib.blake2b(content.encode(), digest_size=6).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Environment:
    """An installed producer."""

    folder: Path
    variables: Mapping[str, str]

    @property
    def python(self) -> Path:
        """The interpreter, and beside it the programs."""
        return self.folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    @property
    def search_path(self) -> str:
        """Where programs are looked for: first in this environment, which may have its own Node."""
        return os.pathsep.join((str(self.python.parent), os.environ.get("PATH", "")))

    def run_script(self, name: str, output: Path, *options: str) -> Path:
        """Let a script write the producer's files and ``manifest.json`` to a folder, which is returned."""
        self.run([str(self.python), str(SCRIPTS / name), str(output), *options], output)
        return output

    def run(self, command: Sequence[str], output: Path) -> None:
        """Run a program of the producer in a folder; its own settings and caches are there, too."""
        output.mkdir(parents=True, exist_ok=True)
        passed = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
        passed["PATH"] = self.search_path
        variables = {**passed, "HOME": str(output), "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": "1", **self.variables}
        done = subprocess.run(
            command, cwd=output, env=variables, capture_output=True, text=True, timeout=RUN_SECONDS, check=False
        )
        assert done.returncode == 0, f"{command[1:]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


def install(producer: Producer, folder: Path) -> Environment:
    """The environment of a producer in a folder of environments; it is made once, also by several processes."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / producer.folder_name
    ready = place / "ready"
    with locked_file(folder / f"{producer.folder_name}.lock", "installation", wait_seconds=2 * INSTALL_SECONDS):
        if not ready.exists():
            shutil.rmtree(place, ignore_errors=True)
            _make(producer, place)
            ready.touch()
    return Environment(place, producer.variables)


def _make(producer: Producer, place: Path) -> None:
    environment = Environment(place, {})
    _step([sys.executable, "-m", "venv", str(place)], environment)
    pip = [str(environment.python), "-m", "pip", "install", "--quiet", "--retries", "2"]
    _step([*pip, *producer.requirements], environment)
    if producer.bare_requirements:
        _step([*pip, "--no-deps", *producer.bare_requirements], environment)
    if producer.node_packages:
        packages = place / "node"
        packages.mkdir()
        (packages / "package.json").write_text('{"private": true}', encoding="utf-8")
        npm = [
            str(environment.python.with_name("npm")),
            "install",
            "--no-audit",
            "--no-fund",
            "--prefix",
            str(packages),
        ]
        _step([*npm, *producer.node_packages], environment)


def _step(command: Sequence[str], environment: Environment) -> None:
    """One step of an installation, which sees our own variables: they say where the package index is."""
    variables = {**os.environ, "PATH": environment.search_path}
    try:
        done = subprocess.run(
            command, env=variables, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotInstalledError(f"{type(error).__name__} in {' '.join(command[1:4])}") from None
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.strip()][-1:] or ["no message"]
        raise NotInstalledError(last[0])
