"""One run of an agent against the provider: where to point it, what it did, what to assert."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from threading import Condition, Lock
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict

from msgspec import structs

from fakeprovider.driving.command_run import environment
from fakeprovider.driving.gates import RunTotals
from fakeprovider.errors import ApiError, counted
from fakeprovider.journal import Exchange, Usage
from fakeprovider.server import Server
from fakeprovider.testing.inline_scripts import Faults, Mapped
from fakeprovider.testing.problems import problems, shown_name, transcript
from fakeprovider.verdict import ClauseResult, Facts, verdict

if TYPE_CHECKING:
    from fakeprovider.testing.transport import InProcess

_MOMENT = 1.0  # seconds


class Options(TypedDict, total=False):
    """The settings of a run as keyword arguments; `RunSettings` says what each of them is."""

    fault: Faults | None
    chaos: float | None
    seed: int
    strict: bool
    tools: Mapped | None
    check: bool
    must_strike: bool
    max_requests: int | None
    environ: bool
    in_process: bool
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """How a run is played and what is checked at its end.

    `fault` goes wrong by name, `chaos` (a share of attempts, 0 to 1) at random by `seed`, the same
    each time for one `key`. `strict` off serves broken transcripts. `tools` maps the script's tools
    to yours. `max_requests` are answered, more refused with a 400.

    At the end of the block an unanswered request, a turn of the script that was never asked for, a
    fault that never struck, a violation, or no request at all raise `AssertionError`, unless
    `check` is off. `must_strike` off lets pass a fault that had no occasion, such as one that
    Hypothesis drew. `environ` sets `LLM_BASE_URL`, `OPENAI_BASE_URL` and their like for the block;
    with `in_process` there is no server, and `run.transport` is the way in.
    """

    fault: Faults | None = None
    chaos: float | None = None
    seed: int = 0
    strict: bool = True
    tools: Mapped | None = None
    check: bool = True
    must_strike: bool = True
    max_requests: int | None = None
    environ: bool = True
    in_process: bool = False
    key: str = ""

    def __post_init__(self) -> None:
        if self.max_requests is not None and self.max_requests < 0:
            raise ValueError(f"max_requests={self.max_requests}: must be 0 or more")

    @property
    def sets_environ(self) -> bool:
        """Whether the environment points to the provider while the run is open."""
        return self.environ and not self.in_process


class Run:
    """What `FakeProvider.run` gives: open until its `with` block ends.

    `key` is its run key, `script` the script's name in the provider, `turns_expected` how many
    turns the script has (None: it does not say). `server` answers it; in process, one request at a
    time by `lock`. `forget` is called when it is over.
    """

    def __init__(
        self,
        key: str,
        script: str,
        settings: RunSettings,
        *,
        server: Server,
        lock: Lock,
        forget: Callable[[Run], None],
        turns_expected: int | None = None,
    ) -> None:
        self.key = key
        self.script = script
        self.settings = settings
        self.turns_expected = turns_expected
        self.refused = 0
        self.opened = False
        self.last_words = ""  # of a command that was driven
        self.may_be_refused = False  # somebody else tells of it, and of the turns that it cost
        self.on_refusal: Callable[[str], None] | None = None
        self._server = server
        self._lock = lock
        self._forget = forget
        self._check = settings.check
        self._admitted = 0
        self._before: dict[str, str | None] = {}
        self._in_process: InProcess | None = None
        self._exchanges: list[Exchange] = []
        self._changed = Condition()

    @property
    def strict(self) -> bool:
        """Whether broken transcripts are refused."""
        return self.settings.strict

    @property
    def must_strike(self) -> bool:
        """Whether a fault that never struck fails the run."""
        return self.settings.must_strike

    @property
    def in_process(self) -> bool:
        """Whether `transport` is the way in, without a server."""
        return self.settings.in_process

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return self._server.url_for(self.script, run=self.key)

    @property
    def anthropic_base_url(self) -> str:
        """What an Anthropic client takes as its base URL: it adds the version itself."""
        return self.base_url.removesuffix("/v1")

    @property
    def environment(self) -> dict[str, str]:
        """The variables that point the usual SDKs here, for a process of your own."""
        return environment(self._server, self.script, self.key)

    @property
    def transport(self) -> InProcess:
        """The provider as an httpx transport, sync and async, with no socket in between.

        For `httpx.Client(transport=run.transport)` and thousands of examples; a streamed body
        arrives in one piece. Raises `RuntimeError` for a run that is not in process.
        """
        if not self.in_process:
            raise RuntimeError("this run is served over a socket; open it with in_process=True")
        if self._in_process is None:
            from fakeprovider.testing.transport import InProcess  # loads httpx

            self._in_process = InProcess(self._server.app, self._lock)
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
        reported = [exchange.usage for exchange in self.requests if exchange.usage is not None]
        return Usage(
            *(sum(getattr(usage, field) for usage in reported) for field in Usage.__struct_fields__)
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
            expected = f"{least}" if least == most else f"{least} to {most}"
            were = "was" if turns == 1 else "were"
            self._fail(f"{counted(turns, 'turn')} {were} taken, expected {expected}")

    def assert_called(self, tool: str, *, times: int | None = None) -> None:
        """The model asked for this tool, `times` times (None: at least once)."""
        __tracebackhide__ = True
        called = [
            name for exchange in self.requests if not exchange.broken for name in exchange.tools
        ]
        count = called.count(tool)
        if (times is None and not count) or (times is not None and count != times):
            expected = "at least once" if times is None else f"{times} times"
            names = ", ".join(f"{name} × {called.count(name)}" for name in dict.fromkeys(called))
            self._fail(
                f"{tool!r} was called {count} times, expected {expected}; "
                f"called were: {names or '-'}"
            )

    def assert_no_violations(self) -> None:
        """Every transcript was one that the real service takes; raises `AssertionError`."""
        __tracebackhide__ = True
        violations = self.tally.violations
        if violations:
            rules = "\n  ".join(violations)
            self._fail(f"the transcript broke the service's rules:\n  {rules}")

    def finish(self) -> None:
        """Check what is checked at the end of the block; raises `AssertionError` with names."""
        __tracebackhide__ = True
        if self._check:
            self._check = False
            wrong = problems(self)
            if wrong:
                self._fail("\n".join(wrong))

    def admit(self) -> None:
        """Let a request in; raises `ApiError` where there were enough."""
        with self._changed:
            self._admitted += 1
            limit = self.settings.max_requests
            if limit is None or self._admitted <= limit:
                return
            self.refused += 1
        reason = f"its {counted(limit, 'request')} (max_requests)"
        if self.on_refusal is not None:
            self.on_refusal(reason)
        raise ApiError(400, f"This run has had {reason}.", code="run_ended", retry=False)

    def note(self, exchange: Exchange) -> None:
        """Take in an exchange that is over; within the run they are numbered from 1."""
        with self._changed:
            number = len(self._exchanges) + 1
            self._exchanges.append(structs.replace(exchange, number=number))
            self._changed.notify_all()

    def open(self) -> None:
        """Set the environment, remembering what was there."""
        self.opened = True
        if self.settings.sets_environ:
            self._set(self.environment)

    def close(self) -> None:
        """Put the environment back and forget the script; the journal stays."""
        self._restore()
        self.requests  # noqa: B018 - those under way are waited for
        if self._in_process is not None:
            self._in_process.end()
        self._forget(self)

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
        if self._check and isinstance(error, Exception):
            for problem in problems(self):
                error.add_note(f"fakeprovider: {problem}")

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
        requests = counted(self.tally.requests, "request")
        return f"<Run {self.key!r} of {shown_name(self.script)}: {requests}>"
