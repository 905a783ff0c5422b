"""A parser of command lines whose errors are one message, and that takes nothing silently."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from deconfound.errors import UsageError
from deconfound.escaping import escape_line
from deconfound.formatting import ELLIPSIS, similar_name

MAX_MESSAGE_CHARACTERS = 300  # of Python's parser, which repeats what it was given in full
GIVEN = "given_options"  # attribute of the parsed arguments


class StoreOnce(argparse.Action):
    """Store the value of an option; of two values one would be lost."""

    def __call__(
        self,
        _parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        _option_string: str | None = None,
    ) -> None:
        """Refuse the second value."""
        given: frozenset[str] = getattr(namespace, GIVEN, frozenset())
        if self.option_strings and self.dest in given:
            raise argparse.ArgumentError(self, "given more than once; give it once")
        setattr(namespace, GIVEN, given | {self.dest})
        setattr(namespace, self.dest, values)


class CommandParser(argparse.ArgumentParser):
    """Errors end like all others: one message, exit code 2."""

    def __init__(
        self,
        prog: str | None = None,
        description: str | None = None,
        epilog: str | None = None,
    ) -> None:
        super().__init__(prog=prog, description=description, epilog=epilog)
        for name in (None, "store"):
            self.register("action", name, StoreOnce)

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the whole usage and exiting."""
        end = "" if message.endswith("?") else "."
        shown = message if len(message) <= MAX_MESSAGE_CHARACTERS else message[:MAX_MESSAGE_CHARACTERS] + ELLIPSIS
        raise UsageError(f"{escape_line(shown)}{end} See {self.prog} --help.")

    def parse_known_args(  # type: ignore[override]  # argparse has overloads for other kinds of namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Report what a command does not know before what it misses, and point to its own help."""
        if self._subparsers is not None or args is None:
            return super().parse_known_args(args, namespace)
        for name in map(self._unknown_option, args[: args.index("--")] if "--" in args else args):
            if name is not None:
                near = similar_name(name, [option for option in self._option_string_actions if option[:2] == "--"])
                self.error(f"there is no option {name}" + ("" if near is None else f"; did you mean {near}?"))
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, unknown

    def _unknown_option(self, argument: str) -> str | None:
        """The name of a long option that is neither known nor the beginning of a known one."""
        name = argument.partition("=")[0]
        if not name.startswith("--") or " " in name:
            return None
        return None if any(option.startswith(name) for option in self._option_string_actions) else name
