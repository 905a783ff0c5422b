"""A study file (TOML) that holds the options of a command: `deconfound evaluate study.toml`.

Every option is a key under its long name; a table such as [map] or [cost] is one option for each entry. Paths are
relative to the file. An option on the command line replaces the one of the file. Options that only another command
has are ignored, so that `check`, `evaluate` and `plan` can share a file.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import readable_path
from deconfound.formatting import did_you_mean, quote

EXTENSION = ".toml"
STUDY_COMMANDS = ("evaluate", "check", "plan")
PATH_OPTIONS = ("log", "experiment", "replay", "target", "output")


def with_study_file(arguments: Sequence[str], parser: argparse.ArgumentParser) -> Sequence[str]:
    """The command line with the options of the study file that stands right after the command, if one does."""
    if len(arguments) < 2 or arguments[0] not in STUDY_COMMANDS or not arguments[1].lower().endswith(EXTENSION):
        return arguments
    commands = next(each for each in _actions(parser) if isinstance(each, argparse._SubParsersAction))
    known = {name for command in STUDY_COMMANDS for name in _options(commands.choices[command])}
    path, rest = Path(arguments[1]), arguments[2:]
    own = _options(commands.choices[arguments[0]])
    given = {word[2:].partition("=")[0] for word in rest if word.startswith("--")}
    words: list[str] = []
    for key, value in read_study_file(path).items():
        name = key.replace("_", "-")
        if name not in known:
            suggestion = did_you_mean(name, sorted(known)) or "."
            raise UsageError(f"{path.name}: there is no option {quote(key)}{suggestion}")
        if name in own and name not in given:
            words += _words(name, value, own[name], path)
    return [arguments[0], *words, *rest]


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options of a command by their long names."""
    names = ((option, action) for action in _actions(parser) for option in action.option_strings)
    return {option.removeprefix("--"): action for option, action in names if option.startswith("--")}


def read_study_file(path: Path) -> dict[str, Any]:
    """The keys and values of a study file."""
    source = readable_path(path)
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = Problem(source, f"the file cannot be opened: {error.strerror}", "Check the name and the folder.")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problem = Problem(source, f"this is no valid TOML: {error}", "Correct that line.")
    raise DataError([problem])


def _words(name: str, value: object, action: argparse.Action, path: Path) -> list[str]:
    """One option as it would be written on the command line."""
    option = f"--{name}"
    if isinstance(value, bool):
        if action.nargs != 0:
            raise UsageError(f"{path.name}: {name} takes a value, not {str(value).lower()}.")
        return [option] if value else []
    if isinstance(value, dict):
        return [word for entry in _entries(value) for word in (option, entry)]
    if name in PATH_OPTIONS:
        paths = value if isinstance(value, list) and action.nargs == "+" else [value]
        return [option, *(str(path.parent / str(one)) for one in paths)]
    if isinstance(value, list) and isinstance(action.nargs, int):
        return [option, *map(str, value)]
    if isinstance(value, list) and isinstance(action, argparse._AppendAction):
        return [word for one in value for word in (option, str(one))]
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return [option, text]


def _entries(table: dict[str, Any], prefix: str = "") -> list[str]:
    """[map] with outcome = "thumbs" is outcome=thumbs; [map.log] with outcome = "thumbs" is log.outcome=thumbs."""
    entries = []
    for key, value in table.items():
        entries += _entries(value, f"{prefix}{key}.") if isinstance(value, dict) else [f"{prefix}{key}={value}"]
    return entries
