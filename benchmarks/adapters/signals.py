"""Signals that come while somebody else's command runs: they are meant for us as well."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT})


@contextmanager
def ending_signals() -> Iterator[None]:
    """Raise the first ending signal again at the end: inside, a supervisor keeps it for a command.

    The numbers of signals are read from the wake-up descriptor, which is told of them whatever
    handler there is. Outside the main thread there are no signals, and nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    told, tell = os.pipe()
    os.set_blocking(told, False)
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        numbers = _read(told)
        os.close(told)
        os.close(tell)
        if number := next((number for number in numbers if number in ENDING), None):
            _raise(number)


def _raise(number: int) -> None:
    if number == signal.SIGINT:  # a shell's background job ignores it, but the command was told
        raise KeyboardInterrupt
    signal.raise_signal(number)


def _read(descriptor: int) -> bytes:
    """The numbers of the signals that came, one byte each, in order."""
    try:
        return os.read(descriptor, 4096)
    except BlockingIOError:
        return b""
