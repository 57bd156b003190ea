"""What a server is given that is wrong is refused when it is made, with what to pass."""

from __future__ import annotations

import sys
from dataclasses import fields
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.faults import Chaos
from fakeprovider.pacing import PROFILES, BadPace
from fakeprovider.replies import Reply, say
from fakeprovider.server import Server
from fakeprovider.settings import Options, Settings


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"script": 3}, "script=3 is no script: pass a name or a function"),
        ({"script": [say("a")]}, r"Replies\(\.\.\.\) from fakeprovider\.scripts"),
        ({"scripts": {"mine": [say("a")]}}, r"scripts\['mine'\] is .*not a function"),
        ({"pace": 3}, r"pace=3: pass Pace\(\.\.\.\) or one of gemini-2\.5-flash"),
        ({"chaos": 0.05}, r"chaos=0\.05: pass Chaos\(0\.05\)"),
        ({"faults": ["rate_limited"]}, "'rate_limited' is no fault: pass Fault"),
        ({"faults": "rate_limited"}, "pass a list of faults"),
    ],
    ids=["number", "replies", "by-name", "pace", "chaos", "fault", "faults"],
)
def test_what_is_none_is_refused_with_what_to_pass(given: dict[str, Any], told: str) -> None:
    with pytest.raises(TypeError, match=told):
        Server(**given)


def test_a_pace_may_be_a_profiles_name() -> None:
    assert Server(pace="gpt-5.4").provider.pace == PROFILES["gpt-5.4"].pace
    assert Server(chaos=Chaos(0.05)).provider.pace is None
    with pytest.raises(BadPace, match="pace='warp': must be one of"):
        Server(pace="warp")


def test_a_script_that_exits_is_a_failed_script_and_not_the_end_of_the_server(
    http: httpx.Client,
) -> None:
    def exits(conversation: Conversation) -> Reply:
        sys.exit("enough")

    body = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
    with Server(exits) as server:
        for _ in range(2):
            reply = http.post(f"{server.base_url}/chat/completions", json=body)
            assert reply.status_code == 500
            assert reply.json()["error"]["code"] == "script_failed"
            assert "SystemExit: enough" in reply.json()["error"]["message"]


def test_the_keyword_arguments_are_the_settings() -> None:
    """Two lists of one thing: the checker sees that the types agree, and this that none is left."""
    assert list(Options.__annotations__) == [field.name for field in fields(Settings)]


def test_an_argument_that_there_is_not_is_refused_by_name() -> None:
    options: dict[str, Any] = {"stict": True}
    with pytest.raises(TypeError, match="'stict'"):
        Server(**options)


def test_an_option_that_there_is_not_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(TypeError, match=r"Server takes no option .strickt.; did you mean strict\?"):
        Server("plan", strickt=False)  # type: ignore[call-arg]
