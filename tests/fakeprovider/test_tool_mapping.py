"""Mapping tools: a script's calls become calls that the client offers, or a plain answer."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakeprovider.conversation import Conversation, Message, Offered
from fakeprovider.fitting.arguments import admits
from fakeprovider.fitting.client_presets import PRESETS, SUBMIT, Preset, harmless_command
from fakeprovider.fitting.tool_mapping import Target, ToolMapping, only_reads
from fakeprovider.replies import Fault, Refusal, Reply, Text, ToolCall, ask, call, say
from fakeprovider.server import Server


def tool(name: str, required: tuple[str, ...] = (), **properties: Any) -> Offered:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return Offered(name, None, schema)


STRING = {"type": "string"}
LIST = tool("list_files")
READ = tool("read_file", ("path",), path=STRING)
BASH = tool("Bash", ("command",), command=STRING, description=STRING)
VIEW = tool("view", ("where",), where={"type": "string", "minLength": 2})


def offering(*tools: Offered) -> Conversation:
    return Conversation("m", (Message("user", "Go."),), tools=tools)


def fitted(reply: Reply, *tools: Offered, mapping: ToolMapping | None = None) -> Reply:
    return (mapping or ToolMapping()).fit(reply, offering(*tools)).reply


def test_a_call_of_an_offered_tool_goes_out_untouched() -> None:
    reply = ask("list_files", {"path": 1})
    done = ToolMapping(client=PRESETS["claude-code"]).fit(reply, offering(BASH, LIST))
    assert done.reply is reply
    assert done.notes == ()


def test_a_mapping_comes_before_preset_and_readers() -> None:
    tools = {"list_files": Target("Bash", {"command": "ls -a"})}
    mapping = ToolMapping(tools, PRESETS["claude-code"])
    assert fitted(ask("list_files"), VIEW, BASH, mapping=mapping).calls == (
        call("Bash", {"command": "ls -a"}),
    )


def test_a_mapping_by_name_keeps_arguments_that_fit_and_else_takes_the_smallest() -> None:
    mapping = ToolMapping({"read_file": Target("view"), "cat": Target("view")})
    own = fitted(ask("cat", {"where": "here"}), VIEW, mapping=mapping)
    other = fitted(ask("read_file", {"path": "x"}), VIEW, mapping=mapping)
    assert own.calls == (call("view", {"where": "here"}),)
    assert other.calls == (call("view", {"where": "aa"}),)


def test_a_mapping_to_a_tool_that_is_not_offered_is_passed_over() -> None:
    mapping = ToolMapping({"list_files": Target("Bash", {"command": "ls"})})
    assert fitted(ask("list_files"), VIEW, mapping=mapping).calls == (
        call("view", {"where": "aa"}),
    )


def test_else_the_first_tool_that_only_reads_is_called_as_small_as_can_be() -> None:
    done = ToolMapping().fit(ask("list_files"), offering(BASH, VIEW, READ))
    assert done.reply.calls == (call("view", {"where": "aa"}),)
    assert [note.rule for note in done.notes] == ["call_replaced"]
    assert 'list_files is not offered: view {"where":"aa"}' in done.notes[0].detail


def test_a_reader_whose_arguments_cannot_be_had_is_passed_over() -> None:
    broken = tool("list_all", ("x",), x=False)
    assert fitted(ask("go"), broken, VIEW).calls == (call("view", {"where": "aa"}),)
    done = ToolMapping().fit(ask("go"), offering(broken))
    assert "list_all cannot be called: arguments.x: its schema is false" in done.notes[0].detail


@pytest.mark.parametrize("tools", [(), (BASH,), (tool("delete_file"), tool("write"))])
def test_where_nothing_fits_the_answer_is_plain_and_says_why(tools: tuple[Offered, ...]) -> None:
    done = ToolMapping().fit(say("Let me see.", call("list_files")), offering(*tools))
    assert done.reply.calls == ()
    assert done.reply.text.startswith("Let me see.I stop here: the script asks for list_files")
    assert [note.rule for note in done.notes] == ["plain_answer"]


def test_of_several_calls_those_that_can_be_had_are_kept_in_their_order() -> None:
    mapping = ToolMapping({"read_file": Target("Bash", {"command": "cat"})})
    reply = ask("zap", None, call("read_file"), call("Bash", {"command": "ls"}))
    done = mapping.fit(reply, offering(BASH))
    assert [tool_call.arguments for tool_call in done.reply.calls] == [
        '{"command":"cat"}',
        '{"command":"ls"}',
    ]
    assert [note.rule for note in done.notes] == ["call_dropped", "call_replaced"]


def test_an_explicit_id_stays_with_its_call() -> None:
    assert fitted(Reply((ToolCall("a", "{}", "mine"),)), VIEW).calls[0].id == "mine"


def test_a_fault_that_is_an_unknown_tool_is_left_alone() -> None:
    reply = Reply((ToolCall("nonsense"),), fault=Fault("unknown_tool"))
    assert fitted(reply, VIEW) is reply


READERS = (
    "list_files ListFiles read Read Glob LS ls view_image getStatus mcp__fs__read_file a.b/find"
)
OTHERS = (
    "bash Bash exec_command read_and_delete readWrite get_or_create mark_read todo_read TodoWrite "
    "find_and_replace search_web WebFetch view_url delete_file write run Task submit unread "
    "list2exec listen readline_exec status_update mcp__read__delete get/exec mcp__list_files__run"
)


@pytest.mark.parametrize("name", READERS.split())
def test_names_that_say_that_a_tool_only_reads(name: str) -> None:
    assert only_reads(name)


@pytest.mark.parametrize("name", [*OTHERS.split(), "", "__", "…"])
def test_names_that_do_not_say_so(name: str) -> None:
    assert not only_reads(name)


ACTING = st.sampled_from(["delete", "write", "exec", "run", "send", "remove", "update", "kill"])
PART = st.sampled_from(["list", "read", "file", "get", "all", "the", "data", "view"])


@settings(max_examples=100)
@given(st.lists(PART, max_size=3), ACTING, st.lists(PART, max_size=3), st.sampled_from("_-."))
def test_a_name_with_an_acting_word_is_never_taken_for_a_reader(
    before: list[str], acting: str, after: list[str], between: str
) -> None:
    words = [*before, acting, *after]
    assert not only_reads("_".join(words))
    assert not only_reads(words[0] + "".join(word.title() for word in words[1:]))
    assert not ToolMapping().fit(ask("x"), offering(tool("_".join(words)))).reply.calls


# Presets


def test_harmless_commands_list_print_below_or_echo() -> None:
    assert harmless_command(call("list_files")) == "ls"
    assert harmless_command(call("read_file", {"path": "it's.log"})) == "cat -- 'it'\"'\"'s.log'"
    assert harmless_command(call("read_file", {"path": "/etc/shadow"})).startswith("echo ")
    assert harmless_command(call("read_file", {"path": "../up"})).startswith("echo ")
    assert harmless_command(call("delete_file", {"path": "a; rm -rf b"})) == (
        'echo \'delete_file {"path":"a; rm -rf b"}\''
    )
    assert harmless_command(ToolCall("read_file", '{"path": "broken')).startswith("echo ")


CODEX = tool("exec_command", ("cmd",), cmd=STRING)
OLD_CODEX = tool("shell", ("command",), command={"type": "array", "items": STRING})
OPENCODE = tool("bash", ("command", "description"), command=STRING, description=STRING)
INSPECT = Offered(
    "bash",
    None,
    {
        "type": "object",
        "properties": {"cmd": STRING},
        "required": ["cmd"],
        "additionalProperties": False,
    },
)


STAND_INS = [
    ("codex", CODEX, {"cmd": "ls"}),
    ("codex", OLD_CODEX, {"command": ["bash", "-lc", "ls"]}),
    ("claude-code", BASH, {"command": "ls", "description": "Runs a harmless command"}),
    ("opencode", OPENCODE, {"command": "ls", "description": "Runs a harmless command"}),
    ("mini-swe-agent", tool("bash", ("command",), command=STRING), {"command": "ls"}),
    ("inspect", INSPECT, {"cmd": "ls"}),
]


@pytest.mark.parametrize(("client", "offered", "arguments"), STAND_INS)
def test_each_presets_stand_in_fits_the_tool_that_its_client_offers(
    client: str, offered: Offered, arguments: dict[str, Any]
) -> None:
    done = ToolMapping(client=PRESETS[client]).fit(ask("list_files"), offering(VIEW, offered))
    assert [json.loads(tool_call.arguments) for tool_call in done.reply.calls] == [arguments]
    assert admits(offered.parameters, arguments)
    assert f"preset {client}" in done.notes[0].detail


CLOSINGS = [
    ("smolagents", tool("final_answer", ("answer",), answer={}), "final_answer", "It's done."),
    ("inspect", tool("submit", ("answer",), answer=STRING), "submit", "It's done."),
    (
        "mini-swe-agent",
        tool("bash", ("command",), command=STRING),
        "bash",
        f"echo {SUBMIT} && echo 'It'\"'\"'s done.'",
    ),
]


@pytest.mark.parametrize(("client", "offered", "name", "arguments"), CLOSINGS)
def test_a_final_answer_takes_the_form_that_ends_the_client(
    client: str, offered: Offered, name: str, arguments: str
) -> None:
    reply = fitted(say("It's done."), offered, mapping=ToolMapping(client=PRESETS[client]))
    assert [tool_call.name for tool_call in reply.calls] == [name]
    assert list(json.loads(reply.calls[0].arguments).values()) == [arguments]
    assert reply.text == ""


def test_a_plain_answer_takes_that_form_too() -> None:
    """mini-swe-agent asks again for ever if a reply calls nothing."""
    mapping = ToolMapping(client=PRESETS["smolagents"])
    reply = fitted(ask("zap"), tool("final_answer", ("answer",), answer=STRING), mapping=mapping)
    assert reply.calls[0].name == "final_answer"


@pytest.mark.parametrize(
    "reply",
    [
        Reply((Refusal("No."),)),
        Reply((Text("cut"),), finish="length"),
        say("Look", call("list_files")),
    ],
)
def test_what_is_no_final_answer_keeps_its_form(reply: Reply) -> None:
    mapping = ToolMapping(client=PRESETS["inspect"])
    assert fitted(reply, LIST, tool("submit", ("answer",), answer=STRING), mapping=mapping) is reply


def test_words_will_do_for_clients_without_a_closing_call() -> None:
    reply = say("Done.")
    for client in ("codex", "claude-code", "opencode", "aider"):
        assert fitted(reply, BASH, mapping=ToolMapping(client=PRESETS[client])) is reply


# Over the wire


def post(server: Server, base: str, *messages: dict[str, Any], **more: Any) -> httpx.Response:
    body = {"model": "any", "messages": list(messages), **more}
    return httpx.post(f"{server.url}/{base}/v1/chat/completions", json=body, timeout=60)


USER = {"role": "user", "content": "Which file mentions a timeout?"}
WIRE_BASH = {
    "type": "function",
    "function": {"name": "Bash", "parameters": BASH.parameters},
}


@pytest.mark.parametrize("stream", [False, True])
def test_why_a_reply_is_plain_stands_in_a_header_and_in_the_journal(
    server: Server, stream: bool
) -> None:
    reply = post(server, "~why/plan", USER, stream=stream)
    assert reply.headers["x-fakeprovider-note"].startswith("plain_answer: the script asks for")
    exchange = server.journal.exchanges("why")[-1]
    assert [note.rule for note in exchange.notes] == ["plain_answer"]
    assert exchange.status == 200


def test_a_path_parameter_names_the_preset(server: Server) -> None:
    reply = post(server, "plan;client=claude-code", USER, tools=[WIRE_BASH]).json()
    sent = reply["choices"][0]["message"]["tool_calls"][0]["function"]
    assert sent["name"] == "Bash"
    assert reply["choices"][0]["finish_reason"] == "tool_calls"
    unknown = post(server, "plan;client=nobody", USER).json()["error"]["message"]
    assert "client='nobody': must be one of codex, claude-code" in unknown


def test_a_substituted_call_counts_as_what_it_is(server: Server) -> None:
    usual = post(server, "~usual/plan;client=claude-code", USER, tools=[WIRE_BASH]).json()["usage"]
    assert usual["completion_tokens"] > 23  # what list_files alone comes to


EXAMPLES = [
    ("user", "Change get_factorial() to use math.factorial"),
    ("assistant", "To make this change we need to modify `app.py`"),
    ("user", "I switched to a new code base. Please don't consider the above files"),
    ("assistant", "Ok."),
]
ADDED = [
    ("user", "I have *added these files to the chat* so you can go ahead and edit them."),
    ("assistant", "Ok, any changes I propose will be to those files."),
]
NOT_SHARED = [
    ("user", "I am not sharing any files that you can edit yet."),
    ("assistant", "Ok."),
]


@pytest.mark.parametrize("before", [[*EXAMPLES, *ADDED], [*EXAMPLES, *NOT_SHARED], NOT_SHARED, []])
def test_aiders_made_up_assistant_messages_are_no_turns(
    server: Server, before: list[tuple[str, str]]
) -> None:
    """As 0.86.2 sends them: examples of the edit format, and an Ok to what it says for the user."""
    history = [{"role": role, "content": text} for role, text in before]
    first = post(server, "plan;client=aider", *history, USER).headers["x-fakeprovider-note"]
    said = {"role": "assistant", "content": "Ok."}
    second = post(server, "plan;client=aider", *history, USER, said, USER)
    assert "asks for list_files" in first
    assert "asks for read_file" in second.headers["x-fakeprovider-note"]


# Presets


def gaps() -> list[str]:
    """What each client preset lacks."""
    page = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
    tested = {client for client, *_ in (*STAND_INS, *CLOSINGS)} | {"aider"}
    lacking = [
        f"{client} has no base URL with ;client={client} in docs/clients.md"
        for client in PRESETS
        if not re.search(rf";client={re.escape(client)}(/v1|')", page)
    ]
    lacking += [
        f"{client} has neither a stand-in nor a closing that is tested"
        for client in PRESETS
        if client not in tested
    ]
    return lacking


def test_every_preset_has_its_place_in_the_docs_and_its_test() -> None:
    assert gaps() == []


def test_a_preset_that_is_only_registered_is_told_by_name() -> None:
    PRESETS.add("brand-new", Preset("brand-new"))
    try:
        assert gaps() == [
            "brand-new has no base URL with ;client=brand-new in docs/clients.md",
            "brand-new has neither a stand-in nor a closing that is tested",
        ]
    finally:
        PRESETS.remove("brand-new")
