"""Scripts in YAML: what they see of a request, in conditions, templates and expectations."""

from __future__ import annotations

import json
import re
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fakeprovider.conversation import Call, Conversation, Message, Offered
from fakeprovider.errors import ApiError
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.replies import ToolCall
from fakeprovider.scripts.reply_sequence import ScriptRanOut
from fakeprovider.yamlscripts import YamlScript, json_schema, read_script
from fakeprovider.yamlscripts.conditions import CONDITIONS, Predicate, condition
from fakeprovider.yamlscripts.expectations import EXPECTATIONS
from fakeprovider.yamlscripts.matches import MATCHER, text_match

PAGE = (Path(__file__).parents[2] / "docs" / "yaml-scripts.md").read_text(encoding="utf-8")


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


def outcome(scripted: YamlScript, conversation: Conversation) -> str:
    try:
        return scripted(conversation).text
    except ScriptRanOut:
        return "end"


# Conditions


WHEN = [
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
]


def gaps() -> list[str]:
    """What each condition and expectation lacks."""
    lacking = [
        f"condition {name} has no row in docs/yaml-scripts.md"
        for name, kind in CONDITIONS.items()
        if f"| `{name}` | {kind.about} |" not in PAGE
    ]
    lacking += [
        f"condition {name} has no example in WHEN"
        for name in CONDITIONS
        if not any(re.search(rf"\b{name}:", when) for when, _ in WHEN)
    ]
    lacking += [
        f"expectation {name} has no row in docs/yaml-scripts.md"
        for name, kind in EXPECTATIONS.items()
        if f"| `{name}` | {kind.about} |" not in PAGE
    ]
    lacking += [
        f"expectation {name} has no example in EXPECT"
        for name in EXPECTATIONS
        if not any(re.search(rf"\b{name}:", expect) for expect, _ in EXPECT)
    ]
    return lacking


def test_every_condition_and_expectation_has_its_docs_row_and_its_test() -> None:
    assert gaps() == []


def test_a_condition_registered_once_is_everywhere_and_told_by_name_where_it_lacks_something() -> (
    None
):
    """The parser takes it, the schema has it, the search for impossible ones bears it."""

    @condition("model", MATCHER, "The model that the client asks for.")
    def _model(written: Any) -> Predicate:
        match = text_match(written)
        return lambda conversation: match(conversation.model)

    try:
        scripted = script("rules: [{when: {not: {model: {equals: m}}}, say: other}, {say: ours}]")
        assert scripted(after()).text == "ours"
        properties = json_schema()["$defs"]["condition"]["properties"]
        assert properties["model"]["description"] == "The model that the client asks for."
        assert gaps() == [
            "condition model has no row in docs/yaml-scripts.md",
            "condition model has no example in WHEN",
        ]
    finally:
        CONDITIONS.remove("model")


@pytest.mark.parametrize(("when", "holds"), WHEN)
def test_each_condition(when: str, holds: bool) -> None:
    scripted = script(f"rules: [{{when: {when}, say: 'yes'}}]")
    conversation = after("Error: permission denied")
    assert (outcome(scripted, conversation) == "yes") is holds


def test_an_outcome_is_an_error_if_the_protocol_or_the_first_word_says_so() -> None:
    scripted = script("rules: [{when: {last_result: {outcome: error}}, say: e}, {say: o}]")
    marked = after("all is well")
    marked = replace(
        marked, messages=(*marked.messages[:-1], replace(marked.messages[-1], is_error=True))
    )
    assert scripted(marked).text == "e"
    assert scripted(after("errors.log mentions Error: x")).text == "o"
    assert scripted(after("[ERROR] no")).text == "e"


def test_no_case_that_holds_is_the_end_and_says_where() -> None:
    with pytest.raises(ScriptRanOut, match="no case of turn 1 holds; the last message is 'tool'"):
        script("rules: [{when: {turn: 0}, say: x}]")(after("hm"))


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


