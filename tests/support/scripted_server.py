"""An HTTP server on loopback that answers like a model, and misbehaves on purpose; in a thread, or as a program.

Each request is answered by a function ``script(exchange)``: it sees what was asked and how often, and returns an
``Answer``. ``python -m tests.support.scripted_server LATENCY`` prints its port and answers until it is killed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

CHUNK = 7  # bytes of a slow trickle


@dataclass(frozen=True)
class Exchange:
    """One request, and how many of the same body came before it."""

    body: dict[str, Any]
    headers: dict[str, str]
    path: str
    number: int

    @property
    def text(self) -> str:
        """The last message as text."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else json.dumps(content)


@dataclass(frozen=True)
class Answer:
    """What the server does. ``cut_after`` closes the connection after so many bytes; an empty header is left out."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    hang: bool = False
    drop: bool = False
    cut_after: int | None = None
    trickle: float = 0.0


def completion(text: object, *, usage: bool = True, model: str = "small-1", **choice: object) -> Answer:
    """A well-formed answer."""
    message = choice.pop("message", None) or {"role": "assistant", "content": text}
    body: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", **choice}],
    }
    if usage:
        body["usage"] = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}
    return Answer(json.dumps(body).encode())


def error(status: int, message: str = "no", code: str = "", **headers: str) -> Answer:
    """An error in the shape of OpenAI."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(json.dumps({"error": {"message": message, "code": code}}).encode(), status, named)


def echo(exchange: Exchange) -> Answer:
    """A text that depends on the request alone."""
    return completion(
        f"Answer {blake2b(exchange.text.encode(), digest_size=4).hexdigest()}", model=exchange.body["model"]
    )


Script = Callable[[Exchange], Answer]


class ScriptedServer:
    """Counts requests by their body; ``answered`` are those whose answer left completely."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.port = 0
        self.requests: list[Exchange] = []
        self.bodies: Counter[bytes] = Counter()
        self.answered: Counter[bytes] = Counter()
        self.now = 0
        self.most_at_once = 0

    @property
    def url(self) -> str:
        """The base of its interface."""
        return f"http://127.0.0.1:{self.port}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while await self._one(reader, writer):
                    pass
        finally:
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        exchange = Exchange(json.loads(body), headers, lines[0].split(" ")[1], self.bodies[body])
        self.bodies[body] += 1
        self.requests.append(exchange)
        self.now += 1
        self.most_at_once = max(self.most_at_once, self.now)
        try:
            answer = self.script(exchange)
            if answer.delay:
                await asyncio.sleep(answer.delay)
            return await self._send(answer, writer, body)
        finally:
            self.now -= 1

    async def _send(self, answer: Answer, writer: asyncio.StreamWriter, body: bytes) -> bool:
        if answer.hang:
            await asyncio.sleep(3600)
        if answer.drop:
            return False
        headers = {"Content-Type": "application/json", "Content-Length": str(len(answer.body)), **answer.headers}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value)
        writer.write(f"HTTP/1.1 {answer.status} Scripted\r\n{head}\r\n".encode("latin-1"))
        if answer.trickle:
            for at in range(0, len(answer.body), CHUNK):
                writer.write(answer.body[at : at + CHUNK])
                await writer.drain()
                await asyncio.sleep(answer.trickle)
            return True
        writer.write(answer.body[: answer.cut_after])
        await writer.drain()
        if answer.cut_after is not None:
            return False
        if answer.status == 200:
            self.answered[body] += 1
        return True


@contextmanager
def scripted_server(script: Script = echo) -> Iterator[ScriptedServer]:
    """A running server; it ends with the block."""
    server, ready = ScriptedServer(script), threading.Event()
    loop = asyncio.new_event_loop()

    async def start() -> asyncio.Server:
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=512)
        server.port = listening.sockets[0].getsockname()[1]
        return listening

    def run() -> None:
        asyncio.set_event_loop(loop)
        listening = loop.run_until_complete(start())
        loop.call_soon(ready.set)  # not before: a stop that comes before ``run_forever`` would be lost
        loop.run_forever()
        listening.close()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    try:
        yield server
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


class FastProtocol(asyncio.Protocol):
    """The same answer to every request after a fixed time, with as little work as possible: for benchmarks."""

    answer = b""
    latency = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing read."""
        self.transport = transport
        self.read = b""

    def data_received(self, data: bytes) -> None:
        """Answer as soon as a request is complete; the client sends one at a time."""
        self.read += data
        end = self.read.find(b"\r\n\r\n")
        if end < 0:
            return
        at = self.read.lower().find(b"content-length:", 0, end)
        size = int(self.read[at + 15 : self.read.find(b"\r\n", at)])
        if len(self.read) >= end + 4 + size:
            self.read = b""
            asyncio.get_running_loop().call_later(self.latency, self._answer)

    def _answer(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(self.answer)  # type: ignore[attr-defined]


async def serve_fast(latency: float) -> None:
    """Print the port and answer until killed."""
    body = completion("word " * 60).body
    FastProtocol.latency = latency
    FastProtocol.answer = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
        len(body),
        body,
    )
    server = await asyncio.get_running_loop().create_server(FastProtocol, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve_fast(float(sys.argv[1])))
