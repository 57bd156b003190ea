"""Strings of a length, a pattern and a format."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice

from fakeprovider.fitting.arguments.patterns import matching

Parts = Sequence[Mapping[str, object]]

_EPOCH = datetime.date(2000, 1, 1)
_ALPHABET = "abcdefghijklmnopqrstuvwxyz"


def _day(k: int) -> str:
    return (_EPOCH + datetime.timedelta(days=k)).isoformat()


def _name(k: int, padding: int) -> str:
    return "a" * padding + _ALPHABET[k % 26] + (str(k // 26) if k >= 26 else "")


FORMATS: Mapping[str, Callable[[int, int], str]] = {
    "date": lambda k, _: _day(k),
    "date-time": lambda k, _: f"{_day(k)}T00:00:00Z",
    "time": lambda k, _: f"00:{k // 60 % 60:02}:{k % 60:02}Z",
    "duration": lambda k, _: f"P{k}D",
    "email": lambda k, padding: f"{_name(k, padding)}@example.com",
    "idn-email": lambda k, padding: f"{_name(k, padding)}@example.com",
    "hostname": lambda k, padding: f"{_name(k, padding)}.example",
    "idn-hostname": lambda k, padding: f"{_name(k, padding)}.example",
    "ipv4": lambda k, _: f"127.0.{k // 256}.{k % 256}",
    "ipv6": lambda k, _: f"::{k + 1:x}",
    "uri": lambda k, padding: f"http://example.com/{_name(k, padding)}",
    "url": lambda k, padding: f"http://example.com/{_name(k, padding)}",
    "iri": lambda k, padding: f"http://example.com/{_name(k, padding)}",
    "uri-reference": lambda k, padding: f"/{_name(k, padding)}",
    "iri-reference": lambda k, padding: f"/{_name(k, padding)}",
    "uri-template": lambda k, padding: f"/{_name(k, padding)}",
    "uuid": lambda k, _: str(uuid.UUID(int=k)),
    "json-pointer": lambda k, padding: f"/{_name(k, padding)}",
    "relative-json-pointer": lambda k, padding: f"{k}/{'a' * padding}",
    "regex": _name,
}
"""The k-th example of each format, longer by so many characters where it can be.

The names are those of JSON Schema 2020-12, section 7.3, and `url`, which some generators write.
Addresses are reserved ones (RFC 2606, loopback).
"""


def texts(parts: Parts) -> Iterator[str]:
    """Strings that fit the parts' lengths, patterns and known formats, short ones first.

    Raises re.error for a pattern that this interpreter cannot compile.
    """
    least, most = lengths(parts)
    patterns = [pattern for part in parts if isinstance(pattern := part.get("pattern"), str)]
    formats = [name for part in parts if (name := part.get("format")) in FORMATS]
    for text in _proposals(least, most, patterns, [str(name) for name in formats]):
        if least <= len(text) <= most and all(re.search(pattern, text) for pattern in patterns):
            yield text


def lengths(parts: Parts) -> tuple[int, float]:
    """The least and the most characters that all parts admit."""
    least = (value for part in parts if isinstance(value := part.get("minLength"), int | float))
    most = (value for part in parts if isinstance(value := part.get("maxLength"), int | float))
    return int(max(least, default=0)), min(most, default=float("inf"))


def _proposals(
    least: int, most: float, patterns: Sequence[str], formats: Sequence[str]
) -> Iterator[str]:
    for name in formats:
        example = FORMATS[name]
        for k in range(64):
            yield example(k, 0)
            yield example(k, max(0, least - len(example(k, 0))))
    for pattern in patterns:
        yield from matching(pattern, least)
    if not patterns and not formats:
        yield from _words(least, most)


def _words(least: int, most: float) -> Iterator[str]:
    """'' (if it may be), then a, b, …, z, a0, …, each filled up to the least length."""
    if least == 0:
        yield ""
    if most >= max(least, 1):
        fitting = (_name(k, max(0, least - len(_name(k, 0)))) for k in count())
        yield from (word for word in islice(fitting, 1000) if len(word) <= most)
