"""Where a service is, and who is asking: base URL, key, headers."""

from __future__ import annotations

import os
import re

import httpx

_VERSION = re.compile(r"v\d+[a-z\d]*")


def endpoint(base_url: str | None, path: str) -> httpx.URL:
    """The URL of `path` ("chat/completions") under a base that may or may not end in `/v1`.

    The base is `base_url`, else the environment's `LLM_BASE_URL`. A version segment anywhere in it
    (`/v1`, `/api/v4`, `/v1beta/openai`) is respected, a query string is kept. Raises ValueError
    where no base is known: nothing is ever sent to a paid service by default.
    """
    base = base_url or os.environ.get("LLM_BASE_URL")
    if not base:
        raise ValueError("no base URL: pass base_url=… or set LLM_BASE_URL (http://127.0.0.1:8000)")
    try:
        url = httpx.URL(base)
    except httpx.InvalidURL as error:
        raise ValueError(f"base URL {base!r} is none: {error}") from error
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"base URL {base!r} is not an http(s) URL, such as http://127.0.0.1:8000")
    root = url.path.rstrip("/")
    if root.endswith("/" + path):
        return url
    if not any(_VERSION.fullmatch(part) for part in root.split("/")):
        root += "/v1"
    return url.copy_with(path=f"{root}/{path}")


def api_key(given: str | None, *names: str) -> str | None:
    """The key: as given, else the first of `LLM_API_KEY` and `names` that the environment has."""
    found = given or next((v for n in ("LLM_API_KEY", *names) if (v := os.environ.get(n))), "")
    return found.strip() or None  # keys read from files end in a newline, which no header may hold
