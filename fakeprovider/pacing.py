"""How fast replies come: paces by name, and in words as paths, options and YAML have them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

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
        message = str(error).replace("tokens_per_second", "tps").removesuffix("; or None")
        raise BadPace(message) from None


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
