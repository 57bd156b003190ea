"""An irreversible effect happens once: after approval, across a resume, whatever is asked again."""

from __future__ import annotations

from pathlib import Path

from fakeprovider.server import Server
from fakeprovider_harness import MaxTurns, RunState, approve, reject, run
from fakeprovider_harness.models import ChatModel
from fakeprovider_harness.persistence.store import Store
from fakeprovider_scenarios import Workspace, find

PUBLISH = find("publish")


def test_it_is_published_once_after_approval_and_across_resumes(tmp_path: Path) -> None:
    with Server("publish") as server, Workspace(tmp_path / "work", PUBLISH.files) as workspace:

        def go_on() -> RunState:
            """As another process would: everything it knows comes from the store."""
            with Store(tmp_path / "runs.sqlite") as store:
                state = store.load("r") if "r" in store.run_ids() else start
                for waiting in state.interruptions:
                    if workspace.targets("published"):
                        reject(state, waiting.call_id, "done before")
                    else:
                        approve(state, waiting.call_id)
                return run(
                    state,
                    model=ChatModel(server.base_url, "publish"),
                    tools=PUBLISH.tools(workspace),
                    stop=MaxTurns(20),
                    store=store,
                )

        start = RunState.start(PUBLISH.task, system=PUBLISH.system, run_id="r")
        assert go_on().status == "interrupted"
        assert workspace.targets("published") == []
        assert go_on().status == "interrupted"
        assert workspace.targets("published") == ["notes.txt"]
        assert go_on().status == "completed"
        assert workspace.targets("published") == ["notes.txt"]
