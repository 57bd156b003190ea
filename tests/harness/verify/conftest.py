"""A claim to hand to a verifier, and a small project with a bug."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from fakeprovider_harness import Cancel, RunState
from fakeprovider_harness.models.base import Usage
from fakeprovider_harness.verify import Claim, Verdict

BUGGY = "def double(x):\n    return x + 2\n"
FIXED = "def double(x):\n    return x * 2\n"
TEST = "from sums import double\n\n\ndef test_double():\n    assert double(3) == 6\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / "sums.py").write_text(BUGGY)
    (root / "test_sums.py").write_text(TEST)
    return root


@pytest.fixture(scope="session")
def fixed() -> str:
    return FIXED


@pytest.fixture
def judge() -> Callable[..., Verdict]:
    """Ask a verifier of either kind about a claim."""

    def ask(verifier: Any, state: RunState | None = None, **given: Any) -> Verdict:
        claim = Claim("done", state or RunState.start("task"), Cancel(), _nobody, _ignore, **given)
        answer = verifier(claim)
        verdict: Verdict = asyncio.run(_wait(answer)) if inspect.isawaitable(answer) else answer
        return verdict

    return ask


async def _nobody(*asked: Any) -> None:
    """No model is there to be asked."""


def _ignore(usage: Usage, cost: Decimal | None) -> None:
    """Nobody adds it up here."""


async def _wait(answer: Any) -> Any:
    return await answer
