"""Templates in YAML scripts: values seen in the conversation, through a few filters.

    {{ result | json items 0 name }}    {{ seen | regex "ticket ([0-9]+)" | default "none" }}

A source, then filters with literal arguments: nothing is called, nothing is looked up by name in
an object, nothing runs for ever.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.recording.patterns import BadPattern, Pattern

Value: TypeAlias = Any
"""A JSON value; text unless the json filter found something else."""

_TEMPLATE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_TOKEN = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|(\|)|([^\s|"']+))""")
_SHOWN = 60


class BadTemplate(ValueError):
    """A template that cannot be read; says what is allowed."""


class Missing(ValueError):
    """A template found nothing in this conversation."""


Filter: TypeAlias = Callable[..., Value]


def _shown(value: Value) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _text(value: Value) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _json(value: Value, *path: str) -> Value:
    """What stands at a path in JSON."""
    try:
        inner = json.loads(value) if isinstance(value, str) else value
    except ValueError as error:
        raise Missing(f"this is no JSON: {_shown(value)}") from error
    for step in path:
        inner = _step(inner, step)
    return inner


def _step(value: Value, step: str) -> Value:
    """What stands at one key or index."""
    if isinstance(value, dict) and step in value:
        return value[step]
    if isinstance(value, list) and re.fullmatch(r"-?\d{1,9}", step):
        return _nth(value, step, "item")
    raise Missing(f"there is no {step!r} in {_shown(value)}")


def _nth(values: Sequence[Value], number: str, kind: str) -> Value:
    """The item of that number, from the end if it is negative."""
    try:
        return values[int(number)]
    except IndexError:
        raise Missing(f"there is no {kind} {number}, but {len(values)}") from None


def _regex(value: Value, pattern: str) -> Value:
    """The first group of the first match; the whole match without groups."""
    match = Pattern(pattern).search(_text(value))
    if match is None:
        raise Missing(f"{pattern!r} is not found in {_shown(value)}")
    return match[1] if match.re.groups else match[0]


FILTERS: Mapping[str, tuple[Filter, str, range]] = {
    "json": (_json, "json KEY-OR-INDEX...", range(0, 20)),
    "regex": (_regex, 'regex "PATTERN"', range(1, 2)),
    "line": (lambda v, n: _nth(_text(v).splitlines(), n, "line"), "line NUMBER", range(1, 2)),
    "word": (lambda v, n: _nth(_text(v).split(), n, "word"), "word NUMBER", range(1, 2)),
    "trim": (lambda v: _text(v).strip(), "trim", range(0, 1)),
    "upper": (lambda v: _text(v).upper(), "upper", range(0, 1)),
    "lower": (lambda v: _text(v).lower(), "lower", range(0, 1)),
    "quote": (lambda v: shlex.quote(_text(v)), "quote", range(0, 1)),
    "text": (_text, "text", range(0, 1)),
    "default": (lambda v, _other: v, 'default "TEXT"', range(1, 2)),
}
"""Filters by name: what they do, how they are written, how many arguments they take."""


def _result(conversation: Conversation) -> Value:
    if conversation.last_result is None:
        raise Missing("there is no tool result since the last turn")
    return conversation.last_result.text


def _user(conversation: Conversation) -> Value:
    if not conversation.user_messages:
        raise Missing("the user has said nothing")
    return conversation.user_messages[-1]


SOURCES: Mapping[str, Callable[[Conversation], Value]] = {
    "result": _result,
    "results": lambda conversation: [result.text for result in conversation.results],
    "seen": lambda conversation: "\n".join(message.text for message in conversation.messages),
    "user": _user,
    "system": lambda conversation: conversation.system_text,
    "model": lambda conversation: conversation.model,
    "turn": lambda conversation: conversation.turn,
}
"""What a template may begin with; a quoted text may stand there too."""


@dataclass(frozen=True, slots=True)
class Expression:
    """What stands between the braces."""

    written: str
    source: Callable[[Conversation], Value]
    filters: tuple[tuple[str, tuple[str, ...]], ...]

    def value(self, conversation: Conversation) -> Value:
        """Its value in a conversation; raises `Missing`."""
        value: Value = None
        missing: Missing | None = None
        try:
            value = self.source(conversation)
        except Missing as error:
            missing = error
        for name, arguments in self.filters:
            if name == "default" and missing is not None:
                value, missing = arguments[0], None
            elif missing is None:
                try:
                    value = FILTERS[name][0](value, *arguments)
                except Missing as error:
                    missing = error
        if missing is not None:
            raise Missing(f"{{{{ {self.written} }}}}: {missing}")
        return value