def test_a_result_counts_only_until_the_user_speaks_again() -> None:
    tools = (Offered("chart"), Offered("chart2"))
    pie = Message("user", "a pie, please")
    calling = Message("assistant", calls=(Call("c1", "chart", "{}"),))
    answered = Message("tool", "ok", call_id="c1", tool="chart")
    r1 = Conversation("m", (pie,), tools)
    r2 = Conversation("m", (pie, calling, answered), tools, turn=1)
    r3 = Conversation(
        "m",
        (pie, calling, answered, Message("assistant", "drawn"), Message("user", "now a bar")),
        tools,
        turn=2,
    )
    beside = Message("user", "go on", beside_results=True)
    r4 = Conversation("m", (pie, calling, answered, beside), tools, turn=1)
    own = replace(answered, call_id="theirs")
    r5 = Conversation(
        "m", (pie, replace(calling, calls=(Call("theirs", "chart", "{}"),)), own), tools, turn=1
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
    scripted = script(json.dumps({"repeat_last": True, "turns": [{"say": template}]}))
    assert scripted(SEEN).text == text


def test_an_argument_that_is_one_template_keeps_its_type() -> None:
    arguments = {
        "id": "{{ result | line 0 | json items 0 id }}",
        "all": ["{{ result | line 0 | json items }}"],
        "text": "number {{ result | line 0 | json items 0 id }}",
    }
    call = {"tool": "read_file", "arguments": arguments}
    scripted = script(json.dumps({"repeat_last": True, "turns": [{"ask": call}]}))
    assert json.loads(scripted(SEEN).calls[0].arguments) == {
        "id": 7,
        "all": [[{"id": 7, "name": "a b"}]],
        "text": "number 7",
    }


def test_a_template_that_finds_nothing_names_script_turn_and_text() -> None:
    scripted = script("{repeat_last: true, turns: [{say: '{{ result | json id }}'}]}")
    with pytest.raises(ApiError, match=r"Script 'mine', turn 1: \{\{ result \| json id \}\}: this"):
        scripted(after("no json"))
    with pytest.raises(ApiError, match="there is no tool result since the last turn"):
        scripted(after())


# Expectations


EXPECT = [
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
]


@pytest.mark.parametrize(("expect", "difference"), EXPECT)
def test_a_request_that_drifts_is_refused_by_script_turn_message_and_difference(
    expect: str, difference: str | None
) -> None:
    scripted = script(f"{{repeat_last: true, turns: [{{say: fine, expect: {expect}}}]}}")
    here = after("one two three", prompt_tokens=99)
    if difference is None:
        assert scripted(here).text == "fine"
        return
    with pytest.raises(ApiError) as raised:
        scripted(here)
    assert raised.value.message.startswith("Script 'mine', turn 1: ")
    assert difference in raised.value.message
    assert (raised.value.status, raised.value.retry) == (400, False)


# Tools and closings


def test_a_scripts_own_mapping_and_closing_fit_it_to_a_client() -> None:
    scripted = script(
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
    catalogue = ToolMapping().for_script(scripted)
    offering = replace(after(), tools=(bash,))
    first = catalogue.fit(scripted(offering), offering).reply
    last = catalogue.fit(scripted(replace(offering, turn=1)), offering).reply
    assert first.calls == (ToolCall("bash", '{"command":"ls"}'),)
    assert json.loads(last.calls[0].arguments) == {"command": "echo DONE 'It'\"'\"'s done.'"}


def test_closing_by_name_calls_the_tool_with_the_answer_and_text_leaves_words() -> None:
    submit = replace(after(), tools=(Offered("submit"),))
    for closing, calls in (("submit", (ToolCall("submit", '{"answer":"x"}'),)), ("text", ())):
        scripted = script(f"{{closing: {closing}, turns: [{{say: x}}]}}")
        assert ToolMapping().for_script(scripted).fit(scripted(submit), submit).reply.calls == calls


# Patterns


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
    scripted = script(f"turns: [{{ask: list_files}}, {turn}]")
    with pytest.raises(ApiError) as failed:
        scripted(after("a" * 200 + "!"))
    assert failed.value.code == "script_failed"
    assert failed.value.message.startswith("Script 'mine', turn 1: the pattern '^(a|aa)+$' took")
    assert failed.value.retry is False


def test_a_pattern_that_python_would_hang_on_is_just_no_match() -> None:
    scripted = script("turns: [{cases: [{when: {user: {matches: '^(a+)+$'}}, say: x}, {say: y}]}]")
    assert scripted(after(user="a" * 200 + "!")).text == "y"
