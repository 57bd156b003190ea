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
from fakeprovider.fitting.tool_mapping import Catalogue
from fakeprovider.replies import Fault, Pace, Refusal, Reply, Text, Thinking, ToolCall, Usage
from fakeprovider.scripts import describe
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider.server import Server
from fakeprovider.yamlscripts import YamlScript, json_schema, load, read_script

EXAMPLES = Path(__file__).parents[2] / "docs" / "scripts"


def script(text: str) -> YamlScript:
    found, problems = read_script(textwrap.dedent(text), "mine", "mine.yaml")
    assert problems == []
    assert found is not None
    return found


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


def spoken(one: YamlScript, turns: int) -> list[str]:
    """What a script of words says on each turn."""
    return [one(said(after(), *["more"] * turn)).text for turn in range(turns)]


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
    one = script(
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
    assert one(after()).blocks == (Refusal("I will not."),)
    assert one(after("a")).finish == "length"
    assert one(after("a", "b")).fault == Fault("rate_limited")
    assert one(after("a", "b", "c")).fault == Fault("stall", {"seconds": 3})
    assert one(after()).pace == Pace(tokens_per_second=50)
    assert describe(one) == "Everything that is not a plain answer."


def test_a_pace_is_a_profile_or_starts_from_one() -> None:
    one = script(
        """
        pace: reading
        turns:
          - say: a
          - say: b
            pace: {profile: reading, first_token: 2, stall: 1, stall_every: 5}
        """
    )
    assert one(after()).pace == Pace(0.0, 5.3)
    assert one(after("x")).pace == Pace(2, 5.3, 0.0, 1, 5)


def test_a_fault_excuses_what_is_otherwise_refused_when_the_file_is_read() -> None:
    one = script("turns: [{ask: {tool: read file}, finish: stop, fault: unknown_tool}]")
    assert one(after()).calls == (ToolCall("read file"),)


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


def outcome(one: YamlScript, conversation: Conversation) -> str:
    try:
        return one(conversation).text
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


# Conditions


@pytest.mark.parametrize(
    ("when", "holds"),
    [
        ("{turn: 1}", True),
        ("{turn: [0, 2]}", False),
        ("{turn: {at_least: 1, at_most: 3}}", True),
        ("{since_last_user: 1}", True),
        ("{since_last_user: {at_least: 2}}", False),
        ("{last_result: any}", True),
        ("{last_result: none}", False),
        ("{any_result: none}", False),
        ("{last_result: {contains: denied}}", True),
        ("{last_result: {contains: [Error, denied]}}", True),
        ("{last_result: {contains: [Error, fine]}}", False),
        ("{last_result: {matches: 'd[aeiou]nied$'}}", True),
        ("{last_result: {equals: denied}}", False),
        ("{last_result: {outcome: error}}", True),
        ("{last_result: {outcome: ok}}", False),
        ("{last_result: {tool: list_files}}", True),
        ("{last_result: {tool: read_file, outcome: error}}", False),
        ("{any_result: {contains: denied}}", True),
        ("{user: Go}", True),
        ("{user: {equals: Go.}}", True),
        ("{system: {matches: ^Be}}", True),
        ("{seen: [brief, denied]}", True),
        ("{seen: nowhere}", False),
        ("{offers: read_file}", True),
        ("{offers: [read_file, bash]}", False),
        ("{any: [{turn: 7}, {user: Go}]}", True),
        ("{all: [{turn: 1}, {not: {user: Go}}]}", False),
        ("{turn: 1, user: Stop}", False),
        ("else", True),
    ],
)
def test_each_condition(when: str, holds: bool) -> None:
    one = script(f"rules: [{{when: {when}, say: 'yes'}}]")
    conversation = after("Error: permission denied")
    assert (outcome(one, conversation) == "yes") is holds


def test_an_outcome_is_an_error_if_the_protocol_or_the_first_word_says_so() -> None:
    one = script("rules: [{when: {last_result: {outcome: error}}, say: e}, {say: o}]")
    marked = after("all is well")
    marked = replace(
        marked, messages=(*marked.messages[:-1], replace(marked.messages[-1], is_error=True))
    )
    assert one(marked).text == "e"
    assert one(after("errors.log mentions Error: x")).text == "o"
    assert one(after("[ERROR] no")).text == "e"


def test_no_case_that_holds_is_the_end_and_says_where() -> None:
    with pytest.raises(ScriptRanOut, match="no case of turn 1 holds; the last message is 'tool'"):
        script("rules: [{when: {turn: 0}, say: x}]")(after("hm"))


# A22: fixtures by rules

PIE = script(
    """
    rules:
      - when: {last_result: {tool: chart}}
        say: drawn
      - when: {user: pie, last_result: none}
        ask: chart
      - when: {user: bar, last_result: none}
        ask: chart2
    """
)


def test_a22_a_result_counts_only_until_the_user_speaks_again() -> None:
    tools = (Offered("chart"), Offered("chart2"))
    pie = Message("user", "a pie, please")
    asked = Message("assistant", calls=(Call("c1", "chart", "{}"),))
    answered = Message("tool", "ok", call_id="c1", tool="chart")
    r1 = Conversation("m", (pie,), tools)
    r2 = Conversation("m", (pie, asked, answered), tools, turn=1)
    r3 = Conversation(
        "m",
        (pie, asked, answered, Message("assistant", "drawn"), Message("user", "now a bar")),
        tools,
        turn=2,
    )
    beside = Message("user", "go on", beside_results=True)
    r4 = Conversation("m", (pie, asked, answered, beside), tools, turn=1)
    own = replace(answered, call_id="theirs")
    r5 = Conversation(
        "m", (pie, replace(asked, calls=(Call("theirs", "chart", "{}"),)), own), tools, turn=1
    )
    assert PIE(r1).calls[0].name == "chart"
    assert PIE(r2).text == "drawn"
    assert PIE(r3).calls[0].name == "chart2"
    assert PIE(r4).text == "drawn"
    assert PIE(r5).text == "drawn"


# Templates

SEEN = after('{"items": [{"id": 7, "name": "a b"}], "url": "x"}\nline two: ticket 42')


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ result | line 0 | json items 0 id }}", "7"),
        ("{{ result | line 0 | json items -1 }}!", '{"id": 7, "name": "a b"}!'),
        ("{{ result | line 0 | json items 0 name | quote }}", "'a b'"),
        ('{{ result | regex "ticket ([0-9]+)" }}', "42"),
        ("{{ result | regex 'ticket .*' | upper }}", "TICKET 42"),
        ("{{ seen | line 0 | lower }}", "be brief."),
        ("{{ user }} turn {{turn}} of {{ model }}", "Go. turn 1 of m"),
        ("{{ result | line 1 | word -1 }}", "42"),
        ("{{ result | json | default 'none' }}", "none"),
        ('{{ "{{" }} and }}', "{{ and }}"),
        ('{{ result | regex \'"url": "(.)"\' | trim }}', "x"),
        ("{{ system }}", "Be brief."),
        ("{{ results | json 0 | word 0 }}", '{"items":'),
    ],
)
def test_templates_take_values_from_what_was_seen(template: str, text: str) -> None:
    one = script(json.dumps({"repeat_last": True, "turns": [{"say": template}]}))
    assert one(SEEN).text == text


