"""Build the wheel and the source distribution, install both in clean environments, and try them as a user would.

    python -m tools.release_check python3.11 python3.12 python3.13

Prints one line per step and ends with code 1 at the first failure. Needs a package index for the dependencies.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).parent.parent
SMOKE_TESTS = ("tests/cli", "tests/loading", "tests/test_result.py")
TEST_PACKAGES = ("pytest", "pytest-xdist", "hypothesis", "pandas", "polars", "matplotlib", "scikit-learn")
RELATIVE_LINK = re.compile(r"\]\((?!https?://|#|mailto:)[^)]+\)")


class ReleaseError(Exception):
    """The release is not fit to publish."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run every check for each interpreter."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", nargs="+", help="interpreters to install into")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            wheel, source = build(Path(folder))
            check_metadata(wheel)
            check_contents(wheel, source)
            for python in given.python:
                check_wheel(python, wheel, Path(folder))
                check_source(python, source, Path(folder))
        except (ReleaseError, subprocess.CalledProcessError) as error:
            print(f"release-check failed: {error}", file=sys.stderr)
            return 1
    print(f"release-check passed for {', '.join(given.python)}.")
    return 0


def run(*command: str | Path, folder: Path | None = None) -> str:
    """Standard output of a command; its output is shown if it fails."""
    result = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    if result.returncode:
        print(result.stdout[-3_000:], result.stderr[-3_000:], sep="\n", file=sys.stderr)
        result.check_returncode()
    return result.stdout


def build(folder: Path) -> tuple[Path, Path]:
    """The wheel and the source distribution, built by the declared backend from a copy of the committed files."""
    copy, dist = folder / "copy", folder / "dist"
    run("git", "clone", "--quiet", ROOT, copy)
    dist.mkdir()
    for kind in ("wheel", "sdist"):
        run(sys.executable, "-c", f"import setuptools.build_meta as b; b.build_{kind}({str(dist)!r})", folder=copy)
    print("built", *(path.name for path in sorted(dist.iterdir())))
    return next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))


def read_metadata(wheel: Path) -> Message:
    """The wheel's METADATA."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def check_metadata(wheel: Path) -> None:
    """Name, version and requirements agree with pyproject.toml; the description has no link that breaks elsewhere."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    metadata = read_metadata(wheel)
    for field, expected in (("Name", project["name"]), ("Version", project["version"])):
        require(metadata[field] == expected, f"{field} is {metadata[field]}, not {expected}")
    declared = {each for each in metadata.get_all("Requires-Dist", []) if "extra ==" not in each}
    require(declared == set(project["dependencies"]), f"the wheel requires {sorted(declared)}")
    description = metadata.get_payload()
    links = RELATIVE_LINK.findall(str(description))
    require(len(str(description)) > 1_000, "the description is missing")
    require(not links, f"the description has relative links: {links[:3]}")
    print("metadata agree")


def check_contents(wheel: Path, source: Path) -> None:
    """The wheel has the package only, with its license; the source distribution has the tests and what they read."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    require(all(name.startswith("deconfound") for name in names), "the wheel contains other packages")
    require("deconfound/py.typed" in names, "py.typed is missing from the wheel")
    require(any(name.endswith("licenses/LICENSE") for name in names), "the license is missing from the wheel")
    with tarfile.open(source) as archive:
        parts = {"/".join(name.split("/")[1:]) for name in archive.getnames()}
    for needed in ("tests/conftest.py", "tools/import_graph.py", "docs/architecture.md", "benchmarks/README.md"):
        require(needed in parts, f"{needed} is missing from the source distribution")
    print("contents are complete")


def check_wheel(python: str, wheel: Path, folder: Path) -> None:
    """Install the wheel alone, and run the demo."""
    binaries = new_environment(python, folder / f"wheel-{Path(python).name}")
    run(binaries / "pip", "install", "--quiet", wheel)
    version = run(binaries / "deconfound", "--version").strip()
    lines = run(binaries / "deconfound", "demo", "-q", folder=folder).splitlines()
    answer = next((line for line in lines if line.startswith(("Best model", "No clear winner"))), None)
    require(answer is not None, f"the demo printed {lines[:1]}")
    print(f"{python}: wheel installed, {version}. Demo: {answer}")


def check_source(python: str, source: Path, folder: Path) -> None:
    """Install the source distribution, collect all of its tests and run some of them from its own folder."""
    place = folder / f"source-{Path(python).name}"
    binaries = new_environment(python, place / "environment")
    run(binaries / "pip", "install", "--quiet", source, *TEST_PACKAGES)
    with tarfile.open(source) as archive:
        archive.extractall(place, filter="data")
    unpacked = next(path for path in place.iterdir() if path.name.startswith("deconfound-"))
    run(binaries / "python", "-m", "pytest", "-q", "--collect-only", "tests", folder=unpacked)
    last = run(binaries / "python", "-m", "pytest", "-n", "2", *SMOKE_TESTS, folder=unpacked).splitlines()[-1]
    print(f"{python}: source distribution installed. Tests: {last.strip('= ')}")


def new_environment(python: str, place: Path) -> Path:
    """The folder of programs of a new virtual environment."""
    run(python, "-m", "venv", place)
    return place / "bin"


def require(condition: bool, message: str) -> None:
    """Stop with a message unless the condition holds."""
    if not condition:
        raise ReleaseError(message)


if __name__ == "__main__":
    raise SystemExit(main())
