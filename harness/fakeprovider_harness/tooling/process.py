"""Child processes for tools: a process group of their own, ended when the call is told to stop.

This is no sandbox. The group and the environment keep accidents small: a child that means harm can
leave its group, read files and use the network.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.tooling.truncation import KEPT, ends, size_of
from fakeprovider_harness.tools import ToolCancelled

ALLOWED = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
)
"""Variables that a tool's process inherits; provider keys are not among them."""

PROC = Path("/proc")
FLOOD = 256 * 1024 * 1024
"""Bytes of output on disk with which a process is ended."""


@dataclass(frozen=True)
class Finished:
    """How a process ended: its exit status (negative: a signal) and what it had written.

    `flooded`: it was ended because it wrote too much.
    """

    status: int
    output: str
    timed_out: bool = False
    flooded: bool = False


class ProcessCancelled(ToolCancelled):
    """The process was ended because the call was told to stop; the text is its output so far."""


def tool_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for a tool's process: the allowed variables, and `extra`."""
    inherited = {name: os.environ[name] for name in ALLOWED if name in os.environ}
    return {**inherited, **(extra or {})}


def run_process(
    command: Sequence[str],
    *,
    cancel: Cancel | None = None,
    timeout: float | None = None,
    grace: float = 0.1,
    cwd: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    limit: int = KEPT,
    flood: int = FLOOD,
) -> Finished:
    """Run `command`, stdout and stderr together, until it ends; nothing of its group is left.

    Inside a tool pass `cancel=ctx.cancel`: without it a cancelled run leaves the command to its
    timeout. After `timeout` seconds, or when `cancel` is set, the group gets SIGTERM and, `grace`
    seconds later, SIGKILL. Output goes to a file: `limit` bytes of it are kept, a quarter from the
    beginning and the rest from the end, with words between them; a process that writes more than
    `flood` bytes is ended too, and the output says so. `environment` is the whole environment
    (default: `tool_environment()`). Raises `ProcessCancelled` with the output so far, `OSError`
    where the command cannot be started.
    """
    with tempfile.TemporaryFile() as output:
        environment = tool_environment() if environment is None else environment
        process = _start(command, output, cwd, environment)
        try:
            end = _wait(process, cancel, timeout, lambda: size_of(output) > flood)
        finally:
            end_group(process, grace)
        text = ends(output, limit)
    if end == "flood":
        text += f"\n[ended: it wrote more than {flood} bytes]\n"
    if end == "cancelled":
        raise ProcessCancelled(text)
    return Finished(process.returncode, text, end == "timeout", end == "flood")


def _start(
    command: Sequence[str],
    output: BinaryIO,
    cwd: str | Path | None,
    environment: Mapping[str, str],
) -> subprocess.Popen[bytes]:
    """Start a process at the head of a group of its own, writing to `output`."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=environment,
        start_new_session=True,
    )


def _wait(
    process: subprocess.Popen[bytes],
    cancel: Cancel | None,
    timeout: float | None,
    floods: Callable[[], bool],
) -> Literal["end", "cancelled", "timeout", "flood"]:
    """Wait for the end, the signal, the time or too much output, and say which came first."""
    end = None if timeout is None else time.monotonic() + timeout
    pause = 0.001
    while process.poll() is None:
        left = pause if end is None else min(pause, end - time.monotonic())
        if left <= 0:
            return "timeout"
        if floods():
            return "flood"
        if cancel is None:
            time.sleep(left)
        elif cancel.wait_sync(left):
            return "cancelled"
        pause = min(pause * 2, 0.02)
    return "end"


def end_group(process: subprocess.Popen[bytes], grace: float) -> None:
    """End whatever is left of a process's group, politely first; returns when it is gone."""
    if _signal(process.pid, signal.SIGTERM):
        end = time.monotonic() + grace
        while time.monotonic() < end and _alive(process):
            time.sleep(0.005)
        _signal(process.pid, signal.SIGKILL)
    process.wait()


def _alive(process: subprocess.Popen[bytes]) -> bool:
    """Whether the group has a member that is no zombie: where nobody reaps orphans, they stay."""
    process.poll()
    if not _signal(process.pid, 0):
        return False
    return not PROC.is_dir() or any(
        _in_group(stat, process.pid) for stat in PROC.glob("[0-9]*/stat")
    )


def _in_group(stat: Path, group: int) -> bool:
    """Whether the process lives and belongs to `group`; see proc(5) for the fields."""
    try:
        state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
    except (OSError, ValueError):
        return False
    return int(its_group) == group and state not in "ZX"


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group; False if it has no members any more."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:  # macOS: only zombies are left
        return False
    return True
