"""A JSON Schema from a function's signature."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import msgspec

CONTEXT = "ctx"  # the parameter that receives a ToolContext, and that the model never sees


def written(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function that somebody wrote: under a partial, or behind an object that is called."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    if hasattr(fn, "__name__"):
        return fn
    called: Callable[..., Any] = type(fn).__call__
    return called


def signature_schema(fn: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The JSON Schema object of `fn`'s parameters and their types by name.

    Whatever msgspec can validate may be a parameter.

    Raises `TypeError` for a parameter without an annotation or of a kind that has no name.
    """
    hints = get_type_hints(written(fn), include_extras=True)
    wanted = {name: p for name, p in inspect.signature(fn).parameters.items() if name != CONTEXT}
    for parameter in wanted.values():
        _check(fn, parameter, hints)
    schemas, components = msgspec.json.schema_components(
        [hints[name] for name in wanted], ref_template="#/$defs/{name}"
    )
    schema = _object(dict(zip(wanted, schemas, strict=True)), wanted, components)
    return schema, {name: hints[name] for name in wanted}


def _check(fn: Callable[..., Any], parameter: inspect.Parameter, hints: dict[str, Any]) -> None:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise TypeError(
            f"{written(fn).__name__}: *{parameter.name} has no schema; name the parameters"
        )
    if parameter.name not in hints:
        raise TypeError(f"{written(fn).__name__}: annotate {parameter.name!r}, or give parameters=")


def _object(
    properties: dict[str, Any],
    parameters: dict[str, inspect.Parameter],
    components: dict[str, Any],
) -> dict[str, Any]:
    required = [name for name, p in parameters.items() if p.default is p.empty]
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if components:
        schema["$defs"] = components
    return schema
