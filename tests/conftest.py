"""What all tests share: the published figures, running providers, and how they are run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from processes import Process, Serve

from fakeprovider.server import Server

# No deadlines: the first example may load the tokenizer, and machines differ.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


# A shell's background job ignores SIGINT, and so would every process that a test starts and
# interrupts: one that has a handler leaves its children the default.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_make_parametrize_id(val: object) -> str | None:
    """A function is called by its name: its address differs between xdist's workers."""
    name = getattr(val, "__name__", None)
    return name if callable(val) and isinstance(name, str) else None


@pytest.fixture(scope="session")
def figures() -> dict[str, Any]:
    """The published figures of the classic scenarios."""
    path = Path(__file__).parent / "reference_figures.json"
    figures: dict[str, Any] = json.loads(path.read_text())
    return figures


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A provider in a thread of this process; its default script is plan."""
    with Server("plan") as running:
        yield running


@pytest.fixture(scope="session")
def serve() -> Iterator[Serve]:
    """Starts `fakeprovider serve` with the given options on a free port; ends it at last."""
    with ExitStack() as ending:

        def start(*options: str) -> Process:
            command = [sys.executable, "-m", "fakeprovider", "serve", "--port", "0", "--json"]
            popen = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
            ending.callback(_end, popen)
            assert popen.stdout is not None
            urls = json.loads(popen.stdout.readline())
            return Process(popen, urls["url"], urls["base_url"])

        yield start


@pytest.fixture(scope="session")
def served(serve: Serve) -> Process:
    """One `fakeprovider serve` for all tests that only talk to it."""
    return serve()


def _end(popen: subprocess.Popen[str]) -> None:
    popen.terminate()
    popen.wait(timeout=10)
    assert popen.stdout is not None
    popen.stdout.close()
