"""Recording another provider, ours, and playing it back: each reply answers its own request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fakeprovider.conversation import Conversation
from fakeprovider.recording.book import Book, to_yaml
from fakeprovider.recording.proxy import Proxy
from fakeprovider.recording.requests import without_secrets
from fakeprovider.replies import Refusal, Reply, Text, Thinking, Usage, call, say
from fakeprovider.server import Server
from fakeprovider.yamlscripts import json_schema, read_script

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("list_files", "read_file", "schedule")
]
USER = {"role": "user", "content": "Which file?"}


def oracle(conversation: Conversation) -> Reply:
    """A model whose replies differ with everything that was said, braces and all."""
    told = repr([(each.role, each.text, len(each.calls)) for each in conversation.messages])
    number = sum(map(ord, told))
    blocks = (
        Thinking(f"t{number}"),
        Text(f"{{{{ {number} }}}}\n  two lines: {told[-20:]}"),
        call("read_file", {"path": f"{number}", "deep": [None, {"a": "{{"}]}),
        call("list_files", '{ "spaced" :1}'),
    )
    kinds: tuple[Reply, ...] = (
        Reply(blocks[1:]),
        say(f"plain {number}"),
        Reply((Refusal(f"no {number}"),)),
        Reply((blocks[0], blocks[1]), finish="length"),
        Reply((call("schedule"),), usage=Usage(completion_tokens=number)),
        Reply((Text("tail"), call("read_file", "not json {{"))),
    )
    return kinds[number % len(kinds)]


@pytest.fixture(scope="module")
def upstream() -> Iterator[Server]:
    with Server(oracle) as running:
        yield running


@pytest.fixture(scope="module")
def player() -> Iterator[tuple[Server, httpx.Client]]:
    """A provider whose script `rec` is put in by each test."""
    with Server("plan") as running, httpx.Client(base_url=running.url, timeout=60) as client:
        yield running, client


def replayed(player: tuple[Server, httpx.Client], text: str) -> httpx.Client:
    script, problems = read_script(text, "rec")
    assert problems == []
    server, client = player
    server.provider.scripts._scripts["rec"] = script  # type: ignore[attr-defined]
    return client


def body(messages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": messages, "tools": TOOLS, **more}


def asked(client: httpx.Client, base: str, sent: dict[str, Any]) -> httpx.Response:
    return client.post(f"{base}/chat/completions", json=sent)


def go_on(messages: list[dict[str, Any]], reply: dict[str, Any], said: str) -> None:
    """Take a reply into the history, answer its calls, or speak again."""
    kept = {key: reply[key] for key in ("role", "tool_calls") if key in reply}
    messages.append({**kept, "content": reply["content"] or ""})
    for one in reply.get("tool_calls", []):
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": said})
    if not reply.get("tool_calls"):
        messages.append({"role": "user", "content": said})


TEXTS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12
) | st.sampled_from(
    [
        "{{ result }}",
        "a\nb\n",
        " |",
        "- x",
        "yes",
        "null",
        "'",
        "\t",
        "\x85",
        "a\r\nb",
        "\u2028",
        "🙂",
    ]
)


@settings(max_examples=15)
@given(st.data())
def test_each_recorded_reply_matches_exactly_its_own_request(
    upstream: Server, player: tuple[Server, httpx.Client], data: st.DataObject
) -> None:
    book = Book()
    kept: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def record(path: str, sent: bytes, status: int, answer: bytes, streamed: bool) -> None:
        book.add(path, sent, status, answer, streamed=streamed)

    _, client = player
    with Proxy(upstream.base_url, record) as proxy:
        for _ in range(data.draw(st.integers(1, 3))):
            messages: list[dict[str, Any]] = [{"role": "user", "content": data.draw(TEXTS)}]
            for _ in range(data.draw(st.integers(1, 3))):
                sent = body([*messages])
                if data.draw(st.booleans()):
                    assert (
                        asked(client, proxy.base_url, {**sent, "stream": True}).status_code == 200
                    )
                whole = asked(client, proxy.base_url, sent).json()
                kept.append((sent, whole))
                go_on(messages, whole["choices"][0]["message"], data.draw(TEXTS))
    text = to_yaml(book.document("x"))
    Draft202012Validator(json_schema()).validate(yaml.safe_load(text))
    replay = replayed(player, text)
    for sent, whole in kept:
        again = asked(replay, "/rec/v1", sent).json()
        assert without_usage(again) == without_usage(whole)
    assert book.passed_on == []
    changed = json.loads(json.dumps(kept[-1][0]))
    place = data.draw(st.integers(0, len(changed["messages"]) - 1))
    changed["messages"][place]["content"] = "something that nobody has said"
    drift = asked(replay, "/rec/v1", changed)
    assert drift.status_code == 400
    assert f"message {place} differs" in drift.json()["error"]["message"]


def without_usage(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer less token details; what was counted is recorded."""
    usage = {key: answer["usage"][key] for key in ("prompt_tokens", "completion_tokens")}
    return {**answer, "usage": usage}


