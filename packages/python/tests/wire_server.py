"""A real HTTP server on a loopback port that records what arrives and answers what the test says."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from threading import Thread
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class WireRequest:
    method: str
    url: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class WireAnswer:
    status: int
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


class _Server(ThreadingHTTPServer):
    def server_bind(self) -> None:
        """Without asking for the name of the machine, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = "localhost", self.server_address[1]


class WireServer:
    """`answer` gives None to cut the connection without a word; each answer takes `seconds`."""

    def __init__(self, answer: Callable[[int], WireAnswer | None], *, seconds: float = 0) -> None:
        self.requests: list[WireRequest] = []
        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            def handle_request(self) -> None:
                text = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                requests.append(WireRequest(self.command, self.path, headers, json.loads(text) if text else None))
                reply = answer(len(requests) - 1)
                time.sleep(seconds)
                if reply is None:
                    self.close_connection = True
                    return
                body = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
                self.send_response(reply.status)
                for name, value in (*reply.headers, ("content-length", str(len(body.encode())))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            do_GET = do_POST = do_PATCH = do_DELETE = handle_request

            def handle_one_request(self) -> None:
                with suppress(BrokenPipeError):  # a client that has stopped waiting
                    super().handle_one_request()

            def log_message(self, format: str, *args: Any) -> None:
                """Standard error is for failures."""

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> WireServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
