"""A run that is killed at a named point, for real; started as a process of its own.

`GIVEN` says where and how: `FOLDER` holds the database, the journal of requests and the ledger of
effects, each written and synced before the process goes on; `POINT` is where the process kills
itself; `KIND` is what its tool declares.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from fakeprovider_harness import MaxTurns, Price, RunState, Store, Tool, approve, run
from fakeprovider_harness.models.base import Message, ModelReply
from fakeprovider_harness.models.scripted import calls, problems, says

GIVEN = globals().get("GIVEN")
FOLDER, POINT, KIND = GIVEN or (Path(), "", "")

PRICE = Price("1", "10")


def die(point: str) -> None:
    if point == POINT:
        os.kill(os.getpid(), signal.SIGKILL)


def append(name: str, line: str) -> None:
    with (FOLDER / name).open("a") as file:
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())


class MortalStore(Store):
    """Dies just before or just after a save, told apart by what the save is for."""

    def save(self, state: RunState, *, durable: bool = False) -> None:
        point = self.point(state, durable)
        die(f"before {point}")
        super().save(state, durable=durable)
        die(f"after {point}")

    @staticmethod
    def point(state: RunState, durable: bool) -> str:
        turns = len(state.turns)
        if state.request is not None:
            return f"request {turns + 1} is marked"
        if durable:
            return "the tool is marked"
        if state.reason == "approval":
            return "the approval is asked for"
        if any(call.decision for call in state.pending):
            return "the decision is stored"
        if state.messages[-1].role == "tool" and state.messages[-1].name == "write":
            return "the result is stored"
        return f"reply {turns} is stored"


class Journalled:
    """Answers from the transcript alone, as a stateless provider does."""

    name = "journalled"

    async def ask(self, messages: list[Message], tools: Any, **_: Any) -> ModelReply:
        assert problems(messages) == []
        turn = sum(message.role == "assistant" for message in messages)
        append("journal", str(turn))
        die(f"in request {turn + 1}")
        if turn == 0:
            return calls(("r", "read", {}), ("a", "write", {"x": 1}))
        return says("done")

    async def aclose(self) -> None:
        return None


def write(x: int, ctx: Any) -> str:
    die("in the tool")
    if KIND != "idempotent" or ctx.idempotency_key not in lines("keys"):
        append("keys", ctx.idempotency_key)
        append("ledger", str(x))
    die("after the effect")
    while POINT == "hold" and not (FOLDER / "go").exists():
        time.sleep(0.005)
    return f"wrote {x}"


def lines(name: str) -> list[str]:
    path = FOLDER / name
    return path.read_text().split() if path.exists() else []


def tools() -> list[Tool]:
    schema = {
        "type": "object",
        "properties": {"x": {"type": "integer"}},
        "required": ["x"],
    }
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return [
        Tool("read", "Read.", nothing, lambda: "v", read_only=True),
        Tool(
            "write",
            "Write.",
            schema,
            write,
            needs_approval=KIND == "approved",
            idempotent=KIND == "idempotent",
        ),
    ]


def go(store: Store, state: RunState) -> RunState:
    return run(state, model=Journalled(), tools=tools(), stop=MaxTurns(5), price=PRICE, store=store)


def main() -> None:
    with MortalStore(FOLDER / "runs.db") as store:
        state = go(store, store.find("r") or RunState.start("task", run_id="r"))
        if state.reason == "approval":
            store.save(approve(state, "a"))
            state = go(store, state)
        (FOLDER / "result.json").write_text(state.to_json())


if GIVEN:
    main()
