"""Real clients, each in an environment of its own, run `plan` to its end against the provider.

    python tests/slow/clients.py [JOB...] [--list] [--keep DIR]

A job is one client. It is installed from its registry (pip or npm, pinned) into a directory of its
own, then run once per dialect it speaks against a provider on loopback, which the journal judges:
the turns of `plan` in order, no violation, no error. A job that cannot be installed is reported as
such and fails nothing; a job that runs and does not finish fails. Times are bounded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fakeprovider.journal import Exchange
from fakeprovider.scripts.steady import PLAN_ANSWER
from fakeprovider.server import Server

HERE = Path(__file__).parent / "clients"
FILES = {
    "access.log": "GET / 200",
    "errors.log": "ERROR timeout: worker 7 timed out after 30000 ms\n",
    "notes.txt": "Remember to rotate the logs.",
}
INSTALL_SECONDS = 300
RUN_SECONDS = 120


@dataclass(frozen=True)
class Job:
    """One client: its packages, its program, and a run per dialect.

    `dialects` are handed to the program by name. `rules` are notes of the journal that are as they
    should be. `client` is the preset in the base URL.
    """

    name: str
    packages: tuple[str, ...]
    dialects: tuple[str, ...]
    program: str
    client: str = ""
    rules: tuple[str, ...] = ()

    @property
    def uses_npm(self) -> bool:
        """Whether it is a program for Node."""
        return not self.program.endswith(".py")


JOBS = (
    Job("openai-py", ("openai==3.57.0",), ("chat", "responses"), "openai_py.py"),
    Job("anthropic-py", ("anthropic==2.14.0",), ("messages",), "anthropic_py.py"),
    Job(
        "pydantic-ai",
        ("pydantic-ai-slim[openai,anthropic]==2.68.0",),
        ("chat", "messages", "responses"),
        "pydantic_ai_py.py",
    ),
    Job("openai-agents", ("openai-agents==0.24.0",), ("chat", "responses"), "openai_agents_py.py"),
    Job(
        "langchain",
        ("langchain==1.5.2", "langchain-openai==1.7.4", "langchain-anthropic==1.7.10"),
        ("chat", "messages", "responses"),
        "langchain_py.py",
    ),
    Job("openai-node", ("openai@6.49.0",), ("chat", "responses"), "openai_node.mjs"),
    Job("anthropic-node", ("@anthropic-ai/sdk@1.14.0",), ("messages",), "anthropic_node.mjs"),
    Job(
        "ai-sdk",
        ("ai@6.0.326", "@ai-sdk/openai@3", "@ai-sdk/anthropic@3", "zod@4"),
        ("chat", "messages", "responses"),
        "ai_sdk.mjs",
    ),
    Job(
        "claude-code",
        ("@anthropic-ai/claude-code@2.1.197",),
        ("messages",),
        "claude_code.mjs",
        client="claude-code",
        rules=("call_replaced", "system_in_middle", "side_request", "not_offered"),
    ),
    Job(
        "codex",
        ("@openai/codex@0.171.0",),
        ("responses",),
        "codex.mjs",
        client="codex",
        rules=("call_replaced", "side_request"),
    ),
    Job(
        "opencode",
        ("opencode-ai@1.18.33",),
        ("chat",),
        "opencode.mjs",
        client="opencode",
        rules=("call_replaced", "side_request", "not_offered"),
    ),
    Job(
        "smolagents",
        ("smolagents[openai]==1.26.0",),
        ("chat",),
        "smolagents_py.py",
        client="smolagents",
    ),
    Job(
        "inspect",
        ("inspect-ai==0.3.285", "openai==3.57.0"),
        ("chat", "responses"),
        "inspect_py.py",
        client="inspect",
        rules=("side_request",),
    ),
    Job(
        "mini-swe-agent",
        ("mini-swe-agent==2.4.6",),
        ("chat",),
        "mini_swe_agent_py.py",
        client="mini-swe-agent",
        rules=("call_replaced",),
    ),
)


class CannotInstall(Exception):
    """The registry does not give it, or not in time."""


class Failed(Exception):
    """It ran, and not as it should."""


def main() -> int:
    """Run the jobs named, or all; 1 if one of them failed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("jobs", nargs="*", help="names of jobs; all without")
    parser.add_argument("--list", action="store_true", help="list the jobs")
    parser.add_argument("--keep", type=Path, help="directory for the installed clients, kept")
    chosen = parser.parse_args()
    if chosen.list:
        print("\n".join(f"{job.name:16} {' '.join(job.packages)}" for job in JOBS))
        return 0
    jobs = [job for job in JOBS if not chosen.jobs or job.name in chosen.jobs]
    with _place(chosen.keep) as place, ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda job: _report(job, place), jobs))
    passed, failed, missing = (results.count(word) for word in ("passed", "failed", "missing"))
    print(f"clients: {passed} passed, {failed} failed, {missing} could not be installed")
    return 1 if failed else 0


