"""A study file (TOML) that holds the options of a command: `deconfound evaluate study.toml`.

Every option is a key under its long name; a table such as [map] or [cost] is one option for each entry. Paths are
relative to the file. An option on the command line replaces the one of the file. Options that only another command
has are ignored, so that `check`, `evaluate`, `route`, `plan` and `monitor` can share a file.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from deconfound.errors import DataError, Problem, UsageError
from deconfound.escaping import readable_path
from deconfound.formatting import did_you_mean, quote, shell_argument

EXTENSION = ".toml"
STUDY_COMMANDS = ("evaluate", "check", "plan", "route", "monitor")
PATH_OPTIONS = ("log", "experiment", "replay", "target", "assignment", "output", "state", "segments-from")
MAX_BYTES = 1_000_000
MAX_DEPTH = 2  # of tables: [map] and [map.log]


def with_study_file(arguments: Sequence[str], parser: argparse.ArgumentParser) -> tuple[Sequence[str], Path | None]:
    """The command line with the options of the study file after the command and its flags, and that file."""
    if len(arguments) < 2 or arguments[0] not in STUDY_COMMANDS:
        return arguments, None
    commands = next(each for each in _actions(parser) if isinstance(each, argparse._SubParsersAction))
    place = _place(arguments, commands.choices[arguments[0]])
    if place is None:
        return arguments, None
    known = {name for command in STUDY_COMMANDS for name in _options(commands.choices[command])}
    flags = {
        name
        for command in STUDY_COMMANDS
        for name, action in _options(commands.choices[command]).items()
        if action.nargs == 0
    }
    path, rest = Path(arguments[place]), [*arguments[1:place], *arguments[place + 1 :]]
    own = _options(commands.choices[arguments[0]])
    words: list[str] = []
    for key, value in read_study_file(path).items():
        name = key.replace("_", "-")
        if name not in known:
            suggestion = did_you_mean(name, sorted(known)) or "."
            raise UsageError(f"{readable_path(path.name)}: there is no option {quote(key)}{suggestion}")
        is_flag_elsewhere = isinstance(value, bool) and name in own and own[name].nargs != 0 and name in flags
        if name in own and not is_flag_elsewhere and not any(_names(word, own[name]) for word in rest):
            words += _words(name, value, own[name], path)
    return [arguments[0], *words, *rest], path


def _place(arguments: Sequence[str], command: argparse.ArgumentParser) -> int | None:
    """Where the study file stands: after the command and flags such as -q. Among other options it is refused."""
    flags = {option for action in _actions(command) if action.nargs == 0 for option in action.option_strings}
    place = next((at for at, word in enumerate(arguments) if at and word not in flags), 0)
    if arguments[place].lower().endswith(EXTENSION):
        return place
    options = {option for action in _actions(command) for option in action.option_strings}
    for before, word in pairwise(arguments[1:]):
        alone = before in flags or (not before.startswith("-") and arguments[arguments.index(before) - 1] in options)
        if alone and word.lower().endswith(EXTENSION) and not word.startswith("-"):
            raise UsageError(
                f"{readable_path(word)}: the study file comes right after the command: deconfound {arguments[0]} "
                f"{shell_argument(readable_path(Path(word).name))}"
            )
    return None


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions


def _options(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """The options of a command by their long names."""
    names = ((option, action) for action in _actions(parser) for option in action.option_strings)
    return {option.removeprefix("--"): action for option, action in names if option.startswith("--")}


def _names(word: str, action: argparse.Action) -> bool:
    """Whether a word of the command line is an option: its long name or the beginning of it, or its short name."""
    name = word.partition("=")[0]
    if name.startswith("--"):
        return len(name) > 2 and any(option.startswith(name) for option in action.option_strings)
    return word[:2] in action.option_strings


def read_study_file(path: Path) -> dict[str, Any]:
    """The keys and values of a study file."""
    source = readable_path(path)
    try:
        if path.exists() and not path.is_file():
            raise DataError([Problem(source, "this is not an ordinary file", "Name a study file.")])
        if path.stat().st_size > MAX_BYTES:
            raise DataError([Problem(source, "a study file has at most 1 MB", "Name the right file.")])
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = Problem(source, f"the file cannot be opened: {error.strerror}", "Check the name and the folder.")
    except RecursionError:
        problem = Problem(source, "the values are nested too deeply", "Write one value, or one list, per option.")
    except ValueError as error:  # no TOML, no UTF-8, or an integer of thousands of digits
        problem = Problem(source, f"this is no valid TOML: {error}", "Correct that line.")
    raise DataError([problem])


def _words(name: str, value: object, action: argparse.Action, path: Path) -> list[str]:
    """One option as it would be written on the command line."""
    option, source = f"--{name}", readable_path(path.name)
    if isinstance(value, bool):
        if action.nargs != 0:
            raise UsageError(f"{source}: {name} takes a value, not {str(value).lower()}.")
        return [option] if value else []
    if isinstance(value, dict):
        entries = _entries(value, source)
        is_repeated = isinstance(action, argparse._AppendAction)
        return [word for entry in entries for word in (option, entry)] if is_repeated else [option, ",".join(entries)]
    values = [_text(one, f"{source}: {name}") for one in (value if isinstance(value, list) else [value])]
    if name in PATH_OPTIONS:
        values = [str(path.parent / one) for one in values]
    if isinstance(action, argparse._AppendAction):
        return [word for one in values for word in (option, one)]
    return [option, *values] if action.nargs is not None else [option, ",".join(values)]


def _entries(table: dict[str, Any], source: str, prefix: str = "") -> list[str]:
    """[map] with outcome = "thumbs" is outcome=thumbs; [map.log] with outcome = "thumbs" is log.outcome=thumbs."""
    entries = []
    for key, value in table.items():
        if not isinstance(value, dict):
            entries.append(f"{prefix}{key}={_text(value, f'{source}: {prefix}{key}')}")
        elif prefix.count(".") < MAX_DEPTH - 1:
            entries += _entries(value, source, f"{prefix}{key}.")
        else:
            raise UsageError(f"{source}: {prefix}{key} has tables inside; write one value for each name.")
    return entries


def _text(value: object, where: str) -> str:
    """A value as a word of the command line; lists and tables have none."""
    if isinstance(value, list | dict):
        raise UsageError(f"{where} has a list or a table where one value is expected.")
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        raise UsageError(f"{where} is a number with too many digits.") from None
