"""The command `fakeprovider-harness` as tests start it: a project, a server, a shell."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.plan_file import worker
from fakeprovider.server import Server

PRICES = ["--price-in", "2", "--price-out", "12"]


class Trap:
    """A script that does what another one does, but kills a process at its n-th request."""

    def __init__(self) -> None:
        self.at = 0
        self.pid: Callable[[], int] = os.getpid
        self.seen = 0

    def __call__(self, conversation: Conversation) -> Reply:
        """A worker, with a trap."""
        self.seen += 1
        if self.seen == self.at:
            os.kill(self.pid(), signal.SIGKILL)
        return worker(conversation)


def sleeper(conversation: Conversation) -> Reply:
    """Asks for a command that takes a minute; then says what came of it."""
    if conversation.turn == 0:
        return ask("run_command", {"command": "echo started > started; sleep 60"})
    result = conversation.messages[-1].text
    return say(f"it says: {result.splitlines()[0]}")


def writer(conversation: Conversation) -> Reply:
    """Asks to write a file; says whether it was declined."""
    if conversation.turn == 0:
        return ask("write_file", {"path": "out.txt", "text": "hello"})
    declined = "declined" in conversation.messages[-1].text
    return say("declined" if declined else "written")


TRAP = Trap()


SCRIPTS: dict[str, Any] = {"sleeper": sleeper, "writer": writer, "trap": TRAP}


class Shell:
    """Runs the command in a project, against one script."""

    def __init__(self, server: Server, tmp_path: Path) -> None:
        self.project, self.server = tmp_path / "project", server
        self.project.mkdir()
        self.store = tmp_path / "state" / "runs.sqlite"

    def start(self, script: str, *words: str, stdin: Any = subprocess.PIPE) -> Any:
        command = [sys.executable, "-P", "-m", "fakeprovider_harness", *words]
        if words[0] in ("run", "ralph", "loop", "goal", "--resume"):
            command += ["--dir", str(self.project), "--base-url", self.server.url_for(script)]
        return subprocess.Popen(
            command,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HARNESS_STORE": str(self.store)},
        )

    def __call__(self, script: str, *words: str, said: str = "") -> tuple[int, str, str]:
        process = self.start(script, *words)
        out, err = process.communicate(said, timeout=60)
        return process.returncode, out, err


def run_id(err: str) -> str:
    found = re.search(r"^(?:run|loop|goal) (\w{32})$", err, re.M)
    assert found, err
    return found.group(1)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen within 30 s"
        time.sleep(0.02)


def started(words: list[str], said: str = "", environment: Any = None) -> Any:
    return subprocess.run(
        words,
        input=said,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment,
        check=False,
    )


def pasted(err: str) -> list[str]:
    """The words of the command line that a run said it goes on with."""
    (line,) = re.findall(r"^go on with: (.*)$", err, re.M)
    return shlex.split(line)


INTERRUPTED_IMPORT = """
import runpy, sys

class Pressed:
    def find_spec(self, name, *_):
        if name == "fakeprovider_harness.commands.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
runpy.run_module("fakeprovider_harness", run_name="__main__")
"""


def planned(shell: Shell) -> Path:
    plan = shell.project / "plan.md"
    items = ("write alpha.txt", "write beta.txt", "write gamma.txt")
    plan.write_text("".join(f"- [ ] {item}\n" for item in items))
    return plan


RALPH = ["ralph", "--yes", "--max-iterations", "9", "--max-cost", "1", *PRICES]
