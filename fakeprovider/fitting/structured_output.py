"""Answers in JSON: what a script says must be in the form that the client asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError

_SHOWN = 80


def check_form(conversation: Conversation, completion: Completion) -> None:
    """Raises `ApiError` for an answer that is not in the form asked for.

    A client that sent a schema and got a 200 cannot know that nothing enforced it. Only a full
    answer is checked: calls, refusals and cut replies are none.
    """
    schema = conversation.options.get("json_schema")
    if schema is None and not conversation.options.get("json_object"):
        return
    if completion.finish not in ("stop", "stop_sequence"):
        return
    why = _misfit(completion.text, schema)
    if why:
        shown = completion.text[:_SHOWN]
        raise ApiError(
            400,
            f"The client asked for JSON, and script {completion.script!r} answers turn "
            f"{completion.position} with {shown!r}: {why}. Give the script an answer that fits.",
            param="response_format",
            code="response_format_not_met",
            retry=False,
        )


def _misfit(text: str, schema: Mapping[str, Any] | None) -> str:
    """Why a text does not fit, "" if it does."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return "that is no JSON"
    if schema is None:
        return "" if isinstance(value, dict) else "that is no JSON object"
    from jsonschema.exceptions import SchemaError
    from jsonschema.validators import validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        validator = validator_for(dict(schema))
        validator.check_schema(dict(schema))
        # An empty registry: a reference to elsewhere is an error, and nothing is fetched.
        errors = validator(dict(schema), registry=Registry()).iter_errors(value)
        error = next(iter(errors), None)
    except (SchemaError, Unresolvable) as broken:
        return f"its schema cannot be used ({str(broken).splitlines()[0]})"
    return "" if error is None else f"{error.json_path}: {error.message}"
