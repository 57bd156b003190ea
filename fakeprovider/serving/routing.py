"""From a request's path to what it asks for.

    [/~RUN_KEY] [/SCRIPT[;NAME=VALUE,...]] [/v1 | /openai/v1 | /openai/deployments/MODEL] ENDPOINT

Every part in brackets may be left out: a client is given `http://host/runaway/v1` or
`http://host/runaway` or `http://host` as its base URL, whichever its vendor's looks like.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote

from fakeprovider.serving import path_options
from fakeprovider.serving.path_options import NO_OPTIONS, PathOptions


@dataclass(frozen=True, slots=True)
class Route:
    """A path taken apart; `model` is the deployment that an Azure path names.

    `endpoint` is one of those known, such as `/chat/completions`; `script` and `run` are "" where
    the path names none; `error` says what is wrong with the path's parameters, "" if nothing.
    """

    endpoint: str
    script: str = ""
    run: str = ""
    options: PathOptions = NO_OPTIONS
    error: str = ""
    model: str = ""


def resolve(raw_path: str, endpoints: Iterable[str]) -> Route | None:
    """The route of a path as it was sent (percent-encoded), or None if it leads nowhere."""
    for endpoint in endpoints:
        if raw_path.endswith(endpoint):
            base = raw_path[: -len(endpoint)].strip("/").split("/")
            return _route(endpoint, [unquote(part) for part in base if part])
    return None


def _route(endpoint: str, parts: list[str]) -> Route | None:
    parts, model = _without_vendor(parts)
    run = parts.pop(0)[1:] if parts and parts[0].startswith("~") else ""
    if len(parts) > 1:
        return None
    script, _, options = (parts[0] if parts else "").partition(";")
    try:
        chosen = path_options.parse(options) if options else NO_OPTIONS
    except path_options.BadParameter as error:
        return Route(endpoint, script, run, error=str(error), model=model)
    return Route(endpoint, script, run, chosen, model=model)


def _without_vendor(parts: list[str]) -> tuple[list[str], str]:
    """The parts that are ours, and the model of an Azure deployment, "" for other paths."""
    if parts[-3:-1] == ["openai", "deployments"]:
        return parts[:-3], parts[-1]
    while parts[-1:] == ["v1"]:  # twice, where a client adds its own to a base that has it
        parts = parts[:-1]
    return (parts[:-1] if parts[-1:] == ["openai"] else parts), ""
