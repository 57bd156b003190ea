"""The report of paced streams: asked for against measured."""

from __future__ import annotations

from fakeprovider_bench.speed.pace import Stream, measure, report


def test_lateness_is_measured_less_asked_at_the_95th_of_a_hundred() -> None:
    streams = [Stream(100, 100 + late, 1000, 1000 + 2 * late) for late in range(101)]
    first, last = report(streams)
    assert (first.what, first.asked_ms, first.measured_ms) == ("first token", 100, 150)
    assert (round(first.late_p95_ms), first.late_max_ms) == (96, 100)
    assert (last.what, last.asked_ms, last.measured_ms, last.late_max_ms) == (
        "last token",
        1000,
        1100,
        200,
    )


def test_streams_that_run_at_once_are_never_early() -> None:
    first, last = measure(5, "latency=200,tps=100")
    assert first.asked_ms == 200
    assert last.asked_ms > 300
    assert first.measured_ms >= 199
    assert last.measured_ms >= last.asked_ms - 1
