"""Stop pressed while a tool that takes three seconds runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

import click
import msgspec

from fakeprovider_bench.options import SECONDS, Options, bench_command
from fakeprovider_bench.report import Report, Row
from fakeprovider_bench.runner import Shared, to_row
from fakeprovider_bench.session import open_shared, report_of, show
from fakeprovider_harness import Cancel, MaxTurns, RunState, Status, arun
from fakeprovider_harness.models import CancelSignal, Message, Model, ModelReply, ToolSpec
from fakeprovider_harness.trace import Event, ToolEnd, ToolProgress
from fakeprovider_scenarios import find

CAP = MaxTurns(20)
AT = 1.2  # seconds
PUBLISHED = "published for the original harness: cancelled at 1202 ms, uncancelled 3015 ms."
REASON = "user pressed Stop"


@bench_command()
@click.option(
    "--at",
    type=SECONDS,
    default=AT,
    show_default=True,
    help="Seconds after the start of the run at which Stop is pressed.",
)
def cancel(at: float, options: Options) -> None:
    """Stop pressed while a tool that takes three seconds runs.

    \b
    uncancelled    the tool runs to its end and the run completes
    cancelled      one signal reaches the tool: the run ends at once, resumably
    request only   the signal reaches the model client but not the tool, which runs to its end
    too late       the run had ended by itself before Stop was pressed (--at 99)

    With --at 0 Stop comes while a request is in flight: nobody knows what it used, so it is charged
    at the most that it can have been, and marked with ~.
    """
    show(report(options, at), options)


def report(options: Options, at: float = AT) -> Report:
    """The rows of this scenario."""
    presses = [("uncancelled", None, True), ("cancelled", at, True), ("request only", at, False)]
    with open_shared("cancel", options, find("slow")) as shared:
        rows = [
            _row(name, shared, when, reaches_tool=reaches_tool)
            for name, when, reaches_tool in shared.line.each(presses, lambda press: press[0])
        ]
    return report_of("cancel", rows, options, [_labels(rows, at), PUBLISHED])


def _row(name: str, shared: Shared, at: float | None, *, reaches_tool: bool) -> Row:
    scenario = find("slow")
    watch = Watch(shared)
    signal = Cancel()
    with scenario.workspace() as workspace:
        state = RunState.start(scenario.task, system=shared.padding + scenario.system)

        async def drive() -> None:
            client = shared.endpoint.model(scenario.script)
            model = client if reaches_tool else RequestOnly(client, signal)
            loop = asyncio.get_running_loop()
            timer = None if at is None else loop.call_later(at, signal.set, REASON)
            await arun(
                state,
                model=model,
                tools=scenario.tools(workspace),
                stop=CAP,
                price=shared.price,
                trace=watch,
                cancel=signal if reaches_tool else None,
            )
            if timer is not None:
                timer.cancel()
            await client.aclose()

        asyncio.run(drive())
        row = to_row(name, state, workspace, watch.now(), watch.tool_ms)
    extra = {
        "stopped at ms": round(watch.now()),
        "reason": state.reason,
        "progress at ms": [round(at) for at, _ in watch.progress],
    }
    return msgspec.structs.replace(row, policy=_outcome(name, at, row), extra=extra)


def _outcome(name: str, at: float | None, row: Row) -> str:
    """The row's name: where Stop came after the end, nothing was cancelled."""
    late = at is not None and row.status == Status.COMPLETED
    return f"{name}: too late" if late else name


class Watch:
    """Passes the trace on and notes, in ms since it was made, when the tool told its progress."""

    def __init__(self, shared: Shared) -> None:
        self._onward = shared.trace
        self._started = time.perf_counter()
        self.progress: list[tuple[float, str]] = []
        self.tool_ms = 0.0

    def now(self) -> float:
        """Milliseconds since the start."""
        return (time.perf_counter() - self._started) * 1000

    def __call__(self, event: Event) -> None:
        if isinstance(event, ToolProgress):
            self.progress.append((self.now(), event.label))
        elif isinstance(event, ToolEnd):
            self.tool_ms += event.ms
        self._onward(event)


class RequestOnly:
    """A model client that hears the signal while nothing else of the run does."""

    def __init__(self, model: Model, signal: Cancel) -> None:
        self.name = model.name
        self._model = model
        self._signal = signal

    async def ask(
        self,
        messages: Sequence[Message],
        tools: Sequence[ToolSpec],
        *,
        max_output: int | None = None,
        cancel: CancelSignal | None = None,
        on_text: Callable[[str], None] | None = None,
    ) -> ModelReply:
        """Ask with the signal in place of the run's own."""
        return await self._model.ask(
            messages, tools, max_output=max_output, cancel=self._signal, on_text=on_text
        )

    async def aclose(self) -> None:
        """Close the client."""
        await self._model.aclose()


def _labels(rows: list[Row], at: float) -> str:
    whole, cut = (len(row.extra["progress at ms"]) for row in rows[:2])
    left_alone = f"progress seen: {whole} times when left alone"
    if rows[1].status == Status.COMPLETED:
        return f"{left_alone}; the run ended by itself before Stop was pressed at {at:g} s."
    return f"{left_alone}, {cut} times before Stop at {at:g} s."
