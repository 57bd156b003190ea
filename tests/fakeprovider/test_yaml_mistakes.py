"""Mistakes in YAML scripts: each is told with file, line, what was found and what is allowed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from fakeprovider.yamlscripts import BadScripts, json_schema, load, read_script

MISTAKES = [
    ("empty", "", "1: the file is empty; a script needs 'turns', 'rules' or 'recorded'"),
    ("comment-only", "# to do\n", "1: the file is empty"),
    ("not-yaml", "turns: [", "1: not YAML: expected the node content, but found '<stream end>'"),
    ("tab", "turns:\n\t- say: x", "2: not YAML: found character '\\t' that cannot start any token"),
    ("two-documents", "turns:\n  - say: x\n---\nturns: []", "3: not YAML: but found another"),
    ("list-at-top", "- say: x", "1: found a list of 1; allowed: a script (a mapping with name, "),
    ("no-turns", "description: x", "1: a script needs at least one of turns, rules, recorded"),
    ("empty-turns", "turns: []", "1: the list has 0; allowed: 1 or more"),
    ("turns-no-list", "turns: {say: x}", "1: found a mapping with say; allowed: a list of (turn)"),
    ("turn-is-text", "turns:\n  - hello", "2: found text 'hello'; allowed: a turn (a mapping with"),
    (
        "unknown-key",
        "turns:\n  - sey: x",
        "2: unknown key 'sey' in a turn (did you mean 'say'?); allowed: label, expect, cases",
    ),
    ("unknown-top-key", "turn:\n  - say: x", "1: unknown key 'turn' in a script (did you mean"),
    (
        "twice",
        "turns:\n  - say: x\n    say: y",
        "3: the key 'say' stands here twice (first on line 2)",
    ),
    ("says-nothing", "turns:\n  - label: a", "2: a turn needs at least one of say, ask, then_say"),
    (
        "number-for-text",
        "turns:\n  - say: 42",
        "2: found a whole number 42; allowed: text, in which",
    ),
    (
        "bad-turn-from",
        "turn_from: user\nturns: [{say: x}]",
        "1: found text 'user'; allowed: start |",
    ),
    (
        "bad-offset",
        "turn_offset: -1\nturns: [{say: x}]",
        "1: found a whole number -1; allowed: a who",
    ),
    ("yes", "repeat_last: 'yes'\nturns: [{say: x}]", "1: found text 'yes'; allowed: true or false"),
    ("call-without-tool", "turns:\n  - ask: {arguments: {}}", "2: a call lacks 'tool'"),
    (
        "call-key",
        "turns:\n  - ask: {name: x, tool: y}",
        "2: unknown key 'name' in a call; allowed: t",
    ),
    (
        "arguments",
        "turns:\n  - ask: {tool: x, arguments: [1]}",
        "2: found a list of 1; allowed: a map",
    ),
    ("tool-name", "turns:\n  - ask: read file", "2: tool name 'read file' is not 1 to 128 of a-z"),
    ("call-id", "turns:\n  - ask: {tool: x, id: a b}", "2: call id 'a b' is not 1 to 40 of a-z"),
    (
        "same-ids",
        "turns:\n  - ask: [{tool: x, id: a}, {tool: y, id: a}]",
        "2: two tool calls with one",
    ),
    (
        "finish",
        "turns:\n  - say: x\n    finish: done",
        "3: found text 'done'; allowed: stop | tool_ca",
    ),
    (
        "impossible",
        "turns:\n  - say: x\n    finish: tool_calls",
        "2: finish 'tool_calls' needs a tool",
    ),
    (
        "stop-and-call",
        "turns:\n  - ask: x\n    finish: stop",
        "2: finish 'stop' cannot stand beside",
    ),
    ("fault-name", "turns:\n  - fault: rate_limit", "2: unknown fault 'rate_limit'; did you mean"),
    (
        "fault-value",
        "turns:\n  - fault: {name: rate_limited, colour: red}",
        "2: fault 'rate_limited' has no parameter 'colour'; it has",
    ),
    (
        "fault-range",
        "turns:\n  - fault: {name: rate_limited, turn: 5-2}",
        "2: turn='5-2': the range ends before it begins",
    ),
    (
        "fault-call",
        "turns:\n  - {say: hello, fault: cut_in_call}",
        "2: fault 'cut_in_call' can never strike: it needs a call, and 'ask' has 0",
    ),
    (
        "fault-calls",
        "turns:\n  - {ask: a, fault: one_block}",
        "2: fault 'one_block' can never strike: it needs two calls, and 'ask' has 1",
    ),
    (
        "fault-turn",
        "turns:\n  - say: a\n  - {say: b, fault: {name: rate_limited, turn: 7}}",
        "3: this fault can never strike: the turn is 1 here",
    ),
    ("fault", "turns:\n  - fault: {times: 2}", "2: a fault needs its name: {name: ...}"),
    (
        "pace",
        "turns:\n  - say: x\n    pace: {jitter: 2}",
        "3: found a whole number 2; allowed: a fract",
    ),
    (
        "pace-name",
        "pace: fast\nturns: [{say: x}]",
        "1: found text 'fast'; allowed: gemini-2.5-flash",
    ),
    (
        "pace-long",
        "turns:\n  - say: x\n    pace: {first_token: 1.0e+9}",
        "2: first_token and stall must be 0 to",
    ),
    ("pace-top", "pace: {first_token: 1.0e+9}\nturns: [{say: x}]", "1: first_token and stall must"),
    (
        "when-no-case",
        "turns:\n  - say: x\n    when: {turn: 1}",
        "3: unknown key 'when' in a turn; all",
    ),
    (
        "condition",
        "rules:\n  - when: {result: x}\n    say: y",
        "2: unknown key 'result' in a condition (did you mean 'any_result'?); allowed: turn, since",
    ),
    (
        "result-text",
        "rules:\n  - when: {last_result: x}\n    say: y",
        "2: found text 'x'; allowed: any | none, or a result (a mapping with contains, matches",
    ),
    (
        "regex",
        "rules:\n  - when: {user: {matches: '(['}}\n    say: y",
        "2: found text '(['; allowed: a re",
    ),
    (
        "range",
        "rules:\n  - when: {turn: {over: 2}}\n    say: y",
        "2: unknown key 'over' in a range; all",
    ),
    (
        "else-first",
        "rules:\n  - say: x\n  - say: y",
        "3: this case is never reached: the one before it",
    ),
    ("goto", "turns:\n  - say: x\n    goto: top", "3: no label 'top'; there are: end"),
    (
        "label-twice",
        "turns:\n  - {say: x, label: a}\n  - {say: y, label: a}",
        "3: the label 'a' is take",
    ),
    (
        "label-end",
        "turns:\n  - {say: x, label: end}",
        "2: the label 'end' is taken: it stands after",
    ),
    (
        "after-loop",
        "turns:\n  - loop: [{say: x}]\n  - say: y",
        "3: this turn is never reached: the block",
    ),
    ("times", "turns:\n  - say: x\n    times: 3", "3: 'times' belongs to 'loop'"),
    (
        "loop-and-say",
        "turns:\n  - loop: [{say: x}]\n    say: y",
        "3: 'say' cannot stand beside 'loop'",
    ),
    (
        "cases-and-say",
        "turns:\n  - cases: [{say: x}]\n    say: y",
        "3: 'say' cannot stand beside 'cases'",
    ),
    (
        "endless-in-loop",
        "turns:\n  - loop: [{loop: [{say: x}]}]\n    times: 2",
        "2: a block in it is run",
    ),
    (
        "too-many",
        "turns:\n  - loop: [{say: x}]\n    times: 1000000",
        "2: the script has more than 100000",
    ),
    (
        "both",
        "turns: [{say: x}]\nrules: [{say: y}]",
        "2: a script has 'turns' or 'rules', not both",
    ),
    (
        "repeat-rules",
        "repeat_last: true\nrules: [{say: y}]",
        "1: 'rules' hold on every turn; 'repeat_l",
    ),
    (
        "template-open",
        "turns:\n  - say: '{{ result'",
        "2: found text '{{ result'; allowed: text, in whi",
    ),
    (
        "template-source",
        "turns:\n  - say: '{{ env }}'",
        "unknown 'env' in 'env'; allowed: result, resul",
    ),
    (
        "template-code",
        "turns:\n  - say: '{{ result.text }}'",
        "unknown 'result.text' in 'result.text'",
    ),
    (
        "template-call",
        "turns:\n  - say: '{{ open(1) }}'",
        "unknown 'open(1)' in 'open(1)'; allowed",
    ),
    (
        "template-filter",
        "turns:\n  - ask: {tool: x, arguments: {a: ['{{ result | eval }}']}}",
        "2: unknown filter 'eval' in 'result | eval'; allowed: json, regex, line",
    ),
    (
        "template-count",
        "turns:\n  - say: '{{ result | line }}'",
        "'line' in 'result | line' is written",
    ),
    ("template-quote", "turns:\n  - say: '{{ result | regex \"a }}'", "a quote is not closed in"),
    (
        "closing",
        "closing: bash\nturns: [{say: x}]",
        "1: found text 'bash'; allowed: text | final_answ",
    ),
    (
        "mapping",
        "tools: {a: {tol: b}}\nturns: [{say: x}]",
        "1: unknown key 'tol' in a tool (did you m",
    ),
    (
        "expect",
        "turns:\n  - say: x\n    expect: {roles: [tools]}",
        "3: found text 'tools'; allowed: sys",
    ),
    ("name", "name: a/b\nturns: [{say: x}]", "1: found text 'a/b'; allowed: a script's name"),
    (
        "empty-range",
        "turns:\n  - say: x\n    expect: {prompt_tokens: {at_least: 5, at_most: 4}}",
        "3: no number is at least 5 and at most 4",
    ),
    (
        "equals-and-contains",
        "turns:\n  - say: x\n    expect: {user: {equals: ab, contains: [a, c]}}",
        "3: the text of 'equals' is not one for 'contains'",
    ),
    (
        "after-end",
        "turns:\n  - say: x\n    goto: end\n  - say: y\n  - say: z",
        "4: this turn is never reached: nothing leads to it\n"
        "5: this turn is never reached: nothing leads to it",
    ),
    (
        "turn-elsewhere",
        "turns:\n  - say: x\n  - cases:\n    - when: {turn: 2}\n      say: y\n    - say: z",
        "4: this condition can never hold: the turn is 1 here",
    ),
    (
        "excludes-itself",
        "rules:\n  - when: {turn: [1, 2], not: {turn: {at_most: 7}}}\n    say: y\n  - say: z",
        "2: this condition can never hold: its parts exclude each other",
    ),
    (
        "always",
        "rules:\n  - when: {any: [{last_result: any}, {last_result: none}]}\n    say: y\n"
        "  - say: z",
        "4: this case is never reached: the one on line 2 holds always",
    ),
    (
        "alias",
        "turns: &a\n  - say: x\n    expect: {seen: *a}",
        "an alias stands inside what it refers to",
    ),
]


@pytest.mark.parametrize(
    ("text", "message"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES]
)
def test_each_mistake_is_told_with_its_line_and_what_is_allowed(text: str, message: str) -> None:
    script, problems = read_script(text, "x", "scripts/x.yaml")
    messages = "\n".join(map(str, problems))
    assert script is None
    assert all(line.startswith("scripts/x.yaml:") for line in messages.splitlines())
    assert message in messages.replace("scripts/x.yaml:", "")


def test_all_mistakes_of_a_file_are_told_at_once() -> None:
    text = """\
        descrption: typo
        turns:
          - sey: x
          - ask: {tol: list_files}
          - cases:
              - when: {trun: 1}
                say: x
        """
    _, problems = read_script(textwrap.dedent(text), "x")
    assert [problem.line for problem in problems] == [1, 3, 4, 4, 6]


def test_a_file_that_is_not_utf_8_is_told_with_its_line() -> None:
    _, problems = read_script(b"turns:\n  - say: \xff", "x", "x.yaml")
    assert str(problems[0]) == "x.yaml:2: not UTF-8: byte 0xff"


def test_two_files_of_one_name_and_a_folder_without_scripts_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadScripts, match=r":1: no scripts here; allowed: \.yaml and \.yml"):
        load(tmp_path)
    (tmp_path / "a.yaml").write_text("turns: [{say: x}]")
    (tmp_path / "b.yml").write_text("name: a\nturns: [{say: y}]")
    with pytest.raises(BadScripts, match=r"b\.yml:1: the name 'a' is taken by .*a\.yaml"):
        load(tmp_path)


def test_one_wrong_script_does_not_hide_the_others_problems(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("turns: [")
    (tmp_path / "b.yaml").write_text("turn: []")
    with pytest.raises(BadScripts) as raised:
        load(tmp_path)
    assert {Path(problem.file).name for problem in raised.value.problems} == {"a.yaml", "b.yaml"}


BEYOND_FORM = """
    twice tool-name call-id same-ids impossible stop-and-call fault fault-name fault-value
    fault-range fault-call fault-calls fault-turn
    else-first goto label-twice pace-long pace-top
    label-end after-loop times loop-and-say cases-and-say endless-in-loop too-many both
    empty-range equals-and-contains after-end turn-elsewhere excludes-itself always
    repeat-rules regex template-open template-source template-code template-call
    template-filter template-count template-quote
"""


@pytest.mark.parametrize("case", MISTAKES, ids=[case[0] for case in MISTAKES])
def test_every_mistake_of_form_is_one_for_an_editor_too(case: tuple[str, str, str]) -> None:
    """The schema knows form only; what it accepts here needs the whole file to be seen."""
    name, text, _ = case
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return
    if value is None:
        return
    valid = Draft202012Validator(json_schema()).is_valid(value)
    assert valid == (name in BEYOND_FORM.split())
