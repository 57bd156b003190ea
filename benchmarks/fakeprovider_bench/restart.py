"""A run in a process of its own, which can be told to die: the child of `bench resume`.

`python -P -m fakeprovider_bench.restart` reads a `Spec` as JSON from standard input; the run is
kept in a store, so that another such process goes on where this one ended.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from fakeprovider_harness import Condition, JsonlTrace, MaxTurns, RunState, Stop, Store, run
from fakeprovider_harness.budget.charging import Price
from fakeprovider_harness.models import make_model
from fakeprovider_scenarios import Workspace, find

CAP = 20


class Spec(msgspec.Struct, frozen=True):
    """What the child is told: where to talk to, where things are kept, when to die."""

    scenario: str
    base_url: str
    root: str
    run_id: str
    price_in: str
    price_out: str
    protocol: str = "chat"
    stream: bool = False
    model: str = ""
    padding: str = ""
    kill_after: int | None = None
    trace: str | None = None


@dataclass(frozen=True, repr=False)
class KillAfter(Condition):
    """Not a stop but a death: SIGKILL to this process, once so many turns and their tools are done.

    Asked at the gate before the model, where nothing is pending and no request is marked.
    """

    turns: int

    def __call__(self, state: RunState) -> tuple[Stop, ...]:
        if len(state.turns) >= self.turns and not state.pending:
            os.kill(os.getpid(), signal.SIGKILL)
        return ()

    def __repr__(self) -> str:
        return f"KillAfter({self.turns!r})"


def store_path(root: Path) -> Path:
    """Where the runs under `root` are kept."""
    return root / "runs.sqlite"


def go_on(spec: Spec) -> RunState:
    """Start the run, or go on with it if the store knows it."""
    with ExitStack() as opened:
        store = opened.enter_context(Store(store_path(Path(spec.root))))
        trace = opened.enter_context(JsonlTrace(spec.trace)) if spec.trace else None
        return _run(spec, store, trace)


def _run(spec: Spec, store: Store, trace: JsonlTrace | None) -> RunState:
    scenario = find(spec.scenario)
    if spec.run_id in store.run_ids():
        state = store.load(spec.run_id)
    else:
        state = RunState.start(
            scenario.task, system=spec.padding + scenario.system, run_id=spec.run_id
        )
    stop: Condition = MaxTurns(CAP)
    if spec.kill_after is not None:
        stop = KillAfter(spec.kill_after) | stop
    return run(
        state,
        model=make_model(
            spec.protocol,
            spec.base_url,
            spec.model,
            api_key=os.environ.get("LLM_API_KEY"),
            stream=spec.stream,
        ),
        tools=scenario.tools(Workspace(Path(spec.root) / "workspace", scenario.files)),
        stop=stop,
        price=Price(spec.price_in, spec.price_out),
        store=store,
        trace=trace,
    )


if __name__ == "__main__":
    try:
        go_on(msgspec.json.decode(sys.stdin.buffer.read(), type=Spec))
    except OSError as error:  # such as a full disk: the bench says it in its own words
        sys.exit(str(error))
