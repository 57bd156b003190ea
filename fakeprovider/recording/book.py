"""The exchanges of a recording, and the script that they make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import yaml

from fakeprovider.conversation import ContinuedConversation, Conversation
from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.answers import NotAnAnswer, Written
from fakeprovider.protocols.dialect import DIALECTS, Dialect, read_answer
from fakeprovider.recording.requests import Request, Volatile, key_of, request_of, without_secrets
from fakeprovider.serving.routing import resolve
from fakeprovider.yamlscripts.recorded import message_of
from fakeprovider.yamlscripts.speech import speech

_SHOWN = 200
_RECORDED: dict[str, Dialect] = {
    path: dialect for dialect in DIALECTS.values() for path in dialect.paths
}


@dataclass(frozen=True, slots=True)
class _Exchange:
    request: Request
    reply: Written


@dataclass
class Book:
    """Exchanges in the order in which they were answered.

    secrets: texts that are not written down, beside what looks like a secret by itself.
    passed_on: why exchanges were passed on without being written down.
    """

    secrets: tuple[str, ...] = ()
    passed_on: list[str] = field(default_factory=list)
    _exchanges: list[_Exchange] = field(default_factory=list)
    _places: dict[str, int] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _memory: RequestCaches = field(default_factory=RequestCaches)

    def __len__(self) -> int:
        return len(self._exchanges)

    def add(self, path: str, body: bytes, status: int, answer: bytes, *, streamed: bool) -> None:
        """Write down an exchange, if it is an answered request for a reply, in any dialect."""
        route = resolve(path, _RECORDED)
        if route is None:
            self.passed_on.append(f"{path}: only replies are recorded: {', '.join(_RECORDED)}")
            return
        if status != 200:
            shown = answer[:_SHOWN].decode(errors="replace")
            self.passed_on.append(f"{path}: the answer was an error, status {status}: {shown}")
            return
        dialect = _RECORDED[route.endpoint]
        try:
            with self._lock:
                conversation = dialect.parse(body, self._memory, route.model)
                _check_whole(conversation)
                read = read_answer(answer, streamed=streamed, dialect=dialect.name)
                reply = without_secrets(read, self.secrets)
                request = without_secrets(request_of(conversation), self.secrets)
                self._write(request, reply)
        except ApiError as error:
            why = _CONTINUES if error.param == "previous_response_id" else error.message
            self.passed_on.append(f"{path}: the request cannot be read: {why}")
        except NotAnAnswer as error:
            self.passed_on.append(f"{path}: the answer cannot be read: {error}")

    def _write(self, request: Request, reply: Written) -> None:
        """Add an exchange, unless its request was answered before."""
        key = key_of(Volatile().mask(request))
        place = self._places.get(key)
        if place is None:
            self._places[key] = len(self._exchanges)
            self._exchanges.append(_Exchange(request, reply))
            return
        # A stream tells its usage only if asked to; whichever tells it is taken.
        first = self._exchanges[place].reply
        if {**first, "usage": 0} == {**reply, "usage": 0}:
            self._exchanges[place] = _Exchange(request, {**reply, **first})
        else:
            self.passed_on.append(
                f"the request of exchange {place} came again and got another reply; a script "
                "gives the same request the same reply, the first"
            )

    def document(self, description: str) -> dict[str, Any]:
        """The script, as what stands in a YAML file."""
        ends: dict[str, int] = {}
        recorded = []
        for place, exchange in enumerate(self._exchanges):
            recorded.append(self._shortened(exchange, ends))
            reply = message_of(speech(exchange.reply, literally=True).sample)
            ends[_messages_key([*exchange.request["messages"], reply])] = place
        return {"description": description, "recorded": recorded}

    def _shortened(self, exchange: _Exchange, ends: dict[str, int]) -> dict[str, Any]:
        """The exchange, without what an earlier one it goes on from has said already."""
        request = exchange.request
        messages = request["messages"]
        for length in range(len(messages), 0, -1):
            before = ends.get(_messages_key(messages[:length]))
            if before is not None:
                earlier = self._exchanges[before].request
                changed = {
                    name: request[name]
                    for name in ("model", "tools")
                    if request[name] != earlier[name]
                }
                added = {**changed, "messages": messages[length:]}
                return {"after": before, "request": added, **exchange.reply}
        return {"request": request, **exchange.reply}


_CONTINUES = (
    "'previous_response_id' leaves the history at the upstream, so that a reply cannot be told by "
    "its request; let the client send the whole history ('store': false)"
)


def _check_whole(conversation: Conversation) -> None:
    if isinstance(conversation, ContinuedConversation):
        raise ApiError(400, _CONTINUES, param="previous_response_id")


def _messages_key(messages: list[Any]) -> str:
    return json.dumps(messages, sort_keys=True)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    """A text as a block, quoted or plain, whichever is read back the same."""
    style = None
    if any(end in value for end in "\r\x85\u2028\u2029"):
        style = '"'  # YAML takes these for ends of lines, and all ends of lines for one
    elif "\n" in value.strip() and not value.startswith((" ", "\n", "\t")):
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(document: dict[str, Any]) -> str:
    """The document as YAML, in the order in which it was made."""
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
    return text


def known_secrets(values: Iterable[str | None]) -> tuple[str, ...]:
    """Keys worth hiding: those that are given and are not too short to be one."""
    secrets = {value for value in values if value and len(value) >= 8}
    return tuple(sorted(secrets, key=len, reverse=True))  # one may begin with another