@dataclass(frozen=True, slots=True)
class Template:
    """Text with expressions in it."""

    parts: tuple[str | Expression, ...]

    @property
    def is_plain(self) -> bool:
        """Whether it says the same in every conversation."""
        return all(isinstance(part, str) for part in self.parts)

    def value(self, conversation: Conversation) -> Value:
        """The text; or, of a lone expression, its value, which may be a number or a list."""
        if len(self.parts) == 1 and isinstance(self.parts[0], Expression):
            return self.parts[0].value(conversation)
        return self.text(conversation)

    def text(self, conversation: Conversation) -> str:
        """The text, with every expression's value in its place; raises `Missing`."""
        return "".join(
            part if isinstance(part, str) else _text(part.value(conversation))
            for part in self.parts
        )


def parse(text: str, more: Sequence[str] = ()) -> Template:
    """The template in a text; `more` are sources that stand in for themselves.

    Raises `BadTemplate`.
    """
    parts: list[str | Expression] = []
    end = 0
    for match in _TEMPLATE.finditer(text):
        parts += [text[end : match.start()]] if match.start() > end else []
        parts.append(_expression(match[1].strip(), more))
        end = match.end()
    if "{{" in text[end:]:
        raise BadTemplate("'{{' is not closed by '}}'; for the braces themselves: {{ \"{{\" }}")
    parts += [text[end:]] if end < len(text) else []
    return Template(tuple(parts))


def _expression(written: str, more: Sequence[str]) -> Expression:
    """What stands between the braces, read."""
    first, *rest = _pipeline(written)
    if len(first) != 1:
        raise BadTemplate(f"{written!r} must begin with one of {', '.join(SOURCES)}")
    (quoted, word), filters = first[0], [_filter(tokens, written) for tokens in rest]
    return Expression(written, _source(quoted, word, written, more), tuple(filters))


def _source(
    quoted: bool, word: str, written: str, more: Sequence[str]
) -> Callable[[Conversation], Value]:
    """What an expression begins with: a quoted text, or a source by its name."""
    if quoted:
        return lambda conversation: word
    if word in more:
        return lambda conversation: conversation.options[word]
    if word not in SOURCES:
        raise BadTemplate(
            f"unknown {word!r} in {written!r}; allowed: {', '.join([*SOURCES, *more])}"
        )
    return SOURCES[word]


def _filter(tokens: list[tuple[bool, str]], written: str) -> tuple[str, tuple[str, ...]]:
    """A filter's name and its arguments, checked."""
    name = tokens[0][1] if tokens else ""
    if name not in FILTERS:
        raise BadTemplate(f"unknown filter {name!r} in {written!r}; allowed: {', '.join(FILTERS)}")
    _, usage, counts = FILTERS[name]
    arguments = tuple(word for _, word in tokens[1:])
    if len(arguments) not in counts:
        raise BadTemplate(f"{name!r} in {written!r} is written: {usage}")
    if name in ("line", "word") and not re.fullmatch(r"-?\d{1,9}", arguments[0]):
        raise BadTemplate(f"{arguments[0]!r} in {written!r} is no number; written: {usage}")
    if name == "regex":
        try:
            Pattern(arguments[0])
        except BadPattern as error:
            raise BadTemplate(f"{arguments[0]!r} is no regular expression: {error}") from error
    return name, arguments


def _pipeline(written: str) -> list[list[tuple[bool, str]]]:
    """The tokens between the bars, each with whether it was quoted."""
    stages: list[list[tuple[bool, str]]] = [[]]
    position = 0
    while position < len(written):
        match = _TOKEN.match(written, position)
        if match is None:
            raise BadTemplate(f"a quote is not closed in {written!r}")
        position = match.end()
        double, single, bar, word = match.groups()
        if bar:
            stages.append([])
        elif word is not None:
            stages[-1].append((False, word))
        else:
            stages[-1].append((True, single if double is None else _unescaped(double)))
    return stages


def _unescaped(text: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", text)
