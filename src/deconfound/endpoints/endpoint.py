"""Where models answer: the settings of an endpoint. Its key comes from the environment and is stored nowhere."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from deconfound.endpoints.toml_tables import NO_KEYS, SECRET_NAMES, TableReader, table_reader
from deconfound.errors import Problem
from deconfound.escaping import escape_name
from deconfound.formatting import join_names

Api = Literal["openai", "anthropic"]
APIS: dict[Api, str] = {"openai": "chat/completions", "anthropic": "messages"}
"""The interfaces that are spoken, and the path of each below an endpoint's URL."""
KEY_HEADERS: dict[Api, str] = {"openai": "Authorization", "anthropic": "x-api-key"}
ANTHROPIC_VERSION = ("anthropic-version", "2023-06-01")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
OWN_HEADERS = ("content-type", "content-length", "host", "accept", "accept-encoding", "transfer-encoding", "connection")
MAX_SECONDS = 86_400.0
ATTEMPTS, PATIENCE = 6, 600.0
CONNECT, READ, TOTAL = 10.0, 120.0, 300.0


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds until a call counts as failed: for the connection, without a new byte, and in total."""

    connect: float = CONNECT
    read: float = READ
    total: float = TOTAL


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server of models. ``attempts`` and ``patience`` (in seconds) bound the retries of one call."""

    name: str
    url: str
    api: Api = "openai"
    key_env: str | None = None
    key_header: str | None = None
    headers: tuple[tuple[str, str], ...] = ()
    timeouts: Timeouts = Timeouts()
    attempts: int = ATTEMPTS
    patience: float = PATIENCE
    concurrency: int | None = None

    @property
    def call_url(self) -> str:
        """Where calls are sent."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{APIS[self.api]}"))

    @property
    def sent_headers(self) -> tuple[tuple[str, str], ...]:
        """All headers but the key's, in an order of their own."""
        headers = {name.lower(): (name, value) for name, value in self.headers}
        if self.api == "anthropic":
            headers.setdefault(ANTHROPIC_VERSION[0], ANTHROPIC_VERSION)
        return tuple(headers[name] for name in sorted(headers))

    def key(self) -> str | None:
        """The key in the environment; None without one."""
        value = os.environ.get(self.key_env, "") if self.key_env is not None else ""
        return value.strip() or None

    @property
    def sends_key_readable(self) -> bool:
        """Whether the key leaves this machine without encryption."""
        parts = urlsplit(self.url)
        return self.key() is not None and parts.scheme == "http" and not _is_this_machine(parts.hostname or "")

    def key_headers(self) -> dict[str, str]:
        """The header that carries the key; only for what is sent, never for what is stored."""
        key = self.key()
        if key is None:
            return {}
        name = self.key_header or KEY_HEADERS[self.api]
        return {name: f"Bearer {key}" if name.lower() == "authorization" else key}


