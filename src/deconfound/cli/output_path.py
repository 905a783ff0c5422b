"""Where -o may write: checked before the work starts, so that no file of the user is lost and no work is in vain."""

from __future__ import annotations

import argparse
import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from deconfound.atomic import check_writable
from deconfound.cli.interrupt import interrupts
from deconfound.errors import UsageError

NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def add_overwrite_option(parser: argparse.ArgumentParser) -> None:
    """--overwrite."""
    parser.add_argument("--overwrite", action="store_true", help="let -o replace existing files")


def check_output_file(output: str, inputs: Sequence[str | Path | None], *, overwrite: bool) -> Path:
    """The file to write; an existing one needs --overwrite, and an input is never replaced."""
    path = require_path(output)
    if path.is_dir():
        raise UsageError(f"-o {path}: a folder of that name exists; choose another file name.")
    if not path.parent.is_dir():
        raise UsageError(f"-o {path}: there is no folder {path.parent}; create it, or choose another place.")
    check_files([path], inputs, overwrite=overwrite)
    return path


def check_output_folder(output: str) -> Path:
    """The folder to write to; it is created later, if needed."""
    path = require_path(output)
    above = next((one for one in (path, *path.absolute().parents) if os.path.lexists(one)), path)
    if not above.is_dir():
        raise UsageError(f"-o {path}: {above} is not a folder; choose another place.")
    require_writable(path)
    return path


def check_files(paths: Sequence[Path], inputs: Sequence[str | Path | None], *, overwrite: bool) -> None:
    """Refuse files that are inputs, that exist without --overwrite, or that cannot be written."""
    from deconfound.bundle import is_part_of_bundle

    require_no_inputs(paths, inputs)
    for path in paths:
        if not path.exists():
            continue
        if not path.is_file():
            raise UsageError(f"-o {path} exists and is not an ordinary file; choose another name.")
        if is_part_of_bundle(path):
            raise UsageError(f"-o {path} belongs to a saved result and cannot be replaced alone; choose another name.")
        if not overwrite:
            raise UsageError(f"-o {path} exists; choose another name, or replace it with --overwrite.")
        if not os.access(path, os.W_OK):
            raise UsageError(f"-o {path} is write-protected; choose another name.")
    for folder in {Path(os.path.realpath(path)).parent for path in paths}:
        require_writable(folder)


def require_no_inputs(paths: Sequence[Path], inputs: Sequence[str | Path | None]) -> None:
    """Refuse to replace a file that is read, also where a link leads to it."""
    for path in paths:
        same = next((one for one in inputs if one is not None and _is_same_file(path, one)), None)
        if same is not None:
            raise UsageError(f"-o {path} would replace the input {same}; choose another name.")


def require_path(output: str) -> Path:
    """The path that -o names; an empty one would mean the current folder."""
    if not output.strip():
        raise UsageError("-o is empty; name a file or a folder, or leave it out.")
    if output == "-":
        raise UsageError("-o - does not mean standard output; the result is printed anyway. Leave it out.")
    return Path(output)


def require_writable(folder: Path) -> None:
    """Refuse a folder in which no file can be created."""
    try:
        with interrupts.held():
            check_writable(folder)
    except OSError as error:
        raise UsageError(f"-o: {folder} cannot be written ({error.strerror}); choose another place.") from error


@contextmanager
def writing(
    path: Path, inputs: Sequence[str | Path | None] = (), *, files: Sequence[Path] = (), overwrite: bool
) -> Iterator[None]:
    """Turn the system's errors into advice; every writer leaves the earlier content as it was.

    ``files`` are what is written, if ``path`` is a folder. What has appeared there during the run is checked again:
    without ``overwrite`` no file is replaced, and an input never.
    """
    written = files or (path,)
    require_no_inputs(written, inputs)
    appeared = None if overwrite else next((file for file in written if file.is_file()), None)
    if appeared is not None:
        raise UsageError(f"-o {appeared} has appeared during the run and was not replaced; choose another name.")
    try:
        with interrupts.held():
            yield
    except OSError as error:
        what = f"{path} cannot be written ({error.strerror or error}); earlier content is unchanged"
        advice = "Free some space, or choose" if error.errno in NO_SPACE else "Choose"
        raise UsageError(f"{what}. {advice} another place with -o.") from error


def _is_same_file(path: Path, other: str | Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False  # one of them does not exist
