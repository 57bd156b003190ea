"""Scripts in YAML: what each part of the language does."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from fakeprovider.conversation import Call, Conversation, Message, Offered
from fakeprovider.errors import ApiError
from fakeprovider.replies import Fault, Pace, Refusal, Reply, Text, Thinking, ToolCall, Usage
from fakeprovider.scripts import describe
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider.server import Server
from fakeprovider.yamlscripts import YamlScript, json_schema, load, read_script

EXAMPLES = Path(__file__).parents[2] / "docs" / "scripts"


def script(text: str) -> YamlScript:
    result, problems = read_script(textwrap.dedent(text), "mine", "mine.yaml")
    assert problems == []
    assert result is not None
    return result


def after(*results: str, user: str = "Go.", **more: Any) -> Conversation:
    """The conversation after one turn of one call for each result."""
    messages = [Message("system", "Be brief."), Message("user", user)]
    for turn, result in enumerate(results):
        messages.append(Message("assistant", calls=(Call(f"fake{turn}", "list_files", "{}"),)))
        messages.append(Message("tool", result, call_id=f"fake{turn}", tool="list_files"))
    turns = len(results)
    tools = (Offered("list_files"), Offered("read_file"))
    return Conversation("m", tuple(messages), tools, turn=turns, position=turns, **more)


def said(conversation: Conversation, *texts: str) -> Conversation:
    """The conversation with the last turn answered in words, and something more from the user."""
    more: list[Message] = []
    for text in texts:
        more += [Message("assistant", "Done."), Message("user", text)]
    return replace(
        conversation,
        messages=(*conversation.messages, *more),
        turn=conversation.turn + len(texts),
        position=conversation.position + len(texts),
    )


def spoken(scripted: YamlScript, turns: int) -> list[str]:
    """What a script of words says on each turn."""
    return [scripted(said(after(), *["more"] * turn)).text for turn in range(turns)]


# What a turn says


def test_every_part_of_a_reply_stands_in_its_order() -> None:
    reply = script(
        """
        turns:
          - think: Hm.
            say: Let me look.
            ask:
              - list_files
              - {tool: read_file, arguments: {path: a, deep: [1, null]}, id: mine}
              - {tool: read_file, arguments: '{"path": '}
            then_say: There.
            usage: {prompt_tokens: 7}
            pace: {first_token: 0.5}
        """
    )(after())
    assert reply == Reply(
        (
            Thinking("Hm."),
            Text("Let me look."),
            ToolCall("list_files"),
            ToolCall("read_file", '{"path":"a","deep":[1,null]}', "mine"),
            ToolCall("read_file", '{"path": '),
            Text("There."),
        ),
        usage=Usage(prompt_tokens=7),
        pace=Pace(first_token=0.5),
    )


def test_refusal_finish_fault_and_the_scripts_own_pace() -> None:
    scripted = script(
        """
        description: Everything that is not a plain answer.
        pace: {tokens_per_second: 50}
        turns:
          - refuse: I will not.
          - say: half an
            finish: length
          - fault: rate_limited
          - fault: {name: stall, seconds: 3}
            say: x
        """
    )
    assert scripted(after()).blocks == (Refusal("I will not."),)
    assert scripted(after("a")).finish == "length"
    assert scripted(after("a", "b")).fault == Fault("rate_limited")
    assert scripted(after("a", "b", "c")).fault == Fault("stall", {"seconds": 3})
    assert scripted(after()).pace == Pace(tokens_per_second=50)
    assert describe(scripted) == "Everything that is not a plain answer."


def test_a_pace_is_a_profile_or_starts_from_one() -> None:
    scripted = script(
        """
        pace: reading
        turns:
          - say: a
          - say: b
            pace: {profile: reading, first_token: 2, stall: 1, stall_every: 5}
        """
    )
    assert scripted(after()).pace == Pace(0.0, 5.3)
    assert scripted(after("x")).pace == Pace(2, 5.3, 0.0, 1, 5)


def test_a_fault_excuses_what_is_otherwise_refused_when_the_file_is_read() -> None:
    scripted = script("turns: [{ask: {tool: read file}, finish: stop, fault: unknown_tool}]")
    assert scripted(after()).calls == (ToolCall("read file"),)


# Which turn it is


def test_a_script_that_runs_out_says_so() -> None:
    with pytest.raises(ScriptRanOut, match="has no turn 1"):
        script("turns: [{say: x}]")(after("a"))


def test_the_last_turn_is_repeated_if_asked_for() -> None:
    assert spoken(script("{repeat_last: true, turns: [{say: a}, {say: b}]}"), 4) == [*"abbb"]


def test_a_block_is_repeated_so_many_times_or_for_ever() -> None:
    times = "turns: [{say: a}, {loop: [{say: b}, {say: c}], times: 2}, {say: d}]"
    ever = "turns: [{say: a}, {loop: [{say: b}, {say: c}]}]"
    nested = "turns: [{loop: [{say: a}, {loop: [{say: b}], times: 2}], times: 2}, {say: d}]"
    assert spoken(script(times), 6) == [*"abcbcd"]
    assert spoken(script(ever), 7) == [*"abcbcbc"]
    assert spoken(script(nested), 7) == [*"abbabbd"]


def test_a_jump_goes_to_a_label_or_to_the_end() -> None:
    back = "turns: [{say: a}, {say: b, label: top}, {say: c, goto: top}]"
    over = """
    turns:
      - {say: a, goto: last}
      - {say: b, label: first, goto: end}
      - {say: c, label: last, goto: first}
    """
    assert spoken(script(back), 6) == [*"abcbcb"]
    assert spoken(script(over), 3) == [*"acb"]
    with pytest.raises(ScriptRanOut):
        spoken(script(over), 4)


def test_a_label_on_a_block_is_its_first_turn() -> None:
    text = "turns: [{say: a}, {loop: [{say: b}, {say: c}], times: 2, label: l}, {say: d, goto: l}]"
    assert spoken(script(text), 9) == [*"abcbcdbcb"]


POLL = script(
    """
    turns:
      - say: start
      - label: poll
        cases:
          - when: {user: ready}
            say: finished
            goto: end
          - say: still waiting
            goto: poll
    """
)


def test_a_jump_on_a_condition_follows_the_conversation_as_it_stood() -> None:
    waiting = said(after(), "no", "no", "no")
    assert POLL(waiting).text == "still waiting"
    assert POLL(said(after(), "no", "no", "ready")).text == "finished"
    with pytest.raises(ScriptRanOut):  # it had ended two turns ago
        POLL(said(after(), "ready", "no", "no"))


def test_where_the_way_cannot_be_told_from_a_trimmed_history_the_script_says_so() -> None:
    whole = said(after(), "no", "no", "no")
    trimmed = replace(whole, messages=whole.messages[-3:])
    with pytest.raises(ApiError, match="turn 3: where turn 3 leads depends on turn 1, and the"):
        POLL(trimmed)


@settings(max_examples=60)
@given(st.data())
def test_with_or_without_conditions_the_same_way_is_found(data: st.DataObject) -> None:
    """A jump that depends on a condition that always holds is a jump."""
    size = data.draw(st.integers(1, 5))
    targets = data.draw(st.lists(st.integers(0, size), min_size=size, max_size=size))
    places = [0]  # those that something leads to: a script may have no others
    while targets[places[-1]] not in (*places, size):
        places.append(targets[places[-1]])
    names = {**{place: f"t{place}" for place in places}, size: "end"}

    def turn(place: int, cases: bool) -> dict[str, Any]:
        case = {"say": str(place), "goto": names[targets[place]]}
        if not cases:
            return {"label": names[place], **case}
        other = {"say": "never", "goto": data.draw(st.sampled_from(sorted(names.values())))}
        holds = {"user": {"contains": ""}}
        return {"label": names[place], "cases": [{"when": holds, **case}, other]}

    def written(cases: bool) -> str:
        return json.dumps({"turns": [turn(place, cases) for place in places]})

    plain, _ = read_script(written(cases=False), "x")
    conditional, _ = read_script(written(cases=True), "x")
    assert plain is not None
    assert conditional is not None
    for number in range(12):
        here = said(after(), *["x"] * number)
        assert outcome(plain, here) == outcome(conditional, here)


def outcome(scripted: YamlScript, conversation: Conversation) -> str:
    try:
        return scripted(conversation).text
    except ScriptRanOut:
        return "end"


def test_turns_can_count_from_the_last_user_message_and_leave_some_out() -> None:
    text = "turns: [{say: a}, {say: b}]"
    task = script(f"{{turn_from: last_user, {text}}}")
    assert task(said(after("x", "y"), "next")).text == "a"
    assert task(after("x")).text == "b"
    shifted = script(f"{{turn_offset: 2, {text}}}")
    assert shifted(after("x", "y", "z")).text == "b"
    assert shifted(after()).text == "a"


# The classics, byte for byte


def test_the_examples_are_valid_for_editors() -> None:
    Draft202012Validator.check_schema(json_schema())
    for file in EXAMPLES.glob("*.yaml"):
        Draft202012Validator(json_schema()).validate(yaml.safe_load(file.read_text()))


@pytest.fixture(scope="module")
def classics() -> Iterator[httpx.Client]:
    scripts = {f"{name}-yaml": scripted for name, scripted in load(EXAMPLES).items()}
    with (
        Server("plan", scripts=scripts) as running,
        httpx.Client(base_url=running.url, timeout=60) as client,
    ):
        yield client


TOOLS = [
    {"type": "function", "function": {"name": name}}
    for name in ("list_files", "read_file", "delete_file")
]
ANSWERS = {
    "instructive": "Error: no such file: timeout.log. Call list_files to see what exists.",
    "opaque": "Something failed.",
    "declined": "The user declined this call.",
    "done": "Done.",
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("answer", ANSWERS)
@pytest.mark.parametrize(
    "name", ["plan", "runaway", "recover", "denied", "destructive", "duplicate"]
)
def test_the_classics_in_yaml_are_the_same_bytes(
    classics: httpx.Client, name: str, answer: str, stream: bool
) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Which file?"}]
    for turn in range(6):
        body = {"model": "m", "messages": messages, "tools": TOOLS, "stream": stream}
        ours, theirs = (
            classics.post(f"/{path}/v1/chat/completions", json=body)
            for path in (name, f"{name}-yaml")
        )
        if ours.status_code == 400:
            assert theirs.status_code == 400
            assert ours.json()["error"]["code"] == theirs.json()["error"]["code"]
            return
        assert ours.content == theirs.content
        whole = classics.post(f"/{name}/v1/chat/completions", json={**body, "stream": False})
        message = whole.json()["choices"][0]["message"]
        messages.append({key: message.get(key) for key in ("role", "content", "tool_calls")})
        if message.get("tool_calls"):
            messages.append(
                {"role": "tool", "tool_call_id": f"fake{turn}", "content": ANSWERS[answer]}
            )
        else:
            messages[-1].pop("tool_calls")
            messages.append({"role": "user", "content": "Go on."})


def test_the_schema_says_what_a_script_is_called() -> None:
    schema = json.dumps(json_schema())
    assert "Its name; without one, that of its file." in schema
