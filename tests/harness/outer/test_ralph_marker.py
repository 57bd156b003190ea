"""Ralph: a word of the agent that may end the loop, and what does not count as one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from fakeprovider_harness.models.scripted import ScriptedModel, says
from fakeprovider_harness.outer import Caps, OuterKind, OuterReport, Ralph, Setup, ralph

CAPS = Caps(iterations=20)
Make = Callable[..., Setup]


def go(loop: Ralph, setup: Setup, caps: Caps = CAPS) -> OuterReport:
    return asyncio.run(ralph(loop, setup, caps))


MARKED = [
    ("All done.\nCOMPLETE", True),
    ("<promise>COMPLETE</promise>\n", True),
    ("Sorry, this is too long. Here is a summary instead.", False),
    ("You asked me to say <promise>COMPLETE</promise> when nothing is left.", False),
    ("> COMPLETE", False),
]


@pytest.mark.parametrize(("text", "ends"), MARKED)
def test_a_marker_counts_as_a_line_or_a_tag_and_never_as_a_quotation(
    project: Path, setup: Make, text: str, ends: bool
) -> None:
    loop = Ralph(root=project, marker="COMPLETE")
    model = ScriptedModel([says(text)], forever=True)
    report = go(loop, setup(model))
    assert (report.stop.kind is OuterKind.MARKER) == ends
    assert "say <promise>COMPLETE</promise>" in (model.requests[0][0].content or "")
    assert report.verified is False


def test_a_marker_does_not_count_while_the_check_fails(
    project: Path, setup: Make, said: list[str]
) -> None:
    loop = Ralph(root=project, marker="COMPLETE", check=lambda claim: False)
    report = go(loop, setup(ScriptedModel([says("COMPLETE")], forever=True)))
    assert report.stop.kind is OuterKind.NO_PROGRESS
    assert "“COMPLETE” was said, but the check does not pass" in said