@contextmanager
def _place(keep: Path | None) -> Iterator[Path]:
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="clients-") as directory:
        yield Path(directory)


def _report(job: Job, place: Path) -> str:
    begun = time.monotonic()
    try:
        command = install(job, place / job.name)
        installed = time.monotonic() - begun
        turns = [run(job, dialect, command) for dialect in job.dialects]
    except CannotInstall as error:
        print(f"{job.name}: CANNOT BE INSTALLED here: {error}", flush=True)
        return "missing"
    except Failed as error:
        print(f"{job.name}: FAILED: {error}", flush=True)
        return "failed"
    told = ", ".join(
        f"{dialect} {count}" for dialect, count in zip(job.dialects, turns, strict=True)
    )
    spent = time.monotonic() - begun
    print(
        f"{job.name}: ok: requests {told} ({installed:.0f} s to install, {spent:.0f} s)", flush=True
    )
    return "passed"


def install(job: Job, home: Path) -> list[str]:
    """Install the job's packages; returns the command that runs its program."""
    home.mkdir(exist_ok=True)
    program = HERE / job.program
    if not job.uses_npm:
        python = home / "venv" / "bin" / "python"
        if not python.exists():
            _install([sys.executable, "-m", "venv", str(python.parent.parent)], home)
        _install([str(python), "-m", "pip", "install", "-q", *job.packages], home)
        return [str(python), str(program)]
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise CannotInstall("there is no node and npm")
    _install([npm, "install", "--no-audit", "--no-fund", "--no-save", *job.packages], home)
    # A module looks for its packages beside itself.
    shutil.copy(program, home / job.program)
    return [node, str(home / job.program)]


def _install(command: list[str], home: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=home, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotInstall(f"{command[0]} took more than {INSTALL_SECONDS} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise CannotInstall(lines[-1] if lines else f"exit status {done.returncode}")


def run(job: Job, dialect: str, command: list[str]) -> int:
    """Run the program in one dialect; returns how many requests the script answered."""
    with Server("plan") as server, tempfile.TemporaryDirectory(prefix="workspace-") as directory:
        workspace = Path(directory) / "files"
        workspace.mkdir()
        for name, text in FILES.items():
            (workspace / name).write_text(text)
        environment = _environment(server, job, dialect, Path(directory))
        said = _output(command, workspace, environment, f"{dialect}")
        exchanges = server.journal.exchanges()
    _judge(job, dialect, exchanges, said)
    return sum(not _is_side(one) for one in exchanges)


def _environment(server: Server, job: Job, dialect: str, home: Path) -> dict[str, str]:
    """What the program may know: loopback, a key that opens nothing, a home of its own."""
    script = f"plan;client={job.client}" if job.client else "plan"
    root = f"{server.url}/{script}"
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": tempfile.gettempdir(),
        "LANG": "C.UTF-8",
        "DIALECT": dialect,
        "LLM_BASE_URL": f"{root}/v1",
        "OPENAI_BASE_URL": f"{root}/v1",
        "ANTHROPIC_BASE_URL": root,
        "OPENAI_API_KEY": "no-key",
        "ANTHROPIC_API_KEY": "no-key",
        "NO_PROXY": "*",
    }


def _output(command: list[str], cwd: Path, environment: dict[str, str], what: str) -> str:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        said, _ = process.communicate()
        raise Failed(f"{what}: not done after {RUN_SECONDS} s:\n{said[-2000:]}") from None
    if process.returncode:
        raise Failed(f"{what}: exit status {process.returncode}:\n{said[-3000:]}")
    return said


def _is_side(exchange: Exchange) -> bool:
    return exchange.turn is None or any(note.rule == "side_request" for note in exchange.notes)


def _judge(job: Job, dialect: str, exchanges: list[Exchange], said: str) -> None:
    """Every run of `plan` has its three turns in order, and nothing was refused or repaired."""
    problems = [
        f"{one.method} {one.path}: {one.status} {one.error}"
        for one in exchanges
        if one.status != 200 and not _expected(one)
    ]
    problems += [f"{note.rule}: {note.detail}" for one in exchanges for note in _odd(job, one)]
    turns = [one.turn for one in exchanges if one.status == 200 and not _is_side(one)]
    runs = turns.count(0)
    if turns != [0, 1, 2] * runs or not runs:
        problems.append(f"turns {turns} are not those of plan")
    if said.count(PLAN_ANSWER) < runs:
        problems.append(f"the answer was not shown: {said[-500:]!r}")
    if problems:
        raise Failed(f"{dialect}: " + "; ".join(problems))


def _odd(job: Job, exchange: Exchange) -> list[Any]:
    found = [*exchange.violations, *exchange.notes]
    return [finding for finding in found if finding.rule not in job.rules]


def _expected(exchange: Exchange) -> bool:
    """The refusal of a thread makes an SDK send the whole history, as it should."""
    return "without `thread`" in exchange.error


if __name__ == "__main__":
    sys.exit(main())