def test_an_argument_that_is_one_template_keeps_its_type() -> None:
    arguments = {
        "id": "{{ result | line 0 | json items 0 id }}",
        "all": ["{{ result | line 0 | json items }}"],
        "text": "number {{ result | line 0 | json items 0 id }}",
    }
    call = {"tool": "read_file", "arguments": arguments}
    one = script(json.dumps({"repeat_last": True, "turns": [{"ask": call}]}))
    assert json.loads(one(SEEN).calls[0].arguments) == {
        "id": 7,
        "all": [[{"id": 7, "name": "a b"}]],
        "text": "number 7",
    }


def test_a_template_that_finds_nothing_names_script_turn_and_text() -> None:
    one = script("{repeat_last: true, turns: [{say: '{{ result | json id }}'}]}")
    with pytest.raises(ApiError, match=r"Script 'mine', turn 1: \{\{ result \| json id \}\}: this"):
        one(after("no json"))
    with pytest.raises(ApiError, match="there is no tool result since the last turn"):
        one(after())


# Expectations


@pytest.mark.parametrize(
    ("expect", "difference"),
    [
        ("{tools: [read_file, list_files]}", None),
        (
            "{tools: list_files}",
            "expected exactly the tools ['list_files'], offered are ['list_fil",
        ),
        ("{tools: []}", "expected exactly the tools []"),
        ("{offers: [list_files, bash]}", "expected the tool 'bash' to be offered, offered are ["),
        ("{roles: [system, user, assistant, tool]}", None),
        ("{roles: [user, assistant, tool]}", "message 0 is of role 'system', expected 'user'"),
        ("{roles: [system, user]}", "message 2 of role 'assistant' is one too many"),
        (
            "{roles: [system, user, assistant, tool, user]}",
            "message 4 is missing, expected role 'u",
        ),
        ("{seen: brief}", None),
        ("{seen: verbose}", "expected 'verbose' in some message, and none of the 4 contains it"),
        ("{user: Go.}", None),
        (
            "{user: {equals: Stop.}}",
            "message 1, the user's last, is 'Go.', expected {'equals': 'Sto",
        ),
        ("{last_result: {contains: three}}", None),
        (
            "{last_result: {outcome: error}}",
            "message 3, the result of list_files (ok), is 'one two",
        ),
        ("{last_result: none}", "message 3, the result of list_files (ok), is"),
        ("{prompt_tokens: {at_most: 100}}", None),
        ("{prompt_tokens: {at_most: 98}}", "the prompt has 99 tokens, expected {'at_most': 98}"),
        ("{seen: x, user: y}", "none of the 4 contains it; message 1, the user's last"),
    ],
)
def test_a_request_that_drifts_is_refused_by_script_turn_message_and_difference(
    expect: str, difference: str | None
) -> None:
    one = script(f"{{repeat_last: true, turns: [{{say: fine, expect: {expect}}}]}}")
    here = after("one two three", prompt_tokens=99)
    if difference is None:
        assert one(here).text == "fine"
        return
    with pytest.raises(ApiError) as raised:
        one(here)
    assert raised.value.message.startswith("Script 'mine', turn 1: ")
    assert difference in raised.value.message
    assert (raised.value.status, raised.value.retry) == (400, False)


