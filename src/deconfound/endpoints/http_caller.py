"""One attempt at a call over HTTP: a reply, or a failure in the words of this package."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self, final

from deconfound.endpoints.clock import Clock
from deconfound.endpoints.deadlines import Deadline, Deadlines
from deconfound.endpoints.endpoint import Endpoint, Timeouts
from deconfound.endpoints.failure import (
    Failure,
    cut,
    error_detail,
    from_status,
    is_filtered,
    with_key_name,
)
from deconfound.endpoints.redaction import Redaction
from deconfound.endpoints.reply import GarbledReplyError, Reply, parse_reply, refused_prompt
from deconfound.endpoints.request import Request
from deconfound.errors import UsageError

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

MAX_REPLY_BYTES = 16_000_000
MAX_ERROR_BYTES = 20_000
LARGE_BODY_BYTES = 1_000_000
OK = 200
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "User-Agent": "deconfound",
}


class Caller(Protocol):
    """Whatever can make a call; tests have one without a network."""

    async def call(self, request: Request) -> Reply | Failure:
        """Try once."""
        ...


def require_client() -> None:
    """Raise, with the remedy, where the library for HTTP is not installed."""
    try:
        import aiohttp  # noqa: F401
    except ImportError:
        raise UsageError('Calling endpoints needs aiohttp. Install it: pip install "deconfound[run]"') from None


@dataclass(frozen=True, slots=True)
class _Route:
    """What all calls of an endpoint share. Only connecting has a timer of the library; see ``deadlines``."""

    url: URL
    headers: dict[str, str]
    timeout: aiohttp.ClientTimeout
    limits: Timeouts


class TooLargeError(Exception):
    """The body of a response exceeds the limit."""


@final
class HttpCaller:
    """Sends requests with one session of aiohttp; to be used in ``async with``."""

    def __init__(self, endpoints: Iterable[Endpoint], redaction: Redaction, clock: Clock) -> None:
        import aiohttp
        from yarl import URL

        self._redaction, self._clock, self._aiohttp = redaction, clock, aiohttp
        self._routes = {
            endpoint: _Route(
                URL(endpoint.call_url, encoded=True),
                {**dict(endpoint.sent_headers), **endpoint.key_headers()},
                aiohttp.ClientTimeout(total=None, sock_connect=endpoint.timeouts.connect),
                endpoint.timeouts,
            )
            for endpoint in endpoints
        }
        limits = [min(route.limits.read, route.limits.total) for route in self._routes.values()]
        self._deadlines = Deadlines(min(limits, default=1.0))
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        """Open the session; the number of calls at once is bounded by those who call."""
        self._session = self._aiohttp.ClientSession(
            connector=self._aiohttp.TCPConnector(limit=0, ttl_dns_cache=60),
            cookie_jar=self._aiohttp.DummyCookieJar(),
            headers=HEADERS,
        )
        self._deadlines.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self._deadlines.stop()
        if self._session is not None:
            await self._session.close()

    async def call(self, request: Request) -> Reply | Failure:
        """Try once; every error of the network is a failure that says whether to try again."""
        try:
            return await self._send(request)
        except TooLargeError:
            return Failure(f"the answer has more than {MAX_REPLY_BYTES // 1_000_000} MB", retry="once")
        except (TimeoutError, self._aiohttp.ClientError, OSError) as error:
            return self._failed(error, request.chat.endpoint)

    async def _send(self, request: Request) -> Reply | Failure:
        if self._session is None:
            raise RuntimeError("the session is not open")
        route = self._routes[request.chat.endpoint]
        start = perf_counter()
        with self._deadlines.limit(route.limits) as deadline:
            async with self._session.post(
                route.url,
                data=_payload(request.body),
                headers=route.headers,
                timeout=route.timeout,
                allow_redirects=False,
            ) as response:
                deadline.progress()
                if response.status == OK:
                    data = await _read(response, MAX_REPLY_BYTES, deadline)
                    return self._reply(data, request, perf_counter() - start)
                text = self._text(await _read_start(response, MAX_ERROR_BYTES, deadline))
                if is_filtered(response.status, text):
                    return refused_prompt("content_filter", request.body, perf_counter() - start)
                failure = from_status(
                    response.status, self._headers(response), text, self._clock.date(), self._redaction.clean
                )
                return with_key_name(failure, request.chat.endpoint.key_env)

    def _reply(self, data: bytes, request: Request, seconds: float) -> Reply | Failure:
        text = self._text(data)
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return Failure("the answer is not JSON", cut(text), "once")
        try:
            reply = parse_reply(body, request.chat.endpoint.api, request.body, seconds)
        except GarbledReplyError as error:
            return Failure(str(error), error_detail(text, self._redaction.clean)[1], "once")
        except RecursionError:
            return Failure("the answer is nested too deeply", retry="once")
        return reply.redacted(self._redaction)

    def _headers(self, response: aiohttp.ClientResponse) -> dict[str, str]:
        return {name.lower(): self._redaction.clean(value) for name, value in response.headers.items()}

    def _text(self, data: bytes) -> str:
        """A body without keys: they go first, so that nothing is cut in the middle of one."""
        return self._redaction.clean(data.decode("utf-8", "replace"))

    def _failed(self, error: Exception, endpoint: Endpoint) -> Failure:
        """A failure of the connection, which may pass unless it concerns all calls."""
        client = self._aiohttp
        causes: dict[type[Exception], str] = {
            client.ConnectionTimeoutError: f"no connection in time (connect_timeout = {endpoint.timeouts.connect:g})",
            TimeoutError: f"no answer in time ({error})" if "_timeout" in str(error) else "no answer in time",
            client.ClientConnectorCertificateError: "the certificate of the server is not valid",
            client.ClientConnectorDNSError: "the server's name is not known",
            client.ClientConnectorError: "no connection",
            client.ClientPayloadError: "the connection was cut during the answer",
        }
        cause = next((words for kind, words in causes.items() if isinstance(error, kind)), "the connection failed")
        detail = cut(self._redaction.clean(str(getattr(error, "strerror", "") or "")))
        is_certificate = isinstance(error, client.ClientConnectorCertificateError)
        return Failure(cause, detail, "never" if is_certificate else "yes", refuses_all=is_certificate)


def _payload(body: bytes) -> bytes | io.BytesIO:
    """A body as aiohttp takes it without a warning: a large one as a file, which is sent piece by piece."""
    return body if len(body) < LARGE_BODY_BYTES else io.BytesIO(body)


async def _read(response: aiohttp.ClientResponse, limit: int, deadline: Deadline) -> bytes:
    """The whole body; one that is too large ends the connection."""
    if (response.content_length or 0) > limit:
        response.close()
        raise TooLargeError
    first = await response.content.readany()
    if response.content.at_eof():
        return first
    parts, size = [first], len(first)
    while part := await response.content.readany():
        deadline.progress()
        parts.append(part)
        size += len(part)
        if size > limit:
            response.close()
            raise TooLargeError
    return b"".join(parts)


async def _read_start(response: aiohttp.ClientResponse, limit: int, deadline: Deadline) -> bytes:
    """The beginning of a body; the rest, if there is more, is not read."""
    parts, size = [], 0
    while size < limit and (part := await response.content.readany()):
        deadline.progress()
        parts.append(part)
        size += len(part)
    if size >= limit:
        response.close()
    return b"".join(parts)[:limit]
