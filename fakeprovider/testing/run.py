"""One run of an agent against the provider: where to point it, what it did, what to assert."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from threading import Condition
from types import TracebackType
from typing import TYPE_CHECKING, Any

from msgspec import structs

from fakeprovider.driving.gates import RunTotals
from fakeprovider.errors import ApiError, counted
from fakeprovider.journal import Exchange, Usage
from fakeprovider.testing.problems import problems, shown_name, transcript
from fakeprovider.verdict import ClauseResult, Facts, verdict

if TYPE_CHECKING:
    from fakeprovider.server import Server
    from fakeprovider.testing.provider import FakeProvider
    from fakeprovider.testing.transport import InProcess

_MOMENT = 1.0  # seconds


class Run:
    """What `FakeProvider.run` gives: open until its `with` block ends.

    `key` is its run key, `script` the script's name in the provider, `turns_expected` how many
    turns the script has (None: it does not say).
    """

    def __init__(
        self,
        provider: FakeProvider,
        key: str,
        script: str,
        *,
        turns_expected: int | None = None,
        strict: bool = True,
        check: bool = True,
        must_strike: bool = True,
        max_requests: int | None = None,
        environ: bool = True,
        in_process: bool = False,
    ) -> None:
        self.key = key
        self.script = script
        self.turns_expected = turns_expected
        self.strict = strict
        self.in_process = in_process
        self.refused = 0
        self.opened = False
        self.last_words = ""  # of a command that was driven
        self.may_be_refused = False  # somebody else tells of it, and of the turns that it cost
        self._provider = provider
        self._check = check
        self.must_strike = must_strike
        self._max_requests = max_requests
        self._admitted = 0
        self.sets_environ = environ and not in_process
        self._before: dict[str, str | None] = {}
        self._in_process: InProcess | None = None
        self._exchanges: list[Exchange] = []
        self._changed = Condition()
        self.on_refusal: Callable[[str], None] | None = None

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return self._provider.server(self.strict, self.in_process).url_for(
            self.script, run=self.key
        )

    @property
    def _server(self) -> Server:
        return self._provider.server(self.strict, self.in_process)

    @property
    def anthropic_base_url(self) -> str:
        """What an Anthropic client takes as its base URL: it adds the version itself."""
        return self.base_url.removesuffix("/v1")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point the usual SDKs here, for a process of your own."""
        from fakeprovider.driving.command_run import environment

        return environment(
            self._provider.server(self.strict, self.in_process), self.script, self.key
        )

    @property
    def transport(self) -> InProcess:
        """The provider as an httpx transport, sync and async, with no socket in between.

        For `httpx.Client(transport=run.transport)` and thousands of examples; a streamed body
        arrives in one piece. Raises `RuntimeError` for a run that is not in process.
        """
        if not self.in_process:
            raise RuntimeError("this run is served over a socket; open it with in_process=True")
        if self._in_process is None:
            from fakeprovider.testing.transport import InProcess

            app, lock = self._provider.app(self.strict)
            self._in_process = InProcess(app, lock)
        return self._in_process

    @property
    def requests(self) -> list[Exchange]:
        """What was asked and answered so far, oldest first.

        A request is journalled when its reply is out; those under way are waited for, a moment.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._admitted == len(self._exchanges), _MOMENT)
            return list(self._exchanges)

    @property
    def admitted(self) -> int:
        """How many requests have come in, those under way included."""
        return self._admitted

    @property
    def tally(self) -> RunTotals:
        """The requests counted: turns, retries, errors, tokens."""
        totals = RunTotals()
        for exchange in self.requests:
            totals.add(exchange)
        return totals

    @property
    def usage(self) -> Usage:
        """The tokens that were reported, added up."""
        told = [exchange.usage for exchange in self.requests if exchange.usage is not None]
        return Usage(
            sum(one.prompt_tokens for one in told),
            sum(one.completion_tokens for one in told),
            sum(one.cached_tokens for one in told),
            sum(one.reasoning_tokens for one in told),
            sum(one.cache_write_tokens for one in told),
        )

    def verdict(
        self, facts: Facts | None = None, *, only: Collection[str] = ()
    ) -> list[ClauseResult]:
        """How the agent took it, clause by clause; `facts` are what the wire cannot show."""
        return verdict(self.requests, facts or Facts(ended=self._ended()), only=only)

    def transcript(self) -> str:
        """The run in short: a line per request, with tokens."""
        return transcript(self.requests)

    def assert_turns(self, least: int, most: int | None = None) -> None:
        """So many turns were taken, or `least` to `most`; raises `AssertionError`."""
        __tracebackhide__ = True
        turns, most = self.tally.turns, least if most is None else most
        if not least <= turns <= most:
            told = f"{least}" if least == most else f"{least} to {most}"
            were = "was" if turns == 1 else "were"
            self._fail(f"{counted(turns, 'turn')} {were} taken, expected {told}")

    def assert_called(self, tool: str, *, times: int | None = None) -> None:
        """The model asked for this tool, `times` times (None: at least once)."""
        __tracebackhide__ = True
        called = [name for one in self.requests if not one.broken for name in one.tools]
        count = called.count(tool)
        if (times is None and not count) or (times is not None and count != times):
            told = "at least once" if times is None else f"{times} times"
            names = ", ".join(f"{name} × {called.count(name)}" for name in dict.fromkeys(called))
            self._fail(
                f"{tool!r} was called {count} times, expected {told}; called were: {names or '-'}"
            )

    def assert_no_violations(self) -> None:
        """Every transcript was one that the real service takes; raises `AssertionError`."""
        __tracebackhide__ = True
        found = self.tally.violations
        if found:
            self._fail("the transcript broke the service's rules:\n  " + "\n  ".join(found))

    def finish(self) -> None:
        """Check what is checked at the end of the block; raises `AssertionError` with names."""
        __tracebackhide__ = True
        if self._check:
            self._check = False
            found = problems(self)
            if found:
                self._fail("\n".join(found))

    def admit(self) -> None:
        """Let a request in; raises `ApiError` where there were enough."""
        with self._changed:
            self._admitted += 1
            enough = self._max_requests is not None and self._admitted > self._max_requests
            self.refused += enough
        if enough:
            told = f"its {counted(self._max_requests or 0, 'request')} (max_requests)"
            if self.on_refusal is not None:
                self.on_refusal(told)
            raise ApiError(400, f"This run has had {told}.", code="run_ended", retry=False)

    def note(self, exchange: Exchange) -> None:
        """Take in an exchange that is over; within the run they are numbered from 1."""
        with self._changed:
            number = len(self._exchanges) + 1
            self._exchanges.append(structs.replace(exchange, number=number))
            self._changed.notify_all()

    def open(self) -> None:
        """Set the environment, remembering what was there."""
        self.opened = True
        if self.sets_environ:
            self._set(self.environment)

    def close(self) -> None:
        """Put the environment back and forget the script; the journal stays."""
        self._restore()
        self.requests  # noqa: B018 - those under way are waited for
        if self._in_process is not None:
            self._in_process.end()
        self._provider.forget(self)

    def __enter__(self) -> Run:
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        __tracebackhide__ = True
        self.close()
        if error is None:
            self.finish()
            return
        for one in problems(self) if self._check and isinstance(error, Exception) else ():
            error.add_note(f"fakeprovider: {one}")

    def _ended(self) -> bool | None:
        return False if self.refused else None

    def _fail(self, message: str) -> None:
        __tracebackhide__ = True
        raise AssertionError(f"{shown_name(self.script)}: {message}")

    def _set(self, variables: Mapping[str, str]) -> None:
        for name, value in variables.items():
            self._before[name] = os.environ.get(name)
            os.environ[name] = value

    def _restore(self) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self._before = {}

    def __repr__(self) -> str:
        tally: Any = self.tally
        return (
            f"<Run {self.key!r} of {shown_name(self.script)}: {counted(tally.requests, 'request')}>"
        )
