"""Daemon threads that are used again: starting one takes longer than most tools do.

Not an executor of the standard library, since those are waited for when the process ends, and a
tool that hangs would keep it from ending.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

IDLE = 10.0
"""Seconds that a thread without work stays."""

Job = Callable[[], object]


class Workers:
    """Runs each job at once, in a thread that is idle or in a new one.

    A job that hangs keeps its thread and nothing else. Jobs must not raise.
    """

    def __init__(self, idle: float = IDLE) -> None:
        self._seconds = idle
        self._lock = threading.Lock()
        self._idle: list[SimpleQueue[Job]] = []

    def run(self, job: Job) -> None:
        """Start `job`; returns without waiting for it."""
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        jobs = SimpleQueue[Job]() if idle is None else idle
        jobs.put(job)  # not an argument of the thread, which would keep it as long as it lives
        if idle is None:
            threading.Thread(target=self._serve, args=(jobs,), name="tool", daemon=True).start()

    def forget(self) -> None:
        """Start anew, in a child process that has none of these threads."""
        self._lock = threading.Lock()
        self._idle = []

    def _serve(self, jobs: SimpleQueue[Job]) -> None:
        job: Job | None = jobs.get()
        while job is not None:
            job()
            job = None  # what it holds may be freed while the thread waits
            with self._lock:
                self._idle.append(jobs)
            job = self._next(jobs)

    def _next(self, jobs: SimpleQueue[Job]) -> Job | None:
        try:
            return jobs.get(timeout=self._seconds)
        except Empty:
            with self._lock:
                if jobs in self._idle:
                    self._idle.remove(jobs)
                    return None
        return jobs.get()  # it was taken at the last moment: the job is on its way


WORKERS = Workers()
"""The threads of this process."""

if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=WORKERS.forget)
