"""A proxy on loopback that passes everything on to another endpoint and writes it down."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import TypeAlias

import httpx

Record: TypeAlias = Callable[[str, bytes, int, bytes, bool], None]
"""Path, request body, status, response body, whether it was streamed."""

_TIMEOUT = httpx.Timeout(600.0, connect=10.0)
_NOT_PASSED_ON = frozenset(
    {
        "host",
        "connection",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "content-encoding",
        "accept-encoding",
    }
)


class Proxy:
    """Passes requests below `/v1` on to `upstream`, a base URL, and tells `record` of each.

    key: sent in place of the client's own, in the header where that stands; as bearer token if
    there is none; None passes on what the client sends.
    """

    def __init__(self, upstream: str, record: Record, *, key: str | None = None) -> None:
        self.upstream = upstream.rstrip("/")
        self.record = record
        self.key = key
        self._client = httpx.Client(timeout=_TIMEOUT, trust_env=True)
        self._server = _Listener(self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )

    @property
    def base_url(self) -> str:
        """What a client is given as its base URL."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        self._client.close()

    def forward(self, request: _Handler) -> None:
        """Pass one request on, and its response back as it comes."""
        try:
            body = request.read_body()
        except ValueError as error:
            request.fail(400, f"The length of the body is not one: {error}.")
            return
        headers = _passed_on(request.headers.items())
        if self.key is not None:
            headers = with_key(headers, self.key)
        path = request.path.partition("?")[0]
        below = request.path.removeprefix("/v1")
        if not below.startswith("/"):  # or it would go on with the host's name, key and all
            request.fail(404, f"There is nothing at {request.path}.")
            return
        try:
            with self._client.stream(
                request.command, self.upstream + below, headers=headers, content=body
            ) as response:
                answer = b"".join(request.send(response))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            why = f"The upstream did not answer: {str(error) or type(error).__name__}"
            self.record(path, body, 502, why.encode(), False)
            request.fail(502, why)
            return
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        # Before the client sees the end of it, lest it be gone before this is written down.
        self.record(path, body, response.status_code, answer, streamed)
        request.end(response)


def _length(written: str, base: int) -> int:
    """Digits, and no sign."""
    if not written.strip().isalnum():
        raise ValueError(repr(written.strip()[:20]))
    return int(written, base)


def _passed_on(headers: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers that are not about this connection."""
    return [(name, value) for name, value in headers if name.lower() not in _NOT_PASSED_ON]


def with_key(headers: list[tuple[str, str]], key: str) -> list[tuple[str, str]]:
    """The headers with the key in place of any that the client shows."""
    names = {name.lower() for name, _ in headers}
    place = next((name for name in ("x-api-key", "api-key") if name in names), "authorization")
    shown = f"Bearer {key}" if place == "authorization" else key
    return [*(pair for pair in headers if pair[0].lower() not in _KEYS), (place, shown)]


_KEYS = ("authorization", "x-api-key", "api-key")


class _Listener(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do(self) -> None:
        """Any method."""
        assert isinstance(self.server, _Listener)
        self.begun = False
        self._last = self.close_connection
        try:
            self.server.proxy.forward(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the client left: nothing to write down

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do

    def read_body(self) -> bytes:
        """The whole request body, chunked or not; raises ValueError for a length that is none."""
        self.close_connection = True  # unless it ends well: what follows is no request
        if "chunked" not in self.headers.get("transfer-encoding", ""):
            body = self.rfile.read(_length(self.headers.get("content-length", "0"), 10))
            self.close_connection = self._last
            return body
        chunks = []
        while size := _length(self.rfile.readline().decode("latin-1").split(";")[0], 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        self.close_connection = self._last
        return b"".join(chunks)

    def send(self, response: httpx.Response) -> Iterator[bytes]:
        """Send a response on, piece by piece; yields what was sent."""
        self.begun = True
        self.send_response_only(response.status_code)
        for name, value in _passed_on(list(response.headers.items())):
            self.send_header(name, value)
        if self._has_body(response):
            self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for piece in response.iter_bytes():
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
                yield piece

    def end(self, response: httpx.Response) -> None:
        """Say that the response is over."""
        if self._has_body(response):
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()

    def _has_body(self, response: httpx.Response) -> bool:
        return self.command != "HEAD" and response.status_code not in (204, 304)

    def fail(self, status: int, why: str) -> None:
        """Say why there is no response; break one off that has begun."""
        if self.begun:
            self.close_connection = True
            return
        error = {"message": why, "type": "upstream_error"}
        body = json.dumps({"error": error}).encode()
        self.send_response_only(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: stdout and stderr are the command's."""
