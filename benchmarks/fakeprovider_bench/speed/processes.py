"""The servers that are measured, each in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """A running server: its port, and what its process uses."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Processor time that the process has used so far; 0 where the system does not say."""
        try:
            fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self) -> int:
        """Bytes of memory that are in use; 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        except OSError:
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def provider(*options: str) -> Iterator[Measured]:
    """A `fakeprovider serve`."""
    command = ["-m", "fakeprovider", "serve", "--port", "0", "--json", *options]
    with _running(command) as (line, pid):
        yield Measured(int(json.loads(line)["url"].rpartition(":")[2]), pid)


@contextmanager
def static_route() -> Iterator[Measured]:
    """The yardstick (see `static`)."""
    with _running(["-m", "fakeprovider_bench.speed.static"]) as (line, pid):
        yield Measured(int(line), pid)


@contextmanager
def _running(arguments: list[str]) -> Iterator[tuple[str, int]]:
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline(), process.pid
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
