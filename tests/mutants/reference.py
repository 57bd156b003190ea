"""Our own harness as an agent under the contract: everything that the contract can ask of one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from fakeprovider.contract import ContractBroken, Limits, OfferedTool, Report, check_stop_contract
from fakeprovider_harness import (
    Cancel,
    Condition,
    MaxTokens,
    MaxTurns,
    RepeatedCalls,
    RetryPolicy,
    RunState,
    Settings,
    Status,
    Tool,
    approve,
    reject,
    run,
    subagent,
)
from fakeprovider_harness.models import ChatModel
from fakeprovider_harness.models.retry import RetryingModel

POLICY = RetryPolicy(attempts=5, base=0.12, cap=0.15)
SETTINGS = Settings(dedupe="read_only")


class Home:
    """The run as a file, saved whenever the harness says so."""

    def __init__(self, limits: Limits) -> None:
        self._file = limits.home / "run.json"

    def claim(self, run_id: str) -> Any:
        return nullcontext()

    def find(self, run_id: str) -> RunState | None:
        return None if run_id != "run" or not self._file.exists() else self.load()

    def load(self) -> RunState:
        return RunState.from_json(self._file.read_text())

    def save(self, state: RunState, *, durable: bool = False) -> None:
        if state.run_id == "run":
            self._file.write_text(state.to_json())


def agent(base_url: str, limits: Limits) -> Report:
    """One run, with people asked as they come up."""
    home = Home(limits)
    state = home.load() if limits.resume else RunState.start(limits.task, run_id="run")
    chat = ChatModel(base_url, api_key="any", transport=limits.transport)
    model = RetryingModel(chat, POLICY, draw=lambda: 1.0)
    tools = [as_tool(tool) for tool in limits.tools]
    reads = [tool for tool in tools if tool.read_only]
    ask = "Let another agent do it."
    tools.append(subagent("delegate", ask, model=model, tools=reads, stop=MaxTurns(20)))
    with forwarded(limits.cancel) as cancel:
        while True:
            state = run(
                state,
                model=model,
                tools=tools,
                stop=stop(limits),
                store=home,
                cancel=cancel,
                settings=SETTINGS,
            )
            if state.status is not Status.INTERRUPTED or not state.interruptions:
                break
            decide(state, limits)
    return Report(
        turns=len(state.turns),
        tokens=state.total_tokens,
        budget=True,
        approvals=True,
        cancels=True,
        resumes=True,
        shares=True,
    )


def stop(limits: Limits) -> Condition:
    return MaxTurns(limits.turns) | MaxTokens(limits.tokens) | RepeatedCalls(3)


def as_tool(tool: OfferedTool) -> Tool:
    return Tool(
        tool.name,
        tool.description,
        tool.parameters,
        tool.run,
        read_only=tool.read_only,
        needs_approval=tool.needs_approval,
    )


def decide(state: RunState, limits: Limits) -> None:
    """Ask the person; what may have happened already is not done again."""
    for wait in state.interruptions:
        if wait.type == "approval" and limits.decide(wait.tool, wait.args):
            approve(state, wait.call_id)
        else:
            reject(state, wait.call_id, "no")


@contextmanager
def forwarded(cancelled: threading.Event) -> Iterator[Cancel]:
    """The contract's wish to end the run, as the harness's own signal."""
    cancel, over = Cancel(), threading.Event()

    def listen() -> None:
        cancelled.wait()
        if not over.is_set():
            cancel.set("cancelled")

    threading.Thread(target=listen, daemon=True).start()
    try:
        yield cancel
    finally:
        over.set()
        cancelled.set()


def check(clauses: list[str]) -> dict[str, Any]:
    """`{"broken": [clause], "results": {clause: result}, "message": text}`."""
    try:
        results = check_stop_contract(agent, clauses=clauses, in_process=True, examples=4)
    except ContractBroken as error:
        return {"broken": error.clauses, "results": {}, "message": str(error)}
    outcomes = {result.clause: result.result for result in results}
    return {"broken": [], "results": outcomes, "message": ""}
