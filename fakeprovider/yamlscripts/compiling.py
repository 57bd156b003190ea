"""From a checked document to a script; what the shapes cannot see is refused here, by line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.faults import BadFault, plan
from fakeprovider.faults.kind import Need
from fakeprovider.fitting.tool_mapping import Closing, Target
from fakeprovider.replies import Pace, ToolCall, call
from fakeprovider.yamlscripts.conditions import Predicate, predicate
from fakeprovider.yamlscripts.impossible import check_possible
from fakeprovider.yamlscripts.language import ANSWER, KINDS, SPEECH
from fakeprovider.yamlscripts.nodes import Node, Problems
from fakeprovider.yamlscripts.program import END, Case, Program, Turn, YamlScript
from fakeprovider.yamlscripts.recorded import RecordedScript, recording
from fakeprovider.yamlscripts.speech import Rendering, fault, script_pace, speech, templated

MOST_TURNS = 100_000
"""Turns of one script, blocks that are repeated counted as often as they are."""


FileScript: TypeAlias = YamlScript | RecordedScript
"""What a file may hold."""


def compiled(document: Node, name: str, problems: Problems) -> FileScript | None:
    """The script of a document whose shape is right; None, with the problems noted, if it fails."""
    kinds = [kind for kind in KINDS if kind in document.fields]
    if len(kinds) > 1:
        several = " or ".join(map(repr, kinds))
        problems.add(document.key_lines[kinds[1]], f"a script has {several}, not both")
        return None
    if kinds == ["recorded"]:
        return recording(document, name, problems)
    return _program(document, name, problems)


def _program(document: Node, name: str, problems: Problems) -> YamlScript | None:
    """A script of turns or rules; None, with the problems noted, if it fails."""
    before = len(problems.noted)
    written = document.value
    layout = _Layout(problems, script_pace(document, problems))
    if "rules" in written:
        layout.rules(document.fields["rules"])
    else:
        layout.block(document.fields["turns"].items)
    _repeat_last(document, layout, problems)
    layout.check_labels()
    if len(problems.noted) > before:
        return None
    program = Program(tuple(layout.turns), tuple(layout.after), layout.labels)
    check_possible(program, layout.nodes, problems)
    if len(problems.noted) > before:
        return None
    return YamlScript(
        name=written.get("name", name),
        description=written.get("description", ""),
        program=program,
        turn_from=written.get("turn_from", "start"),
        turn_offset=written.get("turn_offset", 0),
        tools={name: _target(target) for name, target in written.get("tools", {}).items()},
        closing=_closing(written.get("closing", "")),
    )


def _repeat_last(document: Node, layout: _Layout, problems: Problems) -> None:
    """Let the last turn lead to itself, where that says something."""
    if not document.value.get("repeat_last") or not layout.turns:
        return
    line = document.key_lines["repeat_last"]
    if layout.closed:
        problems.add(line, "the last turn is never reached: the block before it is run for ever")
    elif "rules" in document.value:
        problems.add(line, "'rules' hold on every turn; 'repeat_last' is for 'turns'")
    else:
        layout.after[-1] = len(layout.turns) - 1


@dataclass
class _Layout:
    """Turns laid out in a row, as the file is gone through."""

    problems: Problems
    pace: Pace | None
    turns: list[Turn] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)
    label_lines: dict[str, int] = field(default_factory=dict)
    gotos: list[tuple[str, int]] = field(default_factory=list)
    closed: bool = False
    """Whether a block that is run for ever was laid out: nothing can follow it."""

    def rules(self, node: Node) -> None:
        """One turn with the rules as its cases, for ever."""
        self._add(Turn(tuple(self._cases(node))), node, 0)

    def block(self, items: tuple[Node, ...]) -> None:
        """Turns in a row."""
        for item in items:
            if self.closed:
                self.problems.add(
                    item.line, "this turn is never reached: the block before it is run for ever"
                )
                return
            if len(self.turns) > MOST_TURNS:
                self.problems.add(item.line, f"the script has more than {MOST_TURNS} turns")
                return
            self._loop(item) if "loop" in item.fields else self._turn(item)

    def check_labels(self) -> None:
        """Every jump must lead somewhere."""
        labels = [*self.labels, END]
        for label, line in self.gotos:
            if label not in labels:
                self.problems.add(line, f"no label {label!r}; there are: {', '.join(labels)}")

    def _loop(self, node: Node) -> None:
        """Lay out a block of turns, as often as it is run."""
        for key in node.fields:
            if key not in ("loop", "times", "label"):
                self.problems.add(
                    node.key_lines[key], f"{key!r} cannot stand beside 'loop'; put it into a turn"
                )
        self._label(node)
        start = len(self.turns)
        self.block(node.fields["loop"].items)
        one_round = list(zip(self.turns[start:], self.nodes[start:], strict=True))
        if "times" not in node.fields:
            if one_round and not self.closed:
                self.after[-1] = start
            self.closed = True
        elif self.closed:
            self.problems.add(node.line, "a block in it is run for ever: 'times' says nothing")
            return
        for _ in range(node.value.get("times", 1) - 1):
            if len(self.turns) + len(one_round) > MOST_TURNS:
                self.problems.add(node.line, f"the script has more than {MOST_TURNS} turns")
                return
            for turn, written in one_round:
                self._add(turn, written, len(self.turns) + 1)

    def _turn(self, node: Node) -> None:
        """Lay out one turn."""
        if "times" in node.fields:
            self.problems.add(node.key_lines["times"], "'times' belongs to 'loop'")
        self._label(node)
        if "cases" in node.fields:
            for key in (*SPEECH, "goto", "usage", "pace"):
                if key in node.fields:
                    self.problems.add(
                        node.key_lines[key], f"{key!r} cannot stand beside 'cases'; put it into one"
                    )
            cases = tuple(self._cases(node.fields["cases"]))
        else:
            cases = tuple(self._case(node))
        expect = node.value.get("expect", {})
        self._add(Turn(cases, expect), node, len(self.turns) + 1)

    def _add(self, turn: Turn, written: Node, after: int) -> None:
        self.turns.append(turn)
        self.nodes.append(written)
        self.after.append(after)

    def _label(self, node: Node) -> None:
        """Note the label of a turn or block, and where it leads."""
        label = node.value.get("label")
        if label is None:
            return
        line = node.key_lines["label"]
        if label == END:
            self.problems.add(line, f"the label {END!r} is taken: it stands after the last turn")
        elif label in self.labels:
            first = self.label_lines[label]
            self.problems.add(line, f"the label {label!r} is taken (line {first})")
        self.labels[label], self.label_lines[label] = len(self.turns), line

    def _cases(self, node: Node) -> Iterator[Case]:
        """The cases of a turn; those behind one that always holds are problems."""
        for index, item in enumerate(node.items):
            always = item.value.get("when", "else") == "else"
            if always and index < len(node.items) - 1:
                self.problems.add(
                    node.items[index + 1].line,
                    "this case is never reached: the one before it holds always",
                )
                return
            yield from self._case(item)

    def _case(self, node: Node) -> Iterator[Case]:
        """The case, or nothing where a problem was noted."""
        goto = node.value.get("goto", "")
        if goto:
            self.gotos.append((goto, node.key_lines["goto"]))
        if "fault" in node.fields and (flaw := _flaw_of(node.value)):
            self.problems.add(node.fields["fault"].line, flaw)
            return
        try:
            spoken = speech(node.value, self.pace)
        except ValueError as error:
            self.problems.add(node.line, str(error))
            return
        yield Case(spoken, _when(node.value.get("when", "else")), goto)


def _flaw_of(reply: Mapping[str, Any]) -> str:
    """What is wrong with the fault of a reply, "" for nothing."""
    written = reply["fault"]
    if isinstance(written, dict) and not isinstance(written.get("name"), str):
        return "a fault needs its name: {name: ...}"
    named = fault(written)
    try:
        needs = plan(named.name, named.params).kind.needs
    except BadFault as error:
        return str(error)
    ask = reply.get("ask", [])
    calls = len(ask) if isinstance(ask, list) else 1
    if calls < _CALLS.get(needs, 0):
        return f"fault {named.name!r} can never strike: it needs {needs}, and 'ask' has {calls}"
    return ""


_CALLS: Mapping[Need | None, int] = {"a call": 1, "two calls": 2}


def _when(written: Any) -> Predicate | None:
    return None if written == "else" else predicate(written)


def _target(written: str | Mapping[str, Any]) -> Target:
    if isinstance(written, str):
        return Target(written)
    return Target(written["tool"], written.get("arguments"))


def _closing(written: str | Mapping[str, Any]) -> Closing | None:
    """The closing of a script, None where the client's own is meant."""
    if written == "":
        return None
    if written == "text":
        return lambda answer, conversation: None
    if isinstance(written, str):
        written = {"tool": written, "arguments": {"answer": "{{ answer }}"}}
    tool, arguments = written["tool"], templated(written["arguments"], (ANSWER,))

    def close(answer: str, conversation: Conversation) -> ToolCall | None:
        if not conversation.offers(tool):
            return None
        answered = replace(conversation, options={**conversation.options, ANSWER: answer})
        return call(tool, Rendering(answered).value(arguments))

    return close