# Tools and closings


def test_a_scripts_own_mapping_and_closing_fit_it_to_a_client() -> None:
    one = script(
        """
        tools:
          list_files: {tool: bash, arguments: {command: ls}}
          read_file: bash
        closing: {tool: bash, arguments: {command: 'echo DONE {{ answer | quote }}'}}
        turns:
          - ask: list_files
          - say: It's done.
        """
    )
    bash = Offered("bash", None, {"type": "object", "properties": {"command": {"type": "string"}}})
    catalogue = Catalogue().for_script(one)
    offering = replace(after(), tools=(bash,))
    first = catalogue.fit(one(offering), offering).reply
    last = catalogue.fit(one(replace(offering, turn=1)), offering).reply
    assert first.calls == (ToolCall("bash", '{"command":"ls"}'),)
    assert json.loads(last.calls[0].arguments) == {"command": "echo DONE 'It'\"'\"'s done.'"}


def test_closing_by_name_calls_the_tool_with_the_answer_and_text_leaves_words() -> None:
    submit = replace(after(), tools=(Offered("submit"),))
    for closing, calls in (("submit", (ToolCall("submit", '{"answer":"x"}'),)), ("text", ())):
        one = script(f"{{closing: {closing}, turns: [{{say: x}}]}}")
        assert Catalogue().for_script(one).fit(one(submit), submit).reply.calls == calls


# The classics, byte for byte


def test_the_examples_are_valid_for_editors() -> None:
    Draft202012Validator.check_schema(json_schema())
    for file in EXAMPLES.glob("*.yaml"):
        Draft202012Validator(json_schema()).validate(yaml.safe_load(file.read_text()))


@pytest.fixture(scope="module")
def classics() -> Iterator[httpx.Client]:
    scripts = {f"{name}-yaml": one for name, one in load(EXAMPLES).items()}
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


@pytest.mark.parametrize(
    "turn",
    [
        "{cases: [{when: {last_result: {matches: '^(a|aa)+$'}}, say: x}]}",
        "{expect: {last_result: {matches: '^(a|aa)+$'}}, say: x}",
        """{say: '{{ result | regex "^(a|aa)+$" | default "none" }}'}""",
    ],
    ids=["condition", "expectation", "template"],
)
def test_a_pattern_that_backtracks_fails_in_words_and_does_not_hang(turn: str) -> None:
    """For ever is what it would take: more ways to split the text than atoms on earth."""
    one = script(f"turns: [{{ask: list_files}}, {turn}]")
    with pytest.raises(ApiError) as failed:
        one(after("a" * 200 + "!"))
    assert failed.value.code == "script_failed"
    assert failed.value.message.startswith("Script 'mine', turn 1: the pattern '^(a|aa)+$' took")
    assert failed.value.retry is False


def test_a_pattern_that_python_would_hang_on_is_just_no_match() -> None:
    one = script("turns: [{cases: [{when: {user: {matches: '^(a+)+$'}}, say: x}, {say: y}]}]")
    assert one(after(user="a" * 200 + "!")).text == "y"


def test_the_schema_says_what_a_script_is_called() -> None:
    told = json.dumps(json_schema())
    assert "Its name; without one, that of its file." in told
