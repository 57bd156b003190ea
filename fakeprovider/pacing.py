"""When each part of a reply is due: a pure schedule, in seconds from the start of the reply.

Jitter is seeded by the conversation, so that an identical request is answered at identical times.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from types import MappingProxyType

from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Pace


@dataclass(frozen=True, slots=True)
class Profile:
    """A pace with a name, and where its figures are from."""

    pace: Pace
    source: str


_PROBES = (
    "median of hourly probes over a public gateway, with raw data, as published in 2026: "
    "https://www.jonathanwrede.de/en/blog/ttft-varies-13x-across-llm-providers/"
)

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "gemini-2.5-flash": Profile(Pace(0.412, 235.6), _PROBES),
        "gpt-5.4": Profile(Pace(0.912, 44.8), _PROBES),
        "deepseek-v3.2": Profile(Pace(1.734, 24.7), _PROBES),
        "claude-opus-4.7": Profile(Pace(2.494, 94.9), _PROBES),
        "reading": Profile(
            Pace(0.0, 5.3),
            "a person reads 238 English words a minute (Brysbaert 2019, "
            "https://doi.org/10.1016/j.jml.2019.104047), at 3/4 of a word to a token",
        ),
    }
)
"""Paces of real services and of people, by name."""


WORDS = ("pace", "latency", "tps", "jitter", "stall", "stall_every")
"""Names under which a pace is given in words: in path parameters, for one."""


class BadPace(ValueError):
    """A pace in words that is none; says which word and what is allowed."""


def read(words: Mapping[str, str], base: Pace | None = None) -> Pace | None:
    """The pace that `words` say, on top of `base`; None if neither says anything.

    `pace` is a profile's name, `latency` and `stall` are in milliseconds, `tps` in tokens per
    second, `jitter` a fraction, `stall_every` in tokens (8 if there is a stall without it).
    Raises `BadPace`.
    """
    if not any(word in words for word in WORDS):
        return base
    pace = _profile(words["pace"]) if "pace" in words else base or Pace()
    stall = _number(words, "stall", 1000 * pace.stall) / 1000
    every = _number(words, "stall_every", pace.stall_every or (8 if stall else 0))
    try:
        return replace(
            pace,
            first_token=_number(words, "latency", 1000 * pace.first_token) / 1000,
            tokens_per_second=_speed(words, pace),
            jitter=_number(words, "jitter", pace.jitter),
            stall=stall,
            stall_every=int(every),
        )
    except ValueError as error:
        told = str(error).replace("tokens_per_second", "tps").removesuffix("; or None")
        raise BadPace(told) from None


def _profile(name: str) -> Pace:
    if name not in PROFILES:
        raise BadPace(f"pace={name!r}: must be one of {', '.join(PROFILES)}")
    return PROFILES[name].pace


def _speed(words: Mapping[str, str], pace: Pace) -> float | None:
    return _number(words, "tps", 0) if "tps" in words else pace.tokens_per_second


def _number(words: Mapping[str, str], word: str, default: float) -> float:
    if word not in words:
        return default
    try:
        number = float(words[word])
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number >= 0):
        raise BadPace(f"{word}={words[word]!r}: must be a number, 0 or more")
    return number


def schedule(frames: Iterable[Frame], pace: Pace, seed: str) -> Iterator[tuple[Frame, float]]:
    """Frames, and when each is due in seconds; `seed` decides the jitter.

    The first token is due after `first_token`, the n-th a gap of n - 1 tokens later. What comes
    before the first token is due with it (a service answers once it has something to say), and
    what carries no token of its own is due with what came before it.
    """
    gaps = _gaps(pace, seed)
    due = next(gaps)
    said = 0
    for frame in frames:
        for _ in range(frame.tokens):
            if said:
                due += next(gaps)
            said += 1
        yield frame, due


def due_whole(tokens: int, pace: Pace, seed: str) -> float:
    """When a reply that is not streamed is due: with the last of its `tokens`."""
    *_, (_, due) = schedule((Frame(b"", 1) for _ in range(max(1, tokens))), pace, seed)
    return due


def _gaps(pace: Pace, seed: str) -> Iterator[float]:
    """Seconds before the first token, then between tokens."""
    random = Random(seed)
    token = 1 / pace.tokens_per_second if pace.tokens_per_second else 0.0
    yield pace.first_token * _varied(pace, random)
    said = 1
    while True:
        gap = token * _varied(pace, random)
        if pace.stall_every and said % pace.stall_every == 0:
            gap += pace.stall
        yield gap
        said += 1


def _varied(pace: Pace, random: Random) -> float:
    return 1 + pace.jitter * random.uniform(-1, 1) if pace.jitter else 1.0
