"""The provider as a test holds it: one for the session, a run for each test or example."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from threading import Lock
from types import EllipsisType, TracebackType
from typing import Any

from fakeprovider.errors import ApiError
from fakeprovider.journal import Exchange, Journal
from fakeprovider.server import Server
from fakeprovider.serving.app import App
from fakeprovider.serving.request_context import RequestContext
from fakeprovider.testing import inline_scripts
from fakeprovider.testing.driving import Drove, checked, drive_command, drive_function
from fakeprovider.testing.inline_scripts import Faults, Given, Inline, Mapped
from fakeprovider.testing.problems import left_over
from fakeprovider.testing.run import Run

_TIMEOUT = 60.0  # seconds of a command
_KEPT = 3  # finished runs that a failure report shows
_NOT_IN_KEY = re.compile(r"[^A-Za-z0-9_.-]+")


class FakeProvider:
    """A provider on a free port of loopback, started when it is first needed.

    `name` says what is being tested right now, for run keys. Used as the `fake_provider` fixture,
    or by itself:

        with FakeProvider() as provider, provider.run("runaway") as run:
            agent(run.base_url)
    """

    def __init__(self, name: Callable[[], str] = lambda: "run") -> None:
        self.journal = Journal(keep=1000, watch=self._note)
        self.recent: deque[Run] = deque(maxlen=_KEPT)
        self._name = name
        self._numbers = count(1)
        self._runs: dict[str, Run] = {}
        self._servers: dict[tuple[bool, bool], Server] = {}
        self._started = ExitStack()
        self._lock = Lock()
        self._at_work = Lock()

    def run(
        self,
        script: Given = "plan",
        *,
        fault: Faults | None = None,
        chaos: float | None = None,
        seed: int = 0,
        strict: bool = True,
        tools: Mapped | None = None,
        check: bool = True,
        must_strike: bool = True,
        max_requests: int | None = None,
        environ: bool = True,
        in_process: bool = False,
        key: str = "",
    ) -> Run:
        """A run, to be opened by `with`; after the block its requests are refused with a 400.

        `script` is what the model does: a name, with path parameters if any; replies; a function;
        YAML. `fault` goes wrong by name, `chaos` (a share of attempts, 0 to 1) at random by `seed`,
        the same each time for one `key`. `strict` off serves broken transcripts. `tools` maps the
        script's tools to yours. `max_requests` are answered, more refused with a 400.

        At the end of the block an unanswered request, a turn of the script that was never asked
        for, a fault that never struck, a violation, or no request at all raise `AssertionError`,
        unless `check` is off. `must_strike` off lets pass a fault that had no occasion, such as one
        that Hypothesis drew.
        `environ` sets `LLM_BASE_URL`, `OPENAI_BASE_URL` and their like for the block; with
        `in_process` there is no server, and `run.transport` is the way in.

        Raises `UnknownScript`, `BadScripts`, `BadFault`, and `TypeError` for what is no script.
        """
        __tracebackhide__ = True
        if max_requests is not None and max_requests < 0:
            raise ValueError(f"max_requests={max_requests}: must be 0 or more")
        given = inline_scripts.read(script)
        wrong = inline_scripts.fault_path(fault) + inline_scripts.chaos_path(chaos, seed)
        server = self._served(strict, in_process)
        key = self._free_key(key or self._key(chaos, seed))
        path, turns = self._register(server, given, tools, key)
        run = Run(
            self,
            key,
            path + wrong,
            turns_expected=turns,
            strict=strict,
            check=check,
            must_strike=must_strike,
            max_requests=max_requests,
            environ=environ,
            in_process=in_process,
        )
        self._runs[key] = run
        self.recent.append(run)
        return run

    def drive(
        self,
        agent: Sequence[str] | Callable[[Run], Any],
        script: Given = "plan",
        *,
        timeout: float | EllipsisType | None = ...,
        max_requests: int | None = 100,
        **options: Any,
    ) -> Drove:
        """Run a command, or a function of the run, to its end; `options` are those of `run`.

        A command gets the environment, at most `timeout` seconds (60 if nothing is said, None for
        no limit), and leaves no process behind (POSIX). A function is called in this thread, where
        nothing can end it, and has no timeout. After `max_requests` a command is ended; a
        function's requests are refused, and what it raises then is kept in the result. That is for
        the result to say (`Drove.stopped`) and no `AssertionError`.

        Raises what `run` does, and `TypeError` for what is no agent or cannot have a timeout.
        """
        __tracebackhide__ = True
        if not callable(agent):
            agent = checked(agent)
        elif timeout is not ...:
            raise TypeError(
                "a function is called in this thread and has no timeout; max_requests ends it, or "
                "make it a command"
            )
        with self.run(script, max_requests=max_requests, **options) as run:
            run.may_be_refused = True
            if callable(agent):
                return drive_function(agent, run)
            return drive_command(agent, run, _TIMEOUT if timeout is ... else timeout)

    def server(self, strict: bool = True, in_process: bool = False) -> Server:
        """The server of such runs; one for runs in process is never started."""
        return self._servers[strict, in_process]

    def app(self, strict: bool = True) -> tuple[App, Lock]:
        """The provider of runs in process as an ASGI application, and the lock that guards it."""
        return self._servers[strict, True].app, self._at_work

    def forget(self, run: Run) -> None:
        """Let go of a run that is over; requests that still come for it are not its own."""
        self._runs.pop(run.key, None)
        for server in self._servers.values():
            server.provider.scripts.remove(_script_name(run.key))
            server.provider.faults.attempts.clear(run.key)

    def open_runs(self) -> list[Run]:
        """The runs that nobody has closed so far, oldest first."""
        return list(self._runs.values())

    def close_left(self, runs: Sequence[Run]) -> str:
        """Close runs that nobody closed, the last one first; says which, "" for none."""
        for run in reversed(runs):
            run.close()
        return left_over(runs)

    def close(self) -> None:
        """Close what is open, and stop the servers; raises `AssertionError` for a run left open."""
        __tracebackhide__ = True
        left = self.close_left(self.open_runs())
        self._started.close()
        self.journal.close()
        if left:
            raise AssertionError(left)

    def __enter__(self) -> FakeProvider:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        try:
            self.close()
        except AssertionError as left:
            if error is None:
                raise
            error.add_note(f"fakeprovider: {left}")

    def _served(self, strict: bool, in_process: bool) -> Server:
        with self._lock:
            server = self._servers.get((strict, in_process))
            if server is None:
                server = Server(strict=strict, journal=self.journal, gate=self._admit)
                if not in_process:
                    self._started.enter_context(server)
                self._servers[strict, in_process] = server
        return server

    def _register(
        self, server: Server, given: Inline | str, tools: Mapped | None, key: str
    ) -> tuple[str, int | None]:
        """The path that leads to the script, and how many turns it has."""
        scripts = server.provider.scripts
        if isinstance(given, str):
            name, semicolon, options = given.partition(";")
            script = scripts[name]
            if tools is None:
                return given, None
            given = Inline(script)
        else:
            semicolon = options = ""
        script = inline_scripts.mapped(given.script, tools) if tools else given.script
        scripts.add(_script_name(key), script)
        return f"{_script_name(key)}{semicolon}{options}", given.turns

    def _key(self, chaos: float | None, seed: int) -> str:
        told = _NOT_IN_KEY.sub("-", self._name()).strip("-")[-80:] or "run"
        return f"{told}-chaos{seed}" if chaos else f"{told}-{next(self._numbers)}"

    def _free_key(self, key: str) -> str:
        if key not in self._runs:
            return key
        return next(f"{key}-{n}" for n in count(2) if f"{key}-{n}" not in self._runs)

    def _admit(self, context: RequestContext) -> None:
        run = self._runs.get(context.run)
        if run is None:
            told = f"No run {context.run!r} is open: it ends with its block."
            raise ApiError(400, told, code="run_ended", retry=False)
        run.admit()

    def _note(self, exchange: Exchange) -> None:
        run = self._runs.get(exchange.run)
        if run is not None:
            run.note(exchange)


def _script_name(key: str) -> str:
    return f"inline~{key}"
