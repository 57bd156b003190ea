"""A provider in a process of its own, as the fixture `serve` starts it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Process(NamedTuple):
    """A `fakeprovider serve` of its own: `base_url` ends in /v1, `url` has no path."""

    popen: subprocess.Popen[str]
    url: str
    base_url: str


Serve: TypeAlias = Callable[..., Process]
"""Starts `fakeprovider serve` with the given options."""
