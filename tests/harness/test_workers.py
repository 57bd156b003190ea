"""The threads that run sync tools."""

from __future__ import annotations

import threading
import weakref
from queue import SimpleQueue

from fakeprovider_harness.tooling.execution import Workers


def test_an_idle_thread_takes_the_next_job_and_one_that_hangs_does_not() -> None:
    workers, said = Workers(), SimpleQueue[int]()
    release = threading.Event()

    def busy() -> None:
        said.put(threading.get_ident())
        release.wait(10)
        said.put(threading.get_ident())

    def quick() -> None:
        said.put(threading.get_ident())

    workers.run(busy)
    hanging = said.get(timeout=10)
    workers.run(quick)
    other = said.get(timeout=10)
    assert other != hanging
    release.set()
    assert said.get(timeout=10) == hanging
    names = {hanging, other}
    for _ in range(50):  # at most one more, where neither was idle yet
        workers.run(quick)
        names.add(said.get(timeout=10))
    assert len(names) <= 3


def test_what_a_job_holds_is_freed_while_its_thread_goes_on() -> None:
    class Held:
        done = threading.Event()

        def job(self) -> None:
            self.done.set()

    workers, held, gone = Workers(), Held(), threading.Event()
    weakref.finalize(held, gone.set)
    workers.run(held.job)
    assert Held.done.wait(10)
    del held
    assert gone.wait(5)  # less than a thread stays without work


def test_a_thread_without_work_ends() -> None:
    workers, threads = Workers(idle=0.001), SimpleQueue[threading.Thread]()
    workers.run(lambda: threads.put(threading.current_thread()))
    first = threads.get(timeout=10)
    first.join(10)
    assert not first.is_alive()
    workers.run(lambda: threads.put(threading.current_thread()))
    assert threads.get(timeout=10) is not first


def test_no_job_is_lost_between_a_thread_that_ends_and_one_that_asks() -> None:
    workers, done = Workers(idle=0.0), SimpleQueue[int]()
    for number in range(2000):
        workers.run(lambda number=number: done.put(number))  # type: ignore[misc]
    assert {done.get(timeout=10) for _ in range(2000)} == set(range(2000))