# Drift


def recording(*exchanges: dict[str, Any], **more: Any) -> str:
    return to_yaml({"recorded": list(exchanges), **more})


def exchange(*messages: dict[str, Any], say: str = "x", **more: Any) -> dict[str, Any]:
    tools = [{"name": "schedule"}]
    return {
        "request": {"model": "m", "tools": tools, "messages": list(messages)},
        "say": say,
        **more,
    }


CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "schedule", "arguments": '{"at":"9"}'}}
    ],
}
SCHEDULED = exchange(
    {"system": "s"},
    {"user": "go"},
    {"assistant": "", "calls": [{"tool": "schedule", "arguments": {"at": "9"}}]},
    {"tool": "schedule", "text": "saved 7f3c"},
    say="Saved.",
)


def sent(result: str = "saved 7f3c", **more: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "messages": [
            {"role": "developer", "content": "s"},
            {"role": "user", "content": "go"},
            CALL,
            {"role": "tool", "tool_call_id": "c", "content": result},
        ],
        "tools": [{"type": "function", "function": {"name": "schedule"}}],
        **more,
    }


def test_a_random_result_drifts_and_the_first_differing_message_is_named(
    player: tuple[Server, httpx.Client],
) -> None:
    client = replayed(player, recording(SCHEDULED))
    assert asked(client, "/rec/v1", sent()).json()["choices"][0]["message"]["content"] == "Saved."
    drift = asked(client, "/rec/v1", sent("saved 91aa"))
    told = drift.json()["error"]["message"]
    assert told.startswith(
        "Script 'rec', turn 1: no recorded request is this one; nearest is exchan"
    )
    assert "message 3 differs: recorded ..." in told
    assert 'saved 7f3c"}' in told
    assert 'saved 91aa"}' in told
    assert drift.headers["x-should-retry"] == "false"


@pytest.mark.parametrize(
    "volatile",
    ["saved [0-9a-f]+", {"result_of": "schedule"}],
)
def test_declared_volatile_parts_are_not_compared(
    player: tuple[Server, httpx.Client], volatile: Any
) -> None:
    client = replayed(player, recording(SCHEDULED, volatile=[volatile]))
    assert asked(client, "/rec/v1", sent("saved 91aa")).status_code == 200
    other = sent("saved 91aa")
    other["messages"][1] = {"role": "user", "content": "stop"}
    assert "message 1 differs" in asked(client, "/rec/v1", other).json()["error"]["message"]


def test_a_volatile_pattern_that_backtracks_is_an_error_and_holds_up_nobody(
    player: tuple[Server, httpx.Client],
) -> None:
    """It has the time limit of every pattern; on what was recorded, the file is refused."""
    client = replayed(player, recording(SCHEDULED, volatile=["^(a|aa)+$"]))
    slow = asked(client, "/rec/v1", sent("a" * 60 + "b"))
    assert slow.status_code == 400
    assert slow.json()["error"]["code"] == "script_failed"
    assert slow.json()["error"]["message"].startswith(
        "Script 'rec', turn 1: volatile: the pattern '^(a|aa)+$' took more than 0.1 s on a text of "
        "61 characters"
    )
    long = {"request": {"model": "m", "messages": [{"user": "a" * 60 + "b"}]}, "say": "x"}
    _, problems = read_script(recording(long, volatile=["^(a|aa)+$"]), "rec")
    assert ["took more than 0.1 s" in one.message for one in problems] == [True]


def test_arguments_and_fields_can_be_volatile_too(player: tuple[Server, httpx.Client]) -> None:
    late = json.loads(json.dumps(sent()))
    late["messages"][2]["tool_calls"][0]["function"]["arguments"] = '{"at": "10"}'
    late["messages"][0]["content"] = "today is Monday"
    strict = replayed(player, recording(SCHEDULED))
    assert "message 0 differs" in asked(strict, "/rec/v1", late).json()["error"]["message"]
    declared = [{"argument": "at"}, {"field": "system"}, {"field": "model"}, {"field": "tools"}]
    free = replayed(player, recording(SCHEDULED, volatile=declared))
    assert asked(free, "/rec/v1", {**late, "model": "other", "tools": TOOLS}).status_code == 200


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"model": "n"}, 'the model differs: recorded "m", sent "n"'),
        ({"tools": TOOLS}, "the tools differ: recorded ["),
        ({"messages": sent()["messages"][:2]}, "message 2 is missing: recorded was {"),
        (
            {"messages": [*sent()["messages"], {"role": "user", "content": "more"}]},
            'message 4 is one too many: {"user": "more"}',
        ),
    ],
)
def test_the_whole_request_is_the_key(
    player: tuple[Server, httpx.Client], change: dict[str, Any], told: str
) -> None:
    client = replayed(player, recording(SCHEDULED))
    assert told in asked(client, "/rec/v1", sent(**change)).json()["error"]["message"]


