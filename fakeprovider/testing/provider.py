"""The provider as a test holds it: one for the session, a run for each test or example."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import count
from threading import Lock
from types import EllipsisType, TracebackType
from typing import Any, Unpack

from fakeprovider.errors import ApiError
from fakeprovider.journal import Exchange, Journal
from fakeprovider.server import Server
from fakeprovider.serving.request_context import RequestContext
from fakeprovider.settings import refuse_unknown
from fakeprovider.testing import inline_scripts
from fakeprovider.testing.driving import Drove, checked, drive_command, drive_function
from fakeprovider.testing.inline_scripts import Given, Inline, Mapped
from fakeprovider.testing.problems import left_over
from fakeprovider.testing.run import Options, Run, RunSettings

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

    def run(self, script: Given = "plan", **options: Unpack[Options]) -> Run:
        """A run, to be opened by `with`; after the block its requests are refused with a 400.

        `script` is what the model does: a name, with path parameters if any; replies; a function;
        YAML. `options` are the fields of `RunSettings`: `fault`, `chaos`, `seed`, `strict`,
        `tools`, `check`, `must_strike`, `max_requests`, `environ`, `in_process`, `key`.

        Raises `UnknownScript`, `BadScripts`, `BadFault`, and `TypeError` for what is no script.
        """
        __tracebackhide__ = True
        refuse_unknown("run", options, RunSettings)
        settings = RunSettings(**options)
        inline = inline_scripts.read(script)
        trouble = inline_scripts.trouble_path(settings.fault, settings.chaos, settings.seed)
        server = self._served(settings.strict, settings.in_process)
        key = self._free_key(settings.key or self._key(settings))
        path, turns = self._register(server, inline, settings.tools, key)
        run = Run(
            key,
            path + trouble,
            settings,
            server=server,
            lock=self._at_work,
            forget=self._forget,
            turns_expected=turns,
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
        **options: Unpack[Options],
    ) -> Drove:
        """Run a command, or a function of the run, to its end; `options` are those of `run`.

        A command gets the environment, at most `timeout` seconds (60 if nothing is said, None for
        no limit), and leaves no process behind (POSIX). A function is called in this thread, where
        nothing can end it, and has no timeout. After `max_requests` (100) a command is ended; a
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
        options.setdefault("max_requests", 100)
        with self.run(script, **options) as run:
            run.may_be_refused = True
            if callable(agent):
                return drive_function(agent, run)
            return drive_command(agent, run, _TIMEOUT if timeout is ... else timeout)

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

    def _forget(self, run: Run) -> None:
        """Let go of a run that is over; requests that still come for it are not its own."""
        self._runs.pop(run.key, None)
        for server in self._servers.values():
            server.provider.scripts.remove(_script_name(run.key))
            server.provider.faults.attempts.clear(run.key)

    def _served(self, strict: bool, in_process: bool) -> Server:
        """The server of such runs; one for runs in process is never started."""
        with self._lock:
            server = self._servers.get((strict, in_process))
            if server is None:
                server = Server(strict=strict, journal=self.journal, gate=self._admit)
                if not in_process:
                    self._started.enter_context(server)
                self._servers[strict, in_process] = server
        return server

    def _register(
        self, server: Server, script: Inline | str, tools: Mapped | None, key: str
    ) -> tuple[str, int | None]:
        """The path that leads to the script, and how many turns it has."""
        scripts = server.provider.scripts
        options = ""
        if isinstance(script, str):
            name, semicolon, rest = script.partition(";")
            options = semicolon + rest
            named = scripts[name]
            if tools is None:
                return script, None
            script = Inline(named)
        function = inline_scripts.mapped(script.script, tools) if tools else script.script
        scripts.add(_script_name(key), function)
        return f"{_script_name(key)}{options}", script.turns

    def _key(self, settings: RunSettings) -> str:
        """The run key: what is being tested, and a number, or the seed where it decides."""
        name = _NOT_IN_KEY.sub("-", self._name()).strip("-")[-80:] or "run"
        return f"{name}-chaos{settings.seed}" if settings.chaos else f"{name}-{next(self._numbers)}"

    def _free_key(self, key: str) -> str:
        if key not in self._runs:
            return key
        return next(f"{key}-{n}" for n in count(2) if f"{key}-{n}" not in self._runs)

    def _admit(self, context: RequestContext) -> None:
        run = self._runs.get(context.run)
        if run is None:
            message = f"No run {context.run!r} is open: it ends with its block."
            raise ApiError(400, message, code="run_ended", retry=False)
        run.admit()

    def _note(self, exchange: Exchange) -> None:
        run = self._runs.get(exchange.run)
        if run is not None:
            run.note(exchange)


def _script_name(key: str) -> str:
    return f"inline~{key}"
