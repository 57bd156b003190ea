"""The provider as a running server: in a thread of this process, or as the process itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from errno import EADDRINUSE
from pathlib import Path
from types import FrameType, TracebackType
from typing import Unpack
from urllib.parse import quote

import uvicorn

from fakeprovider.delivery.transport import protocol_class
from fakeprovider.journal import Journal
from fakeprovider.scripts import Script, discover
from fakeprovider.serving.app import App
from fakeprovider.serving.provider import Provider
from fakeprovider.settings import Options, Settings, check_script, refuse_unknown

_GRACE = 0.25  # seconds that open streams have to end once the server is told to stop
_BACKLOG = 2048
_KEEP_ALIVE = 120  # seconds; longer than any client's pool, so that no request meets a closing one


class PortInUse(OSError):
    """The server cannot listen there."""


class Server:
    """A provider listening on loopback, run in a thread of its own.

    `script` is what answers where neither path nor model names one: a name, or a function. `port` 0
    takes a free one. `journal` is a file to append to, or a `Journal`, which is left open.
    `settings` are a provider's settings; all other arguments are those of `Settings`, and go before
    them. Raises what `Settings` does, `UnknownScript`, `BadFault`, and `PortInUse` when it starts.

        with Server("runaway") as server:
            client = OpenAI(base_url=server.base_url, api_key="any")
    """

    def __init__(
        self,
        script: str | Script | None = "plan",
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        journal: Journal | Path | str | None = None,
        settings: Settings | None = None,
        **options: Unpack[Options],
    ) -> None:
        check_script(script)
        refuse_unknown("Server", options, Settings)
        settings = replace(settings or Settings(), **options)
        self._owns_journal = not isinstance(journal, Journal)
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self.host = host
        self.port = port
        named, default = _named(script)
        registry = discover({**(settings.scripts or {}), **named})
        if default is not None:
            registry[default]
        self.provider = Provider(registry, settings, default=default)
        self._app = App(self.provider, self.journal)
        self._running: _Running | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where the server is, without a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL; the default script answers."""
        return self.url_for()

    @property
    def app(self) -> App:
        """The provider as an ASGI application."""
        return self._app

    def url_for(self, script: str = "", *, run: str = "") -> str:
        """The base URL for a script, and for a run key; "" leaves either out."""
        parts = [f"~{quote(run, safe='')}"] if run else []
        if script:
            parts.append(quote(script, safe=";=,"))
        return "/".join([self.url, *parts, "v1"])

    def start(self) -> None:
        """Listen, and return once requests are answered."""
        listening = self._listen()
        self._running = _Running(self._app)
        self._thread = threading.Thread(
            target=self._running.run_on, args=(listening,), name="fakeprovider", daemon=True
        )
        self._thread.start()
        self._running.up.wait()
        if not self._running.started:
            raise RuntimeError(f"the server at {self.url} did not start; its thread says why")

    def stop(self) -> None:
        """Stop answering: open streams get a moment, then their connections are closed."""
        if self._running is not None and self._thread is not None:
            self._running.leave()
            self._thread.join()
        self._running = self._thread = None
        self._close_journal()

    def _close_journal(self) -> None:
        """Close the journal, unless it is somebody else's."""
        if self._owns_journal:
            self.journal.close()

    def serve(self, ready: Callable[[], None] | None = None) -> None:
        """Run in this thread until SIGINT or SIGTERM; `ready` is called once it listens."""
        listening = self._listen()
        self._running = _Running(self._app, ready)
        self._running.run_on(listening)
        self._close_journal()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _listen(self) -> socket.socket:
        """The listening socket, whose port is ours from now on; raises `PortInUse`."""
        try:
            listening = _open(self.host, self.port)
        except OSError as error:
            why = f"cannot listen on {self.host}:{self.port}: {error.strerror or error}"
            hint = "; choose another --port (0 takes a free one)"
            raise PortInUse(why + (hint if error.errno == EADDRINUSE else "")) from error
        self.port = listening.getsockname()[1]
        return listening


def _open(host: str, port: int) -> socket.socket:
    """A socket that listens; raises OSError."""
    # The protocol is named: asyncio turns Nagle's delay off only where it sees TCP. Without that,
    # and without uvloop, every reply of two writes waits 40 ms for the client's acknowledgement.
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = addresses[0]
    listening = socket.socket(family, kind, protocol)
    try:
        if os.name == "posix":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _named(script: str | Script | None) -> tuple[dict[str, Script], str | None]:
    """A function as a script by name, if it is one; and the name of the default script."""
    if script is None or isinstance(script, str):
        return {}, script
    name = getattr(script, "__name__", "script").replace("<lambda>", "script")
    return {name: script}, name


class _Running(uvicorn.Server):
    """uvicorn, but it says when it is up, stops at once, and exits 0 on a signal."""

    def __init__(self, app: App, ready: Callable[[], None] | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=protocol_class(),
                lifespan="off",
                ws="none",
                access_log=False,
                log_config=None,
                proxy_headers=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=_KEEP_ALIVE,
                timeout_graceful_shutdown=5,
            )
        )
        self.up = threading.Event()
        self._ready = ready
        self._loop: asyncio.AbstractEventLoop | None = None
        self._leaving = asyncio.Event()

    def run_on(self, listening: socket.socket) -> None:
        """Serve on a listening socket until told to leave."""
        try:
            with asyncio.Runner(loop_factory=_new_loop()) as runner:
                runner.run(self.serve(sockets=[listening]))
        finally:
            self.up.set()

    def leave(self) -> None:
        """Ask the server to stop, from any thread."""
        self.should_exit = True
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has stopped by itself
                self._loop.call_soon_threadsafe(self._leaving.set)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        self.up.set()
        if self._ready is not None:  # signals are taken by now
            self._ready()

    async def main_loop(self) -> None:
        """Tick as uvicorn does, but wake up when asked to leave."""
        counter = 0
        while not await self.on_tick(counter):
            counter = (counter + 1) % 864_000
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), 0.1)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Give open streams a moment, then close their connections under them."""
        assert self._loop is not None
        if not self.server_state.connections and not self.server_state.tasks:
            await self._close_listening(sockets or [])  # uvicorn would first sleep for 0.1 s
            return
        self._loop.call_later(_GRACE, self._abort)
        await super().shutdown(sockets)

    async def _close_listening(self, sockets: list[socket.socket]) -> None:
        for server in self.servers:
            server.close()
        for listening in sockets:
            listening.close()
        for server in self.servers:
            await server.wait_closed()

    def _abort(self) -> None:
        for connection in list(self.server_state.connections):
            transport = getattr(connection, "transport", None)
            if transport is not None:
                transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave on SIGINT or SIGTERM, without raising the signal again afterwards."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit)
            for number in uvicorn.server.HANDLED_SIGNALS
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal came."""
        self.leave()


def _new_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop's, where the platform has it."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
