"""Writing requests: JSON that every service accepts, and as little of it twice as possible."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from fakeprovider_harness.models.base import Message, ToolSpec

_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def mend(text: str) -> str:
    """Join the halves that fit, replace the others by U+FFFD; other text comes back as it is."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def mend_tree(value: Any) -> Any:
    """`mend` every string in JSON-like data, keys included."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, dict):
        return {mend_tree(k): mend_tree(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [mend_tree(item) for item in value]
    return value


def mend_arguments(arguments: str) -> str:
    """`mend` JSON text, also where the surrogate is written as an escape; keeps sound text."""
    arguments = mend(arguments)
    if not _ESCAPED.search(arguments):
        return arguments
    try:
        value = json.loads(arguments)
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return json.dumps(mend_tree(value), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return arguments  # not JSON: the loop will say so to the model
    return arguments


T = TypeVar("T")

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


def raw(value: Any) -> msgspec.Raw:
    """`value` as JSON, to be put into a larger value as it is."""
    return msgspec.Raw(encode(value))


def encode(value: Any) -> bytes:
    """`value` as JSON; lone surrogates, which no body can carry, are mended on the way."""
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(mend_tree(msgspec.to_builtins(value)))


_ENCODER = msgspec.json.Encoder()


class Entry(Protocol):
    """An encoded message whose role and text are still known."""

    @property
    def role(self) -> str: ...
    @property
    def text(self) -> str: ...


E = TypeVar("E", bound=Entry)


def split_system(entries: list[E]) -> tuple[str, list[E]]:
    """The text of the leading system messages, and the entries after them."""
    lead = next((i for i, e in enumerate(entries) if e.role != "system"), len(entries))
    return "\n\n".join(e.text for e in entries[:lead] if e.text), entries[lead:]


class Decoder(Generic[T]):
    """JSON to one type. Raises `msgspec.MsgspecError`, and nothing else, for what does not fit."""

    def __init__(self, type: type[T]) -> None:
        self._type = type
        self._decoder = msgspec.json.Decoder(type)

    def decode(self, data: bytes) -> T:
        """One value; escaped lone surrogates, which msgspec refuses, are let in."""
        try:
            return self._decoder.decode(data)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError as error:
            return self._leniently(data, error)
        except RecursionError as error:
            raise msgspec.DecodeError("nested too deeply") from error

    def _leniently(self, data: bytes, error: msgspec.DecodeError) -> T:
        try:
            return msgspec.convert(json.loads(data), self._type)
        except (ValueError, RecursionError):
            raise error from None


def short_id(text: str, limit: int) -> str:
    """`text` if it is at most `limit` characters long, else the same shorter text always."""
    return text if text and len(text) <= limit else _digested(text, limit)


def safe_name(text: str, limit: int) -> str:
    """`text` if it is of `[a-zA-Z0-9_-]` and at most `limit` long, else the same other name always.

    For tool names and call ids, over which services refuse the whole history. The same text becomes
    the same name wherever it stands, so that calls and results stay paired.
    """
    fits = text and len(text) <= limit and not _ODD.search(text)
    return text if fits else _digested(text, limit)


def _digested(text: str, limit: int) -> str:
    digest = hashlib.blake2s(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{_ODD.sub('_', text)[: limit - 9]}_{digest}"


class Memo(Generic[T]):
    """The encoded entries of the last conversation, reused while its messages are the same objects.

    A history only grows at its end, so this makes the work per request that of the new part. A
    different conversation is simply encoded anew.
    """

    def __init__(self, encode_one: Callable[[Message], T]) -> None:
        self._encode_one = encode_one
        self._last: tuple[list[Message], list[T]] = [], []  # one reference: threads may share it

    def entries(self, messages: Sequence[Message]) -> list[T]:
        """One encoded entry per message, in order."""
        known, entries = self._last
        same = 0
        for old, new in zip(known, messages, strict=False):
            if old is not new:
                break
            same += 1
        entries = entries[:same] + [self._encode_one(m) for m in messages[same:]]
        self._last = list(messages), entries
        return entries


class ToolMemo:
    """The encoded tool list, reused while the tools are equal."""

    def __init__(self, encode_one: Callable[[ToolSpec], Any]) -> None:
        self._encode_one = encode_one
        self._last: tuple[list[ToolSpec], msgspec.Raw] = [], msgspec.Raw(b"[]")

    def encoded(self, tools: Sequence[ToolSpec]) -> msgspec.Raw:
        """The list as JSON."""
        known, encoded = self._last
        if known != list(tools):
            encoded = raw([self._encode_one(t) for t in tools])
            self._last = list(tools), encoded
        return encoded
