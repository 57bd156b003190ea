"""`drive`: what is said of an agent that never asked, and of what is no agent."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fakeprovider.testing import FakeProvider


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


def test_a_command_that_dies_is_told_with_its_status_and_its_last_words(
    provider: FakeProvider,
) -> None:
    code = "import no_such_module"
    with pytest.raises(AssertionError, match="no request came") as raised:
        provider.drive([sys.executable, "-c", code])
    assert "the command ended with status 1\n" in str(raised.value)
    assert "No module named 'no_such_module'" in str(raised.value)


def test_a_command_that_is_not_there_is_told(provider: FakeProvider) -> None:
    told = r"status 127 \(command not found: no-such-agent\)"
    with pytest.raises(AssertionError, match=told):
        provider.drive(["no-such-agent"])


def test_a_command_whose_time_is_up_is_told(provider: FakeProvider) -> None:
    code = "print('waiting', flush=True); import time; time.sleep(600)"
    with pytest.raises(AssertionError, match=r"\(timeout of 0\.3 s\)"):
        provider.drive([sys.executable, "-c", code], timeout=0.3)


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("python x.py", r"pass the command as a list, such as \['python', 'x.py'\]"),
        ([], "its first entry is the program"),
        (3, "3 is no agent"),
        (["agent", 3], r"3 \(int\)"),
    ],
    ids=["text", "empty", "number", "entry"],
)
def test_what_is_no_agent_is_refused_with_what_to_pass(
    provider: FakeProvider, agent: Any, told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        provider.drive(agent)


def test_a_timeout_is_refused_where_it_cannot_be_kept(provider: FakeProvider) -> None:
    with pytest.raises(TypeError, match="max_requests ends it"):
        provider.drive(lambda run: None, timeout=1.5)
