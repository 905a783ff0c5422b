"""Replies that were paid for, in a file of SQLite: found again after any kill, and by every later run.

The file has one table, by the key of the request. It contains outputs, never contexts and never a key of an endpoint.
One process at a time may ask for more, so that two do not pay for the same; any number may read.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, Self, final

from deconfound.endpoints.reply import STATUSES, Reply
from deconfound.errors import UsageError
from deconfound.escaping import escape_line, readable_path
from deconfound.file_lock import LockSubject, locked_file

APPLICATION_ID = 0x64636E66  # "dcnf": what the file says about itself
SCHEMA_VERSION = 1
LOOKUP_KEYS = 500  # in one statement
SCAN_FACTOR = 4  # reading one key among all takes a fraction of the time of looking one up
BUSY_SECONDS = 30.0
COLUMNS = "text, status, finish_reason, served_model, input_tokens, output_tokens, tokens_estimated, seconds"
CREATE = f"CREATE TABLE replies (key BLOB NOT NULL PRIMARY KEY, {COLUMNS}, stored REAL NOT NULL)"
INSERT = f"INSERT OR IGNORE INTO replies (key, {COLUMNS}, stored) VALUES "  # noqa: S608  (only names)
ROW = f"(?{', ?' * 9})"
ROWS_AT_ONCE = 100  # in one statement: each one makes other threads wait for this one, and this one for them
ROW_TYPES = (str, str, str, str, int, int, int, float)
FOREIGN_ROW = "has a row that deconfound did not write"
ANOTHER = "Choose another file with --cache, or move this one away."


@final
class ReplyCache:
    """Replies by the keys of their requests; to be used in ``with``. Each thread needs one of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with _explained(path):
            _require_file(path)
            self._database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
            try:
                self._prepare()
            except BaseException:
                self._database.close()
                raise

    def __enter__(self) -> Self:
        """The cache itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file; what was put is in it already."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        with suppress(sqlite3.Error):
            self._database.close()

    def another(self) -> ReplyCache:
        """The same file for another thread."""
        return ReplyCache(self.path)

    def __len__(self) -> int:
        with _explained(self.path):
            count: int = self._database.execute("SELECT count(*) FROM replies").fetchone()[0]
            return count

    def known(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those of the keys that have a reply."""
        if len(keys) * SCAN_FACTOR >= len(self):
            with _explained(self.path):
                return {key for (key,) in self._database.execute("SELECT key FROM replies")}.intersection(keys)
        return {row[0] for row in self._rows("key", keys)}

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Reply]:
        """The replies of those keys that have one."""
        return {row[0]: self._reply(row[1:]) for row in self._rows(f"key, {COLUMNS}", keys)}

    def put(self, replies: Sequence[tuple[bytes, Reply]]) -> None:
        """Store replies in one step; of two with one key the first stays."""
        values = [
            (
                *(key, one.text, one.status, one.finish_reason, one.served_model),
                *(one.input_tokens, one.output_tokens, int(one.tokens_estimated), one.seconds, time.time()),
            )
            for key, one in replies
        ]
        with _explained(self.path):
            self._database.execute("BEGIN IMMEDIATE")
            try:
                for at in range(0, len(values), ROWS_AT_ONCE):
                    part = values[at : at + ROWS_AT_ONCE]
                    statement = INSERT + ", ".join([ROW] * len(part))
                    self._database.execute(statement, tuple(chain.from_iterable(part)))
                self._database.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._database.execute("ROLLBACK")
                raise

    def remove(self, keys: Sequence[bytes]) -> None:
        """Forget the replies of some keys, which can then be asked for again."""
        with _explained(self.path):
            for at in range(0, len(keys), LOOKUP_KEYS):
                part = keys[at : at + LOOKUP_KEYS]
                marks = ", ".join("?" * len(part))
                self._database.execute(f"DELETE FROM replies WHERE key IN ({marks})", part)  # noqa: S608

    @contextmanager
    def locked(self, activity: str) -> Iterator[None]:
        """Lock out every other process that would ask for the same replies."""
        lock = self.path.with_name(f".{self.path.name}.lock")
        subject = LockSubject(f"The cache {readable_path(self.path)}", "choose another file with --cache")
        with locked_file(lock, activity, subject=subject):
            yield

    def _rows(self, columns: str, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        rows: list[tuple[Any, ...]] = []
        with _explained(self.path):
            for at in range(0, len(keys), LOOKUP_KEYS):
                part = keys[at : at + LOOKUP_KEYS]
                marks = ", ".join("?" * len(part))
                statement = f"SELECT {columns} FROM replies WHERE key IN ({marks})"  # noqa: S608  (only question marks)
                rows += self._database.execute(statement, part).fetchall()
        return rows

    def _reply(self, row: tuple[Any, ...]) -> Reply:
        text, status, reason, served, given, made, estimated, seconds = row
        known = tuple(map(type, row)) == ROW_TYPES and status in STATUSES
        if not known or min(given, made) < 0 or not 0 <= seconds < math.inf:
            raise _unusable(self.path, FOREIGN_ROW)
        return Reply(text, status, reason, served, given, made, estimated == 1, seconds)

    def _prepare(self) -> None:
        """Make a new file a cache, and refuse a file of another program or version."""
        database = self._database
        database.execute("PRAGMA synchronous = FULL")  # a reply that was paid for survives a power failure, too
        if not self._definitions() and self._pragma("application_id") in (0, APPLICATION_ID):
            self._create()
        if self._pragma("application_id") != APPLICATION_ID:
            raise _unusable(self.path, "is a database of another program")
        version = self._pragma("user_version")
        if version != SCHEMA_VERSION:
            raise _unusable(self.path, f"has version {version}, and this version of deconfound reads {SCHEMA_VERSION}")
        if self._definitions() != [CREATE]:  # a view or a trigger would be a program inside the file
            raise _unusable(self.path, "has other tables than deconfound writes")

    def _create(self) -> None:
        """In one step, so that a kill leaves an empty file or a cache, and two processes make one table."""
        database = self._database
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("BEGIN IMMEDIATE")
        try:
            if not self._definitions():
                database.execute(CREATE)
                database.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
            database.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                database.execute("ROLLBACK")
            raise

    def _definitions(self) -> list[str]:
        """The statements that made what the file contains."""
        rows = self._database.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")
        return [statement for (statement,) in rows]

    def _pragma(self, name: str) -> int:
        value: int = self._database.execute(f"PRAGMA {name}").fetchone()[0]
        return value


def _require_file(path: Path) -> None:
    """Refuse what SQLite would open strangely: folders, pipes, files in folders that do not exist."""
    if path.exists() and not path.is_file():
        raise _unusable(path, "is not an ordinary file")
    if not path.parent.is_dir():
        raise UsageError(
            escape_line(f"--cache {readable_path(path)}: there is no folder {readable_path(path.parent)}.")
        )


def _unusable(path: Path, what: str) -> UsageError:
    return UsageError(escape_line(f"The cache {readable_path(path)} {what}. {ANOTHER}"))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into advice."""
    try:
        yield
    except sqlite3.Error as error:
        message = str(error).lower()
        name = readable_path(path)
        if "not a database" in message:
            raise _unusable(path, "is not a cache of deconfound") from None
        if "could not decode" in message:
            raise _unusable(path, FOREIGN_ROW) from None
        if "malformed" in message or "corrupt" in message or "no such" in message:
            raise _unusable(path, "is damaged") from None
        if "locked" in message or "busy" in message:
            what = f"The cache {name} is locked by another program. Wait until that has finished."
            raise UsageError(escape_line(what)) from None
        if "full" in message:
            what = f"The disk of the cache {name} is full; what was answered so far is stored. Free some space."
            raise UsageError(escape_line(what)) from None
        what = f"The cache {name} cannot be used ({error}). Choose another place with --cache."
        raise UsageError(escape_line(what)) from None
