"""Paths: script, run key and parameters, however the vendor's base URL looks."""

from __future__ import annotations

import httpx
import pytest

from fakeprovider.conversation import Conversation, Message
from fakeprovider.server import Server
from fakeprovider.serving.path_options import BadParameter, PathOptions, parse
from fakeprovider.serving.routing import Route, resolve

CHAT = "/chat/completions"
BODY = {"model": "m", "messages": [{"role": "user", "content": "go"}]}


@pytest.mark.parametrize(
    ("path", "script", "run"),
    [
        ("/v1/chat/completions", "", ""),
        ("/chat/completions", "", ""),
        ("/runaway/v1/chat/completions", "runaway", ""),
        ("/runaway/chat/completions", "runaway", ""),
        ("/~k/v1/chat/completions", "", "k"),
        ("/~k/runaway/v1/chat/completions", "runaway", "k"),
        ("/~a%20b%2Fc/runaway/chat/completions", "runaway", "a b/c"),
        ("//runaway//v1/chat/completions", "runaway", ""),
    ],
)
def test_paths(path: str, script: str, run: str) -> None:
    """Each part may be left out."""
    assert resolve(path, [CHAT]) == Route(CHAT, script, run)


@pytest.mark.parametrize("path", ["/", "/x", "/a/b/v1/chat/completions", "/chat/completions/x"])
def test_paths_that_lead_nowhere(path: str) -> None:
    """Not ours to answer."""
    assert resolve(path, [CHAT]) is None


def test_parameters_ride_in_the_path() -> None:
    """With a script or for the default."""
    params = PathOptions(turn_from="last_user", turn_offset=2)
    for start, script in (("runaway", "runaway"), ("", "")):
        path = f"/~k/{start};turn_from=last_user,turn_offset=2/v1{CHAT}"
        assert resolve(path, [CHAT]) == Route(CHAT, script, "k", params)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("turns=1", "unknown path parameter 'turns'; there are: .*turn_offset"),
        ("turn_offset", "not of the form name=value"),
        ("turn_offset=-1", "must be a whole number, 0 or more"),
        ("turn_offset=x", "must be a whole number"),
        ("turn_from=middle", "must be start or last_user"),
        ("turn_offset=1,turn_offset=2", "given twice"),
    ],
)
def test_a_wrong_parameter_says_what_is_allowed(
    server: Server, http: httpx.Client, text: str, words: str
) -> None:
    """When it is parsed, and as an error to the client."""
    with pytest.raises(BadParameter, match=words):
        parse(text)
    reply = http.post(f"{server.url}/plan;{text}/v1{CHAT}", json=BODY)
    assert reply.status_code == 404
    assert "path parameter" in reply.json()["error"]["message"] or "turn_" in reply.text


def test_turns_count_from_where_the_path_says() -> None:
    """From the last user message, or less an offset; never below 0. Ids keep the whole count."""
    messages = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
    whole = Conversation("m", tuple(messages), turn=5, position=5)
    assert PathOptions(turn_offset=2).view(whole).turn == 3
    assert PathOptions(turn_offset=9).view(whole).turn == 0
    assert PathOptions(turn_from="last_user").view(whole).turn == 0
    assert PathOptions(turn_from="last_user").view(whole).position == 5
    assert PathOptions().view(whole) is whole


def test_several_tasks_in_one_conversation(server: Server, http: httpx.Client) -> None:
    """`turn_from=last_user` begins the script anew for each, with ids that go on."""
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "done"},
        {"role": "user", "content": "two"},
    ]
    tools = [{"type": "function", "function": {"name": "list_files"}}]
    body = {"model": "m", "messages": messages, "tools": tools}
    reply = http.post(f"{server.url}/plan;turn_from=last_user/v1{CHAT}", json=body).json()
    (call,) = reply["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], call["id"]) == ("list_files", "fake1")


@pytest.mark.parametrize(
    ("path", "model", "script"),
    [
        ("/runaway/v1", "denied", "runaway"),
        ("/v1", "denied", "denied"),
        ("/v1", "gpt-5", "plan"),
        ("", "runaway", "runaway"),
    ],
)
def test_which_script_answers(
    server: Server, http: httpx.Client, path: str, model: str, script: str
) -> None:
    """The path's, else the model's, else the default."""
    run = f"which-{path.strip('/').replace('/', '-')}-{model}"
    http.post(f"{server.url}/~{run}{path}{CHAT}", json={**BODY, "model": model})
    assert [one.script for one in server.journal.exchanges(run)] == [script]


def test_without_a_default_an_unknown_model_is_not_found(http: httpx.Client) -> None:
    """In the service's own words, naming what there is."""
    with Server(None) as server:
        reply = http.post(f"{server.base_url}{CHAT}", json=BODY)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")
    assert "no script named 'm'; there are: " in reply.json()["error"]["message"]
