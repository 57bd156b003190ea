"""The settings of a provider: made once, checked when they are made, and handed down whole.

What is wrong is said at once: later it would be a 500 for every request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from fakeprovider import pacing
from fakeprovider.completion import SEARCH_LIMIT
from fakeprovider.faults import Chaos
from fakeprovider.fitting.tool_mapping import ToolMapping
from fakeprovider.replies import Fault, Pace
from fakeprovider.scripts import Script
from fakeprovider.serving.asgi import BODY_TIMEOUT

if TYPE_CHECKING:
    from fakeprovider.serving.request_context import RequestContext

MAX_BODY = 32 << 20
"""Most bytes of a request body by default: the limit of the Messages API."""

CountingRule: TypeAlias = Literal["wire", "openai"]

Gate: TypeAlias = "Callable[[RequestContext], None]"
"""Looks at each request before it is read, and may raise `ApiError`."""


class Options(TypedDict, total=False):
    """The settings as keyword arguments; `Settings` says what each of them is."""

    scripts: Mapping[str, Script] | None
    strict: bool
    catalogue: ToolMapping | None
    gate: Gate | None
    faults: Sequence[Fault]
    chaos: Chaos | None
    pace: Pace | str | None
    prompt_cache: bool
    count: CountingRule
    search_limit: int
    api_key: str | None
    max_body: int
    body_timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a provider answers, whatever a request asks for.

    `scripts` adds scripts by name. `strict` False serves broken transcripts and journals what was
    wrong. `catalogue` says how calls are fitted to the client's tools, `gate` may refuse requests.
    `faults` (with their `turn` and `times`) and `chaos` go wrong whatever path and script say.
    `pace` is how fast replies come where nothing else says so: a `Pace`, or a profile's name such
    as "gpt-5.4". `prompt_cache` reports what a cache would have served, `count` is the rule for
    prompt tokens, `search_limit` after how many searches of the service's own the Messages API
    pauses a turn. `api_key` is what clients must show, None for any or none. `max_body` is in
    bytes, `body_timeout` the seconds that a body may take to come.

    Raises `BadPace`, and `TypeError` for what is none of these.
    """

    scripts: Mapping[str, Script] | None = None
    strict: bool = True
    catalogue: ToolMapping | None = None
    gate: Gate | None = None
    faults: Sequence[Fault] = ()
    chaos: Chaos | None = None
    pace: Pace | str | None = None
    prompt_cache: bool = False
    count: CountingRule = "wire"
    search_limit: int = SEARCH_LIMIT
    api_key: str | None = None
    max_body: int = MAX_BODY
    body_timeout: float = BODY_TIMEOUT

    def __post_init__(self) -> None:
        for name, script in (self.scripts or {}).items():
            if not callable(script):
                raise TypeError(
                    f"scripts[{name!r}] is {script!r}, not a function of a conversation"
                )
        _check_faults(self.faults)
        if self.chaos is not None and not isinstance(self.chaos, Chaos):
            raise TypeError(
                f"chaos={self.chaos!r}: pass Chaos({self.chaos!r}), from fakeprovider.faults"
            )
        read_pace(self.pace)


def refuse_unknown(caller: str, options: Mapping[str, object], known: type) -> None:
    """Raise `TypeError`, naming `caller`, for an option that is no field of `known`."""
    names = [field.name for field in fields(known)]
    for name in options:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            raise TypeError(f"{caller} takes no option {name!r}; {hint}")


def check_script(script: Any) -> None:
    """Raise `TypeError` for what is neither a name nor a function of a conversation."""
    if script is None or isinstance(script, str) or callable(script):
        return
    raise TypeError(
        f"script={script!r} is no script: pass a name or a function; for replies, "
        "Replies(...) from fakeprovider.scripts.reply_sequence"
    )


def _check_faults(faults: Any) -> None:
    if isinstance(faults, str | Fault) or not isinstance(faults, Sequence):
        raise TypeError(f"faults={faults!r}: pass a list of faults")
    for fault in faults:
        if not isinstance(fault, Fault):
            raise TypeError(f'{fault!r} is no fault: pass Fault("rate_limited", {{"turn": 1}})')


def read_pace(pace: Any) -> Pace | None:
    """The pace, given as it is or by a profile's name; raises `BadPace` and `TypeError`."""
    if pace is None or isinstance(pace, Pace):
        return pace
    if isinstance(pace, str):
        return pacing.read({"pace": pace})
    raise TypeError(f"pace={pace!r}: pass Pace(...) or one of {', '.join(pacing.PROFILES)}")