def _is_this_machine(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def key_problem(endpoint: Endpoint) -> Problem | None:
    """Why an endpoint cannot be called with the environment as it is."""
    if endpoint.key_env is None:
        return None
    where, key = f"endpoint {escape_name(endpoint.name)}", endpoint.key()
    if key is None:
        fix = f"Set it, or leave key_env out if the endpoint needs no key: export {endpoint.key_env}=…"
        return Problem(where, f"the environment variable {endpoint.key_env} is not set", fix)
    if not key.isascii() or not key.isprintable():
        fix = "Copy the key again, without line breaks."
        return Problem(where, f"the key in {endpoint.key_env} has characters that no header can have", fix)
    return None


def read_endpoints(content: Mapping[str, Any], source: str, problems: list[Problem]) -> dict[str, Endpoint | None]:
    """The tables [endpoints.NAME] of a settings file; None stands for one with a problem."""
    tables = content.get("endpoints", {})
    if not isinstance(tables, Mapping):
        problems.append(Problem(source, "endpoints is not a table", "Write one table per endpoint: [endpoints.NAME]."))
        return {}
    found: dict[str, Endpoint | None] = dict.fromkeys(tables)
    for name, table in tables.items():
        before = len(problems)
        reader = table_reader("endpoints", name, table, source, problems)
        endpoint = None if reader is None else _read_endpoint(name, reader)
        if len(problems) == before:
            found[name] = endpoint
    return found


def _read_endpoint(name: str, reader: TableReader) -> Endpoint | None:
    url = reader.text("url", required='Write the address, such as url = "http://127.0.0.1:8080/v1".')
    api = reader.choice("api", tuple(APIS)) or "openai"
    key_env, key_header = reader.text("key_env"), reader.text("key_header")
    headers = _read_headers(reader)
    waits = [reader.number(f"{kind}_timeout", 0.1, MAX_SECONDS) for kind in ("connect", "read", "total")]
    attempts = reader.whole_number("attempts", 1, 100)
    patience = reader.number("patience", 0, MAX_SECONDS)
    concurrency = reader.whole_number("concurrency", 1, 10_000)
    reader.finish()
    _check_key_names(key_env, key_header, reader)
    if url is None or not _check_url(url, reader):
        return None
    seconds = (
        wait if wait is not None else default for wait, default in zip(waits, (CONNECT, READ, TOTAL), strict=True)
    )
    return Endpoint(
        name=name,
        url=url.strip(),
        api=cast("Api", api),
        key_env=key_env,
        key_header=key_header,
        headers=headers,
        timeouts=Timeouts(*seconds),
        attempts=ATTEMPTS if attempts is None else attempts,
        patience=PATIENCE if patience is None else patience,
        concurrency=concurrency,
    )


def _check_key_names(key_env: str | None, key_header: str | None, reader: TableReader) -> None:
    """What stands there may be the key itself, so it is not repeated."""
    if key_env is not None and not VARIABLE.fullmatch(key_env):
        what = "key_env is not the name of an environment variable in capitals"
        reader.problem(what, 'Write the name, such as key_env = "OPENAI_API_KEY"; never the key itself.')
    if key_header is not None and not HEADER.fullmatch(key_header):
        reader.problem("key_header is not the name of a header", 'Write it as in key_header = "api-key".')


def _read_headers(reader: TableReader) -> tuple[tuple[str, str], ...]:
    headers = []
    for name, value in (reader.subtable("headers") or {}).items():
        if SECRET_NAMES.fullmatch(name):
            reader.problem(f"the header {escape_name(name)} would be a key in a file", NO_KEYS)
        elif not HEADER.fullmatch(name) or not isinstance(value, str) or not (value.isascii() and value.isprintable()):
            reader.problem(f"the header {escape_name(name)} cannot be sent", "Give it a plain name and a text.")
        elif name.lower() in OWN_HEADERS:
            reader.problem(f"the header {name} is set by deconfound", "Leave it out.")
        else:
            headers.append((name, value))
    return tuple(headers)


def _check_url(url: str, reader: TableReader) -> bool:
    """Whether a URL can be called; what is wrong with it is reported without repeating it."""
    try:
        parts = urlsplit(url.strip())
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid or not url.strip().isascii() or not url.strip().isprintable() or " " in url.strip():
        reader.problem("url is not an address that can be called", "Write it as in https://host/v1.")
        return False
    if parts.username is not None or parts.password is not None:
        reader.problem("url has a name or a password in it", NO_KEYS)
        return False
    secret = [
        name for name, _ in parse_qsl(parts.query) if SECRET_NAMES.fullmatch(name) or name.lower() in ("sig", "code")
    ]
    if secret:
        reader.problem(f"url has {join_names(secret)} in its query, which would be a key in a file", NO_KEYS)
        return False
    if parts.fragment or parts.path.rstrip("/").endswith(tuple(APIS.values())):
        reader.problem("url has more than the base of the interface", "End it before /chat/completions or /messages.")
        return False
    return True
