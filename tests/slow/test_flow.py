"""How many files a reader passes who follows a request, a model turn, or a whole run.

Each walk runs in a process of its own; a profile hook notes our own functions as they are entered.
What runs while a module is imported is left out: that is no part of the walk.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TypedDict

import pytest

ROOT = Path(__file__).parents[2]
FILES, DEPTH = 22, 12
"""At most so many files of ours for one request or one turn, and so many of our frames deep."""


class Walk(TypedDict):
    """What a walk passed: files of one package, and the deepest stack of our own frames."""

    files: list[str]
    depth: int


HOOK = '''
import asyncio, json, sys, threading
from pathlib import Path

ROOT = Path(sys.argv[1])
COMPREHENSIONS = {"<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>"}  # no step for a reader

class Walk:
    """Notes the files of `folder` whose functions are entered while it is `on`, and how deep."""

    def __init__(self, folder):
        self.folder, self.files, self.depth = str(ROOT / folder) + "/", set(), 0
        self.on = True

    def __call__(self, frame, event, argument):
        name = frame.f_code.co_filename
        if not self.on or event != "call" or not name.startswith(self.folder):
            return
        depth, caller = 0, frame
        while caller is not None:
            if caller.f_code.co_filename.startswith(self.folder):
                if caller.f_code.co_name == "<module>":
                    return
                depth += caller.f_code.co_name not in COMPREHENSIONS
            caller = caller.f_back
        self.files.add(name[len(self.folder):])
        self.depth = max(self.depth, depth)

    def __enter__(self):
        threading.setprofile(self)
        sys.setprofile(self)
        return self

    def __exit__(self, *error):
        sys.setprofile(None)
        threading.setprofile(None)

    def tell(self):
        print(json.dumps({"files": sorted(self.files), "depth": self.depth}))
'''

REQUEST = """
async def request(app, turn):
    body = json.dumps({"model": "plan", "messages": MESSAGES[: 1 + 2 * turn], "tools": TOOLS})
    events = iter([{"type": "http.request", "body": body.encode(), "more_body": False}])
    sent = []

    async def receive():
        return next(events)

    async def send(message):
        sent.append(message)

    await app({
        "type": "http", "method": "POST", "path": "/plan/v1/chat/completions", "query_string": b"",
        "raw_path": b"/plan/v1/chat/completions", "http_version": "1.1", "asgi": {"version": "3.0"},
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
    }, receive, send)
    assert sent[0]["status"] == 200, sent

NAMES = ("list_files", "read_file")
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"path": {"type": "string"}}}}} for name in NAMES]
CALL = {"id": "fake1", "type": "function", "function": {"name": "list_files", "arguments": "{}"}}
MESSAGES = [
    {"role": "user", "content": "Which file mentions a timeout?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "fake1", "content": "[]"},
]

from fakeprovider.server import Server
server = Server("plan")
app = server.app
asyncio.run(request(app, 0))  # what only the first request of a process does is not the walk
with Walk("fakeprovider") as walk:
    asyncio.run(request(app, 1))
walk.tell()
"""

RUN = '''
from fakeprovider.server import Server
from fakeprovider_harness import MaxTurns, RunState, loop, run, tool
from fakeprovider_harness.models import ChatModel

@tool(read_only=True)
def list_files() -> str:
    """Lists the files."""
    return "[]"

@tool(read_only=True)
def read_file(path: str) -> str:
    """Reads a file."""
    return "timeout"

def once(turns):
    with Server("plan") as server:
        state = RunState.start("Which file mentions a timeout?")
        model = ChatModel(server.base_url, "plan")
        run(state, model=model, tools=[list_files, read_file], stop=MaxTurns(turns))
        assert len(state.turns) == turns, state.stop

turns, what = int(sys.argv[2]), sys.argv[3]
once(turns)
walk = Walk("harness/fakeprovider_harness")
if what == "turn":
    step, walk.on = loop._step, False

    async def watched(*arguments):
        walk.on = True
        try:
            return await step(*arguments)
        finally:
            walk.on = False

    loop._step = watched
with walk:
    once(turns)
walk.tell()
'''


def walked(code: str, *arguments: str) -> Walk:
    """The walk that a program tells on standard output."""
    command = [sys.executable, "-c", HOOK + code, str(ROOT), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ran.returncode == 0, ran.stderr
    walk: Walk = json.loads(ran.stdout.splitlines()[-1])
    return walk


@pytest.mark.parametrize(
    ("code", "arguments", "files"),
    [
        pytest.param(REQUEST, (), FILES, id="a chat request"),
        pytest.param(RUN, ("1", "turn"), FILES, id="a model turn"),
        pytest.param(RUN, ("3", "run"), 36, id="a run of three turns with two tools"),
    ],
)
def test_a_walk_passes_few_files_and_is_not_deep(
    code: str, arguments: tuple[str, ...], files: int
) -> None:
    walk = walked(code, *arguments)
    print(len(walk["files"]), "files, depth", walk["depth"], *walk["files"])
    assert len(walk["files"]) <= files, walk["files"]
    assert walk["depth"] <= DEPTH
