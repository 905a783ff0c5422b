"""A server of chat completions on this machine that answers what it is told to answer next."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from invented_calls import SERVED, PlannedCall


class MockServer:
    """Answers chat completions; every other request is answered with an empty object and recorded."""

    def __init__(self) -> None:
        self.next: PlannedCall | None = None
        self.last_model = ""
        self.broken_models: set[str] = set()
        self.requests: list[tuple[str, str, bytes]] = []  # method, path and body
        self.completions = 0
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    @property
    def address(self) -> str:
        """Of the server itself; completions are below /v1."""
        return f"http://127.0.0.1:{self._http.server_port}"

    def answer(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        """Status and answer of a request."""
        if not path.endswith("/chat/completions") or self.next is None:
            return 200, {}
        self.last_model = model = json.loads(body)["model"]
        if self.next.kind == "error" or model in self.broken_models:
            return 400, {"error": {"message": "refused", "type": "invalid_request_error", "code": None, "param": None}}
        self.completions += 1
        choice = {"index": 0, "message": self.next.reply, "finish_reason": self.next.finish_reason}
        return 200, {
            "id": f"chatcmpl-{self.completions}",
            "object": "chat.completion",
            "created": 1_790_000_000 + self.completions,
            "model": model + SERVED,
            "choices": [choice],
            "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
        }


def _handler(server: MockServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def do_PATCH(self) -> None:
            self._answer()

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            server.requests.append((self.command, self.path, body))
            status, answer = server.answer(self.path, body)
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing on the terminal."""

    return Handler
