"""Functions in conditions, written down as `module:name` so that a condition stays text."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import reduce
from importlib import import_module
from typing import Any


def named(fn: Callable[..., Any]) -> str | None:
    """`module:name` if that leads back to `fn`; None for a lambda, a closure or a method."""
    name = f"{getattr(fn, '__module__', '')}:{getattr(fn, '__qualname__', '')}"
    module = sys.modules.get(name.partition(":")[0])
    try:
        return name if _attribute(module, name) is fn else None
    except AttributeError:
        return None


def found(name: str) -> Callable[..., Any]:
    """The function that `module:name` stands for; raises `ValueError` where there is none.

    The module is imported now, so it is run: take such text from your own files only.
    """
    try:
        fn = _attribute(import_module(name.partition(":")[0]), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no function {name!r}: {error}") from error
    if not callable(fn):
        raise ValueError(f"{name!r} is no function")
    return fn  # type: ignore[no-any-return]  # callable, as has just been seen


def _attribute(module: Any, name: str) -> Any:
    return reduce(getattr, name.partition(":")[2].split("."), module)
