"""The plan over a real socket, killed in the middle of the streamed answer if `GIVEN` says so."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from fakeprovider_harness import MaxTurns, Price, RunState, Store, Tool, run
from fakeprovider_harness.models import ChatModel

GIVEN = globals().get("GIVEN")
FOLDER, URL, DIES = GIVEN or (Path(), "", False)

TEXTS = {
    "access.log": "GET / 200",
    "errors.log": "ERROR timeout: worker 7 timed out after 30000 ms\n",
}


def tools() -> list[Tool]:
    nothing = {"type": "object", "properties": {}}
    path = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return [
        Tool("list_files", "List the files.", nothing, lambda: sorted(TEXTS), read_only=True),
        Tool("read_file", "Read one file.", path, lambda path: TEXTS[path], read_only=True),
    ]


def heard(text: str) -> None:
    if DIES and "timeout" in text:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> None:
    with Store(FOLDER / "runs.db") as store:
        state = store.find("r") or RunState.start("Which file mentions a timeout?", run_id="r")
        run(
            state,
            model=ChatModel(URL, model="plan", stream=True),
            tools=tools(),
            stop=MaxTurns(20),
            price=Price("2.00", "12.00"),
            store=store,
            on_text=heard,
        )


if GIVEN:
    main()