def test_key_order_spacing_tool_order_and_own_ids_do_not_matter(
    player: tuple[Server, httpx.Client],
) -> None:
    two = [{"name": "b"}, {"name": "a", "description": "x"}]
    message = {"user": "go"}
    text = recording({"request": {"model": "m", "tools": two, "messages": [message]}, "say": "x"})
    client = replayed(player, text)
    tools = [
        {"function": {"description": "x", "name": "a"}, "type": "function"},
        {"type": "function", "function": {"name": "b"}},
    ]
    request = {"tools": tools, "messages": [{"content": "go", "role": "user"}], "model": "m"}
    assert asked(client, "/rec/v1", request).status_code == 200


def test_an_exchange_may_only_go_on_from_an_earlier_one() -> None:
    text = recording({"after": 0, "request": {"messages": [{"user": "x"}]}, "say": "y"})
    _, problems = read_script(text, "rec", "rec.yaml")
    assert [str(one) for one in problems] == ["rec.yaml:2: this is exchange 0: 'after' is less"]


# What is written


def chat(messages: list[dict[str, Any]]) -> bytes:
    return json.dumps(body(messages)).encode()


def answer(**message: Any) -> bytes:
    told = {"role": "assistant", "content": "x", **message}
    return json.dumps({"choices": [{"message": told, "finish_reason": "stop"}]}).encode()


SECRETS = [
    "sk-proj-abcdefghij0123456789",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefgh",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", [*SECRETS, "my-very-own-key"])
def test_secrets_are_written_nowhere_and_do_not_keep_a_request_from_matching(
    player: tuple[Server, httpx.Client], secret: str
) -> None:
    book = Book(("my-very-own-key",))
    said = [{"role": "user", "content": f"use {secret}, please"}]
    book.add(
        "/v1/chat/completions", chat(said), 200, answer(content=f"ok {secret}"), streamed=False
    )
    text = to_yaml(book.document("x"))
    assert secret not in text
    assert "use [secret], please" in text
    if secret in SECRETS:
        assert asked(replayed(player, text), "/rec/v1", body(said)).status_code == 200


def test_ordinary_words_are_not_taken_for_secrets() -> None:
    text = "task-management sk-short risk-averse bearer of news AKIA ghp_x eyJ.a.b"
    assert without_secrets({"a": [text]}) == {"a": [text]}


def test_an_exchange_that_goes_on_from_another_says_only_what_is_new() -> None:
    book = Book()
    book.add("/chat/completions", chat([USER]), 200, answer(), streamed=False)
    history = [USER, {"role": "assistant", "content": "x"}, {"role": "user", "content": "more"}]
    book.add("/chat/completions", chat(history), 200, answer(content="y"), streamed=False)
    first, second = book.document("d")["recorded"]
    assert first["request"]["tools"][0]["name"] == "list_files"
    assert second == {"after": 0, "request": {"messages": [{"user": "more"}]}, "say": "y"}


@pytest.mark.parametrize(
    "text", ["a\x85b", "a\r\nb\n", "\u2028", "\n lead", "trail \n\n", "{{ x }}", " - a: |\n", "\t"]
)
def test_texts_are_written_so_that_they_are_read_the_same(
    player: tuple[Server, httpx.Client], text: str
) -> None:
    """YAML has more ends of lines than one, and folds them."""
    book = Book()
    said = [{"role": "user", "content": text}]
    book.add("/chat/completions", chat(said), 200, answer(content=text), streamed=False)
    client = replayed(player, to_yaml(book.document("x")))
    reply = asked(client, "/rec/v1", body(said)).json()
    assert reply["choices"][0]["message"]["content"] == text


def test_what_is_not_written_down_is_said() -> None:
    book = Book()
    book.add("/v1/models", b"", 200, b"{}", streamed=False)
    book.add("/v1/chat/completions", chat([USER]), 429, b"slow down", streamed=False)
    book.add("/v1/chat/completions", b"{", 200, answer(), streamed=False)
    book.add("/v1/chat/completions", chat([USER]), 200, b"<html>", streamed=False)
    book.add("/v1/chat/completions", chat([USER]), 200, answer(), streamed=False)
    book.add("/v1/chat/completions", chat([USER]), 200, answer(), streamed=False)
    book.add("/v1/chat/completions", chat([USER]), 200, answer(content="z"), streamed=False)
    assert len(book) == 1
    told = [
        "only replies are recorded: /chat/completions, /messages, /responses",
        "the answer was an error, status 429: slow down",
        "the request cannot be read",
        "the answer cannot be read",
        "the request of exchange 0 came again and got another reply",
    ]
    assert len(book.passed_on) == len(told)
    assert all(part in line for part, line in zip(told, book.passed_on, strict=True))
