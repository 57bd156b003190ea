"""The events of a recorded stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


def events(body: bytes) -> Iterator[Mapping[str, Any]]:
    """The JSON of each event that has any; the last of chat completions has none."""
    for line in body.decode().replace("\r", "\n").split("\n"):
        data = line.removeprefix("data:").strip()
        if line.startswith("data:") and data and data != "[DONE]":
            yield json.loads(data)
