"""The summary of a driven run, as data and in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fakeprovider.driving.command_run import Driven
from fakeprovider.driving.supervisor import Ended
from fakeprovider.verdict import ClauseResult, render, to_json

_SHOWN = 10
_OBSERVED = ("pass", "fail")


def summary(driven: Driven, script: str) -> dict[str, Any]:
    """The summary as data."""
    tally, ended = driven.tally, driven.ended
    return {
        "run": driven.run,
        "script": script,
        "status": driven.status,
        "command_status": ended.status,
        "ended_by": ended.reason,
        "unstruck_faults": list(driven.unstruck),
        "failed_gates": list(driven.failures),
        "undecided_gates": list(map(_undecided, driven.undecided)),
        "seconds": round(ended.seconds, 3),
        "requests": tally.requests,
        "turns": tally.turns,
        "side_requests": tally.side_requests,
        "retries": tally.retries,
        "errors": tally.errors,
        "cancelled": tally.cancelled,
        "input_tokens": tally.input_tokens,
        "output_tokens": tally.output_tokens,
        "script_errors": tally.script_errors,
        "violations": tally.violations,
        "replaced": tally.replaced,
        "verdict": json.loads(to_json(list(driven.verdict))),
    }


def told(driven: Driven, script: str) -> Iterator[str]:
    """The summary in words."""
    tally, ended = driven.tally, driven.ended
    yield f"fakeprovider: script {script}, run {driven.run}, {ended.seconds:.1f} s"
    yield (
        f"  requests {tally.requests} (turns {tally.turns}, retries {tally.retries}, "
        f"errors {tally.errors}, side requests {tally.side_requests}, broken off {tally.cancelled})"
    )
    yield f"  tokens {tally.tokens} ({tally.input_tokens} in, {tally.output_tokens} out)"
    if tally.script_errors:
        yield f"  script errors {len(tally.script_errors)}"
        yield from _first(tally.script_errors)
    yield f"  violations {len(tally.violations)}"
    yield from _first(tally.violations)
    if tally.replaced:
        yield f"  calls that were fitted to the tools offered: {len(tally.replaced)}"
        yield from _first(tally.replaced)
    yield from _verdict(driven)
    yield f"  command {_how(ended)}, status {ended.status}"
    for told_of in driven.unstruck:
        yield f"  NO EFFECT: {told_of}"
    for one in driven.undecided:
        yield f"  NOT DECIDED: {_undecided(one)}"
    for failure in driven.failures:
        yield f"  GATE FAILED: {failure}"


def _undecided(result: ClauseResult) -> str:
    return f"{result.clause}: {result.result}, {result.detail} (--fail-on)"


def _how(ended: Ended) -> str:
    if not ended.started:
        return str(ended.reason)
    return f"was ended ({ended.reason})" if ended.reason else "ended by itself"


def _verdict(driven: Driven) -> Iterator[str]:
    observed = [one for one in driven.verdict if one.result in _OBSERVED]
    other = len(driven.verdict) - len(observed)
    yield f"  verdict ({other} more clauses did not apply or could not be observed)"
    if observed:
        yield from (f"    {line}" for line in render(observed).splitlines())


def _first(lines: list[str]) -> Iterator[str]:
    yield from (f"    {line}" for line in lines[:_SHOWN])
    if len(lines) > _SHOWN:
        yield f"    and {len(lines) - _SHOWN} more; see --journal"
